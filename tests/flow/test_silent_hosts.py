"""Hosts that say nothing do not hold up hosts that answer: the whole engine on loopback, real sockets."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
from hostile import FakeDns
from machine import patient

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse

HEALTHY, LOOKS = 3, 3


class Web:
    """Answers on some addresses, accepts and says nothing on others; ends when every healthy page was seen enough."""

    def __init__(self) -> None:
        self.looks: Counter[str] = Counter()
        self.all_seen = asyncio.Event()
        self.port = 0
        self._silent: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Web]:
        server = await asyncio.start_server(self._serve, "0.0.0.0", 0, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    def url(self, kind: int, number: int) -> str:
        return f"http://127.{kind}.0.{number + 1}:{self.port}/"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        place = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                if place.startswith("127.9."):
                    await self.all_seen.wait()
                    break
                self._heard(place, head)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhere\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def _heard(self, place: str, head: bytes) -> None:
        if not head.startswith(b"GET /robots.txt"):
            self.looks[place] += 1
        if len(self.looks) == HEALTHY and min(self.looks.values()) >= LOOKS:
            self.all_seen.set()


def a_config(web: Web, urls: list[str], *, at_once: int, **fetch: Any) -> dict[str, Any]:
    """Silent hosts first, and more patience than the test has."""
    return {
        "sources": [{"url": url, "lister": "page", "risk": "CRITICAL"} for url in urls],
        "schedule": {"policy": "fixed", "interval": "200ms"},
        "lanes": {"default": {"gap_min": "0s", "gap_max": "0s", "per_minute": 0}},
        "run": {"at_once": at_once, "per_cycle": 3 * at_once},
        "stages": {"in_process": False},
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": [web.port],
            "connect_timeout": "10m",
            "read_timeout": "10m",
            "total_timeout": "10m",
            **fetch,
        },
    }


async def run_until_seen(web: Web, config: dict[str, Any], data: Any) -> None:
    loaded = Loaded(config=parse(config), path=None, data=data, digest="silent")
    run = asyncio.create_task(run_async(loaded, RunRequest(takes_orders=False), on_event=lambda event: None))
    try:
        async with asyncio.timeout(patient(60)):
            await web.all_seen.wait()
    finally:
        web.all_seen.set()
        run.cancel()
        with suppress(asyncio.CancelledError):
            await run


@pytest.mark.slow
@pytest.mark.parametrize(
    ("at_once", "silent"), [(4, 20), (2, 30)], ids=["room for all", "more than the room"]
)
async def test_healthy_pages_are_looked_at_again_and_again_while_all_others_are_silent(
    tmp_path, at_once, silent
):
    async with Web().open() as web:
        urls = [web.url(9, n) for n in range(silent)] + [web.url(8, n) for n in range(HEALTHY)]
        await run_until_seen(web, a_config(web, urls, at_once=at_once), tmp_path)
        assert min(web.looks.values()) >= LOOKS


@pytest.mark.slow
async def test_a_name_server_that_says_nothing_about_many_names_holds_up_no_other_name(tmp_path):
    names = {f"well{n}.example": [f"127.8.0.{n + 1}"] for n in range(HEALTHY)}
    dead = {f"dead{n}.example": "silent" for n in range(30)}
    async with Web().open() as web, FakeDns({**names, **dead}) as dns:
        urls = [f"http://{name}:{web.port}/" for name in (*dead, *names)]
        await run_until_seen(web, a_config(web, urls, at_once=4, nameservers=[dns.place]), tmp_path)
        assert min(web.looks.values()) >= LOOKS
