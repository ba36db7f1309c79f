"""`kill -9` at any moment: what was acknowledged stays, nothing is doubled, nobody is asked too often.

The order of writing (archive, sync, commit) has its own test with a disk that drops what was not synced, as the
page cache survives a kill.
"""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
from inspecting import Inspector, Problems
from killing import drill
from watching import clock_of, living, living_web

from vedette.contracts.words import RunId
from vedette.livingweb import grid_world
from vedette.store.migrate import HEAD, prepare, version
from vedette.store.sqlite import Writer

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_fifty_kills_lose_nothing_double_nothing_and_break_no_limit(tmp_path: Path):
    with drill(tmp_path) as one:
        summary = one.run(50)
    assert not summary.problems, summary.problems
    assert summary.violations == 0
    assert summary.share_working >= 0.75
    assert summary.verify["whole"]
    assert summary.visits > 500


# the drill itself


@pytest.fixture
async def kept(tmp_path):
    """A small store that ran for an hour, and the lines that it acknowledged."""
    world = grid_world(3, 4, seed=3)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        watched = living(world, web, tmp_path / "data", clock=clock)
        await watched.run(seconds=3600)
    return watched.data, [json.loads(event.line()) for event in watched.events]


def looked(data: Path, lines: list) -> dict[str, int]:
    problems = Problems()
    inspector = Inspector(data, problems, random.Random(1))
    inspector.look(lines, pid=0)
    inspector.look_at_the_end()
    return {name: len(found) for name, found in problems.by_name.items() if found}


def change(data: Path, statement: str) -> None:
    with sqlite3.connect(data / "vedette.db") as db:
        assert db.execute(statement).rowcount == 1


def test_the_drill_finds_nothing_wrong_where_nothing_is(kept):
    assert looked(*kept) == {}


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("DELETE FROM visits WHERE id = (SELECT MAX(id) FROM visits)", {"lost", "unchained", "unsealed"}),
        ("DELETE FROM visits WHERE id = (SELECT MIN(id) FROM visits)", {"lost", "unchained", "unsealed"}),
        (
            "UPDATE visits SET outcome = 'gone' WHERE id = (SELECT MAX(id) FROM visits)",
            {"lost", "unchained", "unsealed"},
        ),
        ("UPDATE segments SET size = size - 1", {"lost", "unreadable", "unsealed"}),
        ("UPDATE segments SET head = x'00'", {"unchained", "unsealed"}),
        ("INSERT INTO leases VALUES (1, 'a:1', 0, 1)", {"stuck leases"}),
        ("UPDATE runs SET ended_by = NULL", {"not ended well"}),
    ],
)
def test_the_drill_finds_what_is_not_as_it_was(kept, damage, found):
    data, lines = kept
    change(data, damage)
    assert set(looked(data, lines)) == found


def test_the_drill_finds_a_byte_that_is_not_as_it_was(kept):
    data, lines = kept
    (archive,) = (data / "archive").glob("*.warc.gz")
    last = max((line for line in lines if line.get("length")), key=lambda line: line["offset"])
    with archive.open("r+b") as file:
        file.seek(last["offset"] + last["length"] // 2)
        byte = file.read(1)
        file.seek(-1, 1)
        file.write(bytes([byte[0] ^ 1]))
    assert "unreadable" in looked(data, lines)


# kills that a random moment hardly meets

DIES_AT = """
import functools, os, signal, sqlite3, sys
from pathlib import Path
left = int(sys.argv[2])
class Counting(sqlite3.Connection):
    def execute(self, statement, *rest):
        global left
        done = super().execute(statement, *rest)
        left -= statement.lstrip().startswith(("CREATE", "INSERT"))
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done
sqlite3.connect = functools.partial(sqlite3.connect, factory=Counting)
from vedette.store.migrate import prepare
prepare(Path(sys.argv[1]))
"""
DIES_SPILLING = """
import os, signal, sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA cache_size = 1")
db.execute("BEGIN IMMEDIATE")
db.execute("CREATE TABLE t (x)")
db.executemany("INSERT INTO t VALUES (zeroblob(4000))", [()] * 50)
os.kill(os.getpid(), signal.SIGKILL)
"""


def dies(program: str, *words: object) -> None:
    child = subprocess.run([sys.executable, "-c", program, *map(str, words)], check=False)
    assert child.returncode == -signal.SIGKILL


@pytest.mark.parametrize("statements", [1, 9, 18])
def test_a_kill_while_the_store_is_made_leaves_one_that_can_be_made(tmp_path: Path, statements: int):
    dies(DIES_AT, tmp_path, statements)
    assert version(prepare(tmp_path)) == HEAD


def test_a_kill_before_anything_was_committed_leaves_a_store_that_can_be_made(tmp_path: Path):
    dies(DIES_SPILLING, tmp_path / "vedette.db")
    assert (tmp_path / "vedette.db-journal").exists()
    assert version(prepare(tmp_path)) == HEAD


def test_a_kill_during_a_start_does_not_hide_the_kill_before_it(tmp_path: Path):
    """Whoever was killed may have asked a host just before: every start must know, until one has begun a run."""
    path = prepare(tmp_path)
    writer = Writer(path, worker="one")
    assert not writer.was_killed()
    writer.start_run(RunId("first"), now=NOW, policy="fixed", digest="")
    writer.close()
    for _ in range(2):  # two starts that came no further than this
        writer = Writer(path, worker="two")
        assert writer.was_killed()
        writer.close()
    writer = Writer(path, worker="three")
    writer.start_run(RunId("second"), now=NOW, policy="fixed", digest="")
    writer.end_run(RunId("second"), now=NOW, ended_by="stopped", tally="{}")
    assert not writer.was_killed()
    ends = writer.connection.execute("SELECT id, ended_by FROM runs ORDER BY id").fetchall()
    writer.close()
    assert ends == [("first", "killed"), ("second", "stopped")]


HAS_A_WORKER = """
import asyncio, os
from vedette.engine.workers.pool import Workers
async def main():
    print(await Workers().run(os.getpid), flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


def test_a_killed_engine_leaves_no_worker_behind():
    engine = subprocess.Popen([sys.executable, "-c", HAS_A_WORKER], stdout=subprocess.PIPE)
    assert engine.stdout is not None
    worker = psutil.Process(int(engine.stdout.readline()))
    engine.kill()
    engine.wait(10)
    worker.wait(10)
    assert not worker.is_running()
