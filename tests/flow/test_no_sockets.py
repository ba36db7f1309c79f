"""A machine that has no socket left blames nobody: no lane opens, no job is parked, and later all is seen."""

from __future__ import annotations

import asyncio
import resource
import sqlite3
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
import yaml
from machine import patient
from surroundings_kit import Program, Running

pytestmark = pytest.mark.slow
HOSTS = 30
FEW = 16  # of them the program has more open before it looks at anything


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Every look needs a new connection."""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhere\n")
        await writer.drain()
    writer.close()


@asynccontextmanager
async def a_program(place: Path) -> AsyncIterator[Program]:
    server = await asyncio.start_server(_answer, "0.0.0.0", 0, backlog=1024)
    port = server.sockets[0].getsockname()[1]
    config = {
        "sources": [{"url": f"http://127.30.0.{n + 1}:{port}/", "lister": "page"} for n in range(HOSTS)],
        "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]},
        "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
        "schedule": {"policy": "fixed", "interval": "1s"},
    }
    (place / "vedette.yaml").write_text(yaml.safe_dump(config))
    words = ["--config", str(place / "vedette.yaml"), "--data", str(place / "data")]
    try:
        yield Program([sys.executable, "-m", "vedette", *words], place / "data")
    finally:
        server.close()


async def test_a_machine_without_sockets_blames_no_host_and_parks_no_job(tmp_path: Path):
    async with a_program(tmp_path) as program:
        running = await program.start("run", "--json")
        await running.until("visited", 2 * HOSTS)
        soft, hard = resource.prlimit(running.child.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(running.child.pid, resource.RLIMIT_NOFILE, (FEW, hard))
        await running.until("visited", 2 * HOSTS)
        lacking = Counter(line["outcome"] for line in running.lines if line["event"] == "visited")
        resource.prlimit(running.child.pid, resource.RLIMIT_NOFILE, (soft, hard))
        await _all_seen(running)
        assert await running.stop() == 0
        assert set(lacking) == {"ok", "no_sockets"}
        assert running.count("parked") == 0
        db = sqlite3.connect(program.data / "vedette.db")
        assert db.execute("SELECT key FROM lanes WHERE failures > 0 OR recent <> 0").fetchall() == []
        assert db.execute("SELECT count(*) FROM parked").fetchone() == (0,)
        db.close()


async def _all_seen(running: Running) -> None:
    """Every host, after this moment."""
    start = len(running.lines)
    async with asyncio.timeout(patient(90)):
        while True:
            later = running.lines[start:]
            if len({line["url"] for line in later if line.get("outcome") == "ok"}) == HOSTS:
                return
            await asyncio.sleep(0.1)
