"""What is worked out over all pages that hunts saw: the isolation forest."""

from __future__ import annotations

from dataclasses import asdict

import typer

from vedette.operations.hunt_forest import grow
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb


def register(app: typer.Typer) -> None:
    verb(app, "forest", example="vedette hunt forest")(forest)


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
