"""Sources: list, check, and the orders about one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from vedette.core.health.source_check import Checked, SourceFinding, is_offline
from vedette.core.urls.canonical import shown
from vedette.operations.sources import (
    ListedSource,
    checked_json,
    last_error,
    list_sources,
    remedy,
    source_json,
)
from vedette.report.plain import ago, count, plain
from vedette.store.views import SourceView
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.source_orders import pause, remove, reset, resume
from vedette.surface.cli.verb import TagOption, group, verb

STYLES = {"fine": "good", "moved": "warn", "not_looked": "dim"}
OFFLINE = "there is no network: none of the hosts could be reached, so nothing was checked"
FINE = (SourceFinding.FINE, SourceFinding.NOT_LOOKED)


def register(app: typer.Typer) -> None:
    sources = group("sources", example="vedette sources\nvedette sources pause news", default=sources_list)(
        sources_
    )
    verb(sources, "list", example="vedette sources list --json")(sources_list)
    verb(sources, "check", example="vedette sources check\nvedette sources check registry:croatia --json")(
        sources_check
    )
    for name, work in (("pause", pause), ("resume", resume), ("reset", reset), ("remove", remove)):
        verb(sources, name, example=f"vedette sources {name} news")(work)
    app.add_typer(sources)


def sources_() -> None:
    """What was configured: list, check, pause, resume, reset, remove."""


def sources_list(session: Session, tag: TagOption = None) -> None:
    """Every source, highest tier first.

    Says of a crawl or a list which pages under its address are watched by other sources: a page is watched once.
    """
    found, now = list_sources(session.installation, tag), session.now()
    if session.given.as_json:
        session.out.document({"sources": [source_json(one) for one in found]})
        return
    heads = ("ID", "TIER", "LISTER", "STATE", "WATCHES", "LAST SUCCESS", "URL")
    rows = (_source_cells(one.view, now) for one in found)
    least = ("LAST SUCCESS", "TIER", "LISTER")
    session.out.table(heads, rows, empty="no sources; `vedette add URL` makes one", least=least)
    for one in found:
        for words in _source_notes(one):
            session.out.note(f"{one.view.source.id}: {words}")


def sources_check(
    session: Session,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Sources, or registry:NAME.  [default: every source]"),
    ] = None,
) -> None:
    """Look at each source once and report what moved.

    Redirected, gone, another kind of listing, nothing listed.  Guard, robots.txt and lanes are obeyed as in a run;
    nothing is saved but how far the lanes are used.  Exit 0 when all are fine, 6 when some are not, 1 without network.
    """
    engine = session.engine()
    with session.out.progress("looking at sources") as progress:
        checked = engine.check_sources(session.installation, ids or [], progress=progress)
    offline = is_offline(checked)
    if session.given.as_json:
        session.out.document({"offline": offline, "sources": [checked_json(one) for one in checked]})
    elif offline:
        session.out.say(OFFLINE)
    else:
        heads = ("ID", "FOUND", "PROVENANCE", "WHAT")
        rows = map(_checked_cells, checked)
        session.out.table(heads, rows, empty="no sources; `vedette import` takes a list")
        session.out.note(_count(checked))
    if offline:
        raise typer.Exit(Exit.FAILED)
    if any(one.finding not in FINE for one in checked):
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _source_cells(view: SourceView, now: datetime) -> tuple[Cell, ...]:
    source, state = view.source, view.state
    word: Cell = ("good", "active") if source.is_active else ("warn", "paused")
    if source.is_active and state.closed_until is not None and state.closed_until > now:
        word = ("bad", f"closed, opens {ago(state.closed_until, now)}")
    elif source.is_active and last_error(view) and view.last_outcome is not None:
        word = ("bad", f"not seen: {view.last_outcome.value}")
    elif source.is_active and state.failures:
        word = ("warn", count(state.failures, "failure"))
    elif source.is_active and view.last_outcome is None:
        word = ("", "not looked at yet")
    if source.muted_until is not None and source.muted_until > now:
        word = (word[0], f"{word[1]}, muted")
    last = ago(view.last_success_at, now) if view.last_success_at else "never"
    return (
        source.id,
        source.tier.name,
        _lister_words(view),
        word,
        str(view.watches),
        last,
        shown(source.url),
    )


def _source_notes(one: ListedSource) -> list[str]:
    """What to do about it, and who else watches pages under its address."""
    words = []
    if one.view.source.is_active and remedy(one.view):
        words.append(f"{last_error(one.view)}. {remedy(one.view)}")
    if one.shares:
        names = ", ".join(f"{name} {number}" for name, number in one.shares.items())
        pages = count(sum(one.shares.values()), "page")
        words.append(f"{pages} under its address watched by other sources: {names}")
    return words


def _lister_words(view: SourceView) -> str:
    """`auto: feed` once `auto` has become something."""
    lister, read_as = view.source.lister.value, view.read_as
    return lister if lister != "auto" or read_as is None else f"auto: {read_as.value}"


def _checked_cells(one: Checked) -> tuple[Cell, ...]:
    word = one.finding.value
    return (
        one.look.source.id,
        (STYLES.get(word, "bad"), word),
        one.look.source.registered.provenance or "-",
        plain(one.words, 120),
    )


def _count(checked: Sequence[Checked]) -> str:
    counts = Counter(one.finding.value for one in checked)
    return ", ".join(f"{count} {word}" for word, count in counts.most_common())
