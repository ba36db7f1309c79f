"""Scoring and ranking 1,000,000 URLs by spec 002, and choosing where to hunt: CPU seconds.

`python bench/priority.py [--rows 1000000] [--prospects 1000000]`
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from datetime import UTC, datetime, timedelta
from itertools import islice

import numpy as np

from vedette.core.hunt import Turn, choose
from vedette.core.hunt_worth import Prospect, Yields
from vedette.core.open_pages import OpenPages
from vedette.core.priority.score import UrlSignals, score_url_priority
from vedette.core.priority.score_columns import SignalColumns, score_columns

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
ALONE = 20_000  # URLs that are scored one by one


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--prospects", type=int, default=1_000_000)
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
    """The next 64 looks out of so many open pages with words of links, kept in columns from choice to choice."""
    draw = np.random.default_rng(1)
    words = [f"word{n}" for n in range(30_000)]
    said = draw.integers(0, len(words), (count, 8))
    known = (
        Prospect(
            f"https://h{n % 20_000}.example/part{n % 7}/{n}.html",
            f"h{n % 20_000}.example",
            f"h{n % 20_000}.example/part{n % 7}",
            words=tuple(words[at] for at in said[n].tolist()),
        )
        for n in range(count)
    )
    began = time.process_time()
    pages, yields = OpenPages(), Yields()
    while part := list(islice(known, 5000)):
        pages.put(part)
        for at, prospect in enumerate(part[:100]):
            yields.note(prospect, float(at % 9 == 0))
    put = time.process_time()
    took = []
    for turn in range(5):
        begin = time.process_time()
        assert len(choose(pages, yields, 64, turn=Turn(64 * turn))) == 64
        took.append(time.process_time() - begin)
    return {
        "open_pages": count,
        "words_known": len(yields.words),
        "put_us_per_page": round((put - began) / count * 1e6, 1),
        "choose_64_median_s": round(sorted(took)[2], 3),
        "choose_64_worst_s": round(max(took), 3),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
