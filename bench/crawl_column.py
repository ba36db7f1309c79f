"""Our column of the throughput judge: the real engine, everything on, politeness gap 0 by configuration.

Takes what every column takes (see the judge's README) and prints one JSON line with pages, errors and CPU.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

from vedette.app.run import RunRequest, run_engine
from vedette.config.model import Config, Loaded, parse
from vedette.contracts.events import Event, Visited
from vedette.contracts.words import Outcome
from vedette.engine.crawl.loop import Mode
from vedette.store.migrate import prepare

HOSTS = 200


def main() -> None:
    options = _options()
    data = Path(options.workdir) / "data"
    loaded = Loaded(config=_config(options), path=None, data=data, digest="bench")
    tally = {"pages": 0, "errors": 0}

    def count(event: Event) -> None:
        if isinstance(event, Visited):
            tally["pages" if event.outcome is Outcome.OK else "errors"] += 1

    prepare(data)  # an empty store, as the other columns make theirs before they count
    before = _cpu()
    request = RunRequest(mode=Mode.UNTIL_IDLE, max_visits=options.max, patience=timedelta(0))
    ended = run_engine(loaded, request, on_event=count)
    cpu = _cpu() - before
    print(json.dumps({**tally, "crawl_cpu": round(cpu, 4), "ended": ended.by}))
    sys.stdout.flush()


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


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", required=True)
    parser.add_argument("--max", type=int, required=True)
    parser.add_argument("--conc", type=int, default=32)
    parser.add_argument("--work", default="full")
    parser.add_argument("--workdir", default=".")
    parser.add_argument("--gzip", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
