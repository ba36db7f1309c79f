"""A full disk and a lock that is held: the run pauses and says so; nothing acknowledged is lost, and it goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import resource
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from inspecting import Inspector, Problems
from machine import patient
from surroundings_kit import Program, Running, a_program

pytestmark = pytest.mark.slow
MIB = 1024 * 1024
LOCKED_S = 60
STORE = 5  # exit code: surface/cli/exit_codes.py


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with a_program(tmp_path) as program:
        yield program


def check_end(program: Program, code: int, lines: list[dict[str, Any]], err: str) -> None:
    """Ended as failed, in one line that a program can read, and all that was said is kept."""
    told = json.loads(err)  # one line, no traceback
    assert (code, told["code"], told["kind"]) == (STORE, STORE, "store")
    assert str(program.data) in told["error"]
    ended = lines[-1]
    assert (ended["event"], ended["by"], ended["error"]) == ("run_ended", "failed", told["error"])
    problems = Problems()
    Inspector(program.data, problems, random.Random(1)).look(lines, pid=0)
    assert not problems, problems


async def check_goes_on(program: Program, lines: list[dict[str, Any]]) -> None:
    code, more, err = await program("run", "--json", "--seconds", "1")
    assert (code, err) == (0, "")
    assert any(line["event"] == "visited" for line in more)
    code, (report,), _ = await program("evidence", "verify", "--json")
    assert (code, report["whole"]) == (0, True)
    problems = Problems()
    inspector = Inspector(program.data, problems, random.Random(1))
    inspector.look(lines + more, pid=0)
    inspector.look_at_the_end()
    assert not problems, problems


async def test_a_file_that_may_not_grow_ends_the_run_and_with_room_it_goes_on(program: Program):
    def no_file_above_a_mib() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, resource.RLIM_INFINITY))

    code, lines, err = await program("run", "--json", preexec_fn=no_file_above_a_mib)
    check_end(program, code, lines, err)
    assert any(line["event"] == "visited" for line in lines)
    await check_goes_on(program, lines)


@pytest.fixture
def small_disk(program: Program) -> Iterator[Path]:
    """The data folder on a disk of its own, where this user may mount one."""
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(program.data)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("NOT RUN: a full disk is tried on a small one of its own, which only root may mount")
    yield program.data
    subprocess.run(["umount", str(program.data)], check=True)


def fill(path: Path) -> None:
    """Another program takes every free byte."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    with contextlib.suppress(OSError):
        while True:
            os.write(handle, b"x" * 4096)
    os.close(handle)


async def keep_full(path: Path, running: Running, times: int = 1) -> None:
    """And takes what is freed as well, until the engine says that it cannot go on."""
    while running.count("paused") < times and running.child.returncode is None:
        await asyncio.to_thread(fill, path)
        await asyncio.sleep(0.01)


async def test_a_disk_that_is_full_pauses_the_run_and_with_room_it_goes_on(
    program: Program, small_disk: Path
):
    running = await program.start("run", "--json")
    for times in (1, 2):
        await running.until("visited", 100)
        await asyncio.wait_for(keep_full(small_disk / "others", running, times), patient(60))
        assert running.count("paused") == times
        await asyncio.sleep(3.0)
        seen = running.count("visited")
        await asyncio.sleep(2.0)
        assert running.count("visited") == seen  # it waits, and says nothing twice
        assert running.count("paused") == times
        program.check_kept(running.lines, is_over=False)
        (small_disk / "others").unlink()
        await running.until("resumed")
    await running.until("visited", 100)
    assert await running.stop() == 0, running.err.decode()
    await program.check_whole()
    program.check_kept(running.lines)


async def test_a_run_that_is_told_to_end_on_a_full_disk_ends_and_the_next_one_goes_on(
    program: Program, small_disk: Path
):
    running = await program.start("run", "--json")
    await running.until("visited", 50)
    await asyncio.wait_for(keep_full(small_disk / "others", running), patient(60))
    code = await running.stop()
    check_end(program, code, running.lines, running.err.decode())
    code, nothing, err = await program("run", "--json")  # on a disk that is full from the start
    assert (code, nothing, json.loads(err)["kind"]) == (STORE, [], "store")
    (small_disk / "others").unlink()
    await check_goes_on(program, running.lines)


async def test_a_lock_that_another_program_holds_for_a_minute_pauses_the_run(program: Program):
    running = await program.start("run", "--json")
    await running.until("visited", 50)
    other = sqlite3.connect(program.data / "vedette.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await running.until("paused", within=60)
    await asyncio.sleep(LOCKED_S - 15)
    assert (running.count("paused"), running.child.returncode) == (1, None)
    other.execute("ROLLBACK")
    other.close()
    await running.until("resumed")
    await running.until("visited", 100)
    assert await running.stop() == 0, running.err.decode()
    await program.check_whole()
    program.check_kept(running.lines)


async def test_a_log_on_a_full_disk_stops_no_look(program: Program):
    with Path("/dev/full").open("wb") as full:  # noqa: ASYNC230
        child = await asyncio.create_subprocess_exec(
            *program.base, "run", "--json", "--seconds", "4", stdout=full, stderr=subprocess.DEVNULL
        )
        await asyncio.wait_for(child.wait(), patient(60))
    db = sqlite3.connect(program.data / "vedette.db")
    assert db.execute("SELECT COUNT(*) FROM visits").fetchone()[0] > 5
    assert db.execute("SELECT ended_by FROM runs").fetchall() == [("limit",)]
    db.close()
    await program.check_whole()
