"""Runs the whole stream against a living web and holds what it found against the truth."""

from __future__ import annotations

import subprocess
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Config, Loaded, parse
from vedette.contracts.events import Event
from vedette.contracts.sql_connection import PostgresAddress
from vedette.engine.crawl.loop import Ended
from vedette.livingweb import LivingWeb, Ports, World
from vedette.store.connection import connect
from vedette.telemetry.clock import JumpingClock

PORT = 18_241  # part of every URL, and so of every id and draw: the same in every run
WEIGHT = (0.5, 1.0, 2.0, 4.0)  # of a stale hour, LOW to CRITICAL


@dataclass
class Watched:
    """A store and what the world knows of it."""

    world: World
    data: Path
    clock: JumpingClock
    web: LivingWeb
    config: Config
    events: list[Event] = field(default_factory=list)
    server: PostgresAddress | None = None  # None: the store is a file

    async def run(self, request: RunRequest | None = None, **fields: Any) -> Ended:
        loaded = Loaded(config=self.config, path=None, data=self.data, digest="flow", server=self.server)
        request = request or RunRequest(takes_orders=False, **fields)
        fetcher = getattr(self, "fetcher", None)
        return await run_async(
            loaded, request, on_event=self.events.append, clock=self.clock, fetcher=fetcher
        )

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        db = connect(self.server or self.data / "vedette.db", read_only=True)
        try:
            return db.execute(query, values).fetchall()
        finally:
            db.close()

    def outcomes(self) -> Counter[str]:
        return Counter(
            {outcome: n for outcome, n in self.rows("SELECT outcome, COUNT(*) FROM visits GROUP BY 1")}
        )

    def life(self) -> str:
        """A digest of all that was asked and reported: the same for the same world, however busy the machine is."""
        asked = [(one.at, one.host, one.target, one.status) for one in self.web.journal.requests]
        return sha256(repr((asked, self.reported())).encode()).hexdigest()

    def reported(self) -> list[tuple[str, int, int, str]]:
        """url, at of the state before, at of the state after, kind: of every change that was reported."""
        return self.rows(
            "SELECT w.url, b.at, a.at, c.kind FROM changes c JOIN watches w ON w.id = c.watch_id "
            "JOIN visits b ON b.id = c.before_visit JOIN visits a ON a.id = c.after_visit "
            "WHERE c.state = 'reported' ORDER BY a.at, w.url"
        )


def living_web(world: World, clock: JumpingClock, port: int = PORT) -> LivingWeb:
    """The same URLs in every run, and so the same life."""
    return LivingWeb(world, ports=Ports(web=port, moves=True), now=lambda: clock.now().timestamp())


def living(
    world: World, web: LivingWeb, data: Path, *, clock: JumpingClock, config: dict[str, Any] | None = None
) -> Watched:
    """A configuration that watches all of this web."""
    sources = [
        {key: value for key, value in source.items() if key != "options"} | source["options"]
        for source in web.sources()
    ]
    raw: dict[str, Any] = {
        "sources": sources,
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "nameservers": [web.nameserver],
        },
        "run": {"max_sightings": 1_000_000},
    }
    return Watched(world, data, clock, web, parse(raw | (config or {})))


def clock_of(world: World) -> JumpingClock:
    return JumpingClock(datetime.fromtimestamp(world.epoch, UTC))


@contextmanager
def a_busy_machine() -> Iterator[None]:
    """Two processes beside us that never rest."""
    command = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(command) as one, subprocess.Popen(command) as other:
        try:
            yield
        finally:
            one.kill()
            other.kill()


def staleness(watched: Watched, begin: float, end: float) -> dict[str, Any]:
    """How stale our copies were, by the truth, weighted by risk.

    A copy is stale from the first change that no look has seen until the next look: that is the delay of the detection.
    """
    looks: dict[tuple[int, int], list[float]] = {}
    risk: dict[tuple[int, int], int] = {}
    rows = watched.rows(
        "SELECT w.url, w.risk, v.at FROM visits v JOIN watches w ON w.id = v.watch_id "
        "WHERE v.outcome IN ('ok', 'not_modified') ORDER BY v.at"
    )
    for url, level, at in rows:
        place = watched.world.locate(url)
        if place is not None:
            looks.setdefault(place, []).append(at / 1000)
            risk[place] = level
    delays: list[tuple[float, float]] = []  # hours from the first unseen change to the look, weight
    for place, seen in looks.items():
        unseen: dict[float, float] = {}  # by the look that ends it
        for changed in watched.world.changes(*place, begin, end):
            n = bisect_left(seen, changed)
            unseen.setdefault(min(seen[n], end) if n < len(seen) else end, changed)
        delays += [((at - changed) / 3600, WEIGHT[risk[place]]) for at, changed in unseen.items()]
    return _figures(delays, sum(WEIGHT[level] for level in risk.values()) * (end - begin) / 3600)


