"""Claiming the next 500 jobs: CPU at 1,000,000 watches against 10,000, as a ratio in one run.

30 % of the due rows lie on one host, one permit per host.  `python bench/claims.py [--large 1000000]`
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, Risk, RunId, SourceId
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.engine.settle.settler import Settler, SettlerCalls
from vedette.frontier import Frontier
from vedette.store import statements as sql
from vedette.store.migrate import prepare
from vedette.store.rows import watch_row
from vedette.store.sqlite import Reader, Writer
from vedette.telemetry.wall_clock import SystemClock

NOW = datetime(2026, 6, 1, tzinfo=UTC)
JOBS = 500


class StillClock(SystemClock):
    def now(self) -> datetime:
        return NOW


def build(folder: Path, count: int) -> Path:
    """`count` watches, half of them due; 30 % of the due on one host, the rest on count / 10 hosts."""
    path = prepare(folder)
    writer = Writer(path, worker="bench")
    hosts = max(JOBS * 3, count // 10)
    rows = []
    for n in range(count):
        is_due = n % 2 == 0
        host = "big.example" if is_due and n % 20 < 6 else f"h{n // 2 % hosts}.example"
        url = f"https://{host}/page/{n}.html"
        due_at = NOW - timedelta(minutes=n % 600) if is_due else NOW + timedelta(hours=1 + n % 700)
        watch = Watch(
            id=watch_id(url),
            url=url,
            lane=lane_of(url),
            source=SourceId("bench"),
            risk=Risk(n % 4),
            due_at=due_at,
            interval=timedelta(hours=4 + n % 100),
            created_at=NOW,
        )
        rows.append(watch_row(watch))
    writer.connection.execute("BEGIN")
    writer.connection.executemany(sql.NEW_WATCH, rows)
    writer.connection.execute("COMMIT")
    writer.connection.execute("ANALYZE")
    writer.checkpoint()
    writer.close()
    return path


def measure(path: Path, rounds: int) -> dict[str, float]:
    """CPU per claim of 500 jobs through the real frontier and settler, and per start of the frontier."""
    writer, reader = Writer(path, worker="bench"), Reader(path)
    frontier = Frontier(run=RunId("bench"), most_per_lane=1, room=JOBS)
    started = time.process_time()
    for lane, risk, due_at in reader.lanes_due():
        frontier.note_due(lane, due_at, risk)
    start = time.process_time() - started
    for lane in frontier.pop_due(NOW):
        frontier.line_up(lane, NOW)
    got: list[tuple[LaneKey, list[Watch], object]] = []
    calls = SettlerCalls(
        committed=lambda group: None, claimed=got.extend, failed=lambda error: None, dirty_lanes=lambda: ()
    )
    settler = Settler(writer, _NoArchive(), run=RunId("bench"), clock=StillClock(), calls=calls)
    taken, spent = 0, []
    for _ in range(rounds):
        began = time.process_time()
        asks = frontier.asks(lambda lane: timedelta(seconds=2))
        settler.claim(asks, due_by=NOW)
        settler.turn()
        for lane, watches, dues in got:
            frontier.offer(lane, watches, now=NOW, dues=dues)  # type: ignore[arg-type]
        cost, count = time.process_time() - began, sum(len(watches) for _, watches, _ in got)
        if count == JOBS:  # a claim on an empty queue looks infinitely fast
            spent.append(cost)
        taken += count
        for lane, watches, _ in got:
            for _ in watches:
                frontier.pop(lane)
        frontier.pop_due(NOW)
        got.clear()
    writer.close()
    return {"cpu_ms": min(spent) * 1e3, "jobs": taken / rounds, "start_cpu_s": start}


class _NoArchive:
    def append(self, entry: object) -> None:
        raise NotImplementedError("claims append nothing")

    def sync(self) -> tuple[()]:
        return ()

    def committed(self, now: datetime, sealed: object = None) -> None: ...
    def rollback(self) -> None: ...
    def close(self, now: datetime) -> None: ...


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    root = Path(tempfile.mkdtemp(prefix="vedette-claims-"))
    try:
        small_path = build(root / "small", 10_000)
        large_path = build(root / "large", options.large)
        small, large = measure(small_path, 2), measure(large_path, options.rounds)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    ratio = large["cpu_ms"] / small["cpu_ms"]
    print(json.dumps({"small": small, "large": large, "ratio": round(ratio, 2), "limit": 2.0}))


if __name__ == "__main__":
    main()
