"""One look by hand, for `vedette test` and `vedette robots`: guard and robots obeyed, nothing saved."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from vedette.config.model import Loaded
from vedette.config.policies import fetch_settings, lane_policies
from vedette.contracts.documents import Document
from vedette.contracts.fetch import Extraction, Fetched, FetchSettings, RobotsRules
from vedette.contracts.ports import Clock
from vedette.contracts.watch import Job, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, Outcome, Reason, RunId, SourceId
from vedette.core.change.gate import gate, is_shell
from vedette.core.urls.canonical import lane_of, origin_of, watch_id
from vedette.engine.crawl.content_reader import DocumentReader, extraction_of
from vedette.engine.crawl.look import Looker, Reached
from vedette.engine.crawl.robots_cache import RobotsCache
from vedette.engine.workers.pool import Workers
from vedette.extract import content_class, extract
from vedette.fetch.browser import Chromium
from vedette.fetch.http import HttpFetcher
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import ALL
from vedette.telemetry.clock import SystemClock


def look_once(loaded: Loaded, url: str) -> tuple[Fetched, Extraction, tuple[Reason, ...]]:
    """Ask for one URL as the engine would: what came, what it says, and why it would not count as content."""
    fetched = asyncio.run(_OneShotLooker(loaded, SystemClock()).look(url)).fetched
    if fetched.outcome is not Outcome.OK:
        return fetched, Extraction(content_class=ContentClass.OTHER), ()
    found = _extract(loaded, fetched)
    if loaded.config.extract.render == "auto" and is_shell(found, fetched.body):
        shown = asyncio.run(_OneShotLooker(loaded, SystemClock()).show(fetched))
        if shown.outcome is Outcome.OK:
            fetched, found = shown, _extract(loaded, shown)
    refused = gate(status=fetched.status or 200, extraction=found, url=fetched.url, seen=None)
    if refused is None:
        return fetched, found, ()
    return replace(fetched, outcome=refused.outcome), found, refused.reasons


def _extract(loaded: Loaded, fetched: Fetched) -> Extraction:
    """As a run would, documents and OCR included; of a document line by line, for whoever reads it."""
    body, url, content_type = fetched.body, fetched.url, fetched.content_type
    if content_class(body, url=url, content_type=content_type) not in DOCUMENTS:
        return extract(body, url=url, content_type=content_type, scope=loaded.config.extract.scope)
    document = asyncio.run(_read_document(loaded, fetched))
    return replace(extraction_of(document, url), text="\n".join(text for _, text in document.blocks))


async def _read_document(loaded: Loaded, fetched: Fetched) -> Document:
    workers = Workers()
    reader = DocumentReader(workers=workers, languages=loaded.config.extract.ocr_languages)
    try:
        return await reader.read((fetched.body, fetched.content_type, fetched.url))
    finally:
        workers.close()


def fetch_robots(loaded: Loaded, url: str) -> tuple[RobotsRules, Reason | None]:
    """What the origin's robots.txt says, and whether it refuses this URL."""
    return asyncio.run(_OneShotLooker(loaded, SystemClock()).robots(url))


class _OneShotLooker:
    """A looker with nothing behind it."""

    def __init__(self, loaded: Loaded, clock: Clock) -> None:
        self._clock = clock
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

    @asynccontextmanager
    async def _looker(self) -> AsyncIterator[Looker]:
        fetcher = HttpFetcher(self._clock)
        browser = Chromium(fetcher, self._clock)
        ticking = asyncio.create_task(self._tick())
        try:
            yield Looker(
                fetcher=fetcher,
                keeper=self._keeper,
                robots=self._robots,
                clock=self._clock,
                settings_of=lambda source: self._settings,
                renderer=browser,
            )
        finally:
            ticking.cancel()
            await browser.close()
            await fetcher.close()

    async def _tick(self) -> None:
        """There is no engine here to wake lanes."""
        while True:
            await asyncio.sleep(0.1)
            for key in list(self._keeper.known()):
                self._keeper.wake(key)

    def _save(self, rules: RobotsRules) -> None:
        self._kept[rules.origin] = rules
