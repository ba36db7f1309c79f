"""Scans of static pages and freshness of CRITICAL ones on the Croatian twin, as the twin counts them.

    python bench/twin.py --days 60 --policy seed-ewma
    python bench/twin.py --days 14 60 --seed 3       # the same lines in every run, however busy the machine is

Days of the twin on the jumping clock.  Fixed polling is counted, not run: each page once in four hours (000, 8).
Static pages are those whose truth did not change in that time.  After each number of days the run ends, a line of
JSON is printed, and the next run goes on with the same store.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
import tempfile
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse
from vedette.core.urls.classify import classify_url
from vedette.livingweb import LivingWeb, Ports, World
from vedette.livingweb.croatia import SCRIPTED, croatia_world
from vedette.surface.cli import main as cli
from vedette.telemetry.clock import JumpingClock

DAY, HOUR = 86_400.0, 3600.0
POLLING = 4 * HOUR
PORT = 18_080  # part of every URL: the same in every run
OBJECTIVE = 4 * HOUR  # 000 section 8: no CRITICAL change missed within four hours
Place = tuple[int, int]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--days", type=float, nargs="+", default=[60.0])
    parser.add_argument("--policy", default=None, help="of `schedule.policy`; not given: the default")
    parser.add_argument("--pages", type=int, default=24)
    parser.add_argument("--children", type=int, default=240, help="child sitemaps of the gazette")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    world = croatia_world(seed=options.seed, pages=options.pages, children=options.children)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_run(world, options, Path(folder)))
    return 0


async def _run(world: World, options: argparse.Namespace, data: Path) -> None:
    clock = JumpingClock(datetime.fromtimestamp(world.epoch, UTC))
    async with LivingWeb(
        world, ports=Ports(web=PORT, moves=True), now=lambda: clock.now().timestamp()
    ) as web:
        loaded = _loaded(web, options.policy, data)
        async for days in legs(loaded, clock, options.days):
            found = judged(world, web, days)
            said = against(told(data, clock), found["seen_within_4h"])
            by = loaded.config.schedule.policy
            print(
                json.dumps({"policy": by, "seed": options.seed, "days": days, **found, "told": said}),
                flush=True,
            )


async def legs(loaded: Loaded, clock: JumpingClock, days: list[float]) -> AsyncIterator[float]:
    """One run after the other over the same store: each ends after so many days from the start."""
    start = clock.now()
    for end in sorted(days):
        left = start + timedelta(days=end) - clock.now()
        request = RunRequest(seconds=left.total_seconds(), takes_orders=False)
        ended = await run_async(loaded, request, on_event=_ignore, clock=clock)
        if ended.error is not None:
            raise SystemExit(f"the run ended early: {ended.error}")
        yield end


def judged(world: World, web: LivingWeb, days: float) -> dict[str, Any]:
    """What the twin's own books say."""
    end = world.epoch + days * DAY
    static: list[Place] = []
    critical: list[Place] = []
    for host in world.hosts:
        for page in host.pages if host.name not in SCRIPTED else ():
            if page.forbidden or page.born_at >= end:
                continue
            if not page.history.between(world.epoch, end):
                static.append((host.index, page.index))
            elif _risk(world, (host.index, page.index)) == "CRITICAL":
                critical.append((host.index, page.index))
    fetches = sum(web.journal.page_fetches[place] for place in static)
    polls = sum((end - max(world.epoch, world.page(*place).born_at)) / POLLING for place in static)
    stats = web.stats()
    return {
        "requests": stats["requests"],
        "static_pages": len(static),
        "static_scans": fetches,
        "fixed_polling": round(polls),
        "fewer": round(1 - fetches / polls, 4),
        "scans_per_static_page_and_day": _by_risk(world, web, static, days),
        **freshness_of(world, web, critical, end),
        "bans": stats["bans"],
        "violations": stats["violations"],
        "forbidden": stats["forbidden"],
    }


def _risk(world: World, place: Place) -> str:
    return classify_url(world.url(*place, 80)).risk.name


def told(data: Path, clock: JumpingClock) -> dict[str, Any]:
    """What `vedette freshness` says of the same time: of CRITICAL, the share seen within the objective."""
    out = io.StringIO()
    with redirect_stdout(out):
        cli(["freshness", "--json", "--data", str(data)], clock=clock)
    said = json.loads(out.getvalue())
    expected, measured = (said[part]["classes"]["CRITICAL"] for part in ("expected", "measured"))
    return {"holds": said["holds"], "expected": expected["coverage"], "measured": measured["in_time"]}


def against(said: dict[str, Any], share: float | None) -> dict[str, Any]:
    """The same, with whether the 95 % interval holds the truth."""
    interval = said["measured"]
    is_in = share is None or (
        interval is not None and interval["low"] - 1e-4 <= share <= interval["high"] + 1e-4
    )
    return said | {"holds_the_truth": is_in}


def _by_risk(world: World, web: LivingWeb, places: list[Place], days: float) -> dict[str, float]:
    found: dict[str, list[int]] = defaultdict(list)
    for place in places:
        found[_risk(world, place)].append(web.journal.page_fetches[place])
    return {risk: round(sum(looks) / len(looks) / days, 2) for risk, looks in sorted(found.items())}


def freshness_of(world: World, web: LivingWeb, critical: list[Place], end: float) -> dict[str, object]:
    """Of the true changes of CRITICAL pages, from the first hour on, how many were looked at within the objective."""
    looks: dict[Place, list[float]] = defaultdict(list)
    for seen in web.journal.requests:
        host = world.host(seen.host)
        page = host.find(seen.target) if seen.status in (200, 304) else None
        if page is not None:
            looks[host.index, page.index].append(seen.at)
    late = []
    count = 0
    for place in critical:
        begin = max(world.epoch, world.page(*place).born_at)
        for t in world.changes(*place, begin, end - OBJECTIVE):
            count += 1
            if not any(t <= at <= t + OBJECTIVE for at in looks[place]):
                seen_at = min((at for at in looks[place] if at > t), default=end)
                late.append((round((t - world.epoch) / DAY, 2), round((seen_at - t) / HOUR, 1)))
    share = round(1 - len(late) / count, 4) if count else None
    return {"critical_changes": count, "seen_within_4h": share, "late": sorted(late)}


def _loaded(web: LivingWeb, policy: str | None, data: Path) -> Loaded:
    sources = [
        {key: value for key, value in source.items() if key != "options"} | source["options"]
        for source in web.sources()
        if urlsplit(source["url"]).hostname not in SCRIPTED  # a browser takes a second of ours for every look
    ]
    raw: dict[str, Any] = {
        "sources": sources,
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "nameservers": [web.nameserver],
        },
    }
    if policy:
        raw["schedule"] = {"policy": policy}
    return Loaded(config=parse(raw), path=None, data=data, digest="twin")


def _ignore(event: object) -> None:
    """Only the twin's word counts here."""


if __name__ == "__main__":
    sys.exit(main())
