"""What an operator says of one source or page, by id or by URL: pause, resume, remove, mute, unmute, note."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.surface.cli.configured import not_taken_in, save_configured
from vedette.surface.cli.session import Session, a_url, check_source
from vedette.surface.cli.verbs import verb

if TYPE_CHECKING:
    import sqlite3

    from vedette.contracts.words import SourceId

WordArgument = Annotated[
    str, typer.Argument(metavar="ID|URL", help="A source, as `vedette sources` shows it, or a page.")
]
FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
MOST_NOTE = 500  # characters
_Do = Callable[..., int | None]


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
    from vedette.store.operator import pause_source

    _change(session, what, pause_source, "paused", "stopped", finds=True)


def resume(session: Session, what: WordArgument) -> None:
    """Schedule it again.

    One that vedette.yaml calls not active rests again with the next run: change it there.
    """
    from vedette.store.operator import resume_source

    _change(session, what, resume_source, "resumed", "scheduled")


def reset(session: Session, what: WordArgument) -> None:
    """Forget its failures and the trap budgets it has used; read its listing now."""
    from vedette.store.operator import reset_source

    _change(session, what, reset_source, "reset", "")


def remove(session: Session, what: WordArgument) -> None:
    """Stop watching it; its history stays.

    Visits, changes and evidence are kept.  A source of vedette.yaml comes back with the next run: take it out there.
    """
    from vedette.store.operator import remove_source

    _change(session, what, remove_source, "removed", "stopped; its history stays", finds=True)
    if any(
        what in (source.id, source.url) for source in not_taken_in(session)
    ):  # it was in the store until now
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
    from vedette.config import parse_duration
    from vedette.report.plain import when
    from vedette.store.operator import mute_source

    now = session.now()
    try:
        until = FOREVER if for_ is None else now + parse_duration(for_)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--for: {error}") from None
    words = "until it is unmuted" if until == FOREVER else f"until {when(until, now)}"
    do = partial(mute_source, until=until)
    _change(session, what, do, "muted", f" {words}: its changes are recorded and not told", finds=True)


def unmute(session: Session, what: WordArgument) -> None:
    """Tell of its changes again.  What changed meanwhile is not told of afterwards."""
    from vedette.store.operator import is_muted, mute_source

    was_muted = False

    def do(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> None:
        nonlocal was_muted
        was_muted = is_muted(db, source, now=now)
        mute_source(db, source, now=now)

    _change(session, what, do, "unmuted", ": its changes are told again", finds=True)
    if not was_muted:
        session.out.note("it was not muted")


def note(
    session: Session,
    what: WordArgument,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="Empty: the note goes.")],
) -> None:
    """A note of your own on a source or a page.

    `vedette explain` and `vedette sources --json` show it.  It stays whatever vedette.yaml says of the source.
    """
    from vedette.store.operator import note_source

    text = " ".join(words.split())
    if len(text) > MOST_NOTE:
        raise InputError(f"a note has at most {MOST_NOTE} characters, this one {len(text)}")
    _change(
        session, what, partial(note_source, words=text), "noted" if text else "without a note", "", finds=True
    )


def _change(session: Session, what: str, do: _Do, word: str, after: str, *, finds: bool = False) -> None:
    """`after`: what is said behind the word; of something that was done to watches, what that was."""
    from vedette.report.plain import count

    if not_taken_in(session):
        save_configured(session)
    if "://" not in what:
        check_source(session, what, "")
    with session.operating() as db:
        source = _source(session, db, what, finds=finds)
        number = do(db, source, now=session.now())
    more = after if number is None else f", {count(number, 'watch', 'watches')} {after}"
    session.out.done(f"{source} {word}{more}")
    if session.given.as_json:
        session.out.document({"source": source, "done": word, "watches": number})


def _source(session: Session, db: sqlite3.Connection, what: str, *, finds: bool) -> SourceId:
    """The source of that id or URL.  A page that a listing found gets one of its own, so that it can rest alone."""
    from vedette.contracts.words import SourceId
    from vedette.core.urls import watch_id
    from vedette.store.operator import source_of_url
    from vedette.surface.cli.formats.entry import page_keys, source_of
    from vedette.surface.cli.watching import keep

    if "://" not in what:
        return SourceId(what)
    url = a_url(what)
    known = source_of_url(db, url)
    if known is not None:
        return known.id
    row = db.execute("SELECT source_id FROM watches WHERE id = ?", (watch_id(url),)).fetchone()
    if row is None:
        raise InputError(f"{url} is not watched; `vedette list` shows what is")
    if not finds:
        raise InputError(f"{url} is a page of source {row[0]}; name that one")
    return keep(session, db, source_of(page_keys(url), origin="cli"))[0].id
