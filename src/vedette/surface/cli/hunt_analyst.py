"""`hunt analyse`: reports about the oddest findings, by a model or by the offline analyst."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.findings import OFFLINE
from vedette.operations.hunt_analyst import AnalysisRequest, AnalystRun, analysis, analyst_json
from vedette.report.plain import count, plain
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

SAID = ("SCORE", "URL", "SAYS", "BY")


def register(app: typer.Typer) -> None:
    verb(app, "analyse", example="vedette hunt analyse --budget 0.50 --limit 10")(analyse)


def analyse(
    session: Session,
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="NAME", help="Provider to ask.  [default: the first with a key]"),
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0.0, metavar="USD", help="It may cost so much at most.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, metavar="N", help="Pages at most.")] = 20,
    again: Annotated[bool, typer.Option("--again", help="Also pages that have a report.")] = False,
) -> None:
    """Report on findings that are worth asking a model about (action llm).

    At most three calls for a page, through the lanes of the panel.  Every quote of an answer must stand in the stored
    text.  Without a key, without money, or where no answer counts, the offline analyst does it and says so.
    """
    asked = AnalysisRequest(model=model, budget=budget, most=limit, again=again)
    done = analysis(session.installation, asked)
    if session.given.as_json:
        session.out.document(analyst_json(done))
        return
    _say(session, done)


def _say(session: Session, done: AnalystRun) -> None:
    rows = [
        (f"{one.score:.0f}", one.url, plain(kept.report.summary, 90), kept.report.author)
        for one, kept in done.reports
    ]
    session.out.table(SAID, rows, empty="no finding is worth asking a model about, or all have a report")
    if not done.reports:
        return
    if done.model is None:
        session.out.say(f"no provider has a key: {count(done.offline, 'report')} by the offline analyst")
        return
    session.out.say(
        f"{count(len(done.reports), 'report')}, {done.offline} of them by the {OFFLINE} analyst; "
        f"{count(done.calls, 'call')}, at most {done.usd:.4f} USD (worst case {done.worst_usd:.4f})"
    )
    notes = {kept.report.note for _, kept in done.reports if kept.report.author == OFFLINE}
    for note in sorted(notes)[:3]:
        session.out.note(note)
