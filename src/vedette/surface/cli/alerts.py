"""What is in trouble, and who was told: health, alerts."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.surface.cli.configured_sources import note_not_taken_in
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, group, verb

if TYPE_CHECKING:
    from vedette.contracts.alerts import Alert, SourceHealth
    from vedette.store.outbox import WaitingNotice
    from vedette.surface.cli.output import Cell

NumberArgument = Annotated[int, typer.Argument(metavar="ALERT", help="As `vedette alerts list` shows it.")]


def register(app: typer.Typer) -> None:
    verb(app, "health", example="vedette health\nvedette health --check --json")(health)
    alerts = group("alerts", example="vedette alerts\nvedette alerts ack 7", default=alerts_list)(alerts_)
    verb(alerts, "list", example="vedette alerts list --all --json")(alerts_list)
    verb(alerts, "show", example="vedette alerts show 7")(alerts_show)
    verb(alerts, "ack", example='vedette alerts ack 7 --note "called the ministry"')(alerts_ack)
    verb(alerts, "outbox", example="vedette alerts outbox\nvedette alerts outbox --resend")(alerts_outbox)
    verb(alerts, "test", example="vedette alerts test ops")(alerts_test)
    app.add_typer(alerts)


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
    from vedette.config.alert_policies import router, watchdog_params
    from vedette.core.health.source_health import is_healthy

    now, config = session.now(), session.loaded.config
    if raise_:
        from vedette.engine.service.watchdog import check_health

        with session.operating() as db:
            params, route = watchdog_params(config), router(config, session.clock)
            found = check_health(db, now=now, params=params, route=route).healths
    else:
        found = _healths(session)
    _print_health(session, found)
    if check and not all(map(is_healthy, found)):
        raise typer.Exit(Exit.FOUND_PROBLEMS)


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
    from vedette.report.health import alert_json, alert_state
    from vedette.store.alerts import alert_list
    from vedette.store.sqlite import connect

    now = session.now()
    with closing(connect(session.store(), read_only=True)) as db:
        found = alert_list(db, only_open=not every, most=limit)
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
    from vedette.contracts.alerts import AlertId
    from vedette.store.alerts import alert
    from vedette.store.sqlite import connect

    with closing(connect(session.store(), read_only=True)) as db:
        found = alert(db, AlertId(number))
    _print_alert(session, number, found)


def alerts_ack(
    session: Session,
    number: NumberArgument,
    note: Annotated[str, typer.Option("--note", help="For whoever reads it later.")] = "",
) -> None:
    """Say that someone has seen it.  The alert stays open until the subject has recovered."""
    from vedette.contracts.alerts import AlertId
    from vedette.store.alerts import ack_alert

    with session.operating() as db:
        found = ack_alert(db, AlertId(number), note=note, now=session.now())
    _print_alert(session, number, found)


def alerts_outbox(
    session: Session,
    every: Annotated[bool, typer.Option("--all", help="Also what was sent.")] = False,
    resend: Annotated[bool, typer.Option("--resend", help="Try everything that is parked again.")] = False,
    limit: LimitOption = 100,
) -> None:
    """What waits to be sent, and what could not be.

    A running engine sends what is waiting; what is parked used up its attempts, or was refused for good.
    """
    from vedette.store import outbox
    from vedette.store.sqlite import connect

    if resend:
        with session.operating() as db:
            count = outbox.resend(db, now=session.now())
        session.out.note(f"{count} messages will be tried again")
    states = ("waiting", "digest", "parked", *(("sent",) if every else ()))
    with closing(connect(session.store(), read_only=True)) as db:
        found = outbox.listing(db, states=states, most=limit)
    if session.given.as_json:
        session.out.document({"outbox": [_waiting_json(one) for one in found]})
        return
    heads = ("STATE", "CHANNEL", "DUE", "ATTEMPTS", "NOTICE", "ERROR")
    session.out.table(heads, (_waiting_cells(one) for one in found), empty="nothing waits to be sent")


def alerts_test(
    session: Session,
    channel: Annotated[str, typer.Argument(metavar="CHANNEL", help="A name under notify.channels.")],
) -> None:
    """Send a test to one channel now, past outbox and budget.  Exit 1 when it does not arrive."""
    from vedette.app.channels import send_test
    from vedette.contracts.words import Outcome

    delivery = send_test(session.loaded.config, channel, clock=session.clock)
    is_told = delivery.outcome is Outcome.OK
    if session.given.as_json:
        body = {"channel": channel, "outcome": delivery.outcome.value, "detail": delivery.detail}
        session.out.document(body)
    else:
        words = delivery.detail or delivery.outcome.value
        session.out.say(f"{channel}: {'delivered' if is_told else f'not delivered, {words}'}")
    if not is_told:
        raise typer.Exit(Exit.FAILED)


def _waiting_json(one: WaitingNotice) -> dict[str, object]:
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


def _waiting_cells(one: WaitingNotice) -> tuple[Cell, ...]:
    from vedette.report.plain import moment

    state: Cell = ("bad", one.state) if one.state == "parked" else one.state
    due = moment(one.message.due_at)
    count = str(one.message.attempts)
    return (state, one.message.channel, due, count, one.message.notice.title, one.error)


def _healths(session: Session) -> tuple[SourceHealth, ...]:
    from vedette.config.alert_policies import watchdog_params
    from vedette.engine.service.watchdog import look_at_health
    from vedette.store.sqlite import connect

    with closing(connect(session.store(), read_only=True)) as db:
        params = watchdog_params(session.loaded.config).health
        return look_at_health(db, now=session.now(), params=params)


def _print_health(session: Session, found: tuple[SourceHealth, ...]) -> None:
    from vedette.core.health.source_health import is_healthy
    from vedette.report.health import health_json, trouble, trouble_json, what_to_do
    from vedette.report.plain import ago
    from vedette.surface.cli.doctor import ahead_words, clock_ahead

    left = clock_ahead(session)
    if session.given.as_json:
        healthy = all(map(is_healthy, found))
        sick = [trouble_json(one) for one in found if not is_healthy(one)]
        endpoints = [health_json(one) for one in found]
        clock = ahead_words(left) if left.is_any else None
        session.out.document({"healthy": healthy, "endpoints": endpoints, "trouble": sick, "clock": clock})
        return
    now = session.now()
    rows = (
        (
            (_style(one), trouble(one)),
            one.id,
            one.host,
            one.tier.name,
            "never" if one.last_success_at is None else ago(one.last_success_at, now),
            one.last_error,
        )
        for one in found
    )
    heads = ("HEALTH", "SOURCE", "HOST", "TIER", "LAST SUCCESS", "LAST ERROR")
    session.out.table(heads, rows, empty="no active sources; `vedette add URL` makes one")
    note_not_taken_in(session)
    for one in found:
        if not is_healthy(one) and what_to_do(one):
            session.out.note(f"{one.id}: {what_to_do(one)}")
    if left.is_any:
        session.out.note(f"{ahead_words(left)}; `vedette doctor --heal` mends it, and so does the next run")


def _style(health: SourceHealth) -> str:
    from vedette.core.health.source_health import is_healthy

    if not is_healthy(health):
        return "bad"
    return "warn" if health.last_error or health.last_outcome is None else "good"


def _print_alert(session: Session, number: int, found: Alert | None) -> None:
    from vedette.report.health import alert_json, alert_text

    if found is None:
        raise InputError(f"there is no alert {number}; `vedette alerts list --all` shows them")
    if session.given.as_json:
        session.out.document(alert_json(found))
        return
    for line in alert_text(found, session.now()):
        session.out.say(line)
