"""The health check: judges every source, steps every alarm, and tells of what turned, all in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from vedette.contracts.alerts import AlarmState, Alert, Finding, Message, Notice, Sign, SourceHealth
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Risk
from vedette.core.health.alarm import AlarmParams, Move, step
from vedette.core.health.source_health import HealthParams, findings, health_of
from vedette.report.notices import alert_notices, recovery_notices
from vedette.store import alerts as store
from vedette.store import statements as sql
from vedette.store.outbox import message_row

Route = Callable[[Notice], Iterable[Message]]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchdogParams:
    health: HealthParams = HealthParams()
    alarm: AlarmParams = AlarmParams()


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthChecked:
    """What a check saw, and what it told of."""

    at: datetime
    healths: tuple[SourceHealth, ...]
    opened: tuple[Alert, ...] = ()
    recovered: tuple[Alert, ...] = ()


def look_at_health(db: SqlConnection, *, now: datetime, params: HealthParams) -> tuple[SourceHealth, ...]:
    """How every source fares.  Changes nothing."""
    return tuple(health_of(facts, now=now, params=params) for facts in store.health_facts(db, now=now))


def check_health(db: SqlConnection, *, now: datetime, params: WatchdogParams, route: Route) -> HealthChecked:
    """One check.  Alarms, alerts and the messages about them are written together, or not at all."""
    healths = look_at_health(db, now=now, params=params.health)
    known = store.alarms(db)
    raised = [subject for subject, state in known.items() if state.is_raised]
    teller = _Teller(db, now)
    found = findings(healths, raised, params=params.health)
    for finding in (*found, *_forgotten(found, known)):
        state = known.get(finding.subject, AlarmState())
        moved, move = step(state, finding.sign, now=now, pace=finding.pace, params=params.alarm)
        moved = teller.tell(finding, moved, move)
        if moved != state:
            store.save_alarm(db, finding.subject, moved)
    rows = [message_row(message) for notice in teller.notices() for message in route(notice)]
    if rows:
        db.executemany(sql.NEW_MESSAGE, rows)
    return HealthChecked(
        at=now, healths=healths, opened=tuple(teller.opened), recovered=tuple(teller.recovered)
    )


@dataclass(slots=True)
class _Teller:
    """Writes what turned, and remembers it for the notices."""

    db: SqlConnection
    now: datetime
    opened: list[Alert] = field(default_factory=list)
    recovered: list[Alert] = field(default_factory=list)

    def tell(self, finding: Finding, state: AlarmState, move: Move | None) -> AlarmState:
        if move is Move.RAISED:
            alert = store.open_alert(self.db, finding, relapses=state.relapses, now=self.now)
            self.opened.append(alert)
            return replace(state, alert=alert.id)
        if move is Move.RECOVERED and state.alert is not None:
            recovered = store.recover_alert(self.db, state.alert, now=self.now)
            if recovered is not None:
                self.recovered.append(recovered)
            return replace(state, alert=None)
        if finding.sign is Sign.BAD and state.alert is not None:
            store.join_alert(self.db, state.alert, finding, state.relapses)
        return state

    def notices(self) -> list[Notice]:
        return [*alert_notices(self.opened, now=self.now), *recovery_notices(self.recovered, now=self.now)]


def _forgotten(found: Iterable[Finding], known: dict[str, AlarmState]) -> list[Finding]:
    """Subjects that are not watched any more (paused, removed): in time their alarms end like any other."""
    seen = {finding.subject for finding in found}
    return [
        Finding(subject=subject, sign=Sign.GOOD, kinds=(), risk=Risk.LOW, sources=(), pace=timedelta(0))
        for subject, state in known.items()
        if state.is_raised and subject not in seen
    ]
