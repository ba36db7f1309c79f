"""Moves values from stage to stage.  Decides nothing that core could decide."""
