"""Alerts, and the messages that tell people of them."""

from __future__ import annotations

from vedette.contracts.alerts import Alert, AlertId
from vedette.contracts.errors import InputError
from vedette.operations.installation import Installation
from vedette.store import outbox
from vedette.store.alerts import ack_alert, alert, alert_list
from vedette.store.outbox import WaitingNotice

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