def _figures(delays: list[tuple[float, float]], watched: float) -> dict[str, Any]:
    weight = sum(w for _, w in delays)
    stale = sum(h * w for h, w in delays) / watched
    age = sum(h * h / 2 * w for h, w in delays) / watched
    return {
        "detections": len(delays),
        "weighted_delay_h": round(sum(h * w for h, w in delays) / weight, 3),
        "stale_share": round(stale, 4),
        "J": round(stale + age / 24, 4),  # the cost of the freshness judge
        "seen_within_4h": round(sum(w for h, w in delays if h <= 4) / weight, 4),
        "delays": sorted(delays),
    }


@dataclass
class Judgement:
    """Our reports against the truth."""

    pages: int = 0
    never_visited: list[str] = field(default_factory=list)
    missed: list[tuple[str, str]] = field(
        default_factory=list
    )  # a state that was there at two visits, unreported
    false: list[tuple[str, str]] = field(default_factory=list)  # reported though the truth stood still
    true: int = 0
    pending: int = 0


def judge(watched: Watched) -> Judgement:
    """For every page: consecutive looks whose true versions differ must be a reported change, others must not."""
    judgement = Judgement()
    truth = watched.world
    reports: dict[str, list[tuple[int, int]]] = {}
    for url, before, after, kind in watched.reported():
        if kind == "changed":
            reports.setdefault(url, []).append((before, after))
    visits: dict[str, list[int]] = {}
    for url, at in watched.rows(
        "SELECT w.url, v.at FROM visits v JOIN watches w ON w.id = v.watch_id "
        "WHERE v.outcome IN ('ok', 'not_modified') ORDER BY v.at"
    ):
        visits.setdefault(url, []).append(at)
    pending = {url for (url,) in watched.rows("SELECT url FROM watches WHERE pending_change IS NOT NULL")}
    seen_places: set[tuple[int, int]] = set()
    for url, looks in visits.items():
        place = truth.locate(url)
        if place is None:
            _judge_still(url, reports.get(url, []), judgement)
            continue
        seen_places.add(place)
        versions = [_mark(truth.state(*place, at / 1000).body) for at in looks]  # an edit may be taken back
        _judge_page(url, looks, versions, reports.get(url, []), url in pending, judgement)
    for host_number, host in enumerate(truth.hosts):
        for number, page in enumerate(host.pages):
            judgement.pages += 1
            if (host_number, number) not in seen_places and not page.forbidden:
                judgement.never_visited.append(f"{host.name}{page.path}")
    return judgement


def _mark(body: str) -> str:
    return sha256(body.encode()).hexdigest()[:12]


def _judge_still(url: str, reported: list[tuple[int, int]], judgement: Judgement) -> None:
    judgement.false += [(url, f"{before}..{after} on a page without versions") for before, after in reported]


def _judge_page(
    url: str,
    looks: list[int],
    versions: list[str],
    reported: list[tuple[int, int]],
    is_pending: bool,
    judgement: Judgement,
) -> None:
    version_at = dict(zip(looks, versions, strict=True))
    for before, after in reported:
        if version_at.get(before) == version_at.get(after):
            judgement.false.append((url, f"{before}..{after}: version {version_at.get(before)}"))
        else:
            judgement.true += 1
    told = {version_at.get(after) for _, after in reported}
    for n in range(1, len(looks)):
        if versions[n] != versions[n - 1] and versions[n] not in told:
            # the last looks may show an observed change that waits for another one
            if is_pending and len(set(versions[n:])) == 1:
                judgement.pending += 1
            else:
                judgement.missed.append((url, f"{versions[n - 1]} -> {versions[n]} at {looks[n]}"))
