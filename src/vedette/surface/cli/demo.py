"""`vedette demo`: a small country on loopback, two hundred pages, an hour of it in a second."""

from __future__ import annotations

import asyncio
import shlex
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from vedette.app.run import RunHooks, run_with
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import InputError
from vedette.contracts.events import Changed, Event, Visited
from vedette.contracts.ports import Clock
from vedette.contracts.words import ChangeId, VisitId
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import host_of
from vedette.engine.crawl.loop import Ended
from vedette.engine.crawl.run import CrawlRun, RunRequest
from vedette.livingweb import LivingWeb, World, croatia_world, demo_world
from vedette.operations.installation import Installation
from vedette.operations.maintenance import verify_evidence
from vedette.report.plain import count, line, span
from vedette.store.migrate import DATABASE, prepare
from vedette.store.queries import Queries
from vedette.surface.cli.demo_page import DemoPage
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.live_view import watching
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb
from vedette.telemetry.clock import PacedClock

SPEED = 3600.0  # an hour of the living web in a second
LEAST_HOURS = 8.0  # of theirs that are shown, however short it is
TEMPO = 1.5  # a lively country: a reader should not wait long for the first change
OPENS = 8  # it begins on a Monday, when the offices open
SHORT = 8.0  # seconds of watching on a machine that starts in QUICK; who has less watches a small world
QUICK = 1.5  # seconds
SIZE, SMALL = (24, 8), (8, 5)  # hosts, and pages of each
ORDERS = timedelta(hours=1)  # of theirs: once in a second of ours
LAST = 1.2  # seconds that are kept for ending and summing up
LEAST = 2.8  # seconds of watching, however late it began
LANGUAGES = {"en": "en", "hr": "hr", "mixed": ""}
TWIN_PAGES, TWIN_CHILDREN = 12, 60  # small enough to be read within a minute
FOREWORD = (
    "A web of {hosts} hosts and about {pages} pages on this machine; an hour there is a second.",
    "Vedette finds the pages, looks politely and reports what changed.",
    "",
)
EDITED = "Try it: watch {add} , then change that page at {page}edit"
CRITICAL = (
    "gazette.example",
    "tax.example",
    "ministry.example",
)  # hosts whose changes must be seen within four hours
ENDED = "time"  # why it ended: its time was over


def register(app: typer.Typer) -> None:
    verb(app, "demo", example="vedette demo --seconds 20\nvedette demo --twin croatia")(demo)


