"""Texts that another program kept of a page before it was watched here.  They are shown, and prove nothing."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import WatchId
from vedette.store.rows import from_ms, to_ms
from vedette.store.statements import NOTHING, insert

_COLUMNS = "watch_id at origin imported_at chars text".split()
_LISTED = "SELECT at, origin, imported_at, chars FROM imported_texts WHERE watch_id = ? ORDER BY at DESC"
_ONE = "SELECT text FROM imported_texts WHERE watch_id = ? AND at = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedText:
    """One version, as that program says that it was."""

    at: datetime
    origin: str
    imported_at: datetime
    chars: int


def save_texts(
    db: SqlConnection, watch: WatchId, texts: Iterable[tuple[datetime, str]], *, origin: str, now: datetime
) -> None:
    """What is there already stays as it is."""
    rows = [
        (watch, to_ms(at), origin, to_ms(now), len(text), zlib.compress(text.encode("utf-8", "replace")))
        for at, text in texts
    ]
    db.executemany(insert("imported_texts", _COLUMNS, conflict=NOTHING), rows)


def list_texts(db: SqlConnection, watch: WatchId) -> list[ImportedText]:
    """Newest first."""
    return [
        ImportedText(at=from_ms(at), origin=origin, imported_at=from_ms(imported_at), chars=chars)
        for at, origin, imported_at, chars in db.execute(_LISTED, (watch,))
    ]


def read_text(db: SqlConnection, watch: WatchId, at: datetime) -> str:
    """Empty: there is none of that time."""
    row = db.execute(_ONE, (watch, to_ms(at))).fetchone()
    return "" if row is None else zlib.decompress(bytes(row[0])).decode()
