"""The provider panel: the group, and what reads its batches or stops them."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.core.panel.compare import Match
from vedette.operations.panel_batches import (
    batch_status,
    compare_tables,
    domain_answers,
    panel_drift,
    stop_batches,
)
from vedette.report.panel import comparison_json, drift_json, view_json
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.panel_text import answers_lines, comparison_lines, drift_lines, view_lines
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

ModelOption = Annotated[
    list[str] | None, typer.Option("--model", metavar="NAME", help="Only of this provider; may be repeated.")
]
BatchArgument = Annotated[str | None, typer.Argument(metavar="[BATCH]", help="[default: the last one]")]
HOMES = {
    "plan": "panel_runs",
    "run": "panel_runs",
    "status": "",
    "resume": "panel_runs",
    "kill": "",
    "compare": "",
    "answers": "",
    "demo": "panel_demo",
    "drift": "",
    "models": "panel_models",
}


def register(app: typer.Typer) -> None:
    panel = group("panel", example="vedette panel models", homes=HOMES)(panel_)
    verb(panel, "status", example="vedette panel status\nvedette panel status --json")(status)
    verb(panel, "kill", example="vedette panel kill")(kill)
    verb(panel, "compare", example="vedette panel compare domain_responses_shadow")(compare)
    verb(
        panel,
        "answers",
        example="vedette panel answers hgk.hr\nvedette panel answers hgk.hr --model cohere --json",
    )(answers)
    verb(panel, "drift", example="vedette panel drift")(drift)
    app.add_typer(panel)


def panel_() -> None:
    """Ask many models about many domains: plan, run, compare."""


def status(session: Session, batch: BatchArgument = None) -> None:
    """How far a batch has come, by provider, and what it dropped."""
    view = batch_status(session.installation, batch)
    if session.given.as_json:
        session.out.document(view_json(view))
    else:
        view_lines(session.out, view, session.now())


def kill(
    session: Session,
    batch: BatchArgument = None,
    every: Annotated[bool, typer.Option("--all", help="Every batch that runs on this database.")] = False,
) -> None:
    """Stop new calls within a second.  What is under way ends; `panel resume` goes on."""
    stopped = stop_batches(session.installation, batch, every=every)
    if session.given.as_json:
        session.out.document({"stopped": stopped})
    elif stopped:
        session.out.say(f"{stopped} stopped: no new call starts")
    else:
        session.out.note("no batch is running")


def compare(
    session: Session,
    shadow: Annotated[str, typer.Argument(metavar="SHADOW", help="The table that shadows.")],
    legacy: Annotated[str, typer.Argument(metavar="[LEGACY]")] = "domain_responses",
    tolerated: Annotated[
        float, typer.Option("--tolerated", min=0.0, max=0.5, help="Share of diverging rows that is normal.")
    ] = 0.005,
) -> None:
    """Whether shadow rows and legacy rows agree materially.

    The cohort is what the shadow run asked about.  Rows are paired by domain, model and prompt type; the answer is an
    exact test.  Exit 6 when they differ.
    """
    found = compare_tables(session.installation, shadow, legacy, tolerated=tolerated)
    if session.given.as_json:
        session.out.document(comparison_json(found))
    else:
        comparison_lines(session.out, found)
    if found.match is Match.DIFFER:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def answers(
    session: Session,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN")],
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="BATCH", help="[default: the last one that asked about it]"),
    ] = None,
    model: ModelOption = None,
    every: Annotated[bool, typer.Option("--all", help="Of all batches.")] = False,
) -> None:
    """What the providers answered about a domain.  Cells without an answer say how they ended."""
    found = domain_answers(session.installation, domain, batch=batch, models=model or (), every=every)
    if session.given.as_json:
        session.out.document({"domain": found.domain, "answers": found.rows})
    else:
        answers_lines(session.out, found.rows, found.domain)


def drift(
    session: Session,
    batch: BatchArgument = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="BATCH", help="[default: the one before]")
    ] = None,
) -> None:
    """Whether a model changed, or the world: agreement of repeats, and canaries against the batch before.

    Prompts with `canary: true` have answers that the world cannot change.  Exit 6 when a model changed.
    """
    found = panel_drift(session.installation, batch, before)
    if session.given.as_json:
        session.out.document(drift_json(found.batch, found.before, found.models))
    else:
        drift_lines(session.out, found.models, has_before=found.before is not None)
    if found.is_any_changed:
        raise typer.Exit(Exit.FOUND_PROBLEMS)
