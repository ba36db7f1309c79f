"""Several requests at once to one host, as that host counts them."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse
from vedette.contracts.fetch import Fetched, FetchRequest
from vedette.engine.crawl.loop import Mode
from vedette.fetch.http import HttpFetcher
from vedette.telemetry.clock import SystemClock

GAP_S = 0.08


class Host:
    """Notes when a request reached it, and takes its time to answer."""

    def __init__(self) -> None:
        self.heard: list[float] = []
        self.under_way = self.most_under_way = 0

    async def __aenter__(self) -> Host:
        self._server = await asyncio.start_server(self._serve, "127.0.0.9", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = await reader.readuntil(b"\r\n\r\n")
        self.heard.append(asyncio.get_running_loop().time())
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        body = b"<main><p>" + b"Odluka o visini naknade. " * 20 + line.split(b" ")[1] + b"</p></main>"
        if b"robots.txt" in line:
            body = b""
        else:
            await asyncio.sleep(2.5 * GAP_S)
        self.under_way -= 1
        head = (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
        )
        writer.write(head % len(body) + body)
        await writer.drain()
        writer.close()


class LateFetcher(HttpFetcher):
    """Every other page goes out late, as behind a slow look-up or on a busy machine."""

    count = 0

    async def fetch(self, request: FetchRequest) -> Fetched:
        self.count += 1
        if self.count % 2 == 0:
            await asyncio.sleep(1.5 * GAP_S)
        return await super().fetch(request)


async def test_the_far_end_counts_a_gap_between_requests_though_one_went_out_late(tmp_path: Path):
    async with Host() as host:
        pages = [f"http://127.0.0.9:{host.port}/{n}" for n in range(7)]
        config = {
            "sources": [{"url": url, "lister": "page"} for url in pages],
            "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [host.port]},
            "lanes": {"default": {"gap_min": "80ms", "gap_max": "80ms", "per_minute": 0, "at_once": 4}},
        }
        loaded = Loaded(config=parse(config), path=None, data=tmp_path, digest="d")
        clock = SystemClock()
        request = RunRequest(mode=Mode.ONCE, takes_orders=False)
        ended = await run_async(
            loaded, request, on_event=lambda event: None, clock=clock, fetcher=LateFetcher(clock)
        )
        assert (ended.by, ended.tally.visits) == ("idle", 7)
        assert host.most_under_way > 1
        # A busy machine reads late too; a gap that is counted from the permit would come out at a half.
        assert min(b - a for a, b in pairwise(host.heard)) >= 0.7 * GAP_S