def demo(
    session: Session,
    seconds: Annotated[
        float | None, typer.Option("--seconds", min=0.0, metavar="N", help="End after so many seconds.")
    ] = None,
    twin: Annotated[
        str | None,
        typer.Option("--twin", metavar="NAME", help="A web shaped like the sites of a registry: croatia."),
    ] = None,
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="Of the pages: en, hr, or mixed.")
    ] = "en",
    serve: Annotated[bool, typer.Option("--serve/--no-serve", help="Show it in a browser too.")] = True,
) -> None:
    """Watch a living web on this machine.

    Real changes with real diffs, no network, nothing to set up.  An hour of that web takes about a second; a busy
    machine makes it slower, never impolite.  Ctrl-C ends it at any time.  At the end it says what it saw, how polite
    it was by the count of the servers, and where the store is: in --data, else in a new folder for temporary files.
    The first line names the address of the dashboard, which shows the same to a browser on this machine while it runs.
    """
    page = DemoPage.bound() if serve else None
    if page is not None:
        session.out.note(f"Dashboard: {page.address}")
    code = run_demo(session, DemoOptions(seconds=seconds, twin=twin, language=language, page=page))
    if code:
        raise typer.Exit(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    seconds: float | None = None  # None: until Ctrl-C
    twin: str | None = None
    language: str = "en"
    page: DemoPage | None = None  # None: a terminal show


def run_demo(session: Session, options: DemoOptions) -> int:
    """Watch the living web, or the twin of a registry, for so many seconds, or until Ctrl-C."""
    seconds, twin = options.seconds, options.twin
    begun = session.begun().total_seconds()
    is_short = seconds is not None and (seconds - LAST - begun) < SHORT * max(1.0, begun / QUICK)
    hours = max(LEAST_HOURS, 24.0 if seconds is None else seconds)
    world = (
        _twin(twin)
        if twin is not None
        else _world(options.language, is_short, session.now() - timedelta(hours=hours))
    )
    data = session.given.data or Path(tempfile.mkdtemp(prefix="vedette-demo-"))
    pages = round(sum(host.spec.pages for host in world.hosts), -1)
    session.out.note_lines(line(words.format(hosts=len(world.hosts), pages=pages)) for words in FOREWORD)
    prepare(data)
    left = None if seconds is None else max(LEAST, seconds - LAST - session.begun().total_seconds())
    speed = SPEED if left is None else max(SPEED, LEAST_HOURS * 3600.0 / left)
    clock = PacedClock(datetime.fromtimestamp(world.epoch, UTC), speed=speed)
    stage = replace(
        session, clock=clock, given=replace(session.given, data=data), _loaded=None, _installation=None
    )
    seen = DemoSeen(world=world, began_at=clock.now(), elapsed=clock.stopwatch())
    with watching(stage, is_demo=True) as show:

        def hear(event: Event) -> None:
            seen.add(event)
            show(event)
            if options.page is not None:
                options.page.events.emit(event)

        ended = asyncio.run(_watch(stage, seen, left, DemoShow(hear, options.page)))
    if ended.error is not None:
        session.out.note(f"the demonstration ended early: {ended.error}")
        return Exit.FAILED
    summarise(session, stage, seen)
    return Exit.OK if ended.by == ENDED else Exit.INTERRUPTED


def _twin(name: str) -> World:
    twins = {"croatia": lambda: croatia_world(pages=TWIN_PAGES, children=TWIN_CHILDREN)}
    if name not in twins:
        raise InputError(unknown("twin", name, twins))
    return twins[name]()


def _world(language: str, is_short: bool, before: datetime) -> World:
    """It begins on the last Monday before then: times in a store that is kept lie behind us."""
    if language not in LANGUAGES:
        raise InputError(unknown("language", language, LANGUAGES))
    monday = (before - timedelta(days=before.weekday())).replace(
        hour=OPENS, minute=0, second=0, microsecond=0
    )
    if monday > before:
        monday -= timedelta(days=7)
    return demo_world(
        tempo=TEMPO * (3 if is_short else 1),
        epoch=monday.timestamp(),
        size=SMALL if is_short else SIZE,
        lang=LANGUAGES[language],
    )


@dataclass(frozen=True, slots=True)
class DemoShow:
    """To whom it is shown: the terminal, and a browser."""

    on_event: Callable[[Event], None]
    page: DemoPage | None

    @asynccontextmanager
    async def to_browsers(self, loaded: Loaded, clock: Clock) -> AsyncIterator[None]:
        if self.page is None:
            yield
            return
        async with self.page.shown(Installation(loaded, clock)):
            yield


async def _watch(stage: Session, seen: DemoSeen, seconds: float | None, shown: DemoShow) -> Ended:
    clock = stage.clock

    @asynccontextmanager
    async def until_time(run: CrawlRun) -> AsyncIterator[None]:
        """By the clock of the machine: ten seconds are ten seconds."""
        loop = asyncio.get_running_loop()
        timer = None if seconds is None else loop.call_later(seconds, run.engine.stop, ENDED)
        try:
            async with shown.to_browsers(loaded, clock):
                yield
        finally:
            if timer is not None:
                timer.cancel()

    async with LivingWeb(seen.world, now=lambda: clock.now().timestamp()) as web:
        board = await web.notice_board()
        if shown.page is not None:
            stage.out.note(
                EDITED.format(page=board, add=f"{shown.page.address}add?url={quote(board, safe='')}")
            )
        loaded = _loaded(web, board, stage.given.data or Path())
        hooks = RunHooks(on_event=shown.on_event, clock=clock, beside=until_time, owns_process=True)
        request = RunRequest(takes_orders=shown.page is not None, orders_every=ORDERS)
        ended = await run_with(loaded, request, hooks)
        seen.served = web.stats()
        return ended


def _loaded(web: LivingWeb, board: str, data: Path) -> Loaded:
    sources = [
        {
            "name": source["name"],
            "url": source["url"],
            "lister": source["lister"],
            **source["options"],
            **({"risk": "critical"} if host_of(source["url"]) in CRITICAL else {}),
        }
        for source in web.sources()
    ]
    raw = {
        "sources": sources,
        "stages": {"embed": False},  # nothing of it would be seen
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": sorted({web.port, urlsplit(board).port or web.port}),
            "nameservers": [web.nameserver],
            "user_agent": "Vedette-demo/0.1 (+https://vedette.example/bot)",
        },
    }
    return Loaded(config=parse(raw), path=None, data=data, digest="demo")


# What a demonstration came to: changes, false alarms, politeness as the servers counted it, evidence, what to type.


