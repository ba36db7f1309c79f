"""Alembic revisions, additive only."""
