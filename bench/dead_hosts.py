"""Healthy hosts alone, and beside silent hosts, refusing hosts and a dead name server: looks per minute.

    python bench/dead_hosts.py --seconds 120 --healthy 100 --silent 2000 --refusing 10000 --dead-names 2000

Every page is CRITICAL.  The store knows the healthy hosts from a short run before, and nothing of the others; with
`--cold` it knows nobody, so nobody knows at the start who answers.  Silent hosts accept and say nothing; the name
server answers for the healthy names and says nothing about the dead ones.  In one scene it says nothing about half of
the healthy ones either, and what the others do is told against half of what all do alone.  The looks are those that
the healthy servers counted, in a process of their own.  One line of JSON per scene.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import random
import resource
import socket
import struct
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Any

import uvloop

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, parse

HEALTHY, SILENT, REFUSING = "127.16", "127.17", "127.18"  # the first half of their addresses
WARM_UP_S = 15.0
ANSWER = "<html><title>Vijesti</title><body><main><p>" + "Odluka stupa na snagu danas. " * 40 + "</p></main>"


def main() -> int:
    options = _options()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 65_536)), hard))
    ours, theirs = multiprocessing.Pipe()
    world = multiprocessing.get_context("spawn").Process(target=play, args=(theirs,), daemon=True)
    world.start()
    ports: dict[str, int] = ours.recv()
    scenes = {
        "alone": (0, 0, 0),
        "beside silent and refusing": (options.silent, options.refusing, 0),
        "behind a dead name server": (0, 0, options.dead_names),
        "half of the names": (0, 0, 0),
        "beside all": (options.silent, options.refusing, options.dead_names),
    }
    alone = 0.0
    for name, (silent, refusing, dead) in scenes.items():
        if options.scene and options.scene not in name and name != "alone":
            continue
        config = _config(options, ports, (silent, refusing, dead))
        with tempfile.TemporaryDirectory() as folder:
            if not options.cold:
                known = _config(options, ports, (0, 0, 0))
                uvloop.run(watched(known, WARM_UP_S, Path(folder)))
            is_half = name == "half of the names"
            ours.send("half" if is_half else "count")
            before: dict[str, Any] = ours.recv()
            visits, busy = uvloop.run(watched(config, options.seconds, Path(folder)))
        ours.send("count")
        after: dict[str, Any] = ours.recv()
        looks = (after["looks"] - before["looks"]) * (2 if is_half else 1) * 60 / options.seconds
        alone = alone or looks
        print(
            json.dumps(
                {
                    "scene": name,
                    "looks_per_minute": round(looks, 1),
                    "of_alone": round(looks / alone, 3),
                    "most_silent_lines": after["most"],
                    "looks_at_all_hosts": visits,
                    "busy": round(busy, 2),
                }
            ),
            flush=True,
        )
    world.terminate()
    return 0


async def watched(config: dict[str, Any], seconds: float, data: Path) -> tuple[int, float]:
    """A run in this process: all its looks, and the share of the time that it worked."""
    began = process_time()
    loaded = Loaded(config=parse(config), path=None, data=data, digest="dead hosts")
    ended = await run_async(loaded, RunRequest(seconds=seconds, takes_orders=False), on_event=_ignore)
    if ended.error is not None:
        raise SystemExit(f"the run ended early: {ended.error}")
    return ended.tally.visits, (process_time() - began) / seconds


def _config(options: argparse.Namespace, ports: dict[str, int], bad: tuple[int, int, int]) -> dict[str, Any]:
    silent, refusing, dead = bad
    web = ports["web"]
    urls = [f"http://healthy{n}.example:{web}/" for n in range(options.healthy)]
    urls += [f"http://{SILENT}.{n // 250}.{n % 250 + 1}:{ports['silent']}/" for n in range(silent)]
    urls += [f"http://{REFUSING}.{n // 250}.{n % 250 + 1}:{ports['closed']}/" for n in range(refusing)]
    urls += [f"http://dead{n}.invalid.example:{web}/" for n in range(dead)]
    random.Random(options.seed).shuffle(urls)
    return {
        "sources": [{"url": url, "lister": "page", "risk": "CRITICAL"} for url in urls],
        "schedule": {"policy": "fixed", "interval": f"{options.every}s"},
        "lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}},
        "fetch": {
            "allow_networks": ["127.0.0.0/8"],
            "allow_ports": list(ports.values()),
            "nameservers": [f"127.0.0.1:{ports['dns']}"],
        },
        "stages": {"in_process": False},
    }


def play(told: Connection) -> None:
    """In a process of its own: the web, the silence and the name server."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65_536), hard))
    uvloop.run(_World(told).play())


class _World(asyncio.DatagramProtocol):
    def __init__(self, told: Connection) -> None:
        self._told = told
        self.looks = self.most = 0
        self._is_half = False
        self._silent: set[asyncio.StreamWriter] = set()

    async def play(self) -> None:
        loop = asyncio.get_running_loop()
        web = await asyncio.start_server(self._answer, "0.0.0.0", 0, backlog=4096)
        silent = await asyncio.start_server(self._hold, "0.0.0.0", 0, backlog=4096)
        dns, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", 0))
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))  # bound and not listening: every address refuses there
        self._dns = dns
        ports = {
            "web": web.sockets[0].getsockname()[1],
            "silent": silent.sockets[0].getsockname()[1],
            "closed": closed.getsockname()[1],
            "dns": dns.get_extra_info("sockname")[1],
        }
        self._told.send(ports)
        while True:
            self._is_half = await loop.run_in_executor(None, self._told.recv) == "half"
            self._told.send({"looks": self.looks, "most": self.most})
            self.most = 0

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                is_page = not head.startswith(b"GET /robots.txt")
                self.looks += is_page
                body = f"{ANSWER}<p>{self.looks}</p>".encode() if is_page else b""
                status = b"200 OK" if is_page else b"404 Not Found"
                writer.write(b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status, len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _hold(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._silent.add(writer)
        self.most = max(self.most, len(self._silent))
        try:
            while await reader.read(65_536):
                pass
        except ConnectionError:
            pass
        self._silent.discard(writer)
        writer.close()

    def datagram_received(self, data: bytes, addr: Any) -> None:
        end = data.index(b"\0", 12)
        name, kind = data[13:end], struct.unpack_from("!H", data, end + 1)[0]
        if b"dead" in name:
            return
        number = int(name.partition(b"\x07")[0].removeprefix(b"healthy") or 0)
        if self._is_half and number % 2:
            return
        record = (
            b"\xc0\x0c"
            + struct.pack("!HHIH", 1, 1, 30, 4)
            + bytes((127, 16, number // 250, number % 250 + 1))
        )
        records = [record] if kind == 1 else []
        head = data[:2] + struct.pack("!5H", 0x8180, 1, len(records), 0, 0)
        self._dns.sendto(head + data[12 : end + 5] + b"".join(records), addr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument(
        "--every", type=float, default=5.0, help="seconds between two looks at a healthy page"
    )
    parser.add_argument("--healthy", type=int, default=100)
    parser.add_argument("--silent", type=int, default=2000)
    parser.add_argument("--refusing", type=int, default=10_000)
    parser.add_argument("--dead-names", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scene", default="")
    parser.add_argument("--cold", action="store_true", help="nobody knows which hosts answer")
    return parser.parse_args()


def _ignore(event: object) -> None:
    """Only the servers' word counts here."""


if __name__ == "__main__":
    sys.exit(main())
