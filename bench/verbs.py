"""What each read verb costs on a store of 20,000 watches:  bench/verbs.py [--watches 20000] [--times 3].

CPU seconds (user and system) of the whole program, best of so many times: a busy machine adds to each of them.  The
store is that of a short demonstration, with its pages written again and again under other hosts.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from vedette.core.urls.canonical import lane_of, watch_id
from vedette.store.rows import WATCH_COLUMNS, lane_id

LIMIT = 0.6  # CPU seconds
LIMITS = {"--version": 0.25, "--help": 0.4}
VERBS = (
    "--version", "--help", "list", "list --limit 0 --json", "due", "changes", "changes --diff", "diff {url}",
    "history {url}", "explain {url}", "why-not {url}", "sources", "lanes", "health", "alerts", "parked", "freshness",
    "evidence show {url}", "evidence heads", "db status", "classify {url}", "panel status", "panel models",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--watches", type=int, default=20_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="vedette-verbs-") as folder:
        data = Path(folder) / "data"
        url = stocked(data, options.watches)
        slow = 0
        for words in VERBS:
            seconds = min(cost([*words.format(url=url).split()], data) for _ in range(options.times))
            limit = LIMITS.get(words, LIMIT)
            is_slow = seconds > limit
            slow += is_slow
            print(f"{seconds:6.2f} s  {words.format(url='URL')}{'   above ' + str(limit) if is_slow else ''}")
    return 1 if slow else 0


def stocked(data: Path, watches: int) -> str:
    """Makes the store; gives the URL of a page with a change."""
    words = ["demo", "--seconds", "20", "--data", str(data)]
    subprocess.run([sys.executable, "-m", "vedette", *words], check=True, capture_output=True)
    db = sqlite3.connect(data / "vedette.db")
    have: list[tuple[Any, ...]] = db.execute(f"SELECT {_names(WATCH_COLUMNS)} FROM watches").fetchall()
    found = db.execute("SELECT w.url FROM changes c JOIN watches w ON w.id = c.watch_id LIMIT 1").fetchone()
    for copy in range(1, watches // len(have) + 1):
        rows = [_moved(row, f"w{copy}-") for row in have[: watches - copy * len(have)]]
        marks = ", ".join("?" * len(WATCH_COLUMNS))
        db.executemany(f"INSERT INTO watches ({_names(WATCH_COLUMNS)}) VALUES ({marks})", rows)
    db.execute(
        "INSERT OR IGNORE INTO visits (id, watch_id, run_id, at, took_ms, outcome, url, changed, wire_bytes, "
        "detail, segment, seq, kind, chain) "
        "SELECT id, id, 'copied', last_visit_at, 9, 'ok', url, 0, 0, '', 'copied', row_number() OVER (), 'none', x'00' "
        "FROM watches "
        "WHERE last_visit_at IS NOT NULL"
    )
    db.execute("ANALYZE")
    db.commit()
    db.close()
    return str(found[0])


def cost(words: list[str], data: Path) -> float:
    before = _spent()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "vedette",
            *words,
            *(() if words[0].startswith("-") else ("--data", str(data))),
        ],
        capture_output=True,
        check=False,
        cwd=data.parent,
        env={**os.environ, "COLUMNS": "100"},
    )
    return _spent() - before


def _moved(row: tuple[Any, ...], prefix: str) -> tuple[Any, ...]:
    """The same page under another host."""
    values = dict(zip(WATCH_COLUMNS, row, strict=True))
    url = str(values["url"]).replace("://", f"://{prefix}", 1)
    moved = {"url": url, "id": watch_id(url), "lane_id": lane_id(lane_of(url)), "parent_id": None}
    return tuple({**values, **moved, "pending_change": None}.values())


def _names(columns: Any) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    sys.exit(main())
