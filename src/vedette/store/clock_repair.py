"""Rows that a clock wrote which stood ahead: are there any, and how they are brought back within their rules.

The rules are those of `core/limits/clock_limits.py`.  What is sealed (visits, evidence, changes) stays as written.
Functions of a connection or transaction that the caller owns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.lane import LanePolicy
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey
from vedette.core.limits import clock_limits as ahead
from vedette.store import statements as sql
from vedette.store.row_columns import LANE_COLUMNS
from vedette.store.rows import from_ms, lane_row, opt_at, opt_ms, read_lane, to_ms

_MS = timedelta(milliseconds=1)
_DAY = ahead.LONGEST_DAY // _MS
PolicyOf = Callable[[LaneKey], LanePolicy]

# What happened, by table: now at the latest.
_PAST = {
    "runs": ("started_at", "ended_at"),
    "sources": ("last_success_at",),
    "alarms": ("bad_since", "good_since", "settled_at"),
    "cron_marks": ("fired_at",),
    "jobs": ("added_at", "started_at", "ended_at"),
    "outbox": ("created_at", "sent_at"),
    "parked": ("at",),
    "watches": ("created_at", "seen_at", "last_changed_at"),
}
# What waits for a moment that was counted from another one: as far from now as it was from that.
_COUNTED = (("outbox", "due_at", "created_at"), ("jobs", "due_at", "added_at"))
# What ends or begins: at the latest when its rule allows.
_WITHIN = (
    ("sources", "closed_until", ahead.REST),
    ("leases", "until_at", ahead.LEASE),
    ("jobs", "until_at", ahead.LEASE),
    ("jobs", "due_at", ahead.LONGEST_DAY),
    ("outbox", "due_at", ahead.MESSAGE),
    ("robots", "expires_at", ahead.ROBOTS),
    ("hunts", "empty_at", ahead.LONGEST_DAY),
)
_ROBOTS = "UPDATE robots SET fetched_at = :now, expires_at = :now WHERE fetched_at > :by"
_LAST_LOOK = "SELECT at FROM visits ORDER BY id DESC LIMIT 1"
_FUTURE_RUN = "SELECT MAX(CASE WHEN ended_at > started_at THEN ended_at ELSE started_at END) FROM runs"
_SPAN = f"CASE WHEN interval_s > {_DAY // 1000} THEN interval_s * 1000 ELSE {_DAY} END"
# Both are answered by the index of the queue alone.
_FAR_DUE = f"SELECT 1 FROM watches WHERE due_at > ? + {_SPAN} LIMIT 1"
_AHEAD = f"last_visit_at > :by OR due_at > :by + {_SPAN}"
_WATCHES = f"SELECT id, due_at, interval_s, last_visit_at FROM watches WHERE {_AHEAD}"
_LOOKS = "SELECT COUNT(*), MAX(last_visit_at) FROM watches WHERE last_visit_at > ?"
_OURS = (
    "host:",
    "engine:",
)  # lanes whose policy the configuration has; those of budgets and providers last a day
_LANES = f"SELECT {', '.join(LANE_COLUMNS)} FROM lanes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """What a clock that stood ahead left in a store."""

    watches: int = 0  # whose last look or due time lies further ahead than any rule allows
    lanes: int = 0  # held or closed for longer than their policy allows
    others: int = 0  # rows of other tables: robots.txt, sources, jobs, messages, runs
    until: datetime | None = None  # the latest moment at which something is said to have happened

    @property
    def is_any(self) -> bool:
        return bool(self.watches or self.lanes or self.others)


def has_signs(db: SqlConnection, *, now: datetime) -> bool:
    """Did a clock that stood ahead write to this store?  Cheap enough to be asked at every start."""
    by = to_ms(now + ahead.AHEAD)
    for query in (_LAST_LOOK, _FUTURE_RUN):
        row = db.execute(query).fetchone()
        if row is not None and row[0] is not None and row[0] > by:
            return True
    return db.execute(_FAR_DUE, (by,)).fetchone() is not None


def survey(db: SqlConnection, *, now: datetime, policy_of: PolicyOf) -> Ahead:
    """What `heal` would mend."""
    by = to_ms(now + ahead.AHEAD)
    looks, latest = db.execute(_LOOKS, (by,)).fetchone()
    run = db.execute(_FUTURE_RUN).fetchone()[0]
    moments = [ms for ms in (latest, run) if ms is not None and ms > by]
    (far,) = db.execute(f"SELECT COUNT(*) FROM watches WHERE {_AHEAD}", {"by": by}).fetchone()
    return Ahead(
        watches=int(max(looks, far)),
        lanes=len(_far_lanes(db, now, policy_of)),
        others=sum(_others(db, now)),
        until=opt_at(max(moments, default=None)),
    )


def heal(db: SqlConnection, *, now: datetime, policy_of: PolicyOf) -> Ahead:
    """Brings every time of the store back within its rule.  Gives what was mended."""
    found = survey(db, now=now, policy_of=policy_of)
    ms, by = to_ms(now), to_ms(now + ahead.AHEAD)
    values = {"now": ms, "by": by}
    _heal_watches(db, now, by)
    for row in _far_lanes(db, now, policy_of):
        db.execute(sql.SAY_LANE, row)
    db.execute(_ROBOTS, values)
    for table, due, since in _COUNTED:
        most = ahead.MESSAGE // _MS
        wait = f"CASE WHEN {due} < {since} THEN 0 WHEN {due} - {since} > {most} THEN {most} ELSE {due} - {since} END"
        db.execute(f"UPDATE {table} SET {due} = :now + {wait} WHERE {since} > :by", values)
    for table, columns in _PAST.items():
        for column in columns:
            db.execute(f"UPDATE {table} SET {column} = :now WHERE {column} > :by", values)
    for table, column, longest in _WITHIN:
        latest = (ms + longest // _MS, by + longest // _MS)
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {column} > ?", latest)
    return found


def _heal_watches(db: SqlConnection, now: datetime, by: int) -> None:
    rows = []
    for watch, due_at, interval_s, looked_ms in db.execute(_WATCHES, {"by": by}).fetchall():
        looked_at, due = opt_at(looked_ms), None
        if due_at is not None:
            span = timedelta(seconds=max(interval_s, 0))
            due = ahead.due(from_ms(due_at), looked_at=looked_at, interval=span, now=now)
        rows.append((opt_ms(due), opt_ms(ahead.not_after(looked_at, now)), watch))
    db.executemany("UPDATE watches SET due_at = ?, last_visit_at = ?, audit_s = NULL WHERE id = ?", rows)


def _far_lanes(db: SqlConnection, now: datetime, policy_of: PolicyOf) -> list[tuple[object, ...]]:
    """Rows of the lanes that are held for longer than their policy allows, as they should be."""
    rows = []
    for row in db.execute(_LANES).fetchall():
        key, state = read_lane(row)
        policy = policy_of(key) if key.startswith(_OURS) else None
        if ahead.lane(policy, state, now + ahead.AHEAD) != state:
            rows.append(lane_row(key, ahead.lane(policy, state, now)))
    return rows


def _others(db: SqlConnection, now: datetime) -> list[int]:
    by = to_ms(now + ahead.AHEAD)
    tests = [
        (table, " OR ".join(f"{column} > {by}" for column in columns))
        for table, columns in _PAST.items()
        if table != "watches"
    ]
    tests.append(("robots", f"fetched_at > {by}"))
    tests += [(table, f"{column} > {by + longest // _MS}") for table, column, longest in _WITHIN]
    return [int(db.execute(f"SELECT COUNT(*) FROM {t} WHERE {test}").fetchone()[0]) for t, test in tests]
