"""`rank`: scores the URLs of a file.  No store, no configuration, no network."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from itertools import count, islice
from typing import IO, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.priority.score import NAMES, ScoredUrl
from vedette.core.text.nearest import unknown
from vedette.operations.arguments import a_moment
from vedette.operations.rank import (
    FORMS,
    Gathered,
    Ranking,
    RankQuestion,
    bad_row_words,
    rank_urls,
    ranking_head,
    read_signals,
)
from vedette.report.plain import dump, plain
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

EVERY = 2000  # rows between two moves of the bar, and in one write
_EXAMPLE = "vedette rank urls.jsonl --top 20\nvedette rank - --min-score 60 --json < urls.csv"


def register(app: typer.Typer) -> None:
    verb(app, "rank", example=_EXAMPLE)(rank)


def rank(
    session: Session,
    file: Annotated[str, typer.Argument(metavar="FILE", help="JSON lines or CSV, or - for stdin.")],
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="At most so many; 0: all.")] = 0,
    min_score: Annotated[
        int, typer.Option("--min-score", min=0, max=100, metavar="SCORE", help="Only this score and higher.")
    ] = 0,
    now: Annotated[
        str | None,
        typer.Option("--now", help="Score as of 2026-11-15T08:00Z, or of 24h ago.  [default: now]"),
    ] = None,
    form: Annotated[str, typer.Option("--format", help="auto, jsonl or csv.")] = "auto",
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Rank the other rows when some cannot be used.")
    ] = False,
) -> None:
    """Rank URLs by what a look at them is worth, 0 to 100.

    Each with its reasons.

    Reads url, visits, last_visited, last_changed, topic_relevance, hub_depth and is_hub, or the same in camel case.
    Only url is required; a date that is absent has no points.  Other columns are named and not used.

    A row that cannot be used is named by its line and field, and nothing is ranked (exit 2), unless --skip-bad.
    """
    at = a_moment(now, "--now", session.now()) or session.now()
    gathered = _gather(session, file, form, at)
    asked = RankQuestion(now=at, top=top, min_score=min_score, skips_bad=skip_bad)
    found = rank_urls(gathered, asked)
    if session.given.as_json:
        _print_json(session, found)
        return
    _print_text(session, found)
    _note(session, found)


def _gather(session: Session, file: str, form: str, now: datetime) -> Gathered:
    if form not in FORMS:
        raise InputError(f"--format: {unknown('format', form, FORMS)}")
    is_stdin = file == "-"
    name = "stdin" if is_stdin else file
    try:
        with (
            nullcontext(sys.stdin.buffer) if is_stdin else open(file, "rb") as data,
            session.out.progress("reading") as progress,
        ):
            size = 0 if is_stdin else os.fstat(data.fileno()).st_size
            return read_signals(data, form, now=now, on_row=_bar(data, size, progress))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}") from None


def _bar(data: IO[bytes], size: int, progress: Callable[[int, int], None]) -> Callable[[], None]:
    """Called for every row; moves the bar where the size of the input is known."""
    rows = count(1)

    def on_row() -> None:
        if next(rows) % EVERY == 0 and size:
            progress(data.tell(), size)

    return on_row


def _print_json(session: Session, found: Ranking) -> None:
    """One document, written as it is made: a million rows never stand in memory."""
    ranked = iter(found)
    session.out.text(dump(ranking_head(found))[:-1] + ', "ranked": [')
    mark = "\n  "
    while rows := [dump(one.as_mapping()) for one in islice(ranked, EVERY)]:
        session.out.text(mark + ",\n  ".join(rows))
        mark = ",\n  "
    session.out.text("\n]}\n")


def _print_text(session: Session, found: Ranking) -> None:
    ranked: Iterator[ScoredUrl] = iter(found)
    head = f"SCORE  {'LEVEL':<9}  URL  REASONS\n"
    while rows := list(islice(ranked, EVERY)):
        session.out.text(head + "".join(map(_line, rows)))
        head = ""


def _line(one: ScoredUrl) -> str:
    words = ", ".join(one.reasons) or "-"
    return f"{one.score:>5}  {one.level.name:<9}  {plain(one.url)}  {words}\n"


def _note(session: Session, found: Ranking) -> None:
    gathered, shown = found.gathered, len(found.order)
    if not gathered.urls:
        session.out.note("there are no URLs to rank")
    elif shown < len(gathered.urls):
        session.out.note(f"{shown} of {len(gathered.urls)}")
    if gathered.bad:
        session.out.note(f"{gathered.bad} rows left out: {bad_row_words(gathered)}")
    if gathered.not_used:
        session.out.note(f"not used: {', '.join(map(_strange, gathered.not_used))}")
    if repeated := found.repeated:
        session.out.note(f"{repeated} rows repeat a URL; each is ranked by its own signals")


def _strange(name: str) -> str:
    """A name that means nothing to us, and what it may have been meant to be."""
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.75)
    return f"{name} (did you mean {near[0]}?)" if near else name
