"""Everything that fetches for a verb: a run, one page, one robots.txt, a check of sources.

Loading this module loads the engine (0.4 s).  A page and a robots.txt are fetched by the rules of a run (guard, robots)
and nothing is saved; a check of sources also waits in the lanes, and saves them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby

from vedette.app.open_store import screened
from vedette.app.run import Ended, RunRequest, run_engine
from vedette.config.model import Loaded
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import fetch_settings
from vedette.contracts.change import Block
from vedette.contracts.documents import Document
from vedette.contracts.errors import InputError
from vedette.contracts.fetch import Extraction, Fetched, FetchSettings, RobotsRules
from vedette.contracts.filters import StepLeft
from vedette.contracts.lane import LaneState
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.source import ListerKind, Listing, Source
from vedette.contracts.watch import Job, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, LaneKey, Outcome, Reason, RunId, SourceId
from vedette.core.change.gate import gate, is_shell
from vedette.core.health.source_health import Checked, SourceLook, judge_source
from vedette.core.urls.canonical import lane_of, origin_of, watch_id
from vedette.discover import ListingDocument, read_listing
from vedette.engine.crawl.content_reader import TOO_MUCH, DocumentReader, extraction_of
from vedette.engine.crawl.look import Looker, Reached
from vedette.engine.crawl.robots_cache import RobotsCache
from vedette.engine.workers.pool import Workers
from vedette.extract import Page, content_class, extract
from vedette.extract.filter_trial import steps_left
from vedette.fetch.browser import Chromium
from vedette.fetch.http import HttpFetcher
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import ALL
from vedette.operations.formats.own import read_yaml
from vedette.operations.installation import Installation
from vedette.operations.source_keys import source_of
from vedette.operations.source_lists import REGISTRY
from vedette.operations.watches import not_taken_in
from vedette.registries import read_registry
from vedette.store.operator_orders import save_lane
from vedette.telemetry.clock import SystemClock

__all__ = [
    "Ended", "RunRequest", "check_sources", "fetch_robots", "filter_steps", "look_once", "registry_sources",
    "run_engine",
]  # fmt: skip


def look_once(loaded: Loaded, url: str) -> tuple[Fetched, Extraction, tuple[Reason, ...]]:
    """Ask for one URL as the engine would: what came, what it says, and why it would not count as content."""
    fetched = asyncio.run(_PageLooker(loaded, SystemClock()).look(url)).fetched
    if fetched.outcome is not Outcome.OK:
        return fetched, Extraction(content_class=ContentClass.OTHER), ()
    found = _extract(loaded, fetched)
    if loaded.config.extract.render == "auto" and is_shell(found, fetched.body):
        shown = asyncio.run(_PageLooker(loaded, SystemClock()).show(fetched))
        if shown.outcome is Outcome.OK:
            fetched, found = shown, _extract(loaded, shown)
    refused = gate(status=fetched.status or 200, extraction=found, url=fetched.url, seen=None)
    if refused is None:
        return fetched, found, ()
    return replace(fetched, outcome=refused.outcome), found, refused.reasons


def _extract(loaded: Loaded, fetched: Fetched) -> Extraction:
    """As a run would, documents and OCR included; of a document line by line."""
    body, url, content_type = fetched.body, fetched.url, fetched.content_type
    if content_class(body, url=url, content_type=content_type) not in DOCUMENTS:
        return extract(body, url=url, content_type=content_type, scope=loaded.config.extract.scope)
    document = asyncio.run(_read_document(loaded, fetched))
    return replace(extraction_of(document, url), text="\n".join(text for _, text in document.blocks))


def filter_steps(loaded: Loaded, fetched: Fetched, texts: tuple[str, ...]) -> tuple[StepLeft, ...]:
    """What each of these filters leaves of an answer.  In a worker, as in a run: an expression may take any time."""
    return asyncio.run(_filter_steps(loaded, fetched, texts))


async def _filter_steps(loaded: Loaded, fetched: Fetched, texts: tuple[str, ...]) -> tuple[StepLeft, ...]:
    page = Page.of(fetched.body, url=fetched.url, content_type=fetched.content_type)
    blocks: tuple[Block, ...] | None = None
    if page.content_class in DOCUMENTS:
        blocks = (await _read_document(loaded, fetched)).blocks
    workers = Workers()
    try:
        left = await workers.run(
            steps_left, page, blocks, texts, loaded.config.extract.scope, size=len(page.body)
        )
    finally:
        workers.close()
    return left if left is not None else (StepLeft(step=texts[-1], problem=TOO_MUCH),)


async def _read_document(loaded: Loaded, fetched: Fetched) -> Document:
    workers = Workers()
    reader = DocumentReader(workers=workers, languages=loaded.config.extract.ocr_languages)
    try:
        return await reader.read((fetched.body, fetched.content_type, fetched.url))
    finally:
        workers.close()


def fetch_robots(loaded: Loaded, url: str) -> tuple[RobotsRules, Reason | None]:
    """What the origin's robots.txt says, and whether it refuses this URL."""
    return asyncio.run(_PageLooker(loaded, SystemClock()).robots(url))


