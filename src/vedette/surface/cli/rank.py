"""Which URLs first?  rank: the score of spec 002 over a file.  No store, no configuration, no network."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import datetime
from itertools import count, islice
from typing import IO, TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.priority.score import NAMES
from vedette.core.text.nearest import unknown
from vedette.operations.arguments import a_moment
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.core.priority.score import ScoredUrl
    from vedette.operations.formats.signals import Gathered

TOLD = 5  # bad rows named in an error; all are counted
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
    from vedette.core.priority.score_columns import score_columns

    at = a_moment(now, "--now", session.now()) or session.now()
    gathered = _gather(session, file, form, at)
    if gathered.bad and not skip_bad:
        raise InputError(_bad_rows(gathered))
    scores = score_columns(gathered.rows.columns(), now=at)
    order = scores.order(top=top or None, min_score=min_score)
    ranked = (scores.scored(int(row), gathered.urls[row]) for row in order)
    if session.given.as_json:
        _print_json(session, gathered, at, ranked)
        return
    _print_text(session, ranked)
    _note(session, gathered, len(order))


def _gather(session: Session, file: str, form: str, now: datetime) -> Gathered:
    from vedette.operations.formats.signals import FORMS, read_signals

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


def _print_json(session: Session, gathered: Gathered, now: datetime, ranked: Iterator[ScoredUrl]) -> None:
    """One document, written as it is made: a million rows never stand in memory."""
    from vedette.report.plain import dump

    head = {
        "now": now,
        "rows": len(gathered.urls),
        "bad": gathered.bad,
        "problems": [{"line": line, "why": why} for line, why in gathered.problems],
        "not_used": list(gathered.not_used),
        "repeated": _repeated(gathered),
    }
    session.out.text(dump(head)[:-1] + ', "ranked": [')
    mark = "\n  "
    while rows := [dump(one.as_mapping()) for one in islice(ranked, EVERY)]:
        session.out.text(mark + ",\n  ".join(rows))
        mark = ",\n  "
    session.out.text("\n]}\n")


def _print_text(session: Session, ranked: Iterator[ScoredUrl]) -> None:
    head = f"SCORE  {'LEVEL':<9}  URL  REASONS\n"
    while rows := list(islice(ranked, EVERY)):
        session.out.text(head + "".join(map(_line, rows)))
        head = ""


def _line(one: ScoredUrl) -> str:
    from vedette.report.plain import plain

    words = ", ".join(one.reasons) or "-"
    return f"{one.score:>5}  {one.level.name:<9}  {plain(one.url)}  {words}\n"


def _note(session: Session, gathered: Gathered, shown: int) -> None:
    if not gathered.urls:
        session.out.note("there are no URLs to rank")
    elif shown < len(gathered.urls):
        session.out.note(f"{shown} of {len(gathered.urls)}")
    if gathered.bad:
        session.out.note(f"{gathered.bad} rows left out: {_told(gathered)}")
    if gathered.not_used:
        session.out.note(f"not used: {', '.join(map(_strange, gathered.not_used))}")
    if repeated := _repeated(gathered):
        session.out.note(f"{repeated} rows repeat a URL; each is ranked by its own signals")


def _bad_rows(gathered: Gathered) -> str:
    rows = gathered.bad + len(gathered.urls)
    return (
        f"{gathered.bad} of {rows} rows cannot be used, nothing was ranked (--skip-bad ranks the others): "
        f"{_told(gathered)}"
    )


def _told(gathered: Gathered) -> str:
    words = "; ".join(f"line {line}: {why}" for line, why in gathered.problems[:TOLD])
    return words + (f"; and {gathered.bad - TOLD} more" if gathered.bad > TOLD else "")


def _repeated(gathered: Gathered) -> int:
    return len(gathered.urls) - len(set(gathered.urls))


def _strange(name: str) -> str:
    """A name that means nothing to us, and what it may have been meant to be."""
    import difflib

    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.75)
    return f"{name} (did you mean {near[0]}?)" if near else name
