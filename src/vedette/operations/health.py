"""The health of every source, alerts and their messages, and times that a wrong clock left in the store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vedette.config.alert_policies import router, watchdog_params
from vedette.config.pace_policies import lane_policies
from vedette.contracts.alerts import Alert, AlertId, SourceHealth
from vedette.contracts.errors import InputError
from vedette.core.health.source_health import is_healthy
from vedette.engine.service.watchdog import check_health, look_at_health
from vedette.operations.installation import Installation
from vedette.report.health import health_json, trouble_json
from vedette.report.plain import count
from vedette.store import outbox
from vedette.store.alerts import ack_alert, alert, alert_list
from vedette.store.clock_repair import Ahead, heal, survey
from vedette.store.operator import lock_holder
from vedette.store.operator_orders import HEALED, order
from vedette.store.outbox import WaitingNotice


@dataclass(frozen=True, slots=True)
class HealthReport:
    sources: tuple[SourceHealth, ...]
    clock: Ahead  # what a clock that stood ahead has left
    has_engine: bool = True  # somebody looks at what is due

    @property
    def is_healthy(self) -> bool:
        return all(map(is_healthy, self.sources))


def source_health(installation: Installation, *, raises_alerts: bool = False) -> HealthReport:
    """Of every active source.  With `raises_alerts` alerts are opened and closed, as a service does by itself."""
    now, params = installation.now(), watchdog_params(installation.loaded.config)
    if raises_alerts:
        route = router(installation.loaded.config, installation.clock)
        with installation.operating() as db:
            found = check_health(db, now=now, params=params, route=route).healths
    else:
        with installation.reading() as db:
            found = look_at_health(db, now=now, params=params.health)
    is_shared = not isinstance(installation.loaded.store, Path)  # its workers hold no lock
    has_engine = is_shared or lock_holder(installation.loaded.data) is not None
    return HealthReport(found, clock_ahead(installation), has_engine)


def health_report_json(found: HealthReport) -> dict[str, object]:
    return {
        "healthy": found.is_healthy,
        "endpoints": [health_json(one) for one in found.sources],
        "trouble": [trouble_json(one) for one in found.sources if not is_healthy(one)],
        "clock": ahead_words(found.clock) if found.clock.is_any else None,
    }


def clock_ahead(installation: Installation) -> Ahead:
    """Times that lie further ahead than their rules allow."""
    policy_of = lane_policies(installation.loaded.config).of
    with installation.reading() as db:
        return survey(db, now=installation.now(), policy_of=policy_of)


def heal_clock(installation: Installation) -> Ahead:
    """Brings them back; a running engine hears of it.  Gives what was healed."""
    now, policy_of = installation.now(), lane_policies(installation.loaded.config).of
    with installation.operating() as db:
        healed = heal(db, now=now, policy_of=policy_of)
        if healed.is_any:
            order(db, HEALED, "", now=now)
    return healed


def ahead_words(left: Ahead) -> str:
    until = "" if left.until is None else f", the latest of {left.until:%Y-%m-%d %H:%M}"
    return (
        f"the clock stood ahead: times too far ahead in {count(left.watches, 'watch', 'watches')}, "
        f"{count(left.lanes, 'lane')} and {count(left.others, 'other row')}{until}"
    )


UNSENT = ("waiting", "digest", "parked")


def list_alerts(installation: Installation, *, every: bool, most: int) -> list[Alert]:
    """Newest first; without `every` only those that are open."""
    with installation.reading() as db:
        return list(alert_list(db, only_open=not every, most=most))


def show_alert(installation: Installation, number: int) -> Alert:
    with installation.reading() as db:
        return _known(number, alert(db, AlertId(number)))


def acknowledge_alert(installation: Installation, number: int, *, note: str) -> Alert:
    """Someone has seen it.  It stays open until its subject has recovered."""
    with installation.operating() as db:
        found = ack_alert(db, AlertId(number), note=note, now=installation.now())
    return _known(number, found)


def list_outbox(installation: Installation, *, every: bool, most: int) -> list[WaitingNotice]:
    """What waits to be sent and what could not be; with `every` also what was sent."""
    with installation.reading() as db:
        return list(outbox.listing(db, states=(*UNSENT, *(("sent",) if every else ())), most=most))


def resend_parked(installation: Installation) -> int:
    """Everything that is parked is tried again; gives how many."""
    with installation.operating() as db:
        return outbox.resend(db, now=installation.now())


def waiting_json(one: WaitingNotice) -> dict[str, object]:
    notice = one.message.notice
    return {
        "notice": notice.id,
        "kind": notice.kind.value,
        "risk": notice.risk.name,
        "title": notice.title,
        "channel": one.message.channel,
        "state": one.state,
        "due_at": one.message.due_at,
        "attempts": one.message.attempts,
        "created_at": one.created_at,
        "sent_at": one.sent_at,
        "error": one.error,
    }


def _known(number: int, found: Alert | None) -> Alert:
    if found is None:
        raise InputError(f"there is no alert {number}; `vedette alerts list --all` shows them")
    return found
