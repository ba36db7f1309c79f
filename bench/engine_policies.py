"""A judge of the engine itself: J of `learned` against `seed-ewma` and against an oracle, on the same living webs.

    python bench/engine_policies.py                     # four worlds, two seeds, budgets b and b/4: a table and means
    python bench/engine_policies.py --worlds hubs --seeds 5 --days 30
    python bench/engine_policies.py --slo               # with the objective that is set by default
    python bench/engine_policies.py --svg docs/img/engine-policies.svg   # one world: how long changes stayed unseen

Every run is the whole engine (frontier, lanes, budgets, store) on a jumping clock.  The living web knows when every
page changed.  Our copy of a page is stale from the first change that no look has seen until the next look, and a page
that was never looked at is stale from the first hour on.  J is the cost of the freshness judge: stale share + mean age
/ 24 h, weighted by the risk of the page.  The first two weeks are not judged: a short budget takes a week for first
looks.

The worlds are of the classes of the freshness judge, with its medians and tails; b is one look for each page and day.

steady  heavy-tailed rates, nothing else      office  pages that wake and sleep, changes in office hours
bursts  one change, then corrections          hubs    sitemaps and feeds that date what they list

The oracle has a copy of every page in the first hour and knows how often each changes (not when), has no lanes, reads
no listing, makes no second look, and may look at any page at any half hour as long as the budget lasts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import sys
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "flow"))

import numpy as np
from watching import WEIGHT, Watched, clock_of, living, staleness

from vedette import classify_url
from vedette.livingweb import LivingWeb, Ports, World, grid_world
from vedette.livingweb.chance import Chance
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import DAY, Bursts, ChangeMix, Never, OfficeHours, Poisson, Process

POLICIES = ("learned", "seed-ewma")
PORTS = Ports(web=18261, moves=True)  # the same URLs in every run, and so the same result
SHARES = {"b": 1.0, "b/4": 0.25}
STEP = 0.5  # hours between two choices of the oracle
KAPPA = 1 / 24  # per hour: what a stale copy costs by its age


@dataclass(frozen=True)
class Terms:
    days: float = 35.0
    budget: float | None = 60.0
    hosts: int = 6
    pages: int = 10
    seed: int = 3
    world: str = "steady"
    settle: float = 14.0  # days at the beginning that are not judged, as in the freshness judge
    slo: bool = False  # "CRITICAL within 4 h" stands: up to 40 % of the budget are spent on it, which J does not count


@dataclass(frozen=True, slots=True)
class Sleeps:
    """A process that is awake for some days and asleep for some more."""

    inner: Process
    awake: float = 12 * DAY
    asleep: float = 28 * DAY

    def times(self, chance: Chance, start: float) -> Iterator[float]:
        spells = [start - chance.unit() * self.awake]
        for t in self.inner.times(chance, start):
            while t > spells[-1]:
                spells += [spells[-1] + chance.exponential(self.awake)]
                spells += [spells[-1] + chance.exponential(self.asleep)]
            if bisect_right(spells, t) % 2:
                yield t


@dataclass(frozen=True, slots=True)
class Drawn(ChangeMix):
    """One kind of change for all pages, at heavy-tailed rates."""

    kind: str = "steady"

    def draw(self, chance: Chance) -> Process:
        is_still, sleeps = chance.happens(self.never), chance.happens(0.5)
        rate = min(math.exp(chance.normal() * self.sigma) / self.median_days, self.cap_per_day)
        if is_still:
            return Never()
        if self.kind == "bursts":
            return Bursts(rate / 4.0, size=4.0, gap=6 * 3600.0)
        if self.kind == "office":
            return Sleeps(OfficeHours(4 * rate, 0.9)) if sleeps else OfficeHours(rate, 0.9)
        return Poisson(rate)


MIXES: Mapping[str, GridMix] = {
    kind: GridMix(changes=Drawn(median_days=days, kind=kind), noisy=0, documents=0.0)
    for kind, days in (("steady", 20.0), ("office", 20.0), ("bursts", 20.0), ("hubs", 30.0))
}


def made(terms: Terms) -> World:
    """The worlds differ in how pages change, and in what lists them: dated sitemaps and feeds, or plain pages."""
    world = grid_world(terms.hosts, terms.pages, seed=terms.seed, mix=MIXES[terms.world])
    listings = ("sitemap", "atom", "rss") if terms.world == "hubs" else ("html_list",)
    dates = "true" if terms.world == "hubs" else "none"
    hosts = [
        replace(host.spec, listing=listings[n % len(listings)], dates=dates)
        for n, host in enumerate(world.hosts)
    ]
    return World(hosts, seed=terms.seed, epoch=world.epoch)


@dataclass(frozen=True)
class Truth:
    """The pages that may be looked at, one entry each.  Times are hours since the beginning of the run."""

    places: list[tuple[int, int]]
    weight: np.ndarray  # by the risk of the page
    events: list[np.ndarray]  # when it changed

    @classmethod
    def of(cls, world: World, terms: Terms) -> Truth:
        end = world.epoch + terms.days * DAY
        places = [
            (host.index, page.index) for host in world.hosts for page in host.pages if not page.forbidden
        ]
        risks = [classify_url(world.url(host, page, PORTS.web)).risk for host, page in places]
        events = [
            (np.array(world.changes(*place, world.epoch, end)) - world.epoch) / 3600 for place in places
        ]
        return cls(places, np.array([WEIGHT[risk] for risk in risks]), events)


async def lived(terms: Terms, policy: str) -> dict[str, Any]:
    """One run, held against the truth."""
    world = made(terms)
    clock = clock_of(world)
    schedule = {"policy": policy, "budget_per_day": terms.budget}
    config: dict[str, Any] = {"schedule": schedule, "stages": {"in_process": False}}
    if not terms.slo:
        config["objectives"] = {}
    with tempfile.TemporaryDirectory(prefix="vedette-policies-") as folder:
        async with LivingWeb(world, ports=PORTS, now=lambda: clock.now().timestamp()) as web:
            watched = living(world, web, Path(folder), clock=clock, config=config)
            ended = await watched.run(seconds=terms.days * DAY)
            assert ended.error is None, ended.error
            begin, end = world.epoch + terms.settle * DAY, world.epoch + terms.days * DAY
            return {
                **staleness(watched, begin, end),
                "policy": policy,
                "looks": ended.tally.visits,
                "J": round(seen_cost(Truth.of(world, terms), looks_of(watched), terms), 4),
            }


def looks_of(watched: Watched) -> dict[tuple[int, int], list[float]]:
    """When each page was looked at, in hours."""
    looks: dict[tuple[int, int], list[float]] = {}
    query = (
        "SELECT w.url, v.at FROM visits v JOIN watches w ON w.id = v.watch_id "
        "WHERE v.outcome IN ('ok', 'not_modified') ORDER BY v.at"
    )
    for url, at in watched.rows(query):
        place = watched.world.locate(url)
        if place is not None:
            looks.setdefault(place, []).append((at / 1000 - watched.world.epoch) / 3600)
    return looks


def seen_cost(truth: Truth, looks: Mapping[tuple[int, int], Sequence[float]], terms: Terms) -> float:
    """J of these looks.  Without a first look there is no copy, which is as bad as a stale one."""
    hours, settle = terms.days * 24, terms.settle * 24
    cost = np.zeros(len(truth.places))
    for n, place in enumerate(truth.places):
        ends = [*looks.get(place, ()), hours]
        cost[n] = _stale(0.0, ends[0], settle)
        cost[n] += sum(_cost(truth.events[n], gap, settle) for gap in pairwise(ends))
    return float((truth.weight * cost).sum() / (truth.weight.sum() * (hours - settle)))


def oracle(truth: Truth, terms: Terms) -> float:
    """J of somebody who knows how often each page changes, and looks where that saves most."""
    hours, settle, pages = terms.days * 24, terms.settle * 24, len(truth.places)
    rate = np.maximum(np.array([len(one) for one in truth.events]) / hours, 1e-9)
    last, cost, credit = np.zeros(pages), np.zeros(pages), 0.0
    for t in np.arange(STEP, hours, STEP):
        credit += (terms.budget or math.inf) * STEP / 24
        count = int(min(credit, pages))
        credit -= count
        for n in np.argsort(-truth.weight * _value(rate, t - last))[:count].tolist():
            cost[n] += _cost(truth.events[n], (last[n], t), settle)
            last[n] = t
    for n in range(pages):
        cost[n] += _cost(truth.events[n], (last[n], hours), settle)
    return float((truth.weight * cost).sum() / (truth.weight.sum() * (hours - settle)))


def _value(rate: np.ndarray, age: np.ndarray) -> np.ndarray:
    """Of a look at a page that changes at a known rate (docs/scheduling.md)."""
    x = rate * age
    p = -np.expm1(-x)
    first = age**2 / 2 - (1.0 - (1.0 + x) * np.exp(-x)) / rate**2
    value: np.ndarray = age * p - (age - p / rate) + np.maximum(first, 0.0) * KAPPA
    return value


def _cost(events: np.ndarray, gap: tuple[float, float], settle: float) -> float:
    """Stale hours, and age, that a gap between two looks ran up after the first days."""
    place = int(np.searchsorted(events, gap[0], side="right"))
    return 0.0 if place == len(events) else _stale(float(events[place]), gap[1], settle)


def _stale(changed: float, until: float, settle: float) -> float:
    """Of a copy that has been stale since it changed."""
    begin = max(changed, settle)
    if until <= begin:
        return 0.0
    return (until - begin) + ((until - changed) ** 2 - (begin - changed) ** 2) / 2 * KAPPA


async def judged(terms: Sequence[Terms]) -> list[dict[str, Any]]:
    """One row for each cell: J of both policies, of the oracle, and how they compare."""
    rows = []
    for one in terms:
        found = {policy: await lived(one, policy) for policy in POLICIES}
        learned, ewma = (found[policy]["J"] for policy in POLICIES)
        best = oracle(Truth.of(made(one), one), one)
        rows.append(
            {
                "world": one.world, "seed": one.seed, "budget": one.budget,
                "learned": learned, "seed-ewma": ewma, "oracle": round(best, 4),
                "vs_ewma": learned / max(ewma, 1e-9), "vs_oracle": learned / max(best, 1e-9),
                "looks": found["learned"]["looks"],
            }
        )  # fmt: skip
        print(_line(rows[-1]), flush=True)
    return rows


def means(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Geometric, over all cells."""
    return {
        key: math.exp(math.fsum(math.log(row[key]) for row in rows) / len(rows))
        for key in ("vs_ewma", "vs_oracle")
    }


