"""The hunt against the odd world: what it finds, what it costs, and what breadth-first and random would have found.

    python bench/hunt.py --seed 7 --looks 4000
    python bench/hunt.py --variant none|swapped|farm|folders --hosts 100 --pages 4000 --odd 40

The hunt runs over real HTTP on the jumping clock.  Breadth-first and random follow the link graph of the truth with
as many fetches: each address that they ask for is one, also where nothing answers.  They keep robots.txt as it does.
Prints a table and one line of JSON.  `--without FAMILY` switches a family of features off.  `--only-kinds a,b` plants
odd pages of these kinds alone: whoever chooses weights leaves kinds out and looks at them afterwards.
The AUC of a feature is over all pages that the hunt judged; with `--alone` that of naive features over the whole world
is printed too (odd_measures.py), which takes half a minute.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "flow"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "core"))

from odd_measures import auc, single_features
from watching import Watched, clock_of

from vedette.config.model import Loaded, parse
from vedette.contracts.oddness import Family, Triage
from vedette.core.oddness.odd_score import DEFAULT, configured
from vedette.engine.settle.odd_pages import judged_again
from vedette.livingweb import LivingWeb, OddPlan, OddWorld, Ports
from vedette.livingweb.chance import Chance
from vedette.livingweb.odd import decoys_for
from vedette.operations import hunt as operations
from vedette.operations.installation import Installation
from vedette.store.connection import connect
from vedette.store.hunt_rows import HuntReader

PORT = 8477  # stands in the addresses: the same in every run
DAYS = 14
DRAWS = 5  # random walks, of which the mean is taken


@dataclass(frozen=True)
class Finding:
    """One page as the hunt ranks it."""

    url: str
    score: float
    action: str = ""


@dataclass(frozen=True)
class Hunted:
    """What one run came to."""

    looked: list[str]  # addresses in the order of their first request, without robots.txt
    findings: list[Finding]  # the best first
    requests: int
    forbidden: int
    error: str
    cpu: float
    values: dict[str, dict[str, float]] = field(default_factory=dict)  # of each feature of each page judged
    without: dict[str, list[Finding]] = field(
        default_factory=dict
    )  # by family: findings if it were switched off
    judging: float = 0.0  # CPU milliseconds per page for features and score, judging again included


async def main() -> int:
    options = _options()
    world = OddWorld(_plan(options))
    known = world.known(PORT)
    odd = set(known["was_odd"] if options.variant == "swapped" else known["odd"])
    with tempfile.TemporaryDirectory(prefix="vedette-hunt-") as folder:
        hunted = await run_hunt(world, Path(options.keep or folder), options)
    looks = len(hunted.looked)
    result: dict[str, Any] = {
        "seed": options.seed, "variant": options.variant, "hosts": len(world.hosts), "pages": known["pages"],
        "odd": len(odd), "looks": looks, "error": hunted.error,
        "requests": hunted.requests, "requests_per_look": round(hunted.requests / max(1, looks), 3),
        "forbidden": hunted.forbidden, "cpu_ms_per_look_with_server": round(hunted.cpu / max(1, looks) * 1e3, 2),
        **_found("hunt", [hunted.looked], odd),
        **_found("breadth", [walk(world, looks, breadth_first)], odd),
        **_found("random", [walk(world, looks, at_random(draw)) for draw in range(DRAWS)], odd),
        **ranked(hunted.findings, odd, known),
        **alone(hunted.values, odd),
        **(naive(world) if options.alone else {}),
        "judging_ms_per_page": round(hunted.judging, 2),
        "precision_50_without": {name: _precision(rows[:50], odd) for name, rows in hunted.without.items()},
    }  # fmt: skip
    _table(result)
    print(json.dumps(result, ensure_ascii=False))
    return 1 if hunted.error else 0


async def run_hunt(world: OddWorld, data: Path, options: argparse.Namespace) -> Hunted:
    """The one place that knows how a hunt is started."""
    clock, began = clock_of(world), time.process_time()
    async with LivingWeb(
        world, now=lambda: clock.now().timestamp(), ports=Ports(web=PORT, moves=True)
    ) as web:
        config = parse(_config(world, web, options))
        watched = Watched(world, data, clock, web, config)
        ended = await watched.run(max_visits=options.looks, seconds=DAYS * 86_400.0)
        stats: Any = web.stats()
        looked = list(
            dict.fromkeys(
                f"http://{seen.host}:{PORT}{seen.target}"
                for seen in web.journal.requests
                if seen.target != "/robots.txt"
            )
        )
    loaded = Loaded(config=config, path=None, data=data, digest="flow")
    without, judging = families_off(watched) if options.families else ({}, 0.0)
    return Hunted(
        looked=looked,
        findings=findings_of(Installation(loaded=loaded, clock=clock)),
        requests=stats["requests"],
        forbidden=stats["forbidden"],
        error=str(ended.error or ""),
        cpu=time.process_time() - began,
        values={
            url: {name: value for name, _, _, value, _, _ in json.loads(features)}
            for url, features in watched.rows("SELECT url, features FROM odd_pages")
        },
        without=without,
        judging=judging,
    )


def families_off(watched: Watched) -> tuple[dict[str, list[Finding]], float]:
    """The pages of this run judged again with each family switched off, and what judging costs."""
    urls = dict(watched.rows("SELECT watch_id, url FROM odd_pages"))
    with closing(connect(watched.data / "vedette.db", read_only=True)) as db:
        rows = HuntReader(db).facts(0, -1)
    found, began = {}, time.process_time()
    for family in Family:
        weights = configured(DEFAULT, Triage(without=(family.value,)))
        kept = [(facts, one) for facts, _, one in judged_again(rows, weights) if one.found]
        ranked = sorted(kept, key=lambda pair: (-pair[1].score, urls[pair[0].watch]))
        found[family.value] = [Finding(urls[facts.watch], one.score) for facts, one in ranked]
    spent = time.process_time() - began
    return found, spent / max(1, len(rows) * len(Family)) * 1e3


def _config(world: OddWorld, web: LivingWeb, options: argparse.Namespace) -> dict[str, Any]:
    hunt: dict[str, Any] = {"without": [options.without]} if options.without else {}
    return {
        "sources": [
            {
                "id": f"seed{n}", "url": url, "lister": "crawl", "follow_hosts": ["*"], "hunt": True, "risk": "LOW",
                "max_urls": 200_000, "max_depth": 60,
            }
            for n, url in enumerate(world.seeds(web.port))
        ],
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "nameservers": [web.nameserver],
        },
        "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
        "schedule": {"policy": "fixed", "interval": "60d"},
        "run": {"max_sightings": 1_000_000},
        "hunt": hunt,
    }  # fmt: skip


def findings_of(installation: Installation) -> list[Finding]:
    """What the hunt ranks, the oddest first."""
    rows = [Finding(row.url, row.score, row.action) for row in operations.findings(installation)]
    return sorted(rows, key=lambda row: (-row.score, row.url))


# What others would have found with as many fetches.

Pick = Callable[[deque[str]], str]


def breadth_first(waiting: deque[str]) -> str:
    return waiting.popleft()


def at_random(seed: int) -> Pick:
    """Any open address, each as likely as the others."""
    chance = Chance("bench", seed)

    def pick(waiting: deque[str]) -> str:
        waiting.rotate(-chance.below(len(waiting)))
        return waiting.popleft()

    return pick


def walk(world: OddWorld, fetches: int, pick: Pick) -> list[str]:
    """The addresses that this way asks for, in its order.  What robots.txt forbids is passed over without a fetch."""
    waiting: deque[str] = deque(world.seeds(PORT))
    known, asked = set(waiting), list[str]()
    while waiting and len(asked) < fetches:
        url = pick(waiting)
        host = world.hosts[_host_of(world, url)]
        target = url.split("/", 3)[3]
        if host.spec.robots.forbids("/" + target):
            continue
        asked.append(url)
        for link in _links(world, url, host.index):
            if link not in known:
                known.add(link)
                waiting.append(link)
    return asked


def _links(world: OddWorld, url: str, host: int) -> Sequence[str]:
    site = world.sites[host]
    where = world.locate(url)
    if where is None:  # moved, or nothing is there
        moved = site.moved.get("/" + url.split("/", 3)[3])
        return [world.url(host, None, PORT).rstrip("/") + moved] if moved else ()
    return () if site.ground.health == "failing" else world.links(*where, PORT)


def _host_of(world: OddWorld, url: str) -> int:
    return world.host(url.split("/", 3)[2].partition(":")[0]).index


# Figures.


def _found(name: str, ways: Sequence[Sequence[str]], odd: set[str]) -> dict[str, Any]:
    """The mean of these ways."""
    found = sum(len(odd & set(looked)) for looked in ways) / len(ways)
    each = round(sum(map(len, ways)) / len(ways) / found, 1) if found else None
    return {
        f"{name}_found": found,
        f"{name}_recall": round(found / len(odd), 3) if odd else None,
        f"{name}_fetches_per_odd": each,
    }


def ranked(findings: Sequence[Finding], odd: set[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """How good the first of the ranking are.  `precision_100`: of those that there are; `odd_100`: of a hundred."""
    top = [row.url for row in findings[:50]]
    kinds = Counter(known["odd"][url]["kind"] for url in top if url in known["odd"])
    decoys = Counter(known["decoys"][url]["imitates"] for url in top if url in known["decoys"])
    kept = {row.url for row in findings} & odd
    return {
        "findings": len(findings),
        "kept": len(kept),
        "kept_share": round(len(kept) / len(odd), 3) if odd else None,
        "kept_by_kind": dict(
            sorted(Counter(known["odd"][url]["kind"] for url in kept if url in known["odd"]).items())
        ),
        "precision_50": _precision(findings[:50], odd),
        "precision_100": _precision(findings[:100], odd),
        "odd_100": round(sum(row.url in odd for row in findings[:100]) / 100, 3),
        "kinds_50": len(kinds),
        "decoys_50": sum(decoys.values()),
        "decoys_by_what": dict(decoys),
    }


def alone(values: Mapping[str, Mapping[str, float]], odd: set[str]) -> dict[str, Any]:
    """How well each feature of the hunt alone tells odd pages from the others that it judged."""
    is_odd = [url in odd for url in values]
    if not any(is_odd) or all(is_odd):
        return {"best_single_auc": None, "single_auc": {}}
    names = list(next(iter(values.values())))
    found = {name: round(auc([row[name] for row in values.values()], is_odd), 3) for name in names}
    return {"best_single_auc": max(found.values()), "single_auc": found}


def naive(world: OddWorld) -> dict[str, Any]:
    """The same of features that need no crawl, over every page of the world."""
    found = {name: round(value, 3) for name, value in single_features(world).items()}
    best = max(found, key=found.__getitem__)
    print(f"best naive feature over the whole world: {best} {found[best]}")
    return {"naive_auc": found, "best_naive_auc": found[best]}


def _precision(findings: Sequence[Finding], odd: set[str]) -> float | None:
    return round(sum(row.url in odd for row in findings) / len(findings), 3) if findings else None


def _table(result: Mapping[str, Any]) -> None:
    print(f"{'':10}{'found':>8}{'recall':>9}{'fetches per odd page':>23}{'of the others':>16}")
    mine = result["hunt_fetches_per_odd"]
    for name in ("hunt", "breadth", "random"):
        each = result[f"{name}_fetches_per_odd"]
        share = f"{mine / each:.2f}" if mine and each and name != "hunt" else ""
        found, recall = result[f"{name}_found"], result[f"{name}_recall"]
        print(f"{name:10}{found:>8}{recall if recall is not None else '-':>9}{each or '-':>23}{share:>16}")
    print(
        f"{result['findings']} findings, {result['kept']} of them odd; precision@50 {result['precision_50']}, "
        f"@100 {result['precision_100']} ({result['odd_100']} of a hundred), kinds {result['kinds_50']} and decoys "
        f"{result['decoys_50']} in the first 50, {result['requests_per_look']} requests per look, "
        f"best single feature {result['best_single_auc'] or 'not measured'}"
    )
    if result["precision_50_without"]:
        print(f"precision@50 without a family: {result['precision_50_without']}")
        print(f"features and score: {result['judging_ms_per_page']} ms of CPU per page")


def _plan(options: argparse.Namespace) -> OddPlan:
    return OddPlan(
        hosts=options.hosts,
        pages=options.pages,
        odd=0 if options.variant == "none" else options.odd,
        decoys=decoys_for(options.pages),
        farm=2000 if options.variant == "farm" else 0,
        is_swapped=options.variant == "swapped",
        folders=options.variant == "folders",
        kinds=tuple(filter(None, options.only_kinds.split(","))),
        seed=options.seed,
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--looks", type=int, default=4000)
    parser.add_argument("--hosts", type=int, default=400)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--odd", type=int, default=200)
    parser.add_argument("--variant", choices=("plain", "none", "swapped", "farm", "folders"), default="plain")
    parser.add_argument("--without", default="", help="a family of features to switch off")
    parser.add_argument(
        "--only-kinds",
        default="",
        help="kinds of odd pages to plant, separated by commas; all of them if empty",
    )
    parser.add_argument("--alone", action="store_true", help="the AUC of naive features over the whole world")
    parser.add_argument("--families", action="store_true", help="judge the pages again without each family")
    parser.add_argument("--keep", default="", metavar="FOLDER", help="where the store of the run stays")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
