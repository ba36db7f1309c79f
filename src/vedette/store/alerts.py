"""Alarms, alerts and the facts that they are judged by.  Functions of a transaction that the caller owns."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta

from vedette.contracts.alerts import AlarmState, Alert, AlertId, AlertKind, Finding, HealthFacts
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import SourceState
from vedette.contracts.words import Outcome, Risk, WatchId
from vedette.core.health.source_health import Look, failing_since, is_success
from vedette.core.lanes.lane import HALF_OPEN, OPEN, condition
from vedette.core.limits.clock_limits import AHEAD
from vedette.core.urls.canonical import host_of, lane_of
from vedette.core.urls.trap_counters import SourceTally
from vedette.store import statements as sql
from vedette.store.connection import marks
from vedette.store.operator_orders import own_watch
from vedette.store.row_columns import reader
from vedette.store.rows import (
    from_ms,
    lane_id,
    opt_at,
    opt_ms,
    read_lane,
    read_source,
    source_made_at,
    to_ms,
)
from vedette.store.text_columns import dump_json

LOOKS = 8  # more failures in a row than any rule asks for
ALARM_COLUMNS = "subject is_raised bad_since good_since relapses settled_at alert_id".split()
ALERT_COLUMNS = (
    "id kind kinds subject risk sources detail opened_at recovered_at acked_at ack_note relapses".split()
)
_ALERT = f"SELECT {', '.join(ALERT_COLUMNS)} FROM alerts"
# Looks that lie ahead are of a clock that stood ahead: nobody knows when they were.
_LOOKS = "SELECT at, outcome, detail FROM visits WHERE watch_id = ? AND at <= ? ORDER BY at DESC LIMIT ?"
_GOOD = tuple(outcome.value for outcome in Outcome if is_success(outcome))
_LAST_GOOD = f"SELECT MAX(at) FROM visits WHERE watch_id = ? AND at <= ? AND outcome IN ({marks(_GOOD)})"
_OTHERS_GOOD = (
    "SELECT MAX(v.at) FROM watches w JOIN visits v ON v.watch_id = w.id WHERE w.lane_id = ? AND w.last_visit_at > ? "
    f"AND v.at > ? AND v.at < ? AND v.outcome IN ({marks(_GOOD)})"
)
_ANY_SEEN = (
    f"SELECT 1 FROM watches WHERE source_id = ? AND id <> ? AND last_outcome IN ({marks(_GOOD)}) LIMIT 1"
)
_PAGES_LOOKED_AT = (
    "SELECT COUNT(*) OVER (), last_outcome FROM watches WHERE source_id = ? AND id <> ? "
    "AND merged_into IS NULL AND last_outcome IS NOT NULL ORDER BY last_visit_at DESC LIMIT 1"
)
_SAVE_ALARM = sql.upsert("alarms", ALARM_COLUMNS, "subject")
_NEW_ALERT = sql.insert(
    "alerts", "kind kinds subject risk sources detail opened_at relapses".split(), conflict="RETURNING id"
)


def health_facts(db: SqlConnection, *, now: datetime) -> list[HealthFacts]:
    """What is known of every source that is looked at; those that were paused are nobody's worry."""
    rows = db.execute(f"{sql.SOURCES} ORDER BY tier DESC, id").fetchall()
    known = ((*read_source(row), source_made_at(row)) for row in rows)
    return [_facts(db, *one, now=now) for one in known if one[0].is_active]


def alarms(db: SqlConnection) -> dict[str, AlarmState]:
    rows = db.execute(f"SELECT {', '.join(ALARM_COLUMNS)} FROM alarms")
    return {row[0]: _read_alarm(row) for row in rows}


def save_alarm(db: SqlConnection, subject: str, state: AlarmState) -> None:
    times = (opt_ms(state.bad_since), opt_ms(state.good_since))
    row = (subject, state.is_raised, *times, state.relapses, opt_ms(state.settled_at), state.alert)
    db.execute(_SAVE_ALARM, row)


def open_alert(db: SqlConnection, finding: Finding, *, relapses: int, now: datetime) -> Alert:
    """A new row, of the gravest kind that was found."""
    names = dump_json([kind.value for kind in finding.kinds])
    row = (finding.kinds[0].value, names, finding.subject, int(finding.risk), dump_json(finding.sources))
    (number,) = db.execute(_NEW_ALERT, (*row, finding.detail, to_ms(now), relapses)).fetchone()
    made = alert(db, AlertId(number))
    if made is None:
        raise AssertionError("a row that was just written is there")
    return made


def join_alert(db: SqlConnection, number: AlertId, finding: Finding, relapses: int) -> None:
    """The open incident also has these kinds now.  Nobody is told again."""
    before = alert(db, number)
    if before is None:
        return
    kinds = tuple(dict.fromkeys((*before.kinds, *finding.kinds)))
    if kinds == before.kinds and relapses == before.relapses:
        return
    values = (dump_json([kind.value for kind in kinds]), relapses, number)
    db.execute("UPDATE alerts SET kinds = ?, relapses = ? WHERE id = ?", values)


