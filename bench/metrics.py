"""What counting costs per look, and a scrape:  bench/metrics.py.  CPU time of this process, best of five."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "stages"))

from settlements import NOON, a_group, a_look, a_place, a_watch

from vedette.engine.crawl.run_result import RunLog
from vedette.engine.settle.change_messages import messages_of
from vedette.telemetry.metrics import Meters

LOOKS = 200


def main() -> None:
    look = a_place(a_look(a_watch(), 1))
    group = replace(a_group(look.settlement), placed=(look,) * LOOKS)
    meters, log = Meters(), RunLog()
    print(f"metrics  {best(lambda: meters.hear(group, NOON)) / LOOKS * 1e6:6.2f} us per look")
    print(f"run log  {best(lambda: log.add(group)) / LOOKS * 1e6:6.2f} us per look")
    print(
        f"messages {best(lambda: messages_of(group.placed, lambda notice: ())) / LOOKS * 1e6:6.2f} us per look"
    )
    registry = meters.registry()
    print(f"scrape   {best(registry.text) * 1e6:6.0f} us")


def best(call: object, times: int = 200) -> float:
    rounds = []
    for _ in range(5):
        start = process_time()
        for _ in range(times):
            call()  # type: ignore[operator]
        rounds.append((process_time() - start) / times)
    return min(rounds)


if __name__ == "__main__":
    main()
