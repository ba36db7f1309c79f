"""Sources: list, check, and what an operator says of one source or page: pause, resume, remove, mute, unmute, note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.health.source_health import Checked, SourceFinding, is_offline
from vedette.core.urls.canonical import shown
from vedette.operations import sources as operations
from vedette.operations.arguments import a_duration
from vedette.operations.sources import FOREVER, ListedSource, SourceOrdered, last_error, remedy
from vedette.report.plain import ago, count, plain, when
from vedette.store.views import SourceView
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import TagOption, group, verb

WordArgument = Annotated[
    str, typer.Argument(metavar="ID|URL", help="A source, as `vedette sources` shows it, or a page.")
]
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
    verb(app, "pause", example="vedette pause https://example.org/rules\nvedette pause example-news")(pause)
    verb(app, "resume", example="vedette resume https://example.org/rules")(resume)
    verb(app, "remove", example="vedette remove https://example.org/rules")(remove)
    verb(app, "mute", example="vedette mute https://example.org/rules --for 3d")(mute)
    verb(app, "unmute", example="vedette unmute https://example.org/rules")(unmute)
    verb(app, "note", example='vedette note https://example.org/rules "ask Ana before calling them"')(note)


def sources_() -> None:
    """What was configured: list, check, pause, resume, reset, remove."""


def sources_list(session: Session, tag: TagOption = None) -> None:
    """Every source, highest tier first.

    Says of a crawl or a list which pages under its address are watched by other sources: a page is watched once.
    """
    found, now = operations.list_sources(session.installation, tag), session.now()
    if session.given.as_json:
        session.out.document({"sources": [operations.source_json(one) for one in found]})
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
        session.out.document(
            {"offline": offline, "sources": [operations.checked_json(one) for one in checked]}
        )
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


def pause(session: Session, what: WordArgument) -> None:
    """Look at it no more until it is resumed.

    Whatever vedette.yaml says, and however often it is restarted.  A source with all its pages, or one page: one that
    a listing found becomes a source of its own.
    """
    _say(session, operations.pause_source(session.installation, what), "paused", "stopped")


def resume(session: Session, what: WordArgument) -> None:
    """Schedule it again.

    One that vedette.yaml calls not active rests again with the next run: change it there.
    """
    _say(session, operations.resume_source(session.installation, what), "resumed", "scheduled")


def reset(session: Session, what: WordArgument) -> None:
    """Forget its failures and the trap budgets it has used; read its listing now."""
    _say(session, operations.reset_source(session.installation, what), "reset", "")


def remove(session: Session, what: WordArgument) -> None:
    """Stop watching it; its history stays.

    Visits, changes and evidence are kept.  A source of vedette.yaml comes back with the next run: take it out there.
    """
    done = operations.remove_source(session.installation, what)
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
    done = operations.mute_source(session.installation, what, until)
    words = "until it is unmuted" if until == FOREVER else f"until {when(until, now)}"
    _say(session, done, "muted", f" {words}: its changes are recorded and not told")


def unmute(session: Session, what: WordArgument) -> None:
    """Tell of its changes again.  What changed meanwhile is not told of afterwards."""
    done = operations.unmute_source(session.installation, what)
    words = ": its changes are told again" if done.was_muted else "; it was not muted, its changes are told"
    _say(session, done, "unmuted", words)


def note(
    session: Session,
    what: WordArgument,
    words: Annotated[str, typer.Argument(metavar="TEXT", help="Empty: the note goes.")],
) -> None:
    """A note of your own on a source or a page.

    `vedette explain` and `vedette sources --json` show it.  It stays whatever vedette.yaml says of the source.
    """
    text = " ".join(words.split())
    done = operations.note_source(session.installation, what, text)
    _say(session, done, "noted" if text else "without a note", "")


def _source_cells(view: SourceView, now: datetime) -> tuple[Cell, ...]:
    source = view.source
    style, word = _state_words(view, now)
    if source.muted_until is not None and source.muted_until > now:
        word = f"{word}, muted"
    last = ago(view.last_success_at, now) if view.last_success_at else "never"
    return (
        source.id,
        source.tier.name,
        _lister_words(view),
        (style, word),
        str(view.watches),
        last,
        shown(source.url),
    )


def _state_words(view: SourceView, now: datetime) -> tuple[str, str]:
    """Style and words of what keeps it from being well, the gravest first."""
    state, outcome = view.state, view.last_outcome
    if not view.source.is_active:
        return "warn", "paused"
    if state.closed_until is not None and state.closed_until > now:
        return "bad", f"closed, opens {ago(state.closed_until, now)}"
    if outcome is None and not state.failures:
        return "", "not looked at yet"
    if outcome is not None and last_error(view):
        return "bad", f"not seen: {outcome.value}"
    return ("warn", count(state.failures, "failure")) if state.failures else ("good", "active")


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


def _say(session: Session, done: SourceOrdered, word: str, after: str) -> None:
    """`after`: what is said behind the word; of something that was done to watches, what that was."""
    number = done.watches
    more = after if number is None else f", {count(number, 'watch', 'watches')} {after}"
    body = {"source": done.source, "done": word, "watches": number}
    session.out.answer(f"{done.source} {word}{more}", body)
