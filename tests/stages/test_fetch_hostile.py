# ruff: noqa: E501 - the table reads by rows
"""Bad behaviour of servers, one row each: what they send and what we make of it."""

from __future__ import annotations

import asyncio
import errno
import gzip
import zlib
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import brotli
import pytest
import uvloop
import zstandard
from hostile import HELLO, OK, Do, Hostile, Step, StoppedClock

from vedette.contracts.fetch import MIB, Fetched, FetchRequest
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.fetch.faults import fault_of
from vedette.fetch.http import HttpFetcher
from vedette.fetch.resolver import DnsFault

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the:DeprecationWarning")
PAGE = b"<html><p>Zakon o porezu</p></html>" * 50


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(StoppedClock())
    yield fetcher
    await fetcher.close()


@dataclass(frozen=True)
class Case:
    name: str
    steps: tuple[Step, ...]
    outcome: Outcome
    says: str = ""  # part of the detail
    body: bytes | None = None
    ask: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    speaks_first: bool = False


def chunked(*chunks: bytes) -> bytes:
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(chunks)


def coded(coding: bytes, wire: bytes) -> bytes:
    return OK + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n" % (coding, len(wire)) + wire


def status(line: bytes, headers: bytes = b"", body: bytes = b"hello") -> bytes:
    return b"HTTP/1.1 " + line + b"\r\n" + headers + b"Content-Length: %d\r\n\r\n" % len(body) + body


def endless(part: bytes) -> Any:
    def go() -> Iterator[bytes]:
        while True:
            yield part

    return go


