"""A store on PostgreSQL: rows per second by COPY, bytes per watch, and the time to claim the work of 500 lanes.

`python bench/postgres_store.py postgresql://user@host/NEW_DATABASE [--watches 100000 1000000]`.  Wall time, of a server
that does nothing else; the database must be new.  Figures are printed as JSON, one line for each size.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.watch import Ask, Watch
from vedette.contracts.words import LaneKey, Risk, SourceId
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.store.connection import operating
from vedette.store.migrate import prepare_place
from vedette.store.postgres import PostgresConnection
from vedette.store.row_columns import WATCH_COLUMNS, selected
from vedette.store.rows import watch_row
from vedette.store.sqlite import Writer

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LANES, PER_HOST, GROUP, ROUNDS = 500, 200, 20_000, 9


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("url")
    options.add_argument("--watches", type=int, nargs="+", default=[100_000, 1_000_000])
    given = options.parse_args()
    address = PostgresAddress(given.url)
    with tempfile.TemporaryDirectory() as folder:
        prepare_place(Path(folder), address)
    have = 0
    for size in sorted(given.watches):
        took = fill(address, have, size)
        print(
            json.dumps(
                {"watches": size, "rows_per_s": round((size - have) / took), **measured(address, size)}
            )
        )
        have = size


def fill(address: PostgresAddress, first: int, last: int) -> float:
    db = PostgresConnection(address)
    took = 0.0
    for start in range(first, last, GROUP):
        rows = list(made(start, min(start + GROUP, last)))
        begun = time.perf_counter()
        db.execute("BEGIN IMMEDIATE")
        db.copy_in(f"COPY watches ({selected(WATCH_COLUMNS)}) FROM STDIN", rows)
        db.execute("COMMIT")
        took += time.perf_counter() - begun
    db.execute("ANALYZE watches")
    db.close()
    return took


def made(first: int, last: int) -> Iterator[tuple[Any, ...]]:
    """Half are due; each host has 200 pages of all classes."""
    for number in range(first, last):
        url = f"https://host-{number // PER_HOST}.example/propisi/{number}.html"
        due = NOW + timedelta(minutes=(number * 7919) % 2000 - 1000)
        yield watch_row(
            Watch(
                id=watch_id(url), url=url, lane=lane_of(url), source=SourceId("s"), risk=Risk(number % 4),
                due_at=due, created_at=NOW, interval=timedelta(hours=4),
            )
        )  # fmt: skip


def measured(address: PostgresAddress, size: int) -> dict[str, Any]:
    writer = Writer(address, worker="bench")
    hosts = size // PER_HOST
    took = []
    for turn in range(ROUNDS):
        lanes = [
            LaneKey(f"host:host-{(turn * 7919 + n * hosts // LANES) % hosts}.example") for n in range(LANES)
        ]
        begun = time.perf_counter()
        found = writer.claim([Ask(lane=lane, most=1) for lane in lanes], now=NOW, due_by=NOW)
        took.append(time.perf_counter() - begun)
        assert sum(map(len, found.values())) >= LANES
    writer.close()
    with operating(address) as db:
        total, indexes = db.execute(
            "SELECT pg_total_relation_size('watches'), pg_indexes_size('watches')"
        ).fetchone()
    return {
        "claim_500_lanes_ms": round(1000 * statistics.median(took), 1),
        "bytes_per_watch": round(total / size),
        "of_these_indexes": round(indexes / size),
    }


if __name__ == "__main__":
    main()
