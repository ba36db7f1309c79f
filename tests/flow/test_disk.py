"""A full disk: the run ends with clear words, nothing acknowledged is lost, and with room it goes on."""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspecting import Inspector, Problems
from machine import patient

from vedette.livingweb import LivingWeb, grid_world
from vedette.livingweb.presets import GridMix

pytestmark = pytest.mark.slow
MIB = 1024 * 1024
STORE = 5  # exit code: surface/cli/exits.py


@dataclass
class Program:
    """The command line on one data folder."""

    base: list[str]
    data: Path

    async def __call__(self, *words: str, **options: Any) -> tuple[int, list[dict[str, Any]], str]:
        child = await asyncio.create_subprocess_exec(
            *self.base, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        out, err = await asyncio.wait_for(child.communicate(), patient(60))
        lines = [json.loads(line) for line in out.splitlines()] if words[0] == "run" else [json.loads(out)]
        assert child.returncode is not None
        return child.returncode, lines, err.decode()


@pytest.fixture
async def program(tmp_path: Path):
    world = grid_world(8, 30, seed=5, mix=GridMix(noisy=1))
    async with LivingWeb(world) as web:
        config = {
            "sources": [
                {key: value for key, value in source.items() if key != "options"} | source["options"]
                for source in web.sources(by="address")
            ],
            "lanes": {"default": {"gap_min": "0ms", "gap_max": "0ms", "per_minute": 0}},
            "schedule": {"policy": "fixed", "interval": "1s"},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [web.port]},
        }
        (tmp_path / "vedette.yaml").write_text(yaml.safe_dump(config))
        data = tmp_path / "data"
        data.mkdir()
        place = ["--config", str(tmp_path / "vedette.yaml"), "--data", str(data)]
        yield Program([sys.executable, "-m", "vedette", *place], data)


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
        pytest.skip("no right to mount a small disk")
    yield program.data
    subprocess.run(["umount", str(program.data)], check=True)


async def fill(path: Path, until: asyncio.Task[Any]) -> None:
    """Another program takes every free byte, and takes what is freed as well."""
    handle = os.open(path, os.O_CREAT | os.O_WRONLY)
    try:
        while not until.done():
            try:
                os.write(handle, b"x" * 4096)
            except OSError:
                await asyncio.sleep(0.001)
            else:
                await asyncio.sleep(0)
    finally:
        os.close(handle)


async def test_a_disk_that_another_program_fills_ends_the_run_and_with_room_it_goes_on(
    program: Program, small_disk: Path
):
    run = asyncio.create_task(program("run", "--json"))
    while not (small_disk / "archive" / "HEADS").exists():
        await asyncio.sleep(0.01)
    await fill(small_disk / "others", run)
    code, lines, err = await run
    check_end(program, code, lines, err)
    code, nothing, err = await program("run", "--json")  # on a disk that is full from the start
    assert (code, nothing, json.loads(err)["kind"]) == (STORE, [], "store")
    (small_disk / "others").unlink()
    await check_goes_on(program, lines)
