"""A backup that is taken while the engine writes restores to a store that is whole and has every acknowledged look."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from machine import patient
from surroundings_kit import Program, a_program

pytestmark = pytest.mark.slow


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with a_program(tmp_path) as program:
        yield program


async def test_every_look_that_was_acknowledged_before_the_backup_is_in_it(program: Program, tmp_path: Path):
    running = await program.start("run", "--json")
    for number in range(3):
        await running.until("visited", 60)
        before = {line["visit"] for line in running.lines if line["event"] == "visited"}
        code, (made,), err = await asyncio.wait_for(
            program("backup", str(tmp_path / f"kept{number}"), "--json"), patient(90)
        )
        assert (code, made["problems"]) == (0, 0), err
        restored = tmp_path / f"new{number}"
        code, (found,), err = await program("restore", made["path"], "--data", str(restored), "--json")
        assert (code, found["visits"]) == (0, made["visits"]), err
        db = sqlite3.connect(restored / "vedette.db")
        assert before <= {visit for (visit,) in db.execute("SELECT id FROM visits")}
        db.close()
        code, (report,), _ = await program("evidence", "verify", "--json", "--data", str(restored))
        assert (code, report["whole"], report["visits"]) == (0, True, made["visits"])
    assert await running.stop() == 0, running.err.decode()
    await program.check_whole()
    program.check_kept(running.lines)
    again = await program.start("run", "--json", "--data", str(tmp_path / "new2"))
    await again.until("visited", 20)
    assert await again.stop() == 0, again.err.decode()


async def test_a_restore_is_refused_while_an_engine_runs(program: Program, tmp_path: Path):
    running = await program.start("run", "--json")
    await running.until("visited", 5)
    code, _, _ = await program("backup", str(tmp_path / "kept"), "--json")
    assert code == 0
    code, _, err = await program("restore", str(tmp_path / "kept"), "--replace", "--json")
    assert (code, "in use" in err) == (3, True)
    assert await running.stop() == 0
    program.check_kept(running.lines)