def _line(row: Mapping[str, Any]) -> str:
    return (
        "{world:7} seed {seed} {budget:5g} looks a day: J learned {learned:.4f}, seed-ewma {seed-ewma:.4f}, "
        "oracle {oracle:.4f}; {vs_ewma:.2f} of seed-ewma, {vs_oracle:.2f} of the oracle"
    ).format(**row)


async def main() -> None:
    options = _options()
    base = Terms(
        days=options.days,
        settle=options.settle,
        hosts=options.hosts,
        pages=options.pages,
        slo=options.slo,
        budget=float(options.hosts * options.pages),
    )
    if options.svg:
        terms = replace(base, world=options.worlds[0], seed=options.seeds[0])
        _plot([await lived(terms, policy) for policy in POLICIES], Path(options.svg), terms)
        return
    cells = [
        replace(base, world=world, seed=seed, budget=(base.budget or 0.0) * SHARES[share])
        for world, seed, share in product(options.worlds, options.seeds, options.budgets)
    ]
    rows = await judged(cells)
    if options.json:
        print(json.dumps({"means": means(rows), "rows": rows}))
    for share in options.budgets:
        budget = (base.budget or 0.0) * SHARES[share]
        _tell_means(share, [row for row in rows if row["budget"] == budget])
    _tell_means("all", rows)


