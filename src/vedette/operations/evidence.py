"""Evidence for whoever asks for it: one page as it came or as text, and all of it as the rows of 001 section 4.1.

A view of SQLite cannot read the archive.  So `rawContent` is filled here, in a database of its own that any program
reads that knows nothing but the document.
"""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.evidence import Located
from vedette.contracts.words import DOCUMENTS, ContentClass, EvidenceId, WatchId
from vedette.core.text.charset import decode
from vedette.engine.crawl.past_states import read_body
from vedette.evidence.text_cache import TextCache
from vedette.extract import ALL, blocks
from vedette.extract.documents import read_document
from vedette.extract.documents.versions import reader_version
from vedette.extract.outline import row_headings
from vedette.store.connection import connect
from vedette.store.migrate import ARCHIVE, DATABASE
from vedette.store.rows import to_ms
from vedette.store.statements import insert
from vedette.store.views import EvidenceView

TEXTS = frozenset(
    {ContentClass.HTML, ContentClass.JSON, ContentClass.JSON_LD, ContentClass.XML, ContentClass.TEXT}
)
EVIDENCE_001 = (
    "id sourceId url rawContent rawContentEncoding contentHash contentType contentClass hasChanged changeSummary "
    "fetchedAt primaryTextArtifactId"
).split()
_ROWS = (
    'SELECT r."id", r."sourceId", r."url", r."contentHash", r."contentType", r."contentClass", r."hasChanged", '
    'r."changeSummary", r."fetchedAt", r."primaryTextArtifactId", e.segment, e."offset", e.length, e.content_type '
    'FROM "RegulatoryEvidence" r JOIN evidence e ON e.id = CAST(r."id" AS INTEGER) WHERE e.at >= ? ORDER BY e.id'
)
_SEEN = (
    "SELECT evidence_id FROM visits WHERE watch_id = ? AND at <= ? AND evidence_id IS NOT NULL "
    "AND outcome IN ('ok', 'not_modified', 'parse_failed', 'tool_missing') ORDER BY at DESC LIMIT 1"
)


@dataclass(frozen=True, slots=True)
class HandedOut:
    """What an export wrote, and what it could not."""

    path: Path
    rows: int
    lost: int  # rows without rawContent: their record cannot be read


def shown_at(loaded: Loaded, watch: WatchId, at: datetime) -> EvidenceId | None:
    """What the last look before that moment showed; None: nothing was seen by then, or it expired."""
    with closing(connect(loaded.data / DATABASE, read_only=True)) as db:
        row = db.execute(_SEEN, (watch, to_ms(at))).fetchone()
    return None if row is None else EvidenceId(row[0])


def body_of(loaded: Loaded, one: EvidenceView) -> bytes:
    """The body as the server meant it, without its content coding."""
    located = Located(segment=one.segment, offset=one.offset, length=one.length)
    body = read_body(loaded.data / ARCHIVE, located)
    if body is None:
        raise StoreError(
            f"evidence {one.id} cannot be read from the archive; `vedette evidence verify` says why"
        )
    return body


def text_of(loaded: Loaded, one: EvidenceView) -> str:
    """All that it says, line by line."""
    body = body_of(loaded, one)
    if ContentClass(one.content_class) not in DOCUMENTS:
        found = blocks(body, url=one.url, content_type=one.content_type, scope=ALL)
        return "\n".join(text for _, text in found)
    text_cache = TextCache(loaded.data, reader_version(loaded.config.extract.ocr_languages))
    document = text_cache.latest(one.digest)
    if document is None and one.content_class != ContentClass.IMAGE:
        document = read_document(body, url=one.url, content_type=one.content_type)
    if document is None or (document.scans and not document.blocks):
        raise StoreError(
            f"evidence {one.id} was not read by OCR; `vedette look` reads it where tesseract is installed"
        )
    return "\n".join(text for _, text in document.blocks)


def headings_of(loaded: Loaded, one: EvidenceView) -> dict[str, tuple[str, ...]]:
    """The headings of the columns beside rows of its tables."""
    is_page = ContentClass(one.content_class) is ContentClass.HTML
    return row_headings(body_of(loaded, one), content_type=one.content_type) if is_page else {}


def raw_content(body: bytes, content_class: str, content_type: str) -> tuple[str, str]:
    """`rawContent` of 001, and how it is written: exact where it is UTF-8 or base64."""
    if ContentClass(content_class) not in TEXTS:
        return base64.b64encode(body).decode(), "base64"
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        text, charset = decode(body, content_type)
        return text, f"from {charset}"


def export_001(
    loaded: Loaded,
    target: Path,
    *,
    since: datetime | None = None,
    watch: WatchId | None = None,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> HandedOut:
    """Writes a database with the table `Evidence` as 001 has it.  It appears whole or not at all."""
    if target.exists():
        raise InputError(f"{target} exists; name another file")
    half_done = target.with_name(f".{target.name}.part")
    half_done.unlink(missing_ok=True)
    try:
        with closing(connect(loaded.data / DATABASE, read_only=True)) as db:
            rows, lost = _fill(half_done, _filled(loaded, db, since, watch), progress)
        half_done.rename(target)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"cannot write {target}: {error}; nothing was kept") from None
    finally:
        half_done.unlink(missing_ok=True)
    return HandedOut(target, rows, lost)


def _filled(
    loaded: Loaded, db: sqlite3.Connection, since: datetime | None, watch: WatchId | None
) -> Iterator[tuple[object, ...]]:
    query = _ROWS if watch is None else _ROWS.replace("WHERE", f"WHERE e.watch_id = {int(watch)} AND")
    for row in db.execute(query, (0 if since is None else to_ms(since),)):
        number, source, url, digest, kind, content_class, *rest = row
        changed, summary, at, artifact, segment, offset, length, content_type = rest
        body = read_body(loaded.data / ARCHIVE, Located(segment=segment, offset=offset, length=length))
        content, encoding = (None, None) if body is None else raw_content(body, content_class, content_type)
        said = (number, source, url, content, encoding, digest, kind, content_class)
        yield (*said, changed, summary, at, artifact)


def _fill(
    path: Path, rows: Iterator[tuple[object, ...]], progress: Callable[[int, int], None]
) -> tuple[int, int]:
    names = ", ".join(f'"{name}"' for name in EVIDENCE_001)
    done = lost = 0
    with closing(sqlite3.connect(path)) as db:
        db.execute(f'CREATE TABLE "Evidence" ({names}, PRIMARY KEY ("id"))')
        for row in rows:
            db.execute(insert("Evidence", EVIDENCE_001), row)
            done += 1
            lost += row[3] is None
            progress(done, 0)
        db.commit()
    return done, lost
