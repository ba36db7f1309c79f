"""Tables of a hunt beside those of its frontier: what pages were held for, findings, marks, weights, the background."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Float, LargeBinary, String, Table, Text

from vedette.store import access_schema, schema

metadata = access_schema.metadata  # of the stream and of these
Id = schema.Id

hunt_looks = Table(  # looks that a hunt ordered and has not learned from, in its order
    "hunt_looks",
    metadata,
    Column("turn", Id, primary_key=True, autoincrement=False),
    Column("watch_id", Id, nullable=False, unique=True),
    Column("url", Text, nullable=False),
    Column("seed", String, nullable=False),
    Column("pull", Float, nullable=False),
    Column("words", Text, nullable=False),
    Column("is_prospect", Boolean, nullable=False),  # false: a seed
    Column("facts", Text),  # what the look came to; null: it has not ended
    Column("figures", LargeBinary),  # of the page that came
)

odd_pages = Table(  # what hunts looked at: figures, features with what they were made from, score
    "odd_pages",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False, unique=True),  # the order in which looks were learned from
    Column("url", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("source_id", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("pull", Float, nullable=False),
    Column("simhash", BigInteger, nullable=False),
    Column("figures", LargeBinary, nullable=False),
    Column("features", Text, nullable=False),
    Column("provenance", Text, nullable=False),
    Column("score", Float, nullable=False),
    Column("action", String, nullable=False),
    Column("twin", BigInteger, nullable=False),
    Column("weights", String, nullable=False),
)

findings = Table(  # what triage kept
    "findings",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("score", Float, nullable=False, index=True),
    Column("action", String, nullable=False),
    Column("contributions", Text, nullable=False),
    Column("weights", String, nullable=False),
    Column("found_at", BigInteger, nullable=False),
)

marks = Table(  # what the operator says of pages
    "marks",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("word", String, nullable=False),  # odd | plain
    Column("at", BigInteger, nullable=False),
)

odd_weights = Table(  # that marks gave
    "odd_weights",
    metadata,
    Column("version", String, primary_key=True),
    Column("body", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
)

backgrounds = Table(  # one row: what looks taught up to a number
    "backgrounds",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),
)

page_links = Table(  # which pages a page that a hunt looked at links to
    "page_links",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("targets", LargeBinary, nullable=False),  # ids of watches: 64-bit, little-endian, in order
)

page_reports = Table(  # what an analyst says of a finding
    "page_reports",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("author", String, nullable=False),  # offline, or the model that was asked
    Column("body", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),  # of the body of the page that it is about
    Column("calls", BigInteger, nullable=False),
    Column("usd", Float, nullable=False),
    Column("at", BigInteger, nullable=False),
)
