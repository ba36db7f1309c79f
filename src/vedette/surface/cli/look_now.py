"""A look now: the order, the wait for its turn, and what was seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, RefusedError, VedetteError
from vedette.operations.arguments import a_url
from vedette.operations.save_sources import save_configured
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from datetime import datetime

    from vedette.contracts.watch import Watch
    from vedette.core.lanes.turn_forecast import TurnForecast
    from vedette.store.queries import Queries
    from vedette.surface.cli.follow_looks import Follower

GRACE = timedelta(minutes=30)  # beyond the estimate: retries, second looks, a Crawl-delay that is news to us
TOLD_FROM = timedelta(seconds=5)  # a wait that is told by lane
POLL = timedelta(seconds=0.5)
NEAR = 2000  # watches of a host among which the nearest URL is looked for
EXAMPLE = """vedette look https://example.org/rules
vedette look --source example-news
vedette look --all --patience 30m --json"""


def register(app: typer.Typer) -> None:
    verb(app, "look", example=EXAMPLE)(look)


def look(
    session: Session,
    urls: Annotated[list[str] | None, typer.Argument(metavar="[URL...]", help="Watched pages.")] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="ID", help="All that is watched of this source.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All that is watched.")] = False,
    patience: Annotated[
        str | None,
        typer.Option(
            "--patience", help="Wait at most 40s, 5m, ...  [default: the estimate, and 30 minutes more]"
        ),
    ] = None,
) -> None:
    """Look now at what is watched, and tell what was seen.

    Waits its turn: gap, Crawl-delay, Retry-After and breaker of the lane hold as ever, and the wait is told before it
    begins.  A running engine gets the order and makes the look; without one this command makes it.  A first
    difference is looked at twice, as in a run.

    Exit 1 when something was not seen; the order stands, so the next run looks at it.  Ctrl-C loses nothing.
    """
    from vedette.surface.cli.follow_looks import Follower

    if bool(urls) + (source is not None) + everything != 1:
        raise InputError("say what to look at: one or more URLs, --source ID, or --all")
    bound = _patience(patience)
    session.installation.check_source(source)
    save_configured(session.installation)
    with session.queries() as queries:
        watches = _chosen(queries, urls or [], source)
    if not watches:
        raise VedetteError("nothing is watched there; `vedette add URL` makes a watch")
    follower = Follower(session, watches)
    follower.order()
    until = _tell_wait(session, follower, bound)
    is_stopped = False
    with session.out.progress("looking") as progress:
        follower.progress = progress
        try:
            _wait(session, follower, until)
        except KeyboardInterrupt:
            is_stopped = True
    is_whole = follower.report()
    if is_stopped or follower.is_stopped:
        raise typer.Exit(Exit.INTERRUPTED)
    if not is_whole:
        raise typer.Exit(Exit.FAILED)


def _wait(session: Session, follower: Follower, until: datetime) -> None:
    """Until all was seen or the time is over.  The engine that runs makes the looks; without one we do."""
    import asyncio

    from vedette.store.operator import lock_holder

    while follower.waits_for and session.now() < until and not follower.is_stopped:
        if lock_holder(session.loaded.data) is None:
            try:
                follower.run(until)
                return
            except RefusedError:
                continue  # another engine was faster: it has the order
        if follower.poll():
            break
        wake = min(session.now() + POLL, until)
        asyncio.run(session.clock.pause(asyncio.Event(), wake, is_busy=False))


def _tell_wait(session: Session, follower: Follower, bound: timedelta | None) -> datetime:
    """Says for how long, lane by lane where it is long; gives when we stop waiting."""
    from vedette.report.plain import span

    now = session.now()
    turns = follower.turns()
    for lane, turn in turns.items():
        if turn.start_at is None or turn.start_at - now > TOLD_FROM:
            session.out.note(f"{lane}: {_turn_words(turn, now)}")
    ends = [turn.end_at for turn in turns.values() if turn.end_at is not None]
    longest = max(ends, default=now) - now
    limit = longest + GRACE if bound is None else bound
    count = len(follower.waits_for)
    pages = "1 page" if count == 1 else f"{count:,} pages"
    turn_comes = "now" if longest < timedelta(seconds=1) else f"within about {span(longest)}"
    if count:
        session.out.note(f"{pages} to look at, {turn_comes}; waiting at most {span(limit)}")
    return now + limit


def _turn_words(turn: TurnForecast, now: datetime) -> str:
    from vedette.report.plain import when

    reason = turn.reason
    why = f" ({reason.code}: {reason.note})" if reason and reason.note else ""
    if turn.start_at is None:
        return f"blocked by the operator{why}; `vedette lanes reset` opens it"
    return f"its turn comes {when(turn.start_at, now)}{why}"


def _chosen(queries: Queries, urls: Sequence[str], source: str | None) -> list[Watch]:
    from vedette.store.views import WatchFilter

    if urls:
        return list({(watch := _known(queries, url)).id: watch for url in urls}.values())
    chosen = queries.watches(WatchFilter(source=source))
    return [watch for watch in chosen if watch.merged_into is None and watch.due_at is not None]


def _known(queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed; the error names the nearest that is watched."""
    from vedette.core.urls.canonical import host_of, watch_id
    from vedette.store.views import WatchFilter

    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is not None:
        return watch
    there = [one.url for one in queries.watches(WatchFilter(host=host_of(wanted)), most=NEAR)]
    near = _nearest(wanted, there or [view.source.url for view in queries.sources()])
    hint = f"; the nearest that is watched is {near}" if near else ""
    raise VedetteError(f"{wanted} is not watched{hint}; watch it: vedette add {wanted}")


def _nearest(url: str, known: Sequence[str]) -> str | None:
    import difflib  # only on the way to an error

    near = difflib.get_close_matches(url, known, n=1, cutoff=0.6)
    return near[0] if near else None


def _patience(text: str | None) -> timedelta | None:
    from vedette.config.model import parse_duration

    try:
        return None if text is None else parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"--patience: {error}") from None
