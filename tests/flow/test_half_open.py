"""`vedette serve` under connections that never ask for anything, with few file descriptors: it goes on."""

from __future__ import annotations

import asyncio
import resource
import socket
import sys
from pathlib import Path

import aiohttp
import pytest
from machine import patient

FEW = 256  # file descriptors
CRON_TURNS = 4  # it opens the store once a second


def _with_few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (FEW, FEW))


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def _get(url: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status


@pytest.mark.slow
async def test_half_open_connections_by_the_thousand_neither_end_the_service_nor_shut_others_out(
    tmp_path: Path,
):
    port = _free_port()
    words = [
        sys.executable,
        "-m",
        "vedette",
        "serve",
        "--data",
        str(tmp_path),
        "--listen",
        f"127.0.0.1:{port}",
    ]
    service = await asyncio.create_subprocess_exec(
        *words, cwd=tmp_path, stderr=asyncio.subprocess.DEVNULL, preexec_fn=_with_few_descriptors
    )
    half_open = []
    try:
        async with asyncio.timeout(patient(60)):
            while not await _answers(port):
                await asyncio.sleep(0.1)
            for _ in range(1000):
                one = socket.socket()
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", port))
                half_open.append(one)
                await asyncio.sleep(0.001)
            await asyncio.sleep(CRON_TURNS)
            assert await _get(f"http://127.0.0.1:{port}/healthz") == 200
            assert await _get(f"http://127.0.0.1:{port}/metrics") == 200
            assert service.returncode is None
    finally:
        for one in half_open:
            one.close()
        if service.returncode is None:
            service.terminate()
        await service.wait()


async def _answers(port: int) -> bool:
    try:
        return await _get(f"http://127.0.0.1:{port}/readyz") == 200
    except aiohttp.ClientError:
        return False
