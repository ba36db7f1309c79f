"""What the stages after the look cost a crawl: the same web crawled without them, and with them beside.

`python bench/stages.py [--hosts 40] [--pages 50] [--rounds 3]`: gap 0, everything on, one process per crawl, in turns.
Counted is the time from the first to the last look, and the CPU of the whole process until then.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from vedette.app.run import RunRequest, run_engine
from vedette.config.model import Loaded, parse
from vedette.contracts.events import Event
from vedette.engine.crawl.loop import Mode

QUICK = {"gap_min": "0s", "gap_max": "0s", "per_minute": 0, "at_once": 4}
ARMS = {"without": {"in_process": False}, "beside": {"in_process": True}}


def crawl(ready: dict[str, Any], stages: dict[str, object]) -> dict[str, float]:
    """One crawl in this process."""
    sources = [
        {key: value for key, value in one.items() if key != "options"} | one["options"]
        for one in ready["sources"]
    ]
    network = {"allow_networks": ["127.0.0.0/8"], "allow_ports": [ready["port"]]}
    config = parse(
        {
            "sources": sources,
            "lanes": {"default": QUICK},
            "fetch": network | {"nameservers": [ready["nameserver"]]},
            "run": {"confirm_after": "0s"},
            "stages": stages,
        }
    )
    marks: list[tuple[float, float]] = []

    def hear(event: Event) -> None:
        if event.name == "visited":
            marks.append((time.perf_counter(), _cpu()))

    with tempfile.TemporaryDirectory(prefix="vedette-stages-") as folder:
        loaded = Loaded(config=config, path=None, data=Path(folder), digest="bench")
        run_engine(loaded, RunRequest(mode=Mode.UNTIL_IDLE, patience=timedelta(0)), on_event=hear)
    whole = _cpu()
    looks = len(marks)
    return {
        "looks": looks,
        "ms_per_look": (marks[-1][0] - marks[0][0]) / looks * 1e3,
        "cpu_ms_per_look": (marks[-1][1] - marks[0][1]) / looks * 1e3,
        "cpu_ms_per_look_with_the_rest": (whole - marks[0][1]) / looks * 1e3,
    }


def main() -> None:
    options = _options()
    if options.crawl:
        print(json.dumps(crawl(json.loads(options.crawl), ARMS[options.arm])))
        return
    command = [sys.executable, "-m", "vedette.livingweb", "--hosts", str(options.hosts)]
    command += ["--pages", str(options.pages), "--seed", "7", "--speed", "0.001", "--warm"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as web:
        assert web.stdout is not None
        ready = json.loads(web.stdout.readline())
        with urlopen(f"http://127.0.0.1:{ready['control_port']}/_/sources") as answer:
            ready["sources"] = json.load(answer)
        ready["nameserver"] = f"127.0.0.1:{ready['dns_port']}"
        found: dict[str, list[dict[str, float]]] = {arm: [] for arm in ARMS}
        for _ in range(options.rounds):
            for arm in ARMS:
                words = [sys.executable, __file__, "--crawl", json.dumps(ready), "--arm", arm]
                done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
                found[arm].append(json.loads(done.stdout or "{}"))
        web.terminate()
    for arm, rounds in found.items():
        figures = {name: round(statistics.median(one[name] for one in rounds), 3) for name in rounds[0]}
        print(f"{arm:<10}{figures}")
    for name in ("ms_per_look", "cpu_ms_per_look"):
        ratio = [b[name] / a[name] for a, b in zip(found["without"], found["beside"], strict=True)]
        print(
            f"{name}: beside / without, median of {len(ratio)} rounds: {statistics.median(ratio):.3f} {ratio}"
        )


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hosts", type=int, default=40)
    parser.add_argument("--pages", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--crawl", default="")
    parser.add_argument("--arm", default="without")
    return parser.parse_args()


if __name__ == "__main__":
    main()
