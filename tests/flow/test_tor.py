"""Looks by a SOCKS5 proxy: names go as names, nothing goes another way, and onion names stay hidden."""

from __future__ import annotations

import asyncio
import socket
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from leaks import leaks

from vedette.app.run import RunRequest, run_async
from vedette.config.model import Loaded, SourceConfig, parse
from vedette.config.pace_policies import lane_policies
from vedette.config.policies import check_config, source_of
from vedette.contracts.errors import ConfigError
from vedette.contracts.lane import TOR
from vedette.contracts.words import LaneKey
from vedette.engine.crawl.loop import Mode

ONION = "abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrstuvwx.onion"
OTHER = "zyxwvutsrqponmlkjihgfedcba765432zyxwvutsrqponmlkjihgfedc.onion"
TEXT = "<p>Dovoljno dug tekst o vrtu, moru i kamenju, da bude stranica za sebe.</p>" * 4
PAGES = {
    (
        ONION,
        "/",
    ): f'<html><title>x {ONION}</title>{TEXT}<a href="http://{OTHER}/">o</a> <a href="/away">a</a></html>',
    (ONION, "/away"): "-> http://clear.example/",
    (OTHER, "/"): f"<html><title>y</title>{TEXT} {OTHER}</html>",
    ("clear.example", "/"): f'<html><title>z</title>{TEXT}<a href="/back">b</a></html>',
    ("clear.example", "/back"): f"-> http://{ONION}/deep",
    (ONION, "/deep"): f"<html><title>deep</title>{TEXT}</html>",
}


@dataclass
class Proxy:
    """A SOCKS5 server on loopback that answers as the far end itself, and remembers what it was asked."""

    asked: list[tuple[int, str, int]] = field(default_factory=list)
    paths: list[tuple[str, str]] = field(default_factory=list)

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            _, count = await reader.readexactly(2)
            await reader.readexactly(count)
            writer.write(b"\x05\x00")
            *_, kind = await reader.readexactly(4)
            size = (await reader.readexactly(1))[0] if kind == 3 else 4
            host = (await reader.readexactly(size)).decode("latin-1")
            port = int.from_bytes(await reader.readexactly(2), "big")
            self.asked.append((kind, host, port))
            writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(host, head.split(b" ")[1].decode()))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, host: str, path: str) -> bytes:
        self.paths.append((host, path))
        text = PAGES.get((host, path))
        if text is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        if text.startswith("-> "):
            return f"HTTP/1.1 302 Found\r\nLocation: {text[3:]}\r\nContent-Length: 0\r\n\r\n".encode()
        body = text.encode()
        return b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%b" % (
            len(body),
            body,
        )


class Sink:
    """A name server that says nothing and counts."""

    def __enter__(self) -> Sink:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self.port = self._socket.getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def queries(self) -> int:
        count = 0
        while True:
            try:
                self._socket.recv(4096)
            except BlockingIOError:
                return count
            count += 1


async def looked(folder: Path, proxy_port: int, sink: Sink, events: list[Any], **limits: Any) -> None:
    raw = {
        "lanes": {key: {"gap_min": "0s", "gap_max": "0s", "per_minute": 0} for key in ("default", "engine:tor")},
        "retry": {"attempts": 1},
        "run": {"confirm_after": "0s"},
        "fetch": {"nameservers": [f"127.0.0.1:{sink.port}"], "total_timeout": "5s"},
        "sources": [
            {
                "url": f"http://{ONION}/", "lister": "crawl", "follow_hosts": ["*"], "hunt": True,
                "fetch": {"proxy": f"socks5h://127.0.0.1:{proxy_port}"},
            }
        ],
    }  # fmt: skip
    loaded = Loaded(config=parse(raw), path=None, data=folder, digest="tor")
    request = RunRequest(takes_orders=False, mode=Mode.UNTIL_IDLE, **({"seconds": 8.0} | limits))
    ended = await run_async(loaded, request, on_event=events.append)
    assert ended.error is None


def rows(folder: Path, query: str) -> list[tuple[Any, ...]]:
    db = sqlite3.connect(folder / "vedette.db")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


async def test_names_go_as_names_and_an_onion_name_is_in_no_file_but_one(tmp_path, caplog):
    events: list[Any] = []
    with Sink() as sink:
        async with Proxy() as proxy:
            await looked(tmp_path, proxy.port, sink, events)
        assert sink.queries() == 0
    assert {host for _, host, _ in proxy.asked} == {ONION, OTHER, "clear.example"}
    assert {kind for kind, _, _ in proxy.asked} == {3}
    assert (ONION, "/deep") in proxy.paths  # there and back again
    assert (ONION, "/robots.txt") in proxy.paths
    outcomes = {outcome for (outcome,) in rows(tmp_path, "SELECT outcome FROM visits")}
    assert outcomes == {"ok"}
    assert leaks(tmp_path, [".onion", ONION[:20], OTHER[:20]], without=("compliance.db",)) == []
    assert ".onion" not in caplog.text + repr(events)
    db = sqlite3.connect(tmp_path / "compliance.db")
    assert {name for (name,) in db.execute("SELECT name FROM onion_names")} == {ONION, OTHER}
    db.close()


async def test_with_the_proxy_down_nothing_goes_out(tmp_path):
    with socket.socket() as taken, Sink() as sink:
        taken.bind(("127.0.0.1", 0))  # nobody listens
        await looked(tmp_path, taken.getsockname()[1], sink, [], max_visits=1)
        assert sink.queries() == 0
    outcomes = {outcome for (outcome,) in rows(tmp_path, "SELECT outcome FROM visits")}
    assert outcomes == {"connect_error"}
    assert leaks(tmp_path, [".onion"], without=("compliance.db",)) == []


async def test_without_a_proxy_an_onion_name_is_not_even_looked_up(tmp_path):
    raw = {"sources": [{"url": f"http://{ONION}/"}]}
    with Sink() as sink:
        config = parse(raw | {"fetch": {"nameservers": [f"127.0.0.1:{sink.port}"]}})
        loaded = Loaded(config=config, path=None, data=tmp_path, digest="tor")
        request = RunRequest(takes_orders=False, mode=Mode.UNTIL_IDLE, max_visits=1)
        await run_async(loaded, request, on_event=lambda event: None)
        assert sink.queries() == 0
    assert rows(tmp_path, "SELECT outcome FROM visits") == [("address_refused",)]
    assert leaks(tmp_path, [".onion"], without=("compliance.db",)) == []


def test_a_name_of_tor_is_only_taken_from_the_file():
    with pytest.raises(ConfigError, match="onion names are only taken from"):
        source_of(SourceConfig(url=f"http://{ONION}/"), origin="cli")


@pytest.mark.parametrize(
    "proxy", ["socks5h://tor:9050", "socks5h://127.0.0.1", "socks5://127.0.0.1:9050", "tor"]
)
def test_a_proxy_that_cannot_be_used_is_told(proxy):
    with pytest.raises(ConfigError, match=r"fetch\.proxy"):
        check_config(parse({"fetch": {"proxy": proxy}}))


def test_what_goes_by_the_proxy_has_a_lane_of_its_own():
    policies = lane_policies(parse({}))
    assert policies.of(TOR).at_once == 2
    assert policies.of(LaneKey("host:a.example")) != policies.of(TOR)
