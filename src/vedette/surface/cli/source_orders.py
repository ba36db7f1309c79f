"""What an operator says of one source or page, by id or by URL: pause, resume, remove, mute, unmute, note."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.operations import source_orders as orders
from vedette.operations.arguments import a_duration
from vedette.operations.source_orders import FOREVER, SourceOrdered
from vedette.report.plain import count, when
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

WordArgument = Annotated[
    str, typer.Argument(metavar="ID|URL", help="A source, as `vedette sources` shows it, or a page.")
]


def register(app: typer.Typer) -> None:
    verb(app, "pause", example="vedette pause https://example.org/rules\nvedette pause example-news")(pause)
    verb(app, "resume", example="vedette resume https://example.org/rules")(resume)
    verb(app, "remove", example="vedette remove https://example.org/rules")(remove)
    verb(app, "mute", example="vedette mute https://example.org/rules --for 3d")(mute)
    verb(app, "unmute", example="vedette unmute https://example.org/rules")(unmute)
    verb(app, "note", example='vedette note https://example.org/rules "ask Ana before calling them"')(note)


def pause(session: Session, what: WordArgument) -> None:
    """Look at it no more until it is resumed.

    Whatever vedette.yaml says, and however often it is restarted.  A source with all its pages, or one page: one that
    a listing found becomes a source of its own.
    """
    _say(session, orders.pause_source(session.installation, what), "paused", "stopped")


def resume(session: Session, what: WordArgument) -> None:
    """Schedule it again.

    One that vedette.yaml calls not active rests again with the next run: change it there.
    """
    _say(session, orders.resume_source(session.installation, what), "resumed", "scheduled")


def reset(session: Session, what: WordArgument) -> None:
    """Forget its failures and the trap budgets it has used; read its listing now."""
    _say(session, orders.reset_source(session.installation, what), "reset", "")


def remove(session: Session, what: WordArgument) -> None:
    """Stop watching it; its history stays.

    Visits, changes and evidence are kept.  A source of vedette.yaml comes back with the next run: take it out there.
    """
    done = orders.remove_source(session.installation, what)
    _say(session, done, "removed", "stopped; its history stays")
    if done.comes_back:
        session.out.note("it stands in vedette.yaml and comes back with the next run: take it out there")


def mute(
    session: Session,
    what: WordArgument,
    for_: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="2h, 3d, 2w.  [default: until it is unmuted]"),
    ] = None,
) -> None:
    """Tell nobody of its changes for a while.

    It is looked at as before, and its changes are recorded: `vedette changes` shows them.  Alerts about a host that
    does not answer are not its own and go on.
    """
    now = session.now()
    try:
        until = FOREVER if for_ is None else now + a_duration(for_, "--for")
    except OverflowError as error:
        raise InputError(f"--for: {error}") from None
    done = orders.mute_source(session.installation, what, until)
    words = "until it is unmuted" if until == FOREVER else f"until {when(until, now)}"
    _say(session, done, "muted", f" {words}: its changes are recorded and not told")


def unmute(session: Session, what: WordArgument) -> None:
    """Tell of its changes again.  What changed meanwhile is not told of afterwards."""
    done = orders.mute_source(session.installation, what, None)
    _say(session, done, "unmuted", ": its changes are told again")


def note(
    session: Session,
    what: WordArgument,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="Empty: the note goes.")],
) -> None:
    """A note of your own on a source or a page.

    `vedette explain` and `vedette sources --json` show it.  It stays whatever vedette.yaml says of the source.
    """
    text = " ".join(words.split())
    done = orders.note_source(session.installation, what, text)
    _say(session, done, "noted" if text else "without a note", "")


def _say(session: Session, done: SourceOrdered, word: str, after: str) -> None:
    """`after`: what is said behind the word; of something that was done to watches, what that was."""
    number = done.watches
    more = after if number is None else f", {count(number, 'watch', 'watches')} {after}"
    body = {"source": done.source, "done": word, "watches": number}
    session.out.answer(f"{done.source} {word}{more}", body)
