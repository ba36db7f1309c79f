"""What several workers cost: CPU per look beside one embedded process, round trips per look, two workers beside one.

    .venv/bin/python bench/workers_cost.py                    # CPU and round trips: four workers, one process
    .venv/bin/python bench/workers_cost.py --scaling          # two workers beside one, as fast as they can

--scaling gives every worker the same small part of a core, by a control group (root on Linux).  So the workers are the
limit, not the web, the server or whatever else runs on the machine; "of its part" says how much of it they had, and a
figure is fair where it is near 1.

The web is in processes of its own, and counts for itself.  CPU is that of the workers and of everything that they
start, from /proc, between two moments at which all of them work; the server's is told beside it.  Round trips are
counted on the wire: a relay between the workers and PostgreSQL counts how often the server says that it is ready for
more, which is once for each time that somebody waits for it (in a run of its own, for a relay costs time).
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

sys.path[:0] = [str(Path(__file__).parent.parent / "tests" / part) for part in ("stages", "flow", "")]

from postgres_kit import OwnServer, new_database, restartable_server  # noqa: E402  in tests/stages
from trips_kit import TripCounter  # noqa: E402
from workers_kit import CountingTown  # noqa: E402  in tests/flow

from vedette.store.connection import StorePlace, connect  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")
PERIOD_US = 20_000  # in which a worker has its part
SETTLES_S = 10.0  # until what was gathered before is written
LOOKS = "SELECT COUNT(*) FROM visits"


@dataclass(frozen=True)
class Plan:
    hosts: int
    pages: int
    seconds: float
    every_s: float
    towns: int = 2
    speed: int = 60  # of the time of the pages: about one look of a hundred shows a change

    @property
    def rate(self) -> float:
        """Looks that are due in a second."""
        return self.hosts * self.pages / self.every_s


def main() -> int:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--hosts", type=int, default=400)
    asked.add_argument("--pages", type=int, default=10)
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--every", type=float, default=20, help="seconds between two looks at a page")
    asked.add_argument("--workers", type=int, default=4)
    asked.add_argument("--scaling", action="store_true")
    asked.add_argument("--part", type=float, default=0.15, help="of a core, for each worker of --scaling")
    asked.add_argument("--trips", action="store_true", help="round trips alone")
    asked.add_argument(
        "--words", type=int, default=0, help="show so many of the statements that are waited for"
    )
    given = asked.parse_args()
    plan = Plan(given.hosts, given.pages, given.seconds, given.every)
    print(f"load at the start: {os.getloadavg()}; looks due in a second: {plan.rate:.0f}", flush=True)
    if given.scaling:
        one, two = (_shared(plan, count, part=given.part) for count in (1, 2))
        told: dict[str, Any] = {"one": one, "two": two, "two of one": round(two["rate"] / one["rate"], 2)}
    elif given.trips:
        told = _shared(plan, given.workers, counted=True, words=given.words)
    else:
        alone, shared = _embedded(plan), _shared(plan, given.workers)
        told = {
            "one process": alone,
            f"{given.workers} workers": shared,
            "CPU per look, of one process": round(shared["cpu ms"] / alone["cpu ms"], 3),
            "with the server's": round((shared["cpu ms"] + shared["server ms"]) / alone["cpu ms"], 3),
            "wire": _shared(plan, given.workers, counted=True, words=given.words),
        }
    print(json.dumps(told, indent=1))
    print(f"load at the end: {os.getloadavg()}")
    return 0


def _embedded(plan: Plan) -> dict[str, Any]:
    with _towns(plan) as config, tempfile.TemporaryDirectory(prefix="vedette-cost-") as name:
        folder = Path(name)
        command = _command(folder, config)
        with _running([[*command, "run", "--json"]], {}) as pids:
            return _measured(plan, folder / "data" / "vedette.db", pids, lambda: 0.0)


def _shared(
    plan: Plan, workers: int, *, counted: bool = False, words: int = 0, part: float = 0.0
) -> dict[str, Any]:
    with (
        _towns(plan) as config,
        tempfile.TemporaryDirectory(prefix="vedette-cost-") as name,
        restartable_server() as server,
    ):
        folder, place = Path(name), new_database(server.uri, "cost")
        command = _command(folder, config)
        relay = TripCounter(server.uri) if counted else None
        url = place.url if relay is None else relay.url("cost")
        subprocess.run(
            [*command, "init"],
            env={**os.environ, "DATABASE_URL": place.url},
            capture_output=True,
            check=False,
        )
        role = [
            [*command, "worker", "--roles", "crawl,scheduler" if n == 0 else "crawl", "--json"]
            for n in range(workers)
        ]
        with _running(role, {"DATABASE_URL": url}) as pids:
            found = _measured(plan, place, pids, lambda: _server_cpu(server), relay, part)
        if relay is not None and words:
            for text, count in relay.words.most_common(words):
                print(f"{count:7d}  {text[:150]}")
        return found


def _measured(
    plan: Plan, place: StorePlace, pids: list[int], server: Any, relay: Any = None, part: float = 0.0
) -> dict[str, Any]:
    _until_all_was_seen(plan, place)
    with ExitStack() as held:
        for pid in pids if part else ():
            held.enter_context(_held_to(part, pid))
        if part:
            time.sleep(SETTLES_S)
        return _between(plan, place, pids, server, relay, part)


def _between(
    plan: Plan, place: StorePlace, pids: list[int], server: Any, relay: Any, part: float
) -> dict[str, Any]:
    if relay is not None:
        relay.reset()
    looks, cpu, served, begun = _looks(place), _cpu(pids), server(), time.monotonic()
    time.sleep(plan.seconds)
    looks, cpu, served = _looks(place) - looks, _cpu(pids) - cpu, server() - served
    took = time.monotonic() - begun
    found = {
        "looks": looks,
        "seconds": round(took, 1),
        "rate": round(looks / took, 1),
        "cpu ms": round(1000 * cpu / looks, 3),
        "server ms": round(1000 * served / looks, 3),
    }
    if part:
        found["of its part"] = round(cpu / (took * part * len(pids)), 2)
    if relay is not None:
        found["round trips"] = relay.trips
        found["round trips per look"] = round(relay.trips / looks, 3)
    return found


@contextmanager
def _held_to(part: float, pid: int) -> Iterator[None]:
    """This process and what it starts have so much of a core, and no more."""
    new, old = Path(f"/sys/fs/cgroup/vedette-{pid}"), Path(f"/sys/fs/cgroup/cpu/vedette-{pid}")
    group = old if old.parent.is_dir() else new
    group.mkdir()
    try:
        if group is old:
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
            (group / "cpu.cfs_quota_us").write_text(f"{int(part * PERIOD_US)}")
        else:
            (group / "cpu.max").write_text(f"{int(part * PERIOD_US)} {PERIOD_US}")
        for one in [pid, *_below([pid])]:
            (group / "cgroup.procs").write_text(f"{one}")
        yield
    finally:
        for one in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):
                (group.parent / "cgroup.procs").write_text(one)
        group.rmdir()


def _until_all_was_seen(plan: Plan, place: StorePlace) -> None:
    """First looks are over: what is measured is the watching of pages that are known."""
    until = time.monotonic() + 600
    while True:
        with suppress(Exception), closing(connect(place, read_only=True)) as db:
            (unseen,) = db.execute("SELECT COUNT(*) FROM watches WHERE last_visit_at IS NULL").fetchone()
            (seen,) = db.execute("SELECT COUNT(*) FROM watches").fetchone()
            if not unseen and seen >= plan.hosts * plan.pages:
                return
        if time.monotonic() > until:
            raise RuntimeError("the pages were not all looked at within ten minutes")
        time.sleep(1)


def _looks(place: StorePlace) -> int:
    with closing(connect(place, read_only=True)) as db:
        return int(db.execute(LOOKS).fetchone()[0])


@contextmanager
def _towns(plan: Plan) -> Iterator[dict[str, Any]]:
    """Several processes, so that the far end is not the limit."""
    towns = [CountingTown(plan.hosts, plan.pages, speed=plan.speed) for _ in range(plan.towns)]
    try:
        configs = [town.config() for town in towns]
        config, each = configs[0], plan.hosts // plan.towns
        for number, more in enumerate(configs):  # each of them serves hosts of its own
            part = slice(number * each, (number + 1) * each)
            config["sources"][part] = more["sources"][part]
            config["fetch"]["allow_ports"] += more["fetch"]["allow_ports"]
        config["schedule"] = {"policy": "fixed", "interval": f"{plan.every_s:g}s"}
        config["lanes"]["default"] |= {"gap_min": "10ms", "gap_max": "10ms"}
        yield config
    finally:
        for town in towns:
            town.__exit__()


def _command(folder: Path, config: dict[str, Any]) -> list[str]:
    (folder / "vedette.yaml").write_text(yaml.safe_dump(config))
    words = [sys.executable, "-m", "vedette", "--config", f"{folder / 'vedette.yaml'}"]
    return [*words, "--data", f"{folder / 'data'}"]


@contextmanager
def _running(commands: list[list[str]], env: dict[str, str]) -> Iterator[list[int]]:
    whole = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"} | env
    with tempfile.TemporaryFile() as errors:
        made = [
            subprocess.Popen(one, env=whole, stdout=subprocess.DEVNULL, stderr=errors) for one in commands
        ]
        try:
            yield [one.pid for one in made]
            for one in made:
                if one.poll() is not None:
                    errors.seek(0)
                    raise RuntimeError(f"a worker ended: {errors.read()[-2000:].decode()}")
        finally:
            for one in made:
                one.send_signal(signal.SIGTERM)
            for one in made:
                one.wait(60)


def _cpu(pids: list[int]) -> float:
    """Seconds of these processes and of all that they started and start."""
    found = 0.0
    for pid in [*pids, *_below(pids)]:
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
            found += sum(map(int, fields[11:15])) / TICKS
    return found


def _below(pids: list[int]) -> list[int]:
    """All that they started, and what those started."""
    found: list[int] = []
    children, waiting = _children(), list(pids)
    while waiting:
        more = children.get(waiting.pop(), [])
        found += more
        waiting += more
    return found


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(") ")[2].split()[1])
                found.setdefault(parent, []).append(int(entry.name))
    return found


def _server_cpu(server: OwnServer) -> float:
    return _cpu([server.process.pid])


if __name__ == "__main__":
    sys.exit(main())
