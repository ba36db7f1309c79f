"""Certificates that prove nothing and handshakes that never end."""

from __future__ import annotations

import gc
import socket
import ssl
import struct
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop
from hostile import (
    HELLO,
    Authority,
    Do,
    Hostile,
    StoppedClock,
    ask,
)

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.words import Outcome
from vedette.fetch.http import HttpFetcher

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the:DeprecationWarning")


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(StoppedClock())
    yield fetcher
    await fetcher.close()


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


async def test_a_certificate_of_the_operators_own_authority_is_good(
    fetcher: HttpFetcher, authority: Authority
) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, tls=authority.server("127.0.0.1")) as server:
        settings = server.settings(ca_file=authority.ca_file)
        for _ in range(2):
            assert (await ask(fetcher, server.url(), settings)).body == b"hello"
        assert server.connections == 1


@pytest.mark.parametrize(
    ("name", "changes", "is_trusted", "words"),
    [
        ("127.0.0.1", {}, False, "unable to get local issuer"),
        ("127.0.0.1", {"is_signed": False}, True, "self"),
        ("127.0.0.1", {"days": -1}, True, "expired"),
        ("hgk.example", {}, True, "mismatch"),
        ("127.0.0.9", {}, True, "mismatch"),
    ],
)
async def test_a_certificate_that_proves_nothing_is_a_tls_error(
    fetcher: HttpFetcher,
    authority: Authority,
    name: str,
    changes: dict[str, Any],
    is_trusted: bool,
    words: str,
) -> None:
    async with Hostile(HELLO, tls=authority.server(name, **changes)) as server:
        settings = server.settings(ca_file=authority.ca_file if is_trusted else None)
        fetched = await ask(fetcher, server.url(), settings)
    assert (fetched.outcome, server.requests) == (Outcome.TLS_ERROR, []), fetched
    assert words in fetched.detail


async def test_a_server_without_a_cipher_for_us_is_a_tls_error(
    fetcher: HttpFetcher, authority: Authority
) -> None:
    weak = authority.server("127.0.0.1")
    weak.set_ciphers("NULL-SHA256:@SECLEVEL=0")
    weak.maximum_version = ssl.TLSVersion.TLSv1_2
    async with Hostile(HELLO, tls=weak) as server:
        fetched = await ask(fetcher, server.url(), server.settings(ca_file=authority.ca_file))
    assert fetched.outcome is Outcome.TLS_ERROR, fetched


async def test_a_server_that_wants_a_certificate_of_ours_gives_no_page(
    fetcher: HttpFetcher, authority: Authority
) -> None:
    """TLS 1.3 refuses us only after the handshake; whether the alert is seen depends on the loop."""
    demanding = authority.server("127.0.0.1")
    demanding.verify_mode = ssl.CERT_REQUIRED
    demanding.load_verify_locations(authority.ca_file)
    async with Hostile(HELLO, tls=demanding) as server:
        fetched = await ask(fetcher, server.url(), server.settings(ca_file=authority.ca_file))
    assert fetched.outcome in (Outcome.TLS_ERROR, Outcome.CONNECT_ERROR), fetched


@pytest.mark.parametrize(
    "steps", [(), (b"\x15\x03\x03\x00\x02\x02\x28",), (HELLO,), (Do.RESET,), (b"\xff" * 100,)]
)
async def test_no_handshake_is_a_tls_error(steps: tuple[Any, ...], fetcher: HttpFetcher) -> None:
    async with Hostile(*steps, speaks_first=True) as server:
        url = server.url().replace("http:", "https:")
        fetched = await ask(fetcher, url, server.settings())
    assert fetched.outcome is Outcome.TLS_ERROR, fetched


async def test_a_handshake_without_end_is_a_timeout(fetcher: HttpFetcher) -> None:
    async with Hostile(Do.HOLD, speaks_first=True) as server:
        settings = server.settings(connect_timeout=timedelta(seconds=0.15))
        fetched = await ask(fetcher, server.url().replace("http:", "https:"), settings)
    assert (fetched.outcome, fetched.detail) == (Outcome.TIMEOUT, "connecting took too long")


async def test_a_line_that_was_cut_closes_nobody_elses_file(fetcher: HttpFetcher, tmp_path: Path) -> None:
    """uvloop may close a line that is reset at once and leave its number with the socket object."""
    gc.collect()
    gc.disable()  # what is left of the lines goes when the files are there, and not before
    try:
        with cutting_server() as port:
            settings = replace(FetchSettings(), allow_networks=("127.0.0.1/32",), allow_ports=(port,))
            for _ in range(30):
                await ask(fetcher, f"https://127.0.0.1:{port}/", settings)
        with ExitStack() as files:
            opened = [files.enter_context((tmp_path / str(n)).open("wb")) for n in range(40)]
            gc.collect()
            for file in opened:
                file.write(b"whole")
                file.flush()
    finally:
        gc.enable()


@contextmanager
def cutting_server() -> Iterator[int]:
    """Resets every line as soon as it is there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_cut_all, args=(server,))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _cut_all(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            line, _ = server.accept()
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.close()
