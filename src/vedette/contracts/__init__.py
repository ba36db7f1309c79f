"""Frozen values and Protocols handed between stages.  Imports nothing of ours."""
