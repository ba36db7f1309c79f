"""What is worked out over all pages that hunts saw: the isolation forest, and which pages are near to each other."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from vedette.operations.hunt_forest import grow
from vedette.operations.hunt_vectors import export_vectors, similar, vectors_kept
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, UrlArgument, verb

NEAR = ("LIKENESS", "SCORE", "ACTION", "URL")


def register(app: typer.Typer) -> None:
    verb(app, "forest", example="vedette hunt forest")(forest)
    verb(app, "similar", example="vedette hunt similar https://example.org/~ana/")(similar_)
    verb(app, "vectors", example="vedette hunt vectors --export pages.faiss")(vectors)


def forest(session: Session) -> None:
    """Grow an isolation forest over what hunts saw, as one more feature.

    It counts from the next run on, and in `hunt rescore`, where `hunt.isolation_forest` is true.  The same pages give
    the same forest.  Needs the extra `ml`; scores that it takes part in do not.
    """
    done = grow(session.installation)
    then = "from the next run on" if done.is_on else "once hunt.isolation_forest is true"
    session.out.answer(
        f"a forest of {count(done.pages, 'page')}, by {done.by}: weights {done.weights} {then}", asdict(done)
    )


def similar_(
    session: Session,
    url: UrlArgument,
    limit: LimitOption = 10,
    findings: Annotated[bool, typer.Option("--findings", help="Only among findings.")] = False,
) -> None:
    """Pages whose words are nearest to those of a page that a hunt looked at.

    Near means alike in wording, in any language; 1 is the same words.  Nothing is fetched and no model is asked.
    """
    found = similar(session.installation, url, most=limit or 1_000_000, only_findings=findings)
    if session.given.as_json:
        session.out.document([asdict(one) for one in found])
        return
    rows = [(f"{one.likeness:.2f}", f"{one.score:.0f}", one.action, one.url) for one in found]
    session.out.table(NEAR, rows, empty="no other page was looked at yet; `vedette hunt run` looks further")


def vectors(
    session: Session,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="FILE", help="Write them as FILE.faiss or FILE.npz.")
    ] = None,
) -> None:
    """How many vectors of pages are kept, or write them for another program.

    FILE.faiss is an index of FAISS (the extra `vector`); FILE.faiss.jsonl says which id is which page.
    """
    if export is None:
        kept = vectors_kept(session.installation)
        words = (
            f"{count(kept.pages, 'page')} by {kept.index}, {kept.dimensions} numbers each, {kept.embedding}"
        )
        session.out.answer(words, asdict(kept))
        return
    done = export_vectors(session.installation, export)
    beside = f", their pages in {done.names}" if done.names else ""
    session.out.answer(f"{done.file}: {count(done.pages, 'vector')}{beside}", asdict(done))
