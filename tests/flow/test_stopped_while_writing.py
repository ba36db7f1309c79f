"""Forms and calls while the engine is stopped: what was answered as done is there afterwards, whole, and once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml
from cli_call import Cli

SAME = {"Sec-Fetch-Site": "same-origin"}
WRITERS = 6
pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@asynccontextmanager
async def a_server(folder: Path) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """`vedette serve` as a program, with an engine that finds nobody to ask."""
    config = folder / "vedette.yaml"
    said = {
        "data": str(folder / "data"),
        "serve": {"listen": "127.0.0.1:0"},
        "log": {"format": "json"},
        "fetch": {"nameservers": ["127.0.0.1:9"], "connect_timeout": "1s", "total_timeout": "2s"},
    }
    config.write_text(yaml.safe_dump(said))
    command = [sys.executable, "-m", "vedette", "--config", str(config), "serve"]
    process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE, stdout=-3)
    assert process.stderr is not None
    address = ""
    async for line in process.stderr:
        told: dict[str, Any] = json.loads(line) if line.startswith(b"{") else {}
        address = told.get("metadata", {}).get("listen", "")
        if address:
            break
    drained = asyncio.create_task(process.stderr.read())
    try:
        yield process, address
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await drained


async def write(address: str, number: int, done: list[str], refused: list[int]) -> None:
    """Adds pages by the form and by the call in turns until nobody answers."""
    async with aiohttp.ClientSession(address) as session:
        for count in range(10_000):
            url = f"https://example.org/{number}/{count}"
            try:
                if count % 2:
                    asked = session.post(
                        "/api/v1/sources", json={"url": url}, headers={"Idempotency-Key": url}
                    )
                else:
                    asked = session.post(
                        "/sources/add",
                        data={"url": url, "lister": "page"},
                        headers=SAME,
                        allow_redirects=False,
                    )
                async with asked as answer:
                    await answer.read()
                    (done.append(url) if answer.status in (200, 201, 303) else refused.append(answer.status))
                    if answer.status >= 500:
                        return
            except (aiohttp.ClientError, ConnectionError):
                return


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_what_was_answered_as_done_is_there_after_a_stop_in_the_middle(tmp_path: Path, how: int):
    done: list[str] = []
    refused: list[int] = []
    async with a_server(tmp_path) as (process, address):
        writers = [asyncio.create_task(write(address, one, done, refused)) for one in range(WRITERS)]
        while len(done) < 40:
            await asyncio.sleep(0.02)
            assert process.returncode is None
        os.kill(process.pid, how)
        await asyncio.gather(*writers)
        code = await process.wait()
    cli = Cli(tmp_path / "data")
    kept = [one["url"] for one in cli("sources", "list", "--json").json["sources"]]
    watched = [one["url"] for one in cli("list", "--limit", "0", "--json").json["watches"]]
    assert len(done) >= 40
    assert set(done) <= set(kept), "nothing that was answered is lost"
    assert set(done) <= set(watched), "and each is due"
    assert len(kept) == len(set(kept))
    assert [status for status in refused if status not in (408, 503)] == []
    assert code == (-how if how == signal.SIGKILL else 0)
    async with a_server(tmp_path) as (_, address), aiohttp.ClientSession(address) as session:
        again = next(url for url in done if int(url.rpartition("/")[2]) % 2)
        headers = {"Idempotency-Key": again}
        async with session.post("/api/v1/sources", json={"url": again}, headers=headers) as answer:
            assert answer.status in (200, 201)
            assert answer.headers.get("Idempotency-Replayed") == "true", "the answer outlived the stop"
        async with session.get("/sources") as answer:
            assert answer.status == 200
    assert cli("evidence", "verify").code == 0
