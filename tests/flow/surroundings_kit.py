"""The program on a small living web that changes fast, with a data folder that a test may fill, lock or damage."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from inspecting import Inspector, Problems
from machine import patient

from vedette.livingweb import LivingWeb, grid_world
from vedette.livingweb.presets import GridMix

Lines = list[dict[str, Any]]


@dataclass
class Running:
    """An engine in another process; its events as they come."""

    child: asyncio.subprocess.Process
    lines: Lines = field(default_factory=list)
    err: bytearray = field(default_factory=bytearray)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def listen(self) -> None:
        self._tasks = [asyncio.create_task(self._hear()), asyncio.create_task(self._hear_errors())]

    async def _hear(self) -> None:
        assert self.child.stdout is not None
        async for line in self.child.stdout:
            self.lines.append(json.loads(line))

    async def _hear_errors(self) -> None:
        assert self.child.stderr is not None
        while part := await self.child.stderr.read(65536):
            self.err += part

    def count(self, name: str) -> int:
        return sum(line["event"] == name for line in self.lines)

    async def until(self, name: str, more: int = 1, within: float = 60.0) -> None:
        """So many further events of this name."""
        wanted = self.count(name) + more
        async with asyncio.timeout(patient(within)):
            while self.count(name) < wanted and self.child.returncode is None:
                await asyncio.sleep(0.02)
        assert self.count(name) >= wanted, (self.err.decode(), self.lines[-3:])

    async def stop(self, number: int = signal.SIGTERM) -> int:
        if self.child.returncode is None:
            self.child.send_signal(number)
        code = await asyncio.wait_for(self.child.wait(), patient(60))
        await asyncio.wait(self._tasks)
        return code


@dataclass
class Program:
    """The command line on one data folder."""

    base: list[str]
    data: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    async def __call__(self, *words: str, **options: Any) -> tuple[int, Lines, str]:
        options.setdefault("env", self.environment)
        child = await asyncio.create_subprocess_exec(
            *self.base, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        out, err = await asyncio.wait_for(child.communicate(), patient(90))
        texts = out.splitlines() if words[0] == "run" else [out] if out.startswith(b"{") else []
        lines = [json.loads(text) for text in texts]
        assert child.returncode is not None
        return child.returncode, lines, err.decode()

    async def start(self, *words: str, **options: Any) -> Running:
        options.setdefault("env", self.environment)
        child = await asyncio.create_subprocess_exec(
            *self.base, *words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, limit=2**24, **options
        )
        running = Running(child)
        running.listen()
        return running

    def check_kept(self, lines: Lines, *, is_over: bool = True) -> None:
        """Everything that was acknowledged is there, once, and can be read."""
        problems = Problems()
        inspector = Inspector(self.data, problems, random.Random(1))
        inspector.look(lines, pid=0)
        if is_over:
            inspector.look_at_the_end()
        assert not problems, problems

    async def check_whole(self) -> None:
        code, (report,), _ = await self("evidence", "verify", "--json")
        assert (code, report["whole"]) == (0, True), report


@asynccontextmanager
async def a_program(
    place: Path, *, hosts: int = 8, pages: int = 30, settings: Mapping[str, Any] | None = None
) -> AsyncIterator[Program]:
    """Every page is looked at once a second, as far as the machine can."""
    world = grid_world(hosts, pages, seed=5, mix=GridMix(noisy=1))
    async with LivingWeb(world) as web:
        config: dict[str, Any] = {
            "sources": [
                {key: value for key, value in source.items() if key != "options"} | source["options"]
                for source in web.sources(by="address")
            ],
            "lanes": {"default": {"gap_min": "0ms", "gap_max": "0ms", "per_minute": 0}},
            "schedule": {"policy": "fixed", "interval": "1s"},
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [web.port]},
        }
        (place / "vedette.yaml").write_text(yaml.safe_dump(config | dict(settings or {})))
        data = place / "data"
        data.mkdir(mode=0o700)
        words = ["--config", str(place / "vedette.yaml"), "--data", str(data)]
        yield Program([sys.executable, "-m", "vedette", *words], data)
