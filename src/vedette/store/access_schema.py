"""Tables of who may ask over HTTP: tokens, sessions of browsers, secret addresses of feeds, answers to writes."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, String, Table, Text

from vedette.store import history_schema

metadata = history_schema.metadata  # of the stream and of these

access_tokens = Table(  # of people and programs that ask over HTTP; the token itself is nowhere
    "access_tokens",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("name", String, nullable=False),
    Column("scope", String, nullable=False),  # read | write | admin
    Column("digest", LargeBinary, nullable=False, unique=True),  # sha256 of the token
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)

access_sessions = Table(  # of browsers; a session ends with the token that it was opened with
    "access_sessions",
    metadata,
    Column("digest", LargeBinary, primary_key=True),  # sha256 of the cookie
    Column("token", LargeBinary, nullable=False),  # sha256 of the token
    Column("created_at", BigInteger, nullable=False),
    Column("ends_at", BigInteger, nullable=False),
)

answered_requests = Table(  # answers to writes that came with an Idempotency-Key
    "answered_requests",
    metadata,
    Column("key", String, primary_key=True),
    Column("at", BigInteger, nullable=False),
    Column("request", LargeBinary, nullable=False),  # sha256 of method, path and body
    Column("status", Integer, nullable=False),
    Column("answer", Text, nullable=False),
)

feed_addresses = (
    Table(  # secret addresses under which changes are read as a feed; the secret itself is nowhere
        "feed_addresses",
        metadata,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("name", String, nullable=False),
        Column("digest", LargeBinary, nullable=False, unique=True),  # sha256 of the secret
        Column("tag", String),  # of its changes; null: not asked for
        Column("source", String),
        Column("url", Text),
        Column("risk", Integer),  # this and graver
        Column("created_at", BigInteger, nullable=False),
        Column("revoked_at", BigInteger),
    )
)
