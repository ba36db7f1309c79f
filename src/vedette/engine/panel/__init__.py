"""Moves the cells of a batch through the lanes of the providers."""
