"""What is in trouble: health."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.alerts import SourceHealth
from vedette.core.health.source_health import is_healthy
from vedette.operations.health import HealthReport, ahead_words, health_report_json, source_health
from vedette.report.health import trouble, what_to_do
from vedette.report.plain import ago
from vedette.surface.cli.configured_sources import note_not_taken_in
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "health", example="vedette health\nvedette health --check --json")(health)


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
    )
    heads = ("HEALTH", "SOURCE", "HOST", "TIER", "LAST SUCCESS", "LAST ERROR")
    session.out.table(heads, rows, empty="no active sources; `vedette add URL` makes one")
    note_not_taken_in(session)
    for one in found.sources:
        if not is_healthy(one) and what_to_do(one):
            session.out.note(f"{one.id}: {what_to_do(one)}")
    if found.clock.is_any:
        words = ahead_words(found.clock)
        session.out.note(f"{words}; `vedette doctor --heal` mends it, and so does the next run")


def _style(health: SourceHealth) -> str:
    if not is_healthy(health):
        return "bad"
    return "warn" if health.last_error or health.last_outcome is None else "good"