class _PageLooker:
    """A looker with nothing behind it."""

    def __init__(self, loaded: Loaded, clock: Clock) -> None:
        self._clock = clock
        self._loaded = loaded
        self._settings: FetchSettings = fetch_settings(loaded.config)
        self._kept: dict[str, RobotsRules] = {}
        self._keeper = LaneKeeper(lane_policies(loaded.config), load=lambda key: None, clock=clock)
        self._robots = RobotsCache(load=self._kept.get, save=self._save, clock=clock)

    async def look(self, url: str) -> Reached:
        now = self._clock.now()
        watch = Watch(id=watch_id(url), url=url, lane=lane_of(url), source=SourceId("tryout"), created_at=now)
        lanes = (watch.lane, ALL)
        job = Job(
            watch=watch, lanes=lanes, run=RunId("tryout"), value=0.0, leased_until=now + timedelta(minutes=5)
        )
        self._keeper.start(lanes, now)
        async with self._looker() as looker:
            return await looker.look(job)

    async def show(self, fetched: Fetched) -> Fetched:
        async with self._looker() as looker:
            return await looker.render(fetched, SourceId("tryout"))

    async def robots(self, url: str) -> tuple[RobotsRules, Reason | None]:
        agent = self._settings.robots_agent
        async with self._looker() as looker:
            fetched = await looker.fetch_robots(origin_of(url), self._settings)
        rules = self._robots.keep(fetched, origin_of(url), agent)
        return rules, self._robots.refuses(rules, url, agent)

    def _looker(self) -> AbstractAsyncContextManager[Looker]:
        parts = _Parts(self._keeper, self._robots, self._clock, settings_of=lambda source: self._settings)
        return _looker(replace(parts, loaded=self._loaded))

    def _save(self, rules: RobotsRules) -> None:
        self._kept[rules.origin] = rules


# Looks at sources by hand for `vedette sources check`: guard, robots and lanes obeyed; only lanes are saved.

TICK = 0.1  # seconds: there is no engine here that wakes lanes
LEASE = timedelta(hours=1)
UNREACHED = frozenset({Outcome.DNS_ERROR, Outcome.CONNECT_ERROR})  # it is so for every page of the origin


def check_sources(
    installation: Installation,
    ids: Sequence[str],
    *,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Checked]:
    """One look at each, host beside host: what each is found to be.  Lanes are kept as they are from now on.

    `ids`: sources, or `registry:NAME`; none: every source that is active.
    """
    sources, loaded = _wanted(installation, ids), installation.loaded
    if not sources:
        return []
    if not installation.has_store:
        looker = _SourceChecker(loaded, sources, lambda key: None, SystemClock())
        return asyncio.run(looker.check(progress))
    with installation.queries() as queries:
        looker = _SourceChecker(loaded, sources, queries.lane, SystemClock())
        checked = asyncio.run(looker.check(progress))
    with installation.operating() as db:
        for key, state in looker.keeper.take_dirty():
            if key != ALL:
                save_lane(db, key, state, now=installation.now())
    return checked


def registry_sources(name: str) -> list[Source]:
    """The sources of a registry that is shipped with the program."""
    parsed = read_yaml(read_registry(name))
    if parsed.problems:
        raise InputError(f"registry {name}: line {parsed.problems[0].line}: {parsed.problems[0].why}")
    return [source_of(entry.keys, origin="import") for entry in parsed.entries]


def _wanted(installation: Installation, ids: Sequence[str]) -> list[Source]:
    """Those of registries that are named, then those that are configured; without names every active one."""
    lists = [one.removeprefix(REGISTRY) for one in ids if one.startswith(REGISTRY)]
    plain = [one for one in ids if not one.startswith(REGISTRY)]
    found = [source for name in lists for source in registry_sources(name)]
    if ids and not plain:
        return found
    for one in plain:
        installation.check_source(one, "")
    known = _configured(installation)
    return found + [one for one in known if (one.id in plain if plain else one.is_active)]


def _configured(installation: Installation) -> list[Source]:
    """Of vedette.yaml and of the store; the store's word stands."""
    known = {source.id: source for source in not_taken_in(installation)}
    if installation.has_store or not known:
        with installation.queries() as queries:
            known |= {view.source.id: view.source for view in queries.sources()}
    return list(known.values())


