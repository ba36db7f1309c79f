"""Sources in trouble, and the messages about them: health, alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from vedette.contracts.alerts import Alert, SourceHealth
from vedette.core.health.source_health import is_healthy, is_only_late
from vedette.operations.health import (
    HealthReport,
    acknowledge_alert,
    ahead_words,
    health_report_json,
    list_alerts,
    list_outbox,
    resend_parked,
    show_alert,
    source_health,
    waiting_json,
)
from vedette.report.health import alert_json, alert_state, alert_text, trouble, what_to_do
from vedette.report.plain import ago, count, moment
from vedette.store.outbox import WaitingNotice
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb
from vedette.surface.cli.watch_table import note_not_taken_in

NumberArgument = Annotated[int, typer.Argument(metavar="ALERT", help="As `vedette alerts list` shows it.")]
FEW = 3  # sources that are late because nobody looks: more are summed up
HOMES = {
    "list": "",
    "show": "",
    "ack": "",
    "outbox": "",
    "test": "alert_channels",
    "digest": "alert_channels",
}


def register(app: typer.Typer) -> None:
    example = "vedette alerts\nvedette alerts ack 7"
    alerts = group("alerts", example=example, default=alerts_list, homes=HOMES)(alerts_)
    verb(alerts, "list", example="vedette alerts list --all --json")(alerts_list)
    verb(alerts, "show", example="vedette alerts show 7")(alerts_show)
    verb(alerts, "ack", example='vedette alerts ack 7 --note "called the ministry"')(alerts_ack)
    verb(alerts, "outbox", example="vedette alerts outbox\nvedette alerts outbox --resend")(alerts_outbox)
    app.add_typer(alerts)
    verb(app, "health", example="vedette health\nvedette health --check --json")(health)


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
    attempts = str(one.message.attempts)
    return (state, one.message.channel, due, attempts, one.message.notice.title, one.error)


def _print_alert(session: Session, found: Alert) -> None:
    if session.given.as_json:
        session.out.document(alert_json(found))
        return
    for line in alert_text(found, session.now()):
        session.out.say(line)


# What is in trouble: health.


def health(
    session: Session,
    check: Annotated[bool, typer.Option("--check", help="Exit 6 when a source is in trouble.")] = False,
    raise_: Annotated[
        bool, typer.Option("--raise", help="Also open and close alerts, as `vedette serve` does by itself.")
    ] = False,
) -> None:
    """How every source fares: last success, errors in a row, breaker.

    A source is in trouble after 24 h without success, 3 errors in a row, when the breaker of its host is open, when a
    look was refused or never showed it, or when a limit keeps it from finding more.
    """
    found = source_health(session.installation, raises_alerts=raise_)
    if session.given.as_json:
        session.out.document(health_report_json(found))
    else:
        _print_health(session, found)
    if check and not found.is_healthy:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _print_health(session: Session, found: HealthReport) -> None:
    now = session.now()
    late = () if found.has_engine else tuple(filter(is_only_late, found.sources))
    summed_up = late if len(late) > FEW else ()
    if summed_up:
        session.out.say(_late_words(summed_up, now))
    rows = (
        (
            (_style(one), trouble(one)),
            one.id,
            one.host,
            one.tier.name,
            "never" if one.last_success_at is None else ago(one.last_success_at, now),
            one.last_error,
        )
        for one in found.sources
        if one not in summed_up
    )
    heads = ("HEALTH", "SOURCE", "HOST", "TIER", "LAST SUCCESS", "LAST ERROR")
    if len(summed_up) < len(found.sources) or not found.sources:
        session.out.table(heads, rows, empty="no active sources; `vedette add URL` makes one")
    note_not_taken_in(session)
    for one in found.sources:
        if not is_healthy(one) and what_to_do(one):
            session.out.note(f"{one.id}: {what_to_do(one)}")
    if found.sources and not found.is_healthy and not found.has_engine:
        session.out.note("no engine is running on this store; `vedette run` looks at what is due")
    if found.clock.is_any:
        words = ahead_words(found.clock)
        session.out.note(f"{words}; `vedette doctor --heal` mends it, and so does the next run")


def _late_words(late: Sequence[SourceHealth], now: datetime) -> str:
    """What nobody looks at is no trouble of each source."""
    last = max((one.last_success_at for one in late if one.last_success_at is not None), default=None)
    since = "" if last is None else f", the last time {ago(last, now)}"
    return f"{count(len(late), 'source')} not looked at for too long, and well when they were{since}"


def _style(health: SourceHealth) -> str:
    if not is_healthy(health):
        return "bad"
    return "warn" if health.last_error or health.last_outcome is None else "good"
