"""Looks at sources by hand for `vedette sources check`: guard, robots and lanes obeyed; only lanes are saved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby

from vedette.config.model import Loaded
from vedette.config.policies import fetch_settings, lane_policies
from vedette.contracts.errors import InputError
from vedette.contracts.fetch import Fetched, RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.ports import Clock
from vedette.contracts.source import ListerKind, Listing, Source
from vedette.contracts.watch import Job, Watch
from vedette.contracts.words import LaneKey, Outcome, RunId
from vedette.core.change.gate import gate
from vedette.core.health.source_health import Checked, SourceLook, judge_source
from vedette.core.urls.canonical import lane_of, origin_of, watch_id
from vedette.discover import ListingDocument, read_listing
from vedette.engine.crawl.look import Looker, Reached
from vedette.engine.crawl.robots_cache import RobotsCache
from vedette.extract import extract
from vedette.fetch.browser import Chromium
from vedette.fetch.http import HttpFetcher
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import ALL
from vedette.operations.configured_sources import not_taken_in
from vedette.operations.formats.own import read_yaml
from vedette.operations.import_sources import REGISTRY
from vedette.operations.installation import Installation
from vedette.operations.source_keys import source_of
from vedette.registries import read_registry
from vedette.store.operator_orders import save_lane
from vedette.telemetry.clock import SystemClock

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
        looker = _OneShotLooker(loaded, sources, lambda key: None, SystemClock())
        return asyncio.run(looker.check(progress))
    with installation.queries() as queries:
        looker = _OneShotLooker(loaded, sources, queries.lane, SystemClock())
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
    found: list[Source] = []
    for name in (one for one in ids if one.startswith(REGISTRY)):
        found += registry_sources(name.removeprefix(REGISTRY))
    plain = [one for one in ids if not one.startswith(REGISTRY)]
    if ids and not plain:
        return found
    for one in plain:
        installation.check_source(one, "")
    known = {source.id: source for source in not_taken_in(installation)}
    if installation.has_store or not known:
        with installation.queries() as queries:
            known |= {view.source.id: view.source for view in queries.sources()}
    wanted = [source for name, source in known.items() if name in plain or (not plain and source.is_active)]
    return found + wanted


class _OneShotLooker:
    """A looker that stands in the lanes like anyone else."""

    def __init__(
        self,
        loaded: Loaded,
        sources: Sequence[Source],
        load_lane: Callable[[LaneKey], LaneState | None],
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._scope = loaded.config.extract.scope
        self._sources = {source.id: source for source in sources}
        self._settings = {source.id: fetch_settings(loaded.config, source) for source in sources}
        self._rules: dict[str, RobotsRules] = {}
        self._done = 0
        self.keeper = LaneKeeper(lane_policies(loaded.config), load=load_lane, clock=clock)
        self._robots = RobotsCache(load=self._rules.get, save=self._keep_rules, clock=clock)

    async def check(self, progress: Callable[[int, int], None]) -> list[Checked]:
        fetcher = HttpFetcher(self._clock)
        browser = Chromium(fetcher, self._clock)
        looker = Looker(
            fetcher=fetcher,
            keeper=self.keeper,
            robots=self._robots,
            clock=self._clock,
            settings_of=self._settings.__getitem__,
            needs_browser=lambda source: self._sources[source].options.requires_headless,
            renderer=browser,
        )
        ticking = asyncio.create_task(self._tick(progress))
        by_lane = sorted(self._sources.values(), key=lambda source: lane_of(source.url))
        lanes = [list(group) for _, group in groupby(by_lane, key=lambda source: lane_of(source.url))]
        try:
            found = await asyncio.gather(*(self._check_lane(looker, lane) for lane in lanes))
        finally:
            ticking.cancel()
            await browser.close()
            await fetcher.close()
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

    async def _tick(self, progress: Callable[[int, int], None]) -> None:
        while True:
            progress(self._done, len(self._sources))
            await asyncio.sleep(TICK)
            for key in list(self.keeper.known()):
                self.keeper.wake(key)

    def _keep_rules(self, rules: RobotsRules) -> None:
        self._rules[rules.origin] = rules
