"""What retention takes out of the rows.  Visits stay: they are the chain, and the digest of what was seen with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from vedette.contracts.evidence import Segment
from vedette.store import statements as sql
from vedette.store.rows import read_segment, segment_row, to_ms

AT_ONCE = 10_000  # ledger rows per transaction: nobody waits long for a lock, and the log stays small
# The newest decision of each kind about a target stays whatever its age: it is what `explain` tells.
_OLD = (
    "FROM ledger WHERE at < ? AND (watch_id IS NULL OR EXISTS "
    "(SELECT 1 FROM ledger newer WHERE newer.watch_id = ledger.watch_id "
    "AND newer.kind = ledger.kind AND newer.at > ledger.at))"
)
_LOST = 'FROM evidence WHERE segment = ? AND "offset" + length > ?'


def segments(db: sqlite3.Connection) -> list[Segment]:
    return [read_segment(row) for row in db.execute(sql.SEGMENTS)]


def save_segments(db: sqlite3.Connection, states: Iterable[Segment]) -> None:
    db.executemany(sql.SAVE_SEGMENT, [segment_row(state) for state in states])


def forget_payloads(db: sqlite3.Connection, segment: str, *, beyond: int) -> int:
    """What lies behind this place of the file is not there any more: nothing may refer to it.  Gives how many payloads.

    A target whose last state is among them is asked without condition next time, so its bytes are kept anew.
    """
    lost = (segment, beyond)
    db.execute(
        "UPDATE watches SET etag = NULL, last_modified = NULL "
        f"WHERE id IN (SELECT watch_id {_LOST}) AND seen_evidence IN (SELECT id {_LOST})",
        lost * 2,
    )
    for table in ("artifacts", "verdicts"):
        db.execute(f"DELETE FROM {table} WHERE evidence_id IN (SELECT id {_LOST})", lost)
    return db.execute(f"DELETE {_LOST}", lost).rowcount


def not_kept(
    db: sqlite3.Connection, digests: Iterable[bytes], *, without: frozenset[str] = frozenset()
) -> list[bytes]:
    """Those of which no payload is there any more, or will be once these segments are gone."""

    def is_kept(digest: bytes) -> bool:
        rows = db.execute("SELECT segment FROM evidence WHERE digest = ?", (digest,))
        return any(segment not in without for (segment,) in rows)

    return [digest for digest in digests if not is_kept(digest)]


def old_ledger(db: sqlite3.Connection, before: datetime) -> int:
    """How many decisions are older than that, and not the newest about their target."""
    return int(db.execute(f"SELECT COUNT(*) {_OLD}", (to_ms(before),)).fetchone()[0])


def drop_ledger(db: sqlite3.Connection, before: datetime) -> int:
    """Drops some of them; 0: there are none left."""
    some = f"SELECT id {_OLD} ORDER BY id LIMIT {AT_ONCE}"
    return db.execute(f"DELETE FROM ledger WHERE id IN ({some})", (to_ms(before),)).rowcount
