"""Watches and single URLs: list, due, history."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from vedette.contracts.watch import Visit
from vedette.operations.arguments import a_duration, a_risk, an_outcome
from vedette.operations.imported_history import imported_json, imported_versions
from vedette.operations.list_pages import watch_page
from vedette.operations.watches import history_of, watched_host, watches_json
from vedette.report.plain import moment, plain
from vedette.report.verdicts import changed_words, visit_json
from vedette.store.views import WatchFilter
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import CursorOption, LimitOption, SourceOption, TagOption, verb
from vedette.surface.cli.watch_table import note_not_taken_in, show_watches

RiskOption = Annotated[str | None, typer.Option("--risk", help="CRITICAL, HIGH, MEDIUM or LOW.")]


def register(app: typer.Typer) -> None:
    verb(app, "list", example="vedette list --risk critical\nvedette list --host example.org --json")(list_)
    verb(app, "due", example="vedette due --within 4h")(due)
    verb(app, "history", example="vedette history https://example.org/rules")(history)


def list_(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Part of a URL or a title.")] = None,
    source: SourceOption = None,
    host: Annotated[str | None, typer.Option("--host", help="Only of this host.")] = None,
    risk: RiskOption = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Only with this last outcome.")] = None,
    tag: TagOption = None,
    listings: Annotated[bool, typer.Option("--listings", help="Only those that list others.")] = False,
    limit: LimitOption = 100,
    cursor: CursorOption = None,
) -> None:
    """Watches, with risk, last outcome and due time."""
    installation = session.installation
    installation.check_source(source)
    which = WatchFilter(
        source=source,
        host=None if host is None else watched_host(installation, host),
        risk=a_risk(risk, "--risk"),
        outcome=an_outcome(outcome, "--outcome"),
        text=text,
        only_listings=listings,
        sources=installation.tagged(tag),
        only_kept=True,
    )
    _show_watches(session, which, (limit, cursor), empty="no watch fits; `vedette add URL` makes one")


def due(
    session: Session,
    within: Annotated[
        str | None, typer.Option("--within", help="Also what is due within 30m, 4h, ...")
    ] = None,
    source: SourceOption = None,
    risk: RiskOption = None,
    limit: LimitOption = 100,
    cursor: CursorOption = None,
) -> None:
    """What is due now, most overdue first."""
    session.installation.check_source(source)
    ahead = timedelta(0) if within is None else a_duration(within, "--within")
    which = WatchFilter(
        source=source, risk=a_risk(risk, "--risk"), due_before=session.now() + ahead, by_due=True
    )
    _show_watches(session, which, (limit, cursor), empty="nothing is due")


def history(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL")],
    limit: LimitOption = 50,
) -> None:
    """Every look at a URL, newest first.

    Behind the looks stand the versions that were imported from another program; they are no evidence.
    """
    found = history_of(session.installation, url, limit)
    imported = imported_versions(session.installation, url)
    if session.given.as_json:
        visits = [visit_json(visit, found.changes) for visit in found.visits]
        past = {"imported": [imported_json(one) for one in imported]} if imported else {}
        session.out.document({"url": found.watch.url, "visits": visits, **past})
        return
    heads = ("AT", "OUTCOME", "STATUS", "SECONDS", "CHANGED", "CHARS", "DIGEST", "DETAIL")
    rows = [_visit_cells(visit, found.changes.get(visit.id, (0, None))[1]) for visit in found.visits]
    rows += [
        (moment(one.at), "imported", "", "", "", str(one.chars), "", f"from {one.origin}; no evidence")
        for one in imported
    ]
    least = ("SECONDS", "CHARS", "STATUS")
    session.out.table(heads, rows, empty=f"{found.watch.url} was never looked at", least=least)


def _show_watches(session: Session, which: WatchFilter, part: tuple[int, str | None], *, empty: str) -> None:
    page = watch_page(session.installation, which, *part)
    found = page.found
    if session.given.as_json:
        session.out.document({"watches": watches_json(found), "total": found.total, "next": page.after})
        return
    note_not_taken_in(session)
    show_watches(session, found, empty=empty)
    unseen, shown = found.unseen, len(found.watches)
    if unseen:
        words = "was" if len(unseen) == 1 else "were"
        session.out.note(
            f"{len(unseen)} of {shown} {words} not seen at the last look; "
            f"vedette why-not {unseen[0].url} says why and what to do"
        )
    if found.total > shown:
        session.out.note(f"{shown} of {found.total}; --limit 0 shows all")


def _visit_cells(visit: Visit, change: int | None) -> tuple[Cell, ...]:
    """`change`: the number of the one that this look was the first to show."""
    return (
        moment(visit.at),
        visit.outcome.value,
        str(visit.status or "-"),
        f"{visit.took.total_seconds():.3f}",
        ("mark", changed_words(visit, change) or "-"),
        "-" if visit.text_chars is None else str(visit.text_chars),
        visit.digest.hex()[:12] if visit.digest else "-",
        plain(visit.detail, 80),
    )
