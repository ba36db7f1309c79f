"""The same disguises over real HTTP: one server on a loopback address for each, asked by the program's own fetcher."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import random
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from leaks import leaks
from scripted import page
from test_screened import LINE, PLACES, QUICK, SPELLED, WORD, entities, percent, put_case
from watching import Watched

from vedette.config.model import parse
from vedette.telemetry.clock import JumpingClock

PORT = 18_247


class Loopback:
    """Plain HTTP/1.1.  Has the `put` of the scripted fetcher, so that the cases are the same."""

    def __init__(self) -> None:
        self.bodies: dict[str, tuple[int, bytes, tuple[tuple[str, str], ...]]] = {}
        self.asked: list[str] = []
        self.is_packed: set[str] = set()  # hosts that say Content-Encoding: gzip

    def put(
        self, host: str, body: bytes, *headers: tuple[str, str], status: int = 200, path: str = "/"
    ) -> None:
        self.bodies[host + path] = (status, body, headers)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        target = head.split(" ", 2)[1]
        host = next(
            line[5:].strip() for line in head.split("\r\n") if line.lower().startswith("host:")
        ).split(":")[0]
        self.asked.append(host + target)
        status, body, headers = self.bodies.get(host + target, (404, b"", ()))
        lines = [f"HTTP/1.1 {status} OK", f"Content-Length: {len(body)}", "Connection: close"]
        lines += [f"{name}: {value.replace('https://', 'http://')}" for name, value in headers]
        if not any(name == "Content-Type" for name, _ in headers):
            lines.append("Content-Type: text/html; charset=utf-8")
        if host in self.is_packed:
            lines.append("Content-Encoding: gzip")
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        await writer.drain()
        writer.close()


async def test_over_http_fifteen_places_in_five_spellings_and_fifty_digests_leave_no_byte(
    tmp_path: Path, monkeypatch, caplog
):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    caplog.set_level(logging.DEBUG)
    cases = [(place, spelling) for place in PLACES for spelling in SPELLED]
    hosts = [f"127.31.1.{n + 1}" for n in range(len(cases))]
    held = [f"127.31.2.{n + 1}" for n in range(50)]
    near = "127.31.3.1"
    served, chance = Loopback(), random.Random(8)
    bodies = [page(f"stand-in {chance.random()}").encode() for _ in held]
    digests = [hashlib.sha256(body).hexdigest() for body in bodies]
    for host, (place, spelling) in zip(hosts, cases, strict=True):
        put_case(served, host, place, spelling)  # type: ignore[arg-type]
        if spelling == "gzip" and place not in ("header", "redirect"):
            served.is_packed.add(host)
    for n, (host, body) in enumerate(zip(held, bodies, strict=True)):
        inside = f'<img src="data:text/html;base64,{base64.b64encode(body).decode()}">{LINE}'.encode()
        served.put(host, inside if n % 2 else body)
    server = await asyncio.start_server(served.answer, [*hosts, *held, near], PORT)
    async with server:
        port = server.sockets[0].getsockname()[1]
        names = [f"http://{host}:{port}/" for host in (*hosts, *held, near)]
        served.put(
            near, page("Susjed", *(f'<a href="{name}">a</a>' for name in names[: len(hosts)])).encode()
        )
        config = parse(
            {
                "sources": [{"id": f"s{n}", "url": url, "lister": "page"} for n, url in enumerate(names)],
                "screen": [
                    {"category": "test", "pattern": f"(?i){WORD}"},
                    *({"category": "digest", "digest": digest} for digest in digests),
                ],
                "fetch": {"allow_networks": ["127.0.0.0/8"], "allow_ports": [port]},
                **QUICK,
            }
        )
        clock = JumpingClock(datetime(2026, 1, 5, 8, tzinfo=UTC))
        watched = Watched(None, tmp_path / "data", clock, None, config)  # type: ignore[arg-type]
        assert (await watched.run(seconds=3600.0)).error is None
        found = dict(
            watched.rows("SELECT w.url, v.outcome FROM visits v JOIN watches w ON w.id = v.watch_id")
        )
        passed = [case for name, case in zip(names, cases, strict=False) if found[name] != "screened"]
        assert passed == []
        assert {found[name] for name in names[len(hosts) : -1]} == {"screened"}
        assert found[names[-1]] == "ok"
        first = len(served.asked)
        assert (await watched.run(seconds=40 * 24 * 3600.0)).error is None
        assert {one.split("/")[0] for one in served.asked[first:]} == {near}
    words = [WORD, percent(WORD), entities(WORD), base64.b64encode(WORD.encode()).decode(), *digests]
    assert leaks(tmp_path, words) == []
    assert [word for word in words if word in caplog.text or word in repr(watched.events)] == []