def recover_alert(db: SqlConnection, number: AlertId, *, now: datetime) -> Alert | None:
    db.execute(
        "UPDATE alerts SET recovered_at = ? WHERE id = ? AND recovered_at IS NULL", (to_ms(now), number)
    )
    return alert(db, number)


def ack_alert(db: SqlConnection, number: AlertId, *, note: str, now: datetime) -> Alert | None:
    """Someone has seen it.  The first word stands."""
    values = (to_ms(now), note, number)
    db.execute("UPDATE alerts SET acked_at = ?, ack_note = ? WHERE id = ? AND acked_at IS NULL", values)
    return alert(db, number)


def alert(db: SqlConnection, number: AlertId) -> Alert | None:
    row = db.execute(f"{_ALERT} WHERE id = ?", (number,)).fetchone()
    return None if row is None else _read_alert(row)


def alert_list(db: SqlConnection, *, only_open: bool, most: int) -> list[Alert]:
    """Newest first."""
    where = "WHERE recovered_at IS NULL " if only_open else ""
    limit = f" LIMIT {int(most)}" if most else ""
    return [_read_alert(row) for row in db.execute(f"{_ALERT} {where}ORDER BY id DESC{limit}")]


def open_counts(db: SqlConnection) -> Iterable[tuple[str, int]]:
    """How many alerts are open, by kind."""
    query = "SELECT kind, COUNT(*) FROM alerts WHERE recovered_at IS NULL GROUP BY kind"
    return [(kind, int(count)) for kind, count in db.execute(query)]


def _facts(
    db: SqlConnection, source: Source, state: SourceState, created_at: datetime, *, now: datetime
) -> HealthFacts:
    watch = own_watch(db, source)
    row = db.execute("SELECT interval_s, lane_id FROM watches WHERE id = ?", (watch,)).fetchone()
    lane = _lane(db, source.url)
    by = to_ms(now + AHEAD)
    rows = db.execute(_LOOKS, (watch, by, LOOKS)).fetchall()
    looks = tuple((from_ms(at), Outcome(outcome), detail) for at, outcome, detail in rows)
    good_at = opt_at(db.execute(_LAST_GOOD, (watch, by, *_GOOD)).fetchone()[0])
    successes = [at for at in (good_at, state.last_success_at) if at is not None]
    return HealthFacts(
        source=source,
        host=host_of(source.url),
        created_at=created_at,
        interval=timedelta(seconds=row[0] if row else 0),
        looks=looks,
        last_success_at=max(successes, default=None),
        lane=lane,
        is_breaker_open=lane is not None and condition(lane, now) in (OPEN, HALF_OPEN),
        others_answered_at=_others_answered_at(db, row[1], looks) if row else None,
        capped=SourceTally.from_json(json.loads(state.tally)).capped,
        pages_lost=None if source.lister is ListerKind.PAGE else _pages_lost(db, source, watch),
    )


def _pages_lost(db: SqlConnection, source: Source, own: WatchId) -> tuple[int, Outcome] | None:
    """How many of its pages were looked at, and how the last look ended; None: some page was seen, or there is none."""
    if db.execute(_ANY_SEEN, (source.id, own, *_GOOD)).fetchone() is not None:
        return None
    row = db.execute(_PAGES_LOOKED_AT, (source.id, own)).fetchone()
    return None if row is None else (row[0], Outcome(row[1]))


def _others_answered_at(db: SqlConnection, lane: int, looks: tuple[Look, ...]) -> datetime | None:
    """When did the host answer for another page while this one failed?  Asked only of pages that fail."""
    failing = failing_since(looks)
    if failing is None or failing[0] == failing[1]:
        return None
    since, until = map(to_ms, failing)
    return opt_at(db.execute(_OTHERS_GOOD, (lane, since, since, until, *_GOOD)).fetchone()[0])


def _lane(db: SqlConnection, url: str) -> LaneState | None:
    row = db.execute(sql.LANE, (lane_id(lane_of(url)),)).fetchone()
    return None if row is None else read_lane(row)[1]


_read_alarm = reader(
    AlarmState,
    ALARM_COLUMNS,
    is_raised=("is_raised", bool),
    bad_since=("bad_since", opt_at),
    good_since=("good_since", opt_at),
    relapses="relapses",
    settled_at=("settled_at", opt_at),
    alert="alert_id",
)
_read_alert = reader(
    Alert,
    ALERT_COLUMNS,
    **{name: name for name in ("id", "subject", "detail", "ack_note", "relapses")},
    kind=("kind", AlertKind),
    kinds=("kinds", lambda names: tuple(AlertKind(name) for name in json.loads(names))),
    risk=("risk", Risk),
    sources=("sources", lambda names: tuple(json.loads(names))),
    opened_at=("opened_at", from_ms),
    recovered_at=("recovered_at", opt_at),
    acked_at=("acked_at", opt_at),
)
