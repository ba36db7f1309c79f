"""Figures behind the three promises, day by day and host by host.  Functions of a connection that only reads."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey
from vedette.core.lanes.outcomes import SEEN
from vedette.store.connection import marks
from vedette.store.rows import from_ms, lane_id, to_ms

_SEEN = tuple(outcome.value for outcome in SEEN)
_SPANS = (
    f"SELECT (at - ?) / ? AS part, COUNT(*), COUNT(*) FILTER (WHERE outcome IN ({marks(_SEEN)})), "
    "COUNT(*) FILTER (WHERE outcome = 'throttled'), "
    "COUNT(*) FILTER (WHERE evidence_id IS NOT NULL AND outcome = 'ok') "
    "FROM visits WHERE at >= ? AND at < ? GROUP BY part"
)
_CHANGES = (
    "SELECT (observed_at - ?) / ? AS part, COUNT(*) FROM changes WHERE observed_at >= ? AND observed_at < ? "
    "AND state IN ('confirmed', 'reported') GROUP BY part"
)
# By host: how often it was asked, how often it said "slower", and the shortest time between two looks.
_HOSTS = (
    "SELECT w.lane_id AS lane, v.at AS at, v.outcome AS outcome, v.wire_bytes AS size, "
    "v.at - LAG(v.at) OVER (PARTITION BY w.lane_id ORDER BY v.at) AS gap "
    "FROM visits v JOIN watches w ON w.id = v.watch_id WHERE v.at >= ?"
)
_RECEIPTS = (
    "SELECT l.key, COUNT(*), COUNT(*) FILTER (WHERE h.outcome = 'throttled'), "
    "COUNT(*) FILTER (WHERE h.outcome = 'robots_refused'), MIN(h.gap), "
    f"SUM(COALESCE(h.size, 0)), MAX(h.at) FROM ({_HOSTS}) AS h JOIN lanes l ON l.id = h.lane "
    "GROUP BY l.key ORDER BY COUNT(*) DESC, l.key"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSlice:
    """What happened in one part of the time that is shown."""

    at: datetime
    looks: int = 0
    seen: int = 0
    throttled: int = 0
    kept: int = 0  # pieces of evidence
    changes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What one host was asked."""

    lane: str
    looks: int
    throttled: int
    refused: int  # not asked, because its robots.txt says so
    least_gap_ms: int | None  # between the ends of two looks
    received: int  # bytes
    last_at: datetime


def time_slices(db: SqlConnection, *, since: datetime, until: datetime, parts: int) -> list[TimeSlice]:
    """The time in equal parts, oldest first."""
    start, end = to_ms(since), to_ms(until)
    step = max(1, (end - start) // parts)
    bounds = (start, step)
    looks = {row[0]: row[1:] for row in db.execute(_SPANS, (*bounds, *_SEEN, start, start + step * parts))}
    changed = dict(db.execute(_CHANGES, (*bounds, start, start + step * parts)))
    found = []
    for part in range(parts):
        total, seen, throttled, kept = looks.get(part, (0, 0, 0, 0))
        found.append(
            TimeSlice(
                at=from_ms(start + part * step),
                looks=total,
                seen=seen,
                throttled=throttled,
                kept=kept,
                changes=changed.get(part, 0),
            )
        )
    return found


def receipts(db: SqlConnection, *, since: datetime) -> list[Receipt]:
    """The host that was asked most comes first."""
    return [
        Receipt(
            lane=lane,
            looks=looks,
            throttled=throttled,
            refused=refused,
            least_gap_ms=gap,
            received=size,
            last_at=from_ms(last),
        )
        for lane, looks, throttled, refused, gap, size, last in db.execute(_RECEIPTS, (to_ms(since),))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedOnce:
    """One request that a host saw."""

    at: datetime
    url: str
    outcome: str
    status: int | None
    took_ms: int
    received: int


_ASKED = (
    "SELECT v.at, v.url, v.outcome, v.status, v.took_ms, v.wire_bytes FROM visits v "
    "JOIN watches w ON w.id = v.watch_id WHERE v.at >= ? AND w.lane_id = ? ORDER BY v.at DESC LIMIT ?"
)


def asked_of(db: SqlConnection, lane: LaneKey, *, since: datetime, most: int) -> list[AskedOnce]:
    """What the host of a lane was asked, newest first."""
    rows = db.execute(_ASKED, (to_ms(since), lane_id(lane), most))
    return [
        AskedOnce(at=from_ms(at), url=url, outcome=outcome, status=status, took_ms=took, received=size or 0)
        for at, url, outcome, status, took, size in rows
    ]


def totals(db: SqlConnection, *, now: datetime) -> dict[str, int]:
    """Watches, sources, what is due, evidence, and what needs somebody."""
    asked = {
        "watches": "SELECT COUNT(*) FROM watches WHERE merged_into IS NULL",
        "sources": "SELECT COUNT(*) FROM sources",
        "due": f"SELECT COUNT(*) FROM watches WHERE due_at <= {to_ms(now)}",
        "evidence": "SELECT COUNT(*) FROM evidence",
        "alerts": "SELECT COUNT(*) FROM alerts WHERE recovered_at IS NULL",
        "unseen_alerts": "SELECT COUNT(*) FROM alerts WHERE recovered_at IS NULL AND acked_at IS NULL",
        "parked": "SELECT COUNT(*) FROM parked",
    }
    return {name: int(db.execute(query).fetchone()[0]) for name, query in asked.items()}