def _tell_means(what: str, rows: Sequence[Mapping[str, Any]]) -> None:
    mean = means(rows)
    print(
        f"mean over {len(rows)} cells, {what}: {mean['vs_ewma']:.3f} of seed-ewma, "
        f"{mean['vs_oracle']:.3f} of the oracle"
    )


def _plot(found: list[dict[str, Any]], path: Path, terms: Terms) -> None:
    """Share of changes seen within so many hours.  Small, by hand: no axis library in the repository."""
    width, height, left, top = 560, 300, 50, 24
    most = 48.0

    def x(hours: float) -> float:
        return left + (width - left - 16) * min(hours, most) / most

    def y(share: float) -> float:
        return top + (height - top - 44) * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for share in (0, 0.25, 0.5, 0.75, 1):
        parts.append(f'<path d="M{left} {y(share):.1f}H{width - 16}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    parts += [
        f'<text x="{x(hours):.1f}" y="{height - 26}" text-anchor="middle">{hours}</text>'
        for hours in (0, 4, 12, 24, 36, 48)
    ]
    for n, (one, colour) in enumerate(zip(found, ("#0b6e4f", "#c1440e"), strict=True)):
        weight, total, points = 0.0, sum(w for _, w in one["delays"]), [f"M{x(0):.1f} {y(0):.1f}"]
        step = 0.0
        for hours, w in one["delays"]:
            weight += w
            if hours - step >= 0.25:
                points.append(f"L{x(hours):.1f} {y(weight / total):.1f}")
                step = hours
        parts.append(f'<path d="{"".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        label = f"{one['policy']}: mean {one['weighted_delay_h']:.1f} h, {one['looks']} looks"
        place = f'x="{width - 20}" y="{y(0.3) + 18 * n:.1f}"'
        parts.append(f'<text {place} fill="{colour}" text-anchor="end">{label}</text>')
    title = f"changes seen (by weight) within so many hours; {terms.days:g} days, {terms.budget or 0:g} looks a day"
    parts.append(f'<text x="{left}" y="14">{title}</text>')
    parts.append(
        f'<text x="{width / 2}" y="{height - 8}" text-anchor="middle">hours from change to look</text></svg>'
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(parts) + "\n", encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=float, default=35.0)
    parser.add_argument("--settle", type=float, default=14.0, help="days that are not judged")
    parser.add_argument("--hosts", type=int, default=6)
    parser.add_argument("--pages", type=int, default=10, help="of each host")
    parser.add_argument("--budgets", nargs="*", default=list(SHARES), choices=list(SHARES))
    parser.add_argument("--worlds", nargs="*", default=list(MIXES), choices=list(MIXES))
    parser.add_argument("--seeds", nargs="*", type=int, default=[3, 4])
    parser.add_argument("--slo", action="store_true", help="keep the default objective: CRITICAL within 4 h")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--svg", default="")
    return parser.parse_args()


if __name__ == "__main__":
    asyncio.run(main())
