"""What many hosts cost workers on PostgreSQL: taking lanes, renewing leases, counting, comparing with what is due.

    .venv/bin/python bench/lane_visits.py --hosts 10000 100000 1000000

Every host has one watch; one host of a hundred is due, 500 are held.  Wall time of each call, median of nine, on a
server of its own that does nothing else.  Figures are printed as JSON, one line for each number of hosts.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / part) for part in ("stages", "")]

from postgres_kit import new_database, restartable_server  # noqa: E402  in tests/stages

from vedette.contracts.sql_connection import PostgresAddress  # noqa: E402
from vedette.contracts.watch import Watch  # noqa: E402
from vedette.contracts.words import Risk, SourceId  # noqa: E402
from vedette.core.lanes.visit import LEASE  # noqa: E402
from vedette.core.urls.canonical import lane_of, watch_id  # noqa: E402
from vedette.store.connection import connect  # noqa: E402
from vedette.store.lane_visits import LaneExchange, LaneVisits, lane_counts  # noqa: E402
from vedette.store.migrate import prepare_place  # noqa: E402
from vedette.store.postgres import PostgresConnection  # noqa: E402
from vedette.store.row_columns import WATCH_COLUMNS, selected  # noqa: E402
from vedette.store.rows import lane_id, to_ms, watch_row  # noqa: E402

ROUNDS, GROUP, HELD = 9, 20_000, 500
NOW = datetime.now(UTC)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--hosts", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    given = asked.parse_args()
    print(f"load at the start: {os.getloadavg()}", flush=True)
    with restartable_server() as server, tempfile.TemporaryDirectory() as folder:
        address = new_database(server.uri, "lanes")
        prepare_place(Path(folder), address)
        have = 0
        for hosts in sorted(given.hosts):
            fill(address, have, hosts)
            print(json.dumps({"hosts": hosts, **measured(address)}), flush=True)
            have = hosts


def fill(address: PostgresAddress, first: int, last: int) -> None:
    db = PostgresConnection(address)
    for start in range(first, last, GROUP):
        made = [_watch(number) for number in range(start, min(start + GROUP, last))]
        visits = [(lane_id(one.lane), one.lane, to_ms(one.due_at)) for one in made if one.due_at]
        db.execute("BEGIN IMMEDIATE")
        db.copy_in(f"COPY watches ({selected(WATCH_COLUMNS)}) FROM STDIN", map(watch_row, made))
        db.copy_in("COPY lane_visits (lane_id, key, due_at) FROM STDIN", visits)
        db.execute("COMMIT")
    db.execute("VACUUM ANALYZE watches")
    db.execute("VACUUM ANALYZE lane_visits")
    db.close()


def _watch(number: int) -> Watch:
    """Of one host in a hundred it is due, of the others within a day."""
    url = f"https://host-{number}.example/"
    due = NOW + timedelta(seconds=number % 86_400) if number % 100 else NOW - timedelta(minutes=1)
    return Watch(
        id=watch_id(url), url=url, lane=lane_of(url), source=SourceId("s"), risk=Risk(number % 4),
        due_at=due, created_at=NOW, interval=timedelta(hours=4),
    )  # fmt: skip


def measured(address: PostgresAddress) -> dict[str, float]:
    with (
        closing(LaneVisits(address, worker="w1", lease=LEASE)) as ours,
        closing(LaneVisits(address, worker="w2", lease=LEASE)) as others,
        closing(connect(address, read_only=True)) as db,
    ):
        held = {one.lane: one.token for one in others.take(HELD)}
        taken = ours.take(2 * HELD)  # where few are due, nothing is left to take

        def turn() -> None:
            """As a worker makes it each second: lanes are taken, then given back."""
            found = ours.exchange(LaneExchange(room=32)).taken
            ours.exchange(LaneExchange(back=[(one.lane, one.token, None) for one in found]))

        def nothing_due() -> None:
            ours.exchange(LaneExchange(room=32, late=timedelta(hours=1)))

        told = {
            "32 lanes taken and given back, ms": _median(turn),
            "asked where nothing is due, ms": _median(nothing_due),
            "500 leases renewed, ms": _median(lambda: others.renew(held)),
            "counts for metrics, ms": _median(lambda: lane_counts(db)),
            "compared with what is due, ms": _median(ours.sweep, 1),
        }
        ours.give_back([(one.lane, one.token, None) for one in taken])
        others.give_back([(lane, token, None) for lane, token in held.items()])
        return told


def _median(do: Callable[[], object], rounds: int = ROUNDS) -> float:
    took = []
    for _ in range(rounds):
        begun = time.perf_counter()
        do()
        took.append(time.perf_counter() - begun)
    return round(1000 * statistics.median(took), 1)


if __name__ == "__main__":
    main()
