"""Scoring and ranking 1,000,000 URLs by spec 002, and choosing where to hunt: CPU seconds.

`python bench/priority.py [--rows 1000000] [--prospects 20000]`
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime, timedelta

import numpy as np

from vedette.core.hunt import Turn, choose
from vedette.core.hunt_worth import Yields, prospect_of
from vedette.core.priority.score import UrlSignals, score_url_priority
from vedette.core.priority.score_columns import SignalColumns, score_columns

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ALONE = 20_000  # URLs that are scored one by one


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--prospects", type=int, default=20_000)
    options = parser.parse_args()
    print(json.dumps({**columns(options.rows), **alone(), **hunt(options.prospects)}, indent=2))


def columns(rows: int) -> dict[str, float]:
    """Checked, scored and sorted."""
    draw = np.random.default_rng(1)
    now = np.datetime64(NOW.replace(tzinfo=None), "us")
    visited = now - draw.integers(0, 14 * 86_400, rows).astype("timedelta64[s]")
    changed = now - draw.integers(0, 3 * 86_400, rows).astype("timedelta64[s]")
    visited[draw.random(rows) < 0.1] = "NaT"
    relevance, depth, is_hub = draw.random(rows), draw.integers(0, 7, rows), draw.random(rows) < 0.1
    began = time.process_time()
    signals = SignalColumns(
        last_visited=visited, last_changed=changed, topic_relevance=relevance, hub_depth=depth, is_hub=is_hub
    )
    scores = score_columns(signals, now=NOW)
    scored = time.process_time()
    order = scores.order()
    ended = time.process_time()
    ranked = scores.score[order]
    assert len(order) == rows
    assert bool((ranked[:-1] >= ranked[1:]).all())
    return {"rows": rows, "score_s": round(scored - began, 3), "sort_s": round(ended - scored, 3)}


def alone() -> dict[str, float]:
    """One URL after the other, with values and reasons."""
    rows = [
        UrlSignals(url=f"https://example.org/{n}", last_visited=NOW - timedelta(minutes=n), hub_depth=n % 6)
        for n in range(ALONE)
    ]
    began = time.process_time()
    for signals in rows:
        score_url_priority(signals, now=NOW)
    return {"one_url_us": round((time.process_time() - began) / ALONE * 1e6, 1)}


def hunt(count: int) -> dict[str, float]:
    """The next 50 looks out of so many prospects."""
    known = [prospect_of(f"https://h{n % 500}.example/part{n % 7}/{n}.html") for n in range(count)]
    yields = Yields()
    for at, prospect in enumerate(known[:2000]):
        yields.note(prospect, float(at % 9 == 0))
    began = time.process_time()
    chosen = choose(known, yields, 50, turn=Turn())
    assert len(chosen) == 50
    return {"prospects": count, "choose_50_s": round(time.process_time() - began, 3)}


if __name__ == "__main__":
    main()
