"""The engine at work: run, demo."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.arguments import a_risk
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.load_guard import loading
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.app.run import RunRequest
    from vedette.contracts.words import Risk
    from vedette.engine.crawl.loop import Ended

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
    verb(app, "demo", example="vedette demo --seconds 20\nvedette demo --twin croatia")(demo)
    verb(app, "run", example="vedette run\nvedette run --until-idle --json > events.jsonl")(run)


def demo(
    session: Session,
    seconds: SecondsOption = None,
    twin: Annotated[
        str | None,
        typer.Option("--twin", metavar="NAME", help="A web shaped like the sites of a registry: croatia."),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="Of the pages: en, hr, or mixed.")
    ] = "en",
) -> None:
    """Watch a living web on this machine.

    Real changes with real diffs, no network, nothing to set up.  An hour of that web takes about a second; a busy
    machine makes it slower, never impolite.  Ctrl-C ends it at any time.  At the end it says what it saw, how polite
    it was by the count of the servers, and where the store is: in --data, else in a new folder for temporary files.
    """
    with loading():
        from vedette.surface.cli.demo import run_demo

    code = run_demo(session, seconds=seconds, twin=twin, language=language)
    if code:
        raise typer.Exit(code)


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
        queue_order(session, source=source, tier=a_risk(tier, "--tier"))
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
    if ended.error is not None:
        if isinstance(ended.error, VedetteError):
            raise ended.error
        raise VedetteError(f"the run ended early: {ended.error}")
    if ended.by == "stopped" and (once or until_idle):
        raise typer.Exit(Exit.INTERRUPTED)
    if ended.missed.unseen and (once or until_idle):
        raise typer.Exit(Exit.NOT_SEEN)


def queue_order(session: Session, *, source: str | None, tier: Risk | None) -> None:
    """Direct injection (001 section 7.3): a running `vedette serve` takes it from the queue."""
    from vedette.contracts.jobs import SENTINEL, NewJob, SentinelOrder
    from vedette.contracts.words import RunId, SourceId
    from vedette.core.legacy.sentinel_payload import order_data
    from vedette.store.job_bus import SqliteJobBus
    from vedette.store.operator import lock_holder

    now = session.now()
    run = RunId(f"manual-{int(now.timestamp() * 1000)}")
    order = SentinelOrder(run=run, source=None if source is None else SourceId(source), tier=tier)
    bus = SqliteJobBus(session.store())
    try:
        (job,) = bus.add([NewJob(queue=SENTINEL, name="sentinel-manual", data=order_data(order))], now=now)
    finally:
        bus.close()
    session.out.say(f"queued as {job}, run {run}")
    if lock_holder(session.loaded.data) is None:
        session.out.note("no engine runs on this store: `vedette serve` will take it when it starts")
    if session.given.as_json:
        session.out.document({"job": job, "queue": SENTINEL, "data": order_data(order)})


def _run(session: Session, request: RunRequest, *, result: bool) -> Ended:
    from vedette.report.failures import result_json, result_lines
    from vedette.surface.cli.live_view import watching

    if not result:
        with watching(session) as on_event:
            ended = session.engine().run_engine(session.loaded, request, on_event=on_event)
        _tell_end(session, request, ended)
        return ended
    ended = session.engine().run_engine(session.loaded, request, on_event=lambda event: None)
    if ended.result is not None and session.given.as_json:
        session.out.document(result_json(ended.result))
    elif ended.result is not None:
        for line in result_lines(ended.result):
            session.out.say(line)
    return ended


def _tell_end(session: Session, request: RunRequest, ended: Ended) -> None:
    """For people: what was not seen, or why there was nothing to look at."""
    from vedette.report.failures import summary_lines

    if session.given.as_json or ended.error is not None:
        return
    lines = summary_lines(ended.missed, session.now())
    if lines:
        session.out.lines(lines)
    elif not ended.tally.visits and ended.by == "idle":
        session.out.note(_nothing_due(session, request))


def _nothing_due(session: Session, request: RunRequest) -> str:
    """Why a run had nothing to look at, and what to type."""
    from vedette.report.plain import count, when
    from vedette.store.views import WatchFilter

    which = WatchFilter(source=request.source, tier=request.tier, by_due=True, only_scheduled=True)
    with session.queries() as queries:
        first = next(iter(queries.watches(which, most=1)), None)
        unseen = queries.count_watches(replace(which, only_unseen=True))
        has_sources = bool(queries.source_ids())
    if not has_sources:
        return "nothing to watch yet; type: vedette add URL"
    if first is None:
        return (
            "nothing is scheduled here; `vedette sources` says what is paused, `vedette add URL` adds a page"
        )
    still = f"; {count(unseen, 'page')} not seen at the last look (vedette health)" if unseen else ""
    due = when(first.due_at, session.now())
    return f"nothing was due; the next look is {due}: {first.url}; at once: vedette look URL{still}"


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
    from vedette.app.run import RunRequest
    from vedette.config.model import parse_duration
    from vedette.core.schedule.due import due_params
    from vedette.engine.crawl.loop import Mode

    if policy is not None:
        due_params(policy)  # InputError names the nearest
    try:
        waits: timedelta | None = None if patience is None else parse_duration(patience)
    except ValueError as error:
        raise InputError(f"--patience: {error}") from None
    return RunRequest(
        mode=Mode.ONCE if modes[0] else Mode.UNTIL_IDLE if modes[1] else Mode.FOREVER,
        tier=a_risk(tier, "--tier"),
        source=source,
        fetch_only=only[0],
        discover_only=only[1],
        policy=policy,
        seconds=limits[0],
        max_visits=limits[1],
        patience=waits,
    )
