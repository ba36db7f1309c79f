"""What retention takes out of the rows.  Visits stay: they are the chain, and the digest of what was seen with them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import Segment
from vedette.store import statements as sql
from vedette.store.rows import read_segment, segment_row, to_ms
from vedette.store.seal_rows import seal

AT_ONCE = 10_000  # ledger rows per transaction: nobody waits long for a lock, and the log stays small
# The newest decision of each kind about a target stays whatever its age: it is what `explain` tells.
_OLD = (
    "FROM ledger WHERE at < ? AND (watch_id IS NULL OR EXISTS "
    "(SELECT 1 FROM ledger newer WHERE newer.watch_id = ledger.watch_id "
    "AND newer.kind = ledger.kind AND newer.at > ledger.at))"
)
_PUBLISHED = "ledger.payload LIKE '%\"published\"%'"
_NAMED = (
    "SELECT DISTINCT json_extract(d.value, '$.inputs.published'), json_extract(d.value, '$.inputs.clock') "
    "FROM ledger, json_each(ledger.payload) d "
    f"WHERE {_PUBLISHED} AND json_extract(d.value, '$.inputs.published') IS NOT NULL"
)
_NAMED_IN_POSTGRESQL = (
    "SELECT DISTINCT CAST(d.value #>> '{inputs,published}' AS BIGINT), CAST(d.value #>> '{inputs,clock}' AS BIGINT) "
    "FROM ledger, jsonb_array_elements(CAST(ledger.payload AS jsonb)) AS d(value) "
    f"WHERE {_PUBLISHED} AND d.value #> '{{inputs,published}}' IS NOT NULL"
)
_LOST = 'FROM evidence WHERE segment = ? AND "offset" + length > ?'
_IN_RECORD = (
    'SELECT e.id FROM visits v JOIN evidence e ON e.segment = v.segment AND e."offset" = v."offset" '
    "WHERE v.segment = ? AND v.seq = ?"
)
_NO_PICTURES = "DELETE FROM screenshots WHERE visit_id IN (SELECT id FROM visits WHERE segment = ? AND {})"
_HEIRS = (
    "SELECT same_as, MIN(id) FROM evidence WHERE same_as IN (SELECT id FROM lost) "
    "AND id NOT IN (SELECT id FROM lost) GROUP BY same_as"
)


def segments(db: SqlConnection) -> list[Segment]:
    return [read_segment(row) for row in db.execute(sql.SEGMENTS)]


def save_segments(db: SqlConnection, states: Iterable[Segment]) -> None:
    rows = [segment_row(state) for state in states]
    db.executemany(sql.SAVE_SEGMENT, rows)
    seal(db, {"segments": [row[0] for row in rows]})


def forget_payloads(db: SqlConnection, segment: str, *, beyond: int) -> int:
    """What lies behind this place of the file is gone: nothing may refer to it.  Gives how many payloads it were."""
    db.execute(_NO_PICTURES.format('"offset" + length > ?'), (segment, beyond))
    return _forget(db, [row[0] for row in db.execute(f"SELECT id {_LOST}", (segment, beyond))])


def forget_records(db: SqlConnection, segment: str, numbers: Iterable[int]) -> int:
    """The records of these visits of a segment cannot be read any more.  Gives how many payloads lay in them."""
    lost: list[int] = []
    for number in numbers:
        lost += [row[0] for row in db.execute(_IN_RECORD, (segment, number))]
        db.execute(_NO_PICTURES.format("seq = ?"), (segment, number))
    return _forget(db, lost)


def _forget(db: SqlConnection, lost: list[int]) -> int:
    """A target whose last state is among them is asked without condition next time, so its bytes are kept anew."""
    db.execute("CREATE TEMP TABLE IF NOT EXISTS lost (id BIGINT PRIMARY KEY)")
    db.execute("DELETE FROM lost")
    db.executemany("INSERT INTO lost (id) VALUES (?)", [(number,) for number in lost])
    db.execute(
        "UPDATE watches SET etag = NULL, last_modified = NULL WHERE seen_evidence IN (SELECT id FROM lost)"
    )
    heirs = _hand_on(db)
    for table in ("artifacts", "screenshots", "likenesses", "verdicts"):
        db.execute(f"DELETE FROM {table} WHERE evidence_id IN (SELECT id FROM lost)")
    db.execute("DELETE FROM evidence WHERE id IN (SELECT id FROM lost)")
    seal(db, {"evidence": [*lost, *heirs]})
    return len(lost)


def _hand_on(db: SqlConnection) -> list[int]:
    """Evidence goes, what differed from it by noise alone stays: the oldest of that is the evidence from now on.

    Gives the rows that this changed.
    """
    heirs = db.execute(_HEIRS).fetchall()
    changed: list[int] = []
    for old, heir in heirs:
        changed += [row[0] for row in db.execute("SELECT id FROM evidence WHERE same_as = ?", (old,))]
        db.execute("UPDATE evidence SET same_as = ? WHERE same_as = ? AND id <> ?", (heir, old, heir))
        db.execute("UPDATE evidence SET standing = 'content', same_as = NULL WHERE id = ?", (heir,))
        db.execute("DELETE FROM verdicts WHERE evidence_id = ?", (heir,))
        db.execute("UPDATE verdicts SET evidence_id = ? WHERE evidence_id = ?", (heir, old))
    return changed


def not_kept(
    db: SqlConnection, digests: Iterable[bytes], *, without: frozenset[str] = frozenset()
) -> list[bytes]:
    """Those of which no payload is there any more, or will be once these segments are gone."""

    def is_kept(digest: bytes) -> bool:
        rows = db.execute("SELECT segment FROM evidence WHERE digest = ?", (digest,))
        return any(segment not in without for (segment,) in rows)

    return [digest for digest in digests if not is_kept(digest)]


def old_ledger(db: SqlConnection, before: datetime) -> int:
    """How many decisions are older than that, and not the newest about their target."""
    return int(db.execute(f"SELECT COUNT(*) {_OLD}", (to_ms(before),)).fetchone()[0])


def drop_ledger(db: SqlConnection, before: datetime) -> int:
    """Drops some of them; 0: there are none left."""
    some = db.execute(f"SELECT id {_OLD} ORDER BY id LIMIT {AT_ONCE}", (to_ms(before),)).fetchall()
    db.executemany("DELETE FROM ledger WHERE id = ?", some)
    seal(db, {"ledger": [number for (number,) in some]})
    return len(some)


def unnamed_versions(db: SqlConnection) -> tuple[list[int], list[int]]:
    """What the scheduler published, and clocks of hosts, that nothing refers to any more.

    A decision is replayed with the version that it names, so a version stays as long as a decision does; of each,
    the newest stays because the scheduler goes on from it.
    """
    versions, clocks = _named(db)
    newest = db.execute("SELECT MAX(version) FROM published").fetchone()[0]
    kept = {*versions, newest}
    rows = db.execute("SELECT version, clock_id FROM published").fetchall()
    clocks |= {clock for version, clock in rows if version in kept and clock is not None}
    clocks |= {clock for (clock,) in db.execute("SELECT clock_id FROM hosts WHERE clock_id IS NOT NULL")}
    every = (clock for (clock,) in db.execute("SELECT id FROM clocks"))
    return [version for version, _ in rows if version not in kept], [c for c in every if c not in clocks]


def drop_versions(db: SqlConnection) -> int:
    """Drops them; how many."""
    versions, clocks = unnamed_versions(db)
    db.executemany("DELETE FROM published WHERE version = ?", [(one,) for one in versions])
    db.executemany("DELETE FROM clocks WHERE id = ?", [(one,) for one in clocks])
    return len(versions) + len(clocks)


def _named(db: SqlConnection) -> tuple[set[int], set[int]]:
    """Versions and clocks that decisions on record name."""
    versions: set[int] = set()
    clocks: set[int] = set()
    query = _NAMED if isinstance(db, sqlite3.Connection) else _NAMED_IN_POSTGRESQL
    for version, clock in db.execute(query):
        versions.add(version)
        if clock is not None:
            clocks.add(clock)
    return versions, clocks