def gzip_bomb(size: int) -> Any:
    """`size` zero bytes, never whole in memory: one flushed block of a MiB, again and again."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    head = squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    block = squeeze.compress(bytes(MIB)) + squeeze.flush(zlib.Z_FULL_FLUSH)

    def go() -> Iterator[bytes]:
        yield head
        for _ in range(size // MIB // 8):
            yield block * 8

    return go


GZ = gzip.compress(PAGE)
SMALL = {"wire_limit": 64 * 1024, "body_limit": 64 * 1024}
P, T, D = Outcome.PROTOCOL_ERROR, Outcome.TRUNCATED, Outcome.DECODE_ERROR

CASES = (
    # Lines that go wrong before there is an answer.
    Case("closes at once", (), Outcome.CONNECT_ERROR, "without an answer"),
    Case("resets at once", (Do.RESET,), Outcome.CONNECT_ERROR, "reset"),
    Case("never answers", (Do.HOLD,), Outcome.TIMEOUT, "silent"),
    Case("closes inside the status line", (b"HTTP/1.",), P, "inside the head"),
    Case("closes inside the header", (OK + b"Content-Le",), P, "inside the head"),
    Case("resets inside the header", (OK + b"Content-Le", 0.02, Do.RESET), Outcome.CONNECT_ERROR),
    Case("drips the header", (OK, *(b"X", 0.1) * 30), Outcome.TIMEOUT, "deadline",
         settings={"total_timeout": timedelta(seconds=0.4)}),
    Case("stalls inside the header", (OK + b"X: y\r\n", Do.HOLD), Outcome.TIMEOUT, "silent"),
    # Not HTTP.
    Case("HTTP/0.9", (b"<html>hello</html>",), P),
    Case("an HTTP/2 settings frame", (b"\0\0\x12\x04\0\0\0\0\0",), P),
    Case("a TLS alert on a plain port", (b"\x15\x03\x01\0\x02\x02\x28",), P),
    Case("an SSH banner, unasked", (b"SSH-2.0-OpenSSH_9.2\r\n", Do.HOLD), P, speaks_first=True),
    Case("an SMTP banner, unasked", (b"220 mail ESMTP\r\n", Do.HOLD), P, speaks_first=True),
    Case("garbage before the status line", (b"\x01\x02garbage\r\n" + HELLO,), P),
    Case("empty lines before the status line", (b"\r\n\r\n" + HELLO,), Outcome.OK, body=b"hello"),
    Case("a version of its own", (HELLO.replace(b"1.1", b"1.7"),), P),
    Case("HTTP in small letters", (HELLO.replace(b"HTTP", b"http"),), P),
    Case("a status of two digits", (HELLO.replace(b"200", b"20"),), P),
    Case("a status of four digits", (HELLO.replace(b"200", b"2000"),), P),
    Case("status 099", (status(b"099 Odd"),), P, "status 99"),
    Case("status 999", (status(b"999 Denied"),), Outcome.SERVER_ERROR),
    Case("status 600", (status(b"600 Odd"),), Outcome.SERVER_ERROR),
    Case("no reason phrase", (HELLO.replace(b" OK", b""),), Outcome.OK, body=b"hello"),
    Case("a NUL in the reason phrase", (HELLO.replace(b"OK", b"O\0K"),), Outcome.OK, body=b"hello"),
    Case("bare LF line ends", (HELLO.replace(b"\r\n", b"\n"),), Outcome.OK, body=b"hello"),
    Case("a status line without end", (b"HTTP/1.1 200 ", endless(b"a" * 4096)), P),
    # Headers.
    Case("a NUL in a header", (OK + b"X-A: a\0b\r\nContent-Length: 5\r\n\r\nhello",), P),
    Case("a CR in a header", (OK + b"X-A: a\rb\r\nContent-Length: 5\r\n\r\nhello",), P),
    Case("a header without a colon", (OK + b"Broken\r\nContent-Length: 5\r\n\r\nhello",), P),
    Case("a space before the colon", (OK + b"X-A : b\r\nContent-Length: 5\r\n\r\nhello",), P),
    Case("a header without a name", (OK + b": b\r\nContent-Length: 5\r\n\r\nhello",), P),
    Case("a folded header", (OK + b"X-A: a\r\n b\r\nContent-Length: 5\r\n\r\nhello",), Outcome.OK),
    Case("a huge header", (OK + b"X-A: " + b"a" * 40_000 + b"\r\n\r\n",), P),
    Case("a header without end", (OK + b"X-A: ", endless(b"a" * 4096)), P),
    Case("too many headers", (OK + b"X-A: b\r\n" * 300 + b"\r\n",), P, "Too many"),
    Case("headers without end", (OK, endless(b"X-A: b\r\n" * 500)), P),
    Case("headers that add up", (OK + b"".join(b"X-%d: %b\r\n" % (i, b"a" * 8000) for i in range(40)) + b"\r\n",),
         P, "head over"),
    # Framing.
    Case("two equal lengths", (OK + b"Content-Length: 5\r\n" * 2 + b"\r\nhello",), P),
    Case("two lengths", (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",), P),
    Case("a list of lengths", (OK + b"Content-Length: 5, 5\r\n\r\nhello",), P),
    Case("a negative length", (OK + b"Content-Length: -5\r\n\r\nhello",), P),
    Case("a length with a sign", (OK + b"Content-Length: +5\r\n\r\nhello",), P),
    Case("a length in hex", (OK + b"Content-Length: 0x5\r\n\r\nhello",), P),
    Case("a length beyond 64 bits", (OK + b"Content-Length: 99999999999999999999999\r\n\r\nhello",), P),
    Case("a length and chunks", (chunked(b"5\r\nhello\r\n0\r\n\r\n").replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\n", 1),), P),
    Case("a gzip transfer coding", (chunked(b"0\r\n\r\n").replace(b"chunked", b"gzip, chunked"),), P, "transfer coding"),
    Case("chunked not last", (chunked(b"hello").replace(b"chunked", b"chunked, identity"),), P, "transfer coding"),
    Case("chunked twice", (chunked(b"0\r\n\r\n").replace(b"chunked", b"chunked, chunked"),), P),
    Case("a chunk size that is no number", (chunked(b"5\r\nhello\r\nZZ\r\n"), Do.HOLD), P, "chunk size"),
    Case("the same, in a later packet", (chunked(), 0.03, b"5\r\nhello\r\nZZ\r\n", Do.HOLD), P, "chunk size"),
    Case("a negative chunk size", (chunked(b"-5\r\nhello\r\n0\r\n\r\n"),), P),
    Case("a chunk size beyond 64 bits", (chunked(b"F" * 17 + b"\r\nhello\r\n0\r\n\r\n"),), P),
    Case("a chunk longer than it says", (chunked(b"5\r\nhello world\r\n0\r\n\r\n"),), P),
    Case("chunks without the last one", (chunked(b"5\r\nhello\r\n"),), T),
    Case("closes inside a chunk", (chunked(b"5\r\nhel"),), T),
    Case("chunk extensions", (chunked(b"5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n"),), Outcome.OK, body=b"hello"),
    Case("a chunk extension without end", (chunked(b"5;"), endless(b"a" * 65536)), P, "more bytes", settings=SMALL),
    Case("trailers without end", (chunked(b"0\r\n"), endless(b"X: y\r\n" * 500)), P),
    Case("chunks of one byte", (chunked(*(b"1\r\na\r\n",) * 5, b"0\r\n\r\n"),), Outcome.OK, body=b"aaaaa"),
    Case("fewer bytes than announced", (OK + b"Content-Length: 100\r\n\r\nhello",), T),
    Case("more bytes than announced", (HELLO + b" world",), Outcome.OK, body=b"hello"),
    Case("more bytes, and close", (HELLO.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + b" world",), Outcome.OK, body=b"hello"),
    Case("resets inside the body", (OK + b"Content-Length: 100\r\n\r\nhello", 0.02, Do.RESET), T),
    Case("resets inside a body that ends with the line", (OK + b"\r\nhello", 0.02, Do.RESET), T, "cut"),
    Case("resets after the whole answer", (HELLO, Do.RESET), Outcome.OK, body=b"hello"),
    Case("a body that ends with the line", (OK + b"\r\nhello",), Outcome.OK, body=b"hello"),
    Case("stalls inside the body", (OK + b"Content-Length: 100\r\n\r\nhello", Do.HOLD), Outcome.TIMEOUT, "silent"),
    Case("drips the body", (OK + b"Content-Length: 100\r\n\r\n", *(b"a", 0.05) * 30), Outcome.TIMEOUT, "deadline",
         settings={"total_timeout": timedelta(seconds=0.3)}),
    Case("a body without end", (OK + b"\r\n", endless(b"a" * 65536)), Outcome.TOO_LARGE, settings=SMALL),
    Case("a huge body announced", (OK + b"Content-Length: 99999999999\r\n\r\n", Do.HOLD), Outcome.TOO_LARGE, "announced"),
    Case("one byte over the limit", (OK + b"\r\n" + b"a" * 65537,), Outcome.TOO_LARGE, settings=SMALL),
    Case("exactly the limit", (OK + b"\r\n" + b"a" * 65536,), Outcome.OK, settings=SMALL),
    # Interim answers and statuses.
    Case("100 Continue, unasked", (b"HTTP/1.1 100 Continue\r\n\r\n" + HELLO,), Outcome.OK, body=b"hello"),
    Case("103 Early Hints", (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 0.02, HELLO), Outcome.OK, body=b"hello"),
    Case("100 Continue for ever", (endless(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),), P, "interim"),
    Case("only 100 Continue", (b"HTTP/1.1 100 Continue\r\n\r\n", Do.HOLD), Outcome.TIMEOUT,
         settings={"total_timeout": timedelta(seconds=0.2)}),
    Case("101 Switching Protocols", (b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\nxx", Do.HOLD), P, "status 101"),
    Case("101 without an upgrade", (b"HTTP/1.1 101 Switching\r\n\r\n", Do.HOLD), P, "status 101"),
    Case("200 with an upgrade header", (HELLO.replace(b"\r\n", b"\r\nUpgrade: h2c\r\nConnection: upgrade\r\n", 1),), Outcome.OK),
    Case("200 without a body", (OK + b"Content-Length: 0\r\n\r\n",), Outcome.EMPTY),
    Case("200 and close", (OK + b"\r\n",), Outcome.EMPTY),
    Case("200 without a body, declared gzip", (OK + b"Content-Encoding: gzip\r\nContent-Length: 0\r\n\r\n",), Outcome.EMPTY),
    Case("204", (b"HTTP/1.1 204 No Content\r\n\r\n",), Outcome.EMPTY),
    Case("204 with a body", (status(b"204 No Content"),), Outcome.EMPTY, body=b""),
    Case("205 with a body", (status(b"205 Reset"),), Outcome.EMPTY),
    Case("206, unasked", (status(b"206 Partial", b"Content-Range: bytes 0-4/99\r\n"),), T),
    Case("304, unasked", (b"HTTP/1.1 304 Not Modified\r\n\r\n",), P, "304"),
    Case("304, asked by etag", (b"HTTP/1.1 304 Not Modified\r\n\r\n",), Outcome.NOT_MODIFIED, ask={"etag": '"a"'}),
    Case("304, asked by date", (b"HTTP/1.1 304 X\r\nContent-Length: 9\r\n\r\n",), Outcome.NOT_MODIFIED,
         ask={"last_modified": "Sun, 15 Nov 2026 11:00:00 GMT"}),
    Case("401", (status(b"401 Unauthorized", b"WWW-Authenticate: Basic\r\n"),), Outcome.LOGIN_WALL),
    Case("403", (status(b"403 Forbidden"),), Outcome.CLIENT_ERROR),
    Case("404", (status(b"404 Not Found"),), Outcome.GONE, body=b"hello"),
    Case("404 with a body cut short", (b"HTTP/1.1 404 X\r\nContent-Length: 99\r\n\r\nhello",), Outcome.GONE, "content length"),
    Case("404 with a body that stalls", (b"HTTP/1.1 404 X\r\nContent-Length: 99\r\n\r\nhello", Do.HOLD), Outcome.GONE, "silent"),
    Case("404 with a body without end", (b"HTTP/1.1 404 X\r\n\r\n", endless(b"a" * 65536)), Outcome.GONE, "over"),
    Case("407 from a server", (status(b"407 Proxy Auth"),), Outcome.LOGIN_WALL),
    Case("410", (status(b"410 Gone"),), Outcome.GONE),
    Case("429", (status(b"429 Slow", b"Retry-After: 7\r\n"),), Outcome.THROTTLED),
    Case("500", (status(b"500 Oops"),), Outcome.SERVER_ERROR),
    Case("503", (status(b"503 Busy"),), Outcome.SERVER_ERROR),
    Case("503 with Retry-After", (status(b"503 Busy", b"Retry-After: 7\r\n"),), Outcome.THROTTLED),
    # Codings.
    Case("gzip", (coded(b"gzip", GZ),), Outcome.OK, body=PAGE),
    Case("x-gzip in capitals", (coded(b"X-GZIP", GZ),), Outcome.OK, body=PAGE),
    Case("identity", (coded(b"identity", PAGE),), Outcome.OK, body=PAGE),
    Case("deflate with the zlib wrapper", (coded(b"deflate", zlib.compress(PAGE)),), Outcome.OK, body=PAGE),
    Case("deflate without it", (coded(b"deflate", zlib.compress(PAGE)[2:-4]),), Outcome.OK, body=PAGE),
    Case("br", (coded(b"br", brotli.compress(PAGE)),), Outcome.OK, body=PAGE),
    Case("zstd", (coded(b"zstd", zstandard.compress(PAGE)),), Outcome.OK, body=PAGE),
    Case("gzip in three members", (coded(b"gzip", GZ * 3),), Outcome.OK, body=PAGE * 3),
    Case("gzip twice", (coded(b"gzip, gzip", gzip.compress(GZ)),), Outcome.OK, body=PAGE),
    Case("br over gzip", (coded(b"gzip, br", brotli.compress(GZ)),), Outcome.OK, body=PAGE),
    Case("two headers, two codings", (coded(b"gzip\r\nContent-Encoding: br", brotli.compress(GZ)),), Outcome.OK, body=PAGE),
    Case("gzip three times", (coded(b"gzip, gzip, gzip", gzip.compress(gzip.compress(GZ))),), D, "limit is 2"),
    Case("gzip with zeros behind", (coded(b"gzip", GZ + bytes(512)),), Outcome.OK, body=PAGE),
    Case("gzip with junk behind", (coded(b"gzip", GZ + b"<!-- cached -->"),), Outcome.OK, body=PAGE),
    Case("gzip with a lot of junk behind", (coded(b"gzip", GZ + b"a" * 70_000),), D, "behind the end"),
    Case("gzip cut short", (coded(b"gzip", GZ[:-12]),), T, "end mark"),
    Case("gzip without its checksum", (coded(b"gzip", GZ[:-8]),), T, "end mark"),
    Case("gzip with a wrong checksum", (coded(b"gzip", GZ[:-8] + b"\0" * 8),), D),
    Case("gzip broken inside", (coded(b"gzip", GZ[:20] + b"\xff" * 20 + GZ[40:]),), D),
    Case("declared gzip, is plain", (coded(b"gzip", PAGE),), D),
    Case("declared gzip, is zlib", (coded(b"gzip", zlib.compress(PAGE)),), D),
    Case("declared br, is plain", (coded(b"br", PAGE),), D),
    Case("br cut short", (coded(b"br", brotli.compress(PAGE)[:-4]),), T),
    Case("declared zstd, is plain", (coded(b"zstd", PAGE),), D),
    Case("zstd cut short", (coded(b"zstd", zstandard.compress(PAGE)[:-4]),), T),
    Case("deflate cut short", (coded(b"deflate", zlib.compress(PAGE)[:-5]),), T),
    Case("a coding nobody knows", (coded(b"sdch", PAGE),), D, "sdch"),
    Case("too many members", (coded(b"gzip", gzip.compress(b"a") * 1200),), D, "members"),
    Case("a gzip bomb of 10 GB", (OK + b"Content-Encoding: gzip\r\n\r\n", gzip_bomb(10_000 * MIB)), Outcome.TOO_LARGE, "ratio"),
    Case("a br bomb", (coded(b"br", brotli.compress(bytes(64 * MIB), quality=1)),), Outcome.TOO_LARGE, "ratio"),
    Case("a zstd bomb", (coded(b"zstd", zstandard.compress(bytes(256 * MIB))),), Outcome.TOO_LARGE),
    Case("a bomb inside gzip", (coded(b"gzip, gzip", gzip.compress(gzip.compress(bytes(64 * MIB)))),), Outcome.TOO_LARGE),
    Case("a bomb that stays under the ratio", (coded(b"gzip", gzip.compress(b"ab" * 60_000)),), Outcome.TOO_LARGE, "decoded",
         settings={"body_limit": 100_000}),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_a_bad_server_gives_a_named_outcome(case: Case, fetcher: HttpFetcher) -> None:
    async with Hostile(*case.steps, speaks_first=case.speaks_first) as server:
        request = FetchRequest(url=server.url(), settings=server.settings(**case.settings), **case.ask)
        fetched = await fetcher.fetch(request)
        assert (fetched.outcome, case.says in fetched.detail) == (case.outcome, True), fetched
        assert case.body is None or fetched.body == case.body
        assert server.connections == 1
        assert len(server.requests) <= 1


def test_the_table_has_the_breadth_it_claims() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 100


async def ask(fetcher: HttpFetcher, server: Hostile, path: str = "/", **settings: Any) -> Fetched:
    return await fetcher.fetch(FetchRequest(url=server.url(path), settings=server.settings(**settings)))


async def test_bytes_that_arrive_between_requests_never_become_the_next_answer(fetcher: HttpFetcher) -> None:
    poison = OK + b"Content-Length: 6\r\n\r\npoison"
    async with Hostile(HELLO, 0.05, poison, Do.NEXT, HELLO, Do.HOLD) as server:
        assert (await ask(fetcher, server)).body == b"hello"
        for _ in range(20):  # rounds of the loop, not only time: on a busy machine all timers fire in one
            await asyncio.sleep(0.01)
        assert (await ask(fetcher, server)).body == b"hello"
        assert server.connections == 2


async def test_a_second_answer_in_the_same_packet_is_dropped_with_the_line(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO + OK + b"Content-Length: 6\r\n\r\npoison", Do.NEXT, HELLO, Do.HOLD) as server:
        assert [(await ask(fetcher, server)).body for _ in range(2)] == [b"hello", b"hello"]
        assert server.connections == 2


async def test_a_line_is_used_again_after_a_clean_answer(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, Do.NEXT, HELLO, Do.HOLD) as server:
        assert [(await ask(fetcher, server)).outcome for _ in range(3)] == [Outcome.OK] * 3
        assert (server.connections, len(server.requests)) == (1, 3)


async def test_a_line_is_used_again_after_a_redirect_and_a_304(fetcher: HttpFetcher) -> None:
    redirect = status(b"302 Found", b"Location: /b\r\n")
    async with Hostile(redirect, Do.NEXT, b"HTTP/1.1 304 X\r\n\r\n", Do.NEXT, HELLO, Do.HOLD) as server:
        assert (await ask(fetcher, server)).redirect_to == server.url("/b")
        request = FetchRequest(url=server.url(), settings=server.settings(), etag='"x"')
        assert (await fetcher.fetch(request)).outcome is Outcome.NOT_MODIFIED
        assert (await ask(fetcher, server)).body == b"hello"
        assert server.connections == 1


async def test_a_line_with_an_unread_rest_is_not_used_again(fetcher: HttpFetcher) -> None:
    async with Hostile(OK + b"Content-Length: 99999999999\r\n\r\nabc", Do.NEXT, HELLO, Do.HOLD) as server:
        assert [(await ask(fetcher, server)).outcome for _ in range(2)] == [Outcome.TOO_LARGE] * 2
        assert server.connections == 2


async def test_one_fetch_is_one_request_even_when_a_kept_line_is_cut(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT) as server:
        assert (await ask(fetcher, server)).outcome is Outcome.OK
        assert (await ask(fetcher, server)).outcome is Outcome.CONNECT_ERROR
        assert len(server.requests) == 2


async def test_without_keep_alive_every_request_has_its_own_line(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server:
        for _ in range(2):
            assert (await ask(fetcher, server, keep_alive=timedelta())).outcome is Outcome.OK
        assert server.connections == 2
        assert b"Connection: close" in server.requests[0]


async def test_what_was_too_large_is_kept_up_to_the_limit(fetcher: HttpFetcher) -> None:
    async with Hostile(coded(b"gzip", gzip.compress(b"ab" * 60_000))) as server:
        request = FetchRequest(url=server.url(), settings=server.settings(), body_limit=1000)
        fetched = await fetcher.fetch(request)
        assert (fetched.outcome, fetched.body) == (Outcome.TOO_LARGE, b"ab" * 500)


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(ConnectionResetError(errno.ECONNRESET, "x"), id="ECONNRESET"),
        pytest.param(aiohttp.ConnectionTimeoutError(), id="ETIMEDOUT"),
        pytest.param(DnsFault("no such name"), id="ENOTFOUND"),
        pytest.param(ConnectionRefusedError(errno.ECONNREFUSED, "x"), id="ECONNREFUSED"),
        pytest.param(DnsFault("the name server cannot be reached"), id="EAI_AGAIN"),
        pytest.param(aiohttp.ServerDisconnectedError(), id="socket hang up"),
        pytest.param(OSError(errno.ENETUNREACH, "x"), id="network"),
        pytest.param(TimeoutError(), id="timeout"),
    ],
)
def test_the_retryable_errors_of_001_are_retried(error: BaseException) -> None:
    """001 section 8.2."""
    assert MEANING[fault_of(error, is_tls=False).outcome].retry
