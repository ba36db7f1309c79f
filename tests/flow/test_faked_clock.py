"""The command line under a clock that is really set (libfaketime): ahead by months, back by a day, and right again."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from glob import glob
from pathlib import Path

import pytest
from surroundings_kit import Lines, Program, a_program

from vedette.config.model import is_ci

LIBRARY = next(iter(glob("/usr/lib/*/faketime/libfaketimeMT.so.1")), "")
WORDS = "NOT RUN: faketime is missing, so no clock is set; apt-get install faketime"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("faketime") is None and not is_ci(), reason=WORDS),
]
SHIFTS = ("+90d", "-1d", "+1d")


@pytest.fixture
async def program(tmp_path: Path) -> AsyncIterator[Program]:
    async with a_program(tmp_path, hosts=8, pages=8) as program:
        yield program


def faked(program: Program, shift: str) -> dict[str, str]:
    """The environment of a process whose clock shows `shift` more; the file may be written anew while it runs.

    Sleeping goes by the machine's own time, as when a clock is set.
    """
    clock = program.data.parent / "clock"
    clock.write_text(shift)
    fake = {
        "LD_PRELOAD": LIBRARY,
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_CACHE_DURATION": "1",
    }
    return dict(os.environ) | fake


async def watch(program: Program, looks: int, shift: str = "") -> Lines:
    """A run until it has made so many looks; a poisoned store gives none."""
    options = {"env": faked(program, shift)} if shift else {}
    running = await program.start("run", "--json", **options)
    await running.until("visited", looks)
    assert await running.stop() == 0, running.err.decode()
    return running.lines


@pytest.mark.parametrize("shift", SHIFTS)
async def test_between_runs(program: Program, shift: str):
    lines = await watch(program, 20) + await watch(program, 20, shift)
    if not shift.startswith("-"):
        _, (health,), _ = await program("health", "--json")
        assert "stood ahead" in health["clock"]
    lines += await watch(program, 40)
    _, (health,), _ = await program("health", "--json")
    assert health["clock"] is None
    await program.check_whole()
    program.check_kept(lines)


@pytest.mark.parametrize("shift", SHIFTS)
async def test_in_a_run(program: Program, shift: str):
    running = await program.start("run", "--json", env=faked(program, "+0"))
    clock = program.data.parent / "clock"
    await running.until("visited", 20)
    for step in (shift, "+0"):
        clock.write_text(step)
        await running.until("clock_set")
        await running.until("visited", 20, within=30)
    assert await running.stop() == 0, running.err.decode()
    await program.check_whole()
    program.check_kept(running.lines)


async def test_a_verb_heals_without_a_run(program: Program):
    await watch(program, 10, "+400d")
    for words, state in ((("doctor", "--json"), "bad"), (("doctor", "--heal", "--json"), "ok")):
        _, (doctor,), _ = await program(*words)
        assert [one["state"] for one in doctor["checks"] if one["check"] == "clock"] == [state]
    await watch(program, 10)
