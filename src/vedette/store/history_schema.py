"""The tables of what stands beside the evidence of a watch: texts made of it, pictures, texts that were imported."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, String, Table, Text

from vedette.store import schema
from vedette.store.schema import Id

metadata = schema.metadata  # of the stream and of these

artifacts = Table(  # text made from evidence; the text itself is a file, and can be made again
    "artifacts",
    metadata,
    Column("evidence_id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", String, primary_key=True),  # text | ocr
    Column("reader", String, nullable=False),  # digest of the versions of what made it
    Column("chars", BigInteger, nullable=False),
    Column("confidence", Float),  # of the words that OCR read, 0 to 100
    Column("path", Text, nullable=False),  # under the data folder
    Column("at", BigInteger, nullable=False),
)

likenesses = Table(  # evidence of another target that says nearly the same
    "likenesses",
    metadata,
    Column("evidence_id", Id, primary_key=True, autoincrement=False),
    Column("other_id", BigInteger, nullable=False),
    Column("share", Float, nullable=False),
    Column("at", BigInteger, nullable=False),
)

screenshots = Table(  # pictures that a browser took; the picture lies behind the record of its visit
    "screenshots",
    metadata,
    Column("visit_id", Id, primary_key=True, autoincrement=False),
    Column("evidence_id", BigInteger, nullable=False, index=True),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column(
        "page_height", Integer, nullable=False
    ),  # more than `height`: only its upper part is in the picture
    Column("size", BigInteger, nullable=False),  # bytes
)

imported_texts = Table(  # what another program says that it saw, before we watched: no evidence of ours
    "imported_texts",
    metadata,
    Column("watch_id", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, primary_key=True, autoincrement=False),  # as that program says
    Column("origin", String, nullable=False),  # changedetection.io
    Column("imported_at", BigInteger, nullable=False),
    Column("chars", BigInteger, nullable=False),
    Column("text", LargeBinary, nullable=False),  # UTF-8, packed with zlib
)
