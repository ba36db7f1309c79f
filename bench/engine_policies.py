"""The whole engine under two policies on the same living web, at the same budget: who sees changes sooner?

    python bench/engine_policies.py --days 30 --budget 150 --svg docs/img/engine-policies.svg

Both runs are on a jumping clock.  The living web knows when every page changed and counts what it was asked for.
Our copy of a page is stale from the first change that no look has seen until the next look; that time is the delay of
the detection.  Told are the mean delay, the share of the time that copies were stale, and J, the cost of the freshness
judge (stale share + mean age / 24 h), all weighted by the risk of the page.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "flow"))

from watching import clock_of, living, staleness

from vedette.livingweb import LivingWeb, grid_world
from vedette.livingweb.presets import GridMix
from vedette.livingweb.process import DAY, ChangeMix


@dataclass(frozen=True)
class Terms:
    days: float = 30.0
    budget: float | None = 150.0
    hosts: int = 6
    pages: int = 12
    seed: int = 3
    settle: float = 3.0  # days at the beginning that are not judged: everybody is new to everything


async def lived(terms: Terms, policy: str) -> dict[str, Any]:
    """One run, held against the truth."""
    mix = GridMix(changes=ChangeMix(median_days=4.0, never=0.3), noisy=0)
    world = grid_world(terms.hosts, terms.pages, seed=terms.seed, mix=mix)
    clock = clock_of(world)
    schedule = {"policy": policy, "budget_per_day": terms.budget}
    with tempfile.TemporaryDirectory(prefix="vedette-policies-") as folder:
        async with LivingWeb(world, now=lambda: clock.now().timestamp()) as web:
            watched = living(world, web, Path(folder), clock=clock, config={"schedule": schedule})
            ended = await watched.run(seconds=terms.days * DAY)
            assert ended.error is None, ended.error
            asked = sum(not seen.target.startswith("/robots.txt") for seen in web.journal.requests)
            return {
                "policy": policy,
                "looks": ended.tally.visits,
                "asked": asked,
                **staleness(watched, world.epoch + terms.settle * DAY, world.epoch + terms.days * DAY),
            }


async def main() -> None:
    options = _options()
    terms = Terms(days=options.days, budget=options.budget or None, seed=options.seed)
    found = [await lived(terms, policy) for policy in options.policy]
    if options.svg:
        _plot(found, Path(options.svg), terms)
    for one in found:
        print(json.dumps({key: value for key, value in one.items() if key != "delays"}))


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
    for n, (one, colour) in enumerate(zip(found, ("#0b6e4f", "#c1440e", "#555", "#36c"), strict=False)):
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=float, default=30.0)
    parser.add_argument("--budget", type=float, default=150.0, help="looks a day; 0: no limit")
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--policy", action="append", default=None)
    parser.add_argument("--svg", default="")
    options = parser.parse_args()
    options.policy = options.policy or ["learned", "seed-ewma"]
    return options


if __name__ == "__main__":
    asyncio.run(main())