@dataclass(slots=True)
class DemoSeen:
    """What happened, by the events of the run and by the count of the servers."""

    world: World
    began_at: datetime
    elapsed: Callable[[], timedelta]
    served: Mapping[str, Any] = field(default_factory=dict)
    looks: int = 0
    urls: set[str] = field(default_factory=set)
    changes: list[tuple[str, ChangeId]] = field(default_factory=list)
    different: list[tuple[str, datetime, datetime]] = field(
        default_factory=list
    )  # URL, look before, this look
    _last: dict[str, tuple[object, datetime]] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        if isinstance(event, Changed):
            self.changes.append((event.url, event.change))
        if not isinstance(event, Visited):
            return
        url, digest = event.url, event.digest
        self.looks += 1
        self.urls.add(url)
        before = self._last.get(url)
        if digest and before and digest != before[0]:
            self.different.append((url, before[1], event.at))
        if digest:
            self._last[url] = (digest, event.at)

    def noisy(self) -> int:
        """How often a page came back different though its server had changed nothing in it."""
        return sum(self._is_noise(*one) for one in self.different)

    def _is_noise(self, url: str, before: datetime, at: datetime) -> bool:
        place = self.world.locate(url)  # None: a listing, which changes when its pages do
        return place is not None and not self.world.changes(
            *place, before.timestamp() - 1, at.timestamp() + 1
        )


def summarise(session: Session, stage: Session, seen: DemoSeen) -> None:
    """For people; with --json the events were the result."""
    data = stage.given.data or Path()
    with Queries(data / DATABASE) as queries:
        untrue = sum(not _is_true(seen.world, queries, url, change) for url, change in seen.changes)
    hosts = {host_of(url) for url in seen.urls}
    took, theirs = span(seen.elapsed()), span(stage.now() - seen.began_at)
    lines = [
        f"{took} here, {theirs} there: {count(seen.looks, 'look')} at {count(len(seen.urls), 'page')} of "
        f"{count(len(hosts), 'host')}.",
        f"  changes       {_changes(len(seen.changes), untrue)}",
        f"  false alarms  {count(seen.noisy(), 'time')} a page came back different though its server had changed "
        "nothing in it (counters, banners, tokens): not reported",
        f"  politeness    {_politeness(seen.served)}",
        f"  evidence      {_evidence(stage)}",
        "",
    ]
    session.out.note_lines(line(words) for words in lines)
    typed = _next(data, [url for url, _ in seen.changes])
    session.out.note_lines((line(words) for words in typed), folds=False)


def _changes(number: int, untrue: int) -> str:
    if not number:
        return "none yet; an hour more and there will be some"
    if not untrue:
        return f"{number} reported, and the servers made every one of them"
    return (
        f"{number} reported; {untrue} of them the servers did not make (a line that had stood for many looks)"
    )


def _is_true(world: World, queries: Queries, url: str, change: ChangeId) -> bool:
    """True where the server changed the page between the two looks that the change was seen in."""
    place, view = world.locate(url), queries.change(change)
    if place is None or view is None:
        return True  # a listing; it changes when its pages do
    before = None if view.change.before_visit is None else queries.visit(VisitId(view.change.before_visit))
    since = world.epoch if before is None else before.at.timestamp()
    return bool(world.changes(*place, since - 1.0, view.change.observed_at.timestamp() + 1.0))


def _politeness(served: Mapping[str, Any]) -> str:
    hosts = list(served.get("hosts", {}).values())
    gaps = [host["least_gap"] for host in hosts if host["least_gap"] is not None]
    most = max((host["most_at_once"] for host in hosts), default=0)
    return (
        f"the servers counted {count(int(served.get('requests', 0)), 'request')}: never more than {most} at once, "
        f"never closer than {min(gaps, default=0.0):.1f} s of their time, "
        f"{count(int(served.get('forbidden', 0)), 'page')} that robots.txt forbids"
    )


def _evidence(stage: Session) -> str:
    report = verify_evidence(stage.installation)
    if report.is_whole:
        return f"{count(report.records, 'record')} verified, byte by byte and hash by hash: all whole"
    return f"{count(sum(report.found.values()), 'problem')} found; `vedette evidence verify` names them"


def _next(data: Path, urls: list[str]) -> list[str]:
    """Commands that work as they stand here; short enough for a narrow screen."""
    program, exports = _program()
    about = min(urls, key=len, default=None)
    verbs = ["changes --limit 5", *([] if about is None else [f"diff {about}", f"explain {about}"])]
    return [
        "Everything is kept until you delete it.  To look into it:",
        f"  export VEDETTE_DATA={shlex.quote(str(data))}",
        *(f"  {words}" for words in exports),
        *(f"  {program} {words}" for words in [*verbs, "evidence verify"]),
        "Your own web, in a new folder:",
        "  unset VEDETTE_DATA",
        f"  {program} init",
        f"  {program} add https://example.org/",
        f"  {program} run",
    ]


def _program() -> tuple[str, list[str]]:
    """How this program is called from here, and what makes that possible where the shell does not find it."""
    own = Path(sys.executable).with_name("vedette")
    if not own.exists():
        return f"{shlex.quote(sys.executable)} -m vedette", []
    found = shutil.which("vedette")
    if found is not None and Path(found).absolute() == own.absolute():
        return "vedette", []
    return "vedette", [f"export PATH={shlex.quote(str(own.parent))}:$PATH"]