class _SourceChecker:
    """Checks sources; waits in the lanes as a run does."""

    def __init__(
        self,
        loaded: Loaded,
        sources: Sequence[Source],
        load_lane: Callable[[LaneKey], LaneState | None],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._loaded = loaded
        self._scope = loaded.config.extract.scope
        self._sources = {source.id: source for source in sources}
        self._settings = {source.id: fetch_settings(loaded.config, source) for source in sources}
        self._rules: dict[str, RobotsRules] = {}
        self._done = 0
        self.keeper = LaneKeeper(lane_policies(loaded.config), load=load_lane, clock=clock)
        self._robots = RobotsCache(load=self._rules.get, save=self._keep_rules, clock=clock)

    async def check(self, progress: Callable[[int, int], None]) -> list[Checked]:
        parts = _Parts(
            self.keeper,
            self._robots,
            self._clock,
            settings_of=self._settings.__getitem__,
            needs_browser=lambda source: self._sources[source].options.requires_headless,
            on_tick=lambda: progress(self._done, len(self._sources)),
            loaded=self._loaded,
        )
        by_lane = sorted(self._sources.values(), key=lambda source: lane_of(source.url))
        lanes = [list(group) for _, group in groupby(by_lane, key=lambda source: lane_of(source.url))]
        async with _looker(parts) as looker:
            found = await asyncio.gather(*(self._check_lane(looker, lane) for lane in lanes))
        judged = {one.look.source.id: one for lane in found for one in lane}
        return [judged[source] for source in self._sources]

    async def _check_lane(self, looker: Looker, sources: list[Source]) -> list[Checked]:
        """One after the other: they share a host.  An origin that could not be reached is not asked again."""
        checked: list[Checked] = []
        unreached: dict[str, Fetched] = {}
        for source in sources:
            origin = origin_of(source.url)
            if origin in unreached:
                reached = Reached(fetched=replace(unreached[origin], url=source.url))
            else:
                reached = await self._look(looker, source)
            if reached.fetched.outcome in UNREACHED and not reached.hops:
                unreached[origin] = reached.fetched
            checked.append(judge_source(self._seen(source, reached)))
            self._done += 1
        return checked

    async def _look(self, looker: Looker, source: Source) -> Reached:
        lanes = (lane_of(source.url), ALL)
        wait = await self.keeper.enter(lanes)
        now = self._clock.now()
        if wait is not None:
            shut = Outcome.LANE_CLOSED
            return Reached(
                fetched=Fetched(
                    url=source.url, outcome=shut, at=now, took=timedelta(0), detail=wait.reason.code
                )
            )
        watch = Watch(
            id=watch_id(source.url), url=source.url, lane=lanes[0], source=source.id, created_at=now
        )
        job = Job(watch=watch, lanes=lanes, run=RunId("check"), value=0.0, leased_until=now + LEASE)
        return await looker.look(job)

    def _seen(self, source: Source, reached: Reached) -> SourceLook:
        """What the body lists, read as the source says and as `auto` would."""
        fetched = reached.fetched
        listing, looks_like, outcome, detail = Listing(), None, fetched.outcome, fetched.detail
        if outcome is Outcome.OK:
            listing, looks_like = self._listed(source, fetched)
            found = extract(
                fetched.body, url=fetched.url, content_type=fetched.content_type, scope=self._scope
            )
            refused = gate(status=fetched.status, extraction=found, url=fetched.url, seen=None)
            if refused is not None and not listing.sightings and not listing.follow:
                outcome, detail = refused.outcome, "; ".join(reason.note for reason in refused.reasons[:3])
        return SourceLook(
            source=source,
            outcome=outcome,
            answered=fetched.url,
            is_permanent=reached.is_permanent,
            status=fetched.status,
            detail=detail,
            listing=listing,
            looks_like=looks_like,
        )

    def _listed(self, source: Source, fetched: Fetched) -> tuple[Listing, ListerKind | None]:
        document = ListingDocument(
            url=fetched.url,
            body=fetched.body,
            content_type=fetched.content_type,
            options=source.options,
            now=self._clock.now(),
        )
        listing = read_listing(source.lister, document)
        return listing, read_listing(ListerKind.AUTO, document).became if listing.problem else None

    def _keep_rules(self, rules: RobotsRules) -> None:
        self._rules[rules.origin] = rules


@dataclass(frozen=True, slots=True)
class _Parts:
    """What a looker outside a run is made of."""

    keeper: LaneKeeper
    robots: RobotsCache
    clock: Clock
    settings_of: Callable[[SourceId], FetchSettings]
    needs_browser: Callable[[SourceId], bool] = lambda source: False
    on_tick: Callable[[], None] = lambda: None
    loaded: Loaded | None = None  # whose screen and blocklist hold here too


@asynccontextmanager
async def _looker(parts: _Parts) -> AsyncIterator[Looker]:
    """A looker without an engine: lanes are woken here."""
    fetcher: Fetcher = HttpFetcher(parts.clock)
    if parts.loaded is not None:
        fetcher = screened(fetcher, parts.loaded, parts.clock)
    browser = Chromium(fetcher, parts.clock)
    ticking = asyncio.create_task(_tick(parts))
    try:
        yield Looker(
            fetcher=fetcher,
            keeper=parts.keeper,
            robots=parts.robots,
            clock=parts.clock,
            settings_of=parts.settings_of,
            needs_browser=parts.needs_browser,
            renderer=browser,
        )
    finally:
        ticking.cancel()
        await browser.close()
        await fetcher.close()


async def _tick(parts: _Parts) -> None:
    while True:
        parts.on_tick()
        await asyncio.sleep(TICK)
        for key in list(parts.keeper.known()):
            parts.keeper.wake(key)
