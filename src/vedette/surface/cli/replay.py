"""`replay`: decides again from the record, and compares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from vedette.operations.arguments import a_moment
from vedette.operations.replay import Replayed, replay_json
from vedette.operations.replay import replay as decide_again
from vedette.report.plain import moment
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

SHOWN = 20  # differences that are listed in full


def register(app: typer.Typer) -> None:
    verb(app, "replay", example="vedette replay\nvedette replay --since 7d --json")(replay)


def replay(
    session: Session,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="Only decisions about this URL.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
) -> None:
    """Decide again from the record, and compare.

    From the inputs on record and under the rules of their run.

    Recomputed are due times, retries, classifications and verdicts; what a page or a lane has to be asked
    for is counted only.  Exit 0 when every decision comes out as it was recorded, 6 when not.
    """
    start = a_moment(since, "--since", session.now())
    with session.out.progress("deciding again") as progress:
        result = decide_again(session.installation, url, since=start, progress=progress)
    _say(session, result)
    if result.differences:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _say(session: Session, result: Replayed) -> None:
    out = session.out
    if session.given.as_json:
        out.document(replay_json(result))
        return
    out.table(("DECISION", "AGREED", "DIFFERING"), _rows(result), empty="nothing was decided yet")
    if result.not_recomputed:
        others = ", ".join(f"{count} {action}" for action, count in sorted(result.not_recomputed.items()))
        out.note(f"not recomputed, since they follow from what was seen: {others}")
    for one in result.differences[:SHOWN]:
        out.say(f"{moment(one.row.at)} {one.action}: {one.words}")
    if len(result.differences) > SHOWN:
        out.note(f"and {len(result.differences) - SHOWN} more; --json lists them all")


def _rows(result: Replayed) -> Iterator[tuple[str, str, str]]:
    for action in sorted({*result.agreed, *result.differing}):
        yield action, str(result.agreed[action]), str(result.differing[action])
