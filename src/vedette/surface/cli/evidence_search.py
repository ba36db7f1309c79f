"""Full-text search: search."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.operations.search import SearchHit, index_evidence, search_json
from vedette.operations.search import search as search_evidence
from vedette.report.plain import Line, count, moment, plain
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

EXAMPLE = """vedette search pdv
vedette search '"stopa poreza" obrt* -carina'
vedette search --index"""
A_MOMENT = timedelta(seconds=3)  # that a search may spend on what is not in the index yet


def register(app: typer.Typer) -> None:
    verb(app, "search", example=EXAMPLE)(search)


def search(
    session: Session,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[WORD...]", help='Words; "side by side"; begun*; -unwanted.'),
    ] = None,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=500, metavar="N", help="At most so many pages.")
    ] = 20,
    index: Annotated[
        bool, typer.Option("--index", help="First take in all that is not in the index yet.")
    ] = False,
) -> None:
    """Pages that say it, in all evidence that is kept.

    The page that was seen last comes first, with the places that say it.  Large and small letters and marks on letters
    make no difference.  What was kept of late is in the index within seconds while `vedette serve` runs; otherwise a
    search takes it in, for some seconds at most, and says what still waits.
    """
    if not words and not index:
        raise InputError("write a word to look for, or --index")
    with session.out.progress("indexing") as progress:
        done = index_evidence(session.installation, limit=None if index else A_MOMENT, progress=progress)
    if not words:
        session.out.answer(
            f"{count(done.added, 'piece')} taken in", {"added": done.added, "dropped": done.dropped}
        )
        return
    found = search_evidence(session.installation, " ".join(map(_as_typed, words)), limit=limit)
    if session.given.as_json:
        session.out.document(search_json(found, done.waiting))
        return
    for hit in found.hits:
        session.out.lines(_lines(hit))
    if not found.hits:
        session.out.note("no page says it")
    if found.after is not None:
        session.out.note("there are more; --limit shows more")
    if done.waiting:
        session.out.note(
            f"{count(done.waiting, 'piece')} not in the index yet; `vedette search --index` takes them in"
        )


def _as_typed(word: str) -> str:
    """A shell takes the quotes away: words of one argument stand side by side."""
    return f'"{word}"' if " " in word and '"' not in word else word


def _lines(hit: SearchHit) -> list[Line]:
    older = f", and {count(hit.older, 'older version')}" if hit.older else ""
    head: Line = (("head", plain(hit.title or hit.evidence.url, 160)),)
    when = f"{moment(hit.evidence.at)}, evidence {hit.evidence.id}{older}"
    foot: Line = (("dim", f"  {plain(hit.evidence.url, 300)}  {when}"),)
    said = tuple(("added" if is_hit else "", _inner(text)) for is_hit, text in hit.parts)
    return [head, (("", "  "), *said), foot]


def _inner(text: str) -> str:
    """A part of a sentence: the spaces at its ends stay."""
    return f"{' ' * text.startswith(' ')}{plain(text, 400)}{' ' * text.endswith(' ')}"
