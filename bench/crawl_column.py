"""Our column of the throughput judge: the real engine, everything on, politeness gap 0 by configuration.

Takes what every column takes (see the judge's README) and prints one JSON line with pages, errors and CPU.  `--again`
looks at the same pages twice more: with validators (304), then without (equal bytes), with the CPU of each.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from vedette.app.run import RunRequest, run_engine
from vedette.config.model import Config, Loaded, parse
from vedette.contracts.events import Event, Visited
from vedette.contracts.words import Outcome
from vedette.engine.crawl.loop import Mode
from vedette.store.connection import operating
from vedette.store.migrate import prepare

HOSTS = 200
NEW, NOT_MODIFIED, EQUAL = "new", "not_modified", "equal"
LOOK_NOW = "UPDATE watches SET due_at = 1 WHERE due_at IS NOT NULL"
FORGET_VALIDATORS = "UPDATE watches SET etag = NULL, last_modified = NULL"

Passed = Callable[[str, int, float], None]  # what the looks of a pass were, how many, seconds of CPU


def main() -> None:
    print(json.dumps(crawl(options_of(sys.argv[1:]))))
    sys.stdout.flush()


def crawl(options: argparse.Namespace, passed: Passed = lambda name, looks, cpu: None) -> dict[str, object]:
    """Every page once; with `--again` twice more."""
    data = Path(options.workdir) / "data"
    loaded = Loaded(config=_config(options), path=None, data=data, digest="bench")
    store = prepare(data)  # an empty store, as the other columns make theirs before they count
    tally, cpu, ended = _pass(loaded, options.max)
    passed(NEW, tally["ok"], cpu)
    told: dict[str, object] = {
        "pages": tally["ok"],
        "errors": tally["others"],
        "crawl_cpu": cpu,
        "ended": ended,
    }
    for name in (NOT_MODIFIED, EQUAL) if options.again else ():
        _make_due(store, name)
        tally, cpu, _ = _pass(loaded, options.max)
        passed(name, tally[name], cpu)
        told[name] = {"pages": tally[name], "cpu": cpu}
    told["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return told


def _pass(loaded: Loaded, most: int) -> tuple[Counter[str], float, str]:
    tally: Counter[str] = Counter()

    def count(event: Event) -> None:
        if isinstance(event, Visited):
            outcome = event.outcome
            tally[outcome.value if outcome in (Outcome.OK, Outcome.NOT_MODIFIED) else "others"] += 1
            tally[EQUAL] += outcome is Outcome.OK and not event.changed

    before = _cpu()
    request = RunRequest(mode=Mode.UNTIL_IDLE, max_visits=most, patience=timedelta(0))
    ended = run_engine(loaded, request, on_event=count)
    return tally, round(_cpu() - before, 4), ended.by


def _make_due(store: Path, name: str) -> None:
    with operating(store) as db:
        db.execute(LOOK_NOW)
        if name == EQUAL:
            db.execute(FORGET_VALIDATORS)


def _config(options: argparse.Namespace) -> Config:
    seed = urlsplit(options.seed)
    hosts = [f"127.0.{1 + h // 100}.{1 + h % 100}" for h in range(HOSTS)]
    nothing = {"gap_min": "0s", "gap_max": "0s", "per_minute": 0, "at_once": 4}
    source = {
        "url": options.seed,
        "lister": "crawl",
        "follow_hosts": hosts,
        "max_depth": 100,
        "max_urls": options.max,
    }
    return parse(
        {
            "sources": [source],
            "lanes": {"default": nothing},
            "run": {"at_once": options.conc, "max_sightings": 10_000_000},
            # What follows a look (verdicts, vectors, likeness) waits in its queues for `vedette worker`: the other
            # columns do nothing of the kind.  `bench/stages.py` says what it costs.
            "stages": {"in_process": False},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [seed.port]},
        }
    )


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def options_of(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", required=True)
    parser.add_argument("--max", type=int, required=True)
    parser.add_argument("--conc", type=int, default=32)
    parser.add_argument("--work", default="full")
    parser.add_argument("--workdir", default=".")
    parser.add_argument("--gzip", type=int, default=0)
    parser.add_argument("--again", action="store_true", help="the same pages twice more: 304, equal bytes")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
