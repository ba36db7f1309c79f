"""The engine at work: run, and look for what is ordered now."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.contracts.events import Event, RunStarted
from vedette.core.lanes.lane import TurnForecast
from vedette.core.schedule.due import due_params
from vedette.engine.crawl.loop import Ended, Mode
from vedette.engine.crawl.run import RunRequest
from vedette.operations.arguments import a_duration, a_risk
from vedette.operations.look_now import LookForecast, order_looks_now
from vedette.operations.run import check_ended, nothing_due, queue_run
from vedette.report.looks import (
    IS_SEEN,
    Looked,
    looked_lines,
    looks_json,
    result_json,
    result_lines,
    summary,
    summary_lines,
)
from vedette.report.plain import count, span, when
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.live_view import OnEvent, watching
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

SecondsOption = Annotated[
    float | None, typer.Option("--seconds", min=0.0, metavar="N", help="End after so many seconds.")
]

FetchOption = Annotated[
    bool, typer.Option("--fetch", help="Read listings, then fetch what they gave; the default, said aloud.")
]
AdaptiveOption = Annotated[
    bool, typer.Option("--adaptive", help="By the schedule, what is due; the default, said aloud.")
]
QueuedOption = Annotated[
    bool, typer.Option("--queued", help="Put it on the `sentinel` queue of a running `vedette serve`.")
]
ResultOption = Annotated[
    bool, typer.Option("--result", help="Give only the result of the run: sources checked, errors, hosts.")
]


def register(app: typer.Typer) -> None:
    verb(app, "run", example="vedette run\nvedette run --until-idle --json > events.jsonl")(run)
    verb(app, "look", example=LOOK_EXAMPLE)(look)


def run(
    session: Session,
    once: Annotated[bool, typer.Option("--once", help="Look at what is due now, then end.")] = False,
    until_idle: Annotated[bool, typer.Option("--until-idle", help="End when nothing is due soon.")] = False,
    tier: Annotated[str | None, typer.Option("--tier", help="Only sources of this tier.")] = None,
    source: Annotated[str | None, typer.Option("--source", metavar="ID", help="Only this source.")] = None,
    fetch_only: Annotated[bool, typer.Option("--fetch-only", help="Read no listings.")] = False,
    discover_only: Annotated[bool, typer.Option("--discover-only", help="Read only listings.")] = False,
    fetch: FetchOption = False,
    adaptive: AdaptiveOption = False,
    queued: QueuedOption = False,
    result: ResultOption = False,
    policy: Annotated[
        str | None, typer.Option("--policy", help="Schedule policy, instead of the configured one.")
    ] = None,
    seconds: SecondsOption = None,
    max_visits: Annotated[
        int | None, typer.Option("--max-visits", min=1, metavar="N", help="At most so many looks.")
    ] = None,
    patience: Annotated[
        str | None,
        typer.Option("--patience", help="With --until-idle: wait for what starts within 40s, 5m, ..."),
    ] = None,
) -> None:
    """Look at what is due and report every change.

    Goes on for ever unless told otherwise.

    With --json every event is one line on stdout, written after it is on disk.  Ctrl-C ends cleanly: looks under
    way end, everything acknowledged is kept.  A run for ever that is stopped ends with 0, another with 130.

    What was looked at and not seen is named as it happens, and summed up at the end with what to do; --once and
    --until-idle then exit with 7.
    """
    a_risk(tier, "--tier")
    session.installation.check_source(source)
    if queued:
        _queue(session, source, tier)
        return
    if fetch and (fetch_only or discover_only):
        raise InputError(
            "--fetch reads listings and pages; --fetch-only and --discover-only leave one of them out"
        )
    request = _request(
        session,
        modes=(once, until_idle),
        only=(fetch_only, discover_only),
        limits=(seconds, max_visits),
        words=(tier, policy, patience, source),
    )
    session.note_databases()
    ended = _run(session, request, result=result)
    check_ended(ended, "run")
    if ended.by == "stopped" and (once or until_idle):
        raise typer.Exit(Exit.INTERRUPTED)
    if ended.missed.unseen and (once or until_idle):
        raise typer.Exit(Exit.NOT_SEEN)


def _queue(session: Session, source: str | None, tier: str | None) -> None:
    queued = queue_run(session.installation, source=source, tier=a_risk(tier, "--tier"))
    session.out.say(f"queued as {queued.job}, run {queued.order.run}")
    if not queued.has_engine:
        session.out.note("no engine runs on this store: `vedette serve` will take it when it starts")
    if session.given.as_json:
        session.out.document(queued.as_json())


def _run(session: Session, request: RunRequest, *, result: bool) -> Ended:
    if not result:
        with watching(session) as on_event:
            hear = _saying_what_is_next(session, request, on_event)
            ended = session.engine().run_engine(session.loaded, request, on_event=hear)
        _tell_end(session, request, ended)
        return ended
    ended = session.engine().run_engine(session.loaded, request, on_event=lambda event: None)
    if ended.result is not None and session.given.as_json:
        session.out.document(result_json(ended.result))
    elif ended.result is not None:
        for line in result_lines(ended.result):
            session.out.say(line)
    return ended


def _saying_what_is_next(session: Session, request: RunRequest, on_event: OnEvent) -> OnEvent:
    """A run without end says at its start that nothing is due: its end, where others say so, may never come."""
    if request.mode is not Mode.FOREVER or session.given.as_json:
        return on_event

    def hear(event: Event) -> None:
        on_event(event)
        if isinstance(event, RunStarted):
            words = _nothing_due(session, request, is_now=True)
            if words:
                session.out.note(words)

    return hear


def _tell_end(session: Session, request: RunRequest, ended: Ended) -> None:
    """For people: what was not seen, or why there was nothing to look at."""
    if session.given.as_json or ended.error is not None:
        return
    lines = summary_lines(ended.missed, session.now())
    if lines:
        session.out.lines(lines)
    elif not ended.tally.visits and ended.by == "idle":
        session.out.note(_nothing_due(session, request))


def _nothing_due(session: Session, request: RunRequest, *, is_now: bool = False) -> str:
    """Why a run had nothing to look at, and what to type.  Empty where something is due now, if that is asked."""
    found = nothing_due(session.installation, request)
    if not found.has_sources:
        return "nothing to watch yet; type: vedette add URL"
    if found.next is None:
        return (
            "nothing is scheduled here; `vedette sources` says what is paused, `vedette add URL` adds a page"
        )
    if is_now and found.next.due_at is not None and found.next.due_at <= session.now():
        return ""
    pages = count(found.unseen, "page")
    still = f"; {pages} not seen at the last look (vedette health)" if found.unseen else ""
    due = when(found.next.due_at, session.now())
    lead = "nothing is due now" if is_now else "nothing was due"
    return f"{lead}; the next look is {due}: {found.next.url}; at once: vedette look URL{still}"


def _request(
    session: Session,
    *,
    modes: tuple[bool, bool],
    only: tuple[bool, bool],
    limits: tuple[float | None, int | None],
    words: tuple[str | None, str | None, str | None, str | None],
) -> RunRequest:
    if all(modes):
        raise InputError("--once and --until-idle exclude each other")
    if all(only):
        raise InputError("--fetch-only and --discover-only exclude each other")
    tier, policy, patience, source = words
    if policy is not None:
        due_params(policy)  # InputError names the nearest
    return RunRequest(
        mode=Mode.ONCE if modes[0] else Mode.UNTIL_IDLE if modes[1] else Mode.FOREVER,
        tier=a_risk(tier, "--tier"),
        source=source,
        fetch_only=only[0],
        discover_only=only[1],
        policy=policy,
        seconds=limits[0],
        max_visits=limits[1],
        patience=None if patience is None else a_duration(patience, "--patience"),
    )


# A look now: what to look at, for how long to wait, and what was seen.

TOLD_FROM = timedelta(seconds=5)  # a longer wait is reported, by lane
LOOK_EXAMPLE = """vedette look https://example.org/rules
vedette look --source example-news
vedette look --all --patience 30m --json"""


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
    if bool(urls) + (source is not None) + everything != 1:
        raise InputError("say what to look at: one or more URLs, --source ID, or --all")
    bound = None if patience is None else a_duration(patience, "--patience")
    is_stopped = False
    with session.out.progress("looking") as progress:

        def tell(looked: Looked, done: int, whole: int) -> None:
            if not session.given.as_json:
                session.out.lines(looked_lines(looked))
            progress(done, whole)

        looks = order_looks_now(session.installation, urls or [], source, session.engine, tell)
        forecast = looks.forecast(bound)
        _tell_wait(session, forecast)
        try:
            looks.wait(forecast.until)
        except KeyboardInterrupt:
            is_stopped = True
        seen = looks.finish()
    _report(session, seen, looks.ordered_at)
    if is_stopped or looks.is_stopped:
        raise typer.Exit(Exit.INTERRUPTED)
    if any(one.saw not in IS_SEEN for one in seen):
        raise typer.Exit(Exit.FAILED)


def _report(session: Session, looks: list[Looked], ordered_at: datetime) -> None:
    if session.given.as_json:
        session.out.document(looks_json(looks, ordered_at))
    else:
        session.out.note(summary(looks))


def _tell_wait(session: Session, forecast: LookForecast) -> None:
    """Says for how long, lane by lane where it is long."""
    for lane, turn in forecast.turns.items():
        if turn.start_at is None or turn.start_at - forecast.at > TOLD_FROM:
            session.out.note(f"{lane}: {_turn_words(turn, forecast.at)}")
    pages = "1 page" if forecast.looks == 1 else f"{forecast.looks:,} pages"
    longest = forecast.longest
    turn_comes = "now" if longest < timedelta(seconds=1) else f"within about {span(longest)}"
    if forecast.looks:
        session.out.note(f"{pages} to look at, {turn_comes}; waiting at most {span(forecast.limit)}")


def _turn_words(turn: TurnForecast, now: datetime) -> str:
    reason = turn.reason
    why = f" ({reason.code}: {reason.note})" if reason and reason.note else ""
    if turn.start_at is None:
        return f"blocked by the operator{why}; `vedette lanes reset` opens it"
    return f"its turn comes {when(turn.start_at, now)}{why}"
