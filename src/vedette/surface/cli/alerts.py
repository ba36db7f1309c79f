"""Who was told of what is in trouble: alerts."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.alerts import Alert
from vedette.operations.alerts import (
    acknowledge_alert,
    list_alerts,
    list_outbox,
    resend_parked,
    show_alert,
    waiting_json,
)
from vedette.report.health import alert_json, alert_state, alert_text
from vedette.report.plain import moment
from vedette.store.outbox import WaitingNotice
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb

NumberArgument = Annotated[int, typer.Argument(metavar="ALERT", help="As `vedette alerts list` shows it.")]
HOMES = {"list": "", "show": "", "ack": "", "outbox": "", "test": "alert_channels"}


def register(app: typer.Typer) -> None:
    example = "vedette alerts\nvedette alerts ack 7"
    alerts = group("alerts", example=example, default=alerts_list, homes=HOMES)(alerts_)
    verb(alerts, "list", example="vedette alerts list --all --json")(alerts_list)
    verb(alerts, "show", example="vedette alerts show 7")(alerts_show)
    verb(alerts, "ack", example='vedette alerts ack 7 --note "called the ministry"')(alerts_ack)
    verb(alerts, "outbox", example="vedette alerts outbox\nvedette alerts outbox --resend")(alerts_outbox)
    app.add_typer(alerts)


def alerts_() -> None:
    """Hosts and sources that were in trouble.

    Each is told of once, and once when it is well again.
    """


def alerts_list(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also those that recovered.")] = False,
    limit: LimitOption = 100,
) -> None:
    """Open alerts, newest first."""
    now = session.now()
    found = list_alerts(session.installation, every=every, most=limit)
    if session.given.as_json:
        session.out.document({"alerts": [alert_json(one) for one in found]})
        return
    heads = ("ALERT", "SEVERITY", "TYPE", "SUBJECT", "STATE", "SOURCES")
    rows = (
        (
            str(one.id),
            (one.risk.name, one.risk.name),
            one.kind.value,
            one.subject,
            alert_state(one, now),
            str(len(one.sources)),
        )
        for one in found
    )
    session.out.table(heads, rows, empty="no alerts" if every else "no alert is open")


def alerts_show(session: Session, number: NumberArgument) -> None:
    """One alert, whole."""
    _print_alert(session, show_alert(session.installation, number))


def alerts_ack(
    session: Session,
    number: NumberArgument,
    note: Annotated[str, typer.Option("--note", help="For whoever reads it later.")] = "",
) -> None:
    """Say that someone has seen it.  The alert stays open until the subject has recovered."""
    _print_alert(session, acknowledge_alert(session.installation, number, note=note))


def alerts_outbox(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also what was sent.")] = False,
    resend: Annotated[bool, typer.Option("--resend", help="Try everything that is parked again.")] = False,
    limit: LimitOption = 100,
) -> None:
    """What waits to be sent, and what could not be.

    A running engine sends what is waiting; what is parked used up its attempts, or was refused for good.
    """
    if resend:
        session.out.note(f"{resend_parked(session.installation)} messages will be tried again")
    found = list_outbox(session.installation, every=every, most=limit)
    if session.given.as_json:
        session.out.document({"outbox": [waiting_json(one) for one in found]})
        return
    heads = ("STATE", "CHANNEL", "DUE", "ATTEMPTS", "NOTICE", "ERROR")
    session.out.table(heads, (_waiting_cells(one) for one in found), empty="nothing waits to be sent")


def _waiting_cells(one: WaitingNotice) -> tuple[Cell, ...]:
    state: Cell = ("bad", one.state) if one.state == "parked" else one.state
    due = moment(one.message.due_at)
    count = str(one.message.attempts)
    return (state, one.message.channel, due, count, one.message.notice.title, one.error)


def _print_alert(session: Session, found: Alert) -> None:
    if session.given.as_json:
        session.out.document(alert_json(found))
        return
    for line in alert_text(found, session.now()):
        session.out.say(line)
