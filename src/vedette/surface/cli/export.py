"""What is watched, for other tools: export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, RefusedError
from vedette.core.text.nearest import unknown
from vedette.surface.cli.configured_sources import not_taken_in
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.contracts.source import Source
    from vedette.contracts.watch import Watch
    from vedette.core.priority.score import UrlSignals

WHAT = ("sources", "watches", "signals")
EXAMPLE = """vedette export --format csv > sources.csv
vedette export --what signals --format jsonl | vedette rank - --top 20"""


def register(app: typer.Typer) -> None:
    verb(app, "export", example=EXAMPLE)(export)


def export(
    session: Session,
    form: Annotated[str, typer.Option("--format", help="csv, jsonl, opml, yaml or urls.")] = "csv",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="A new file.  [default: stdout]")
    ] = None,
    what: Annotated[
        str, typer.Option("--what", help="sources, watches (every known URL), or signals (for `rank`).")
    ] = "sources",
) -> None:
    """Give the sources to other tools.

    `vedette import` reads every format back; `vedette rank` reads the signals (csv, jsonl).  Cells that a spreadsheet
    would run are neutralised.
    """
    if what not in WHAT:
        raise InputError(f"--what: {unknown('kind of export', what, WHAT)}")
    chosen = "jsonl" if session.given.as_json and form == "csv" else form
    text, count = _signals(session, chosen) if what == "signals" else _sources(session, chosen, what)
    if to is None:
        session.out.text(text)
        return
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise RefusedError(f"{to} exists; name another file") from None
    except OSError as error:
        raise InputError(f"cannot write {to}: {error.strerror}") from None
    session.out.note(f"{count} {what} written to {to}")


def _sources(session: Session, form: str, what: str) -> tuple[str, int]:
    from vedette.surface.cli.formats import write

    sources = _all_sources(session) if what == "sources" else _watches_as_sources(session)
    return write(sources, form), len(sources)


def _signals(session: Session, form: str) -> tuple[str, int]:
    """What `vedette rank` scores, of every URL that is watched."""
    from vedette.store.views import WatchFilter
    from vedette.surface.cli.formats.signals import WRITERS

    if form not in WRITERS:
        raise InputError(f"--format: signals are written as {' or '.join(WRITERS)}, not {form!r}")
    with session.queries() as queries:
        rows = [_signals_of(watch) for watch in queries.watches(WatchFilter(only_kept=True))]
    return WRITERS[form](rows), len(rows)


def _signals_of(watch: Watch) -> UrlSignals:
    """002's fields, as the store knows them.  Nothing here judges topics, so `topic_relevance` is left at 0."""
    from vedette.contracts.words import NodeType
    from vedette.core.priority.score import UrlSignals

    return UrlSignals(
        url=watch.url,
        visits=watch.scan_count,
        last_visited=watch.last_visit_at,
        last_changed=watch.last_changed_at,
        hub_depth=watch.depth,
        is_hub=watch.node_type is NodeType.HUB,
    )


def _all_sources(session: Session) -> list[Source]:
    with session.queries() as queries:
        found = [view.source for view in queries.sources()]
    return sorted([*found, *not_taken_in(session)], key=lambda source: source.id)


def _watches_as_sources(session: Session) -> list[Source]:
    from vedette.contracts.source import ListerKind, Source
    from vedette.contracts.words import SourceId
    from vedette.store.views import WatchFilter
    from vedette.surface.cli.formats.entry import slug_of

    with session.queries() as queries:
        asking = queries.asking()
        return [
            Source(
                id=SourceId(slug_of(watch.url)),
                name=watch.title or slug_of(watch.url),
                url=watch.url,
                lister=watch.lister or ListerKind.PAGE,
                risk=watch.risk,
                every=asking[watch.url].every if watch.url in asking else None,
                scrape_frequency=asking[watch.url].scrape_frequency if watch.url in asking else None,
            )
            for watch in queries.watches(WatchFilter())
        ]
