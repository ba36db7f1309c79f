"""Alembic's entry: runs the revisions on the connection that `store/migrate.py` hands over."""

from __future__ import annotations

from alembic import context

from vedette.store.panel.panel_schema import metadata  # with the tables of the stream

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
