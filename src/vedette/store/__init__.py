"""State on disk.  SQLAlchemy Core for schema and cold queries, plain statements for the hot path."""
