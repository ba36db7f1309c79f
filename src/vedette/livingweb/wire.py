"""HTTP/1.1 as bytes: one Protocol for all sockets, and replies that may also be wrong on purpose."""

from __future__ import annotations

import asyncio
import socket
import struct
from dataclasses import dataclass
from typing import Protocol, cast
from urllib.parse import unquote

MAX_HEAD = 65_536
RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: close sends RST
REASONS = {
    200: "OK", 204: "No Content", 301: "Moved Permanently", 302: "Found", 304: "Not Modified",
    400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
    405: "Method Not Allowed", 410: "Gone", 429: "Too Many Requests",
    500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
}  # fmt: skip


class Ask:
    """One request as it came in."""

    __slots__ = ("at", "at_once", "count", "headers", "method", "t", "target", "version")

    def __init__(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        method, _, rest = first.partition(b" ")
        target, _, version = rest.partition(b" ")
        self.method = method
        self.target = target.decode("latin-1")
        self.version = version
        self.headers: dict[bytes, bytes] = {}
        for line in lines:
            name, _, value = line.partition(b":")
            self.headers[name.lower()] = value.strip()
        self.t = self.at = 0.0  # world time, and the time by which limits are counted; the server sets both
        self.at_once = 1
        self.count = 0  # requests this page had before

    @property
    def keeps_alive(self) -> bool:
        wish = self.headers.get(b"connection", b"").lower()
        return self.version == b"HTTP/1.1" and wish != b"close" and b"content-length" not in self.headers


@dataclass(frozen=True, slots=True)
class Send:
    data: bytes
    times: int = 1
    gap: float = 0.0  # seconds after each


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float


@dataclass(frozen=True, slots=True)
class Break:
    """Ends the connection; `reset` by RST."""

    reset: bool = False


Step = Send | Wait | Break


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: head and body, or steps that replace both."""

    status: int
    head: bytes = b""  # header lines, each with CRLF, without Date and Content-Length
    body: bytes = b""
    steps: tuple[Step, ...] = ()
    closes: bool = False

    def start(self, date: bytes) -> bytes:
        """Status line and headers."""
        length = b"" if self.status in (204, 304) else b"Content-Length: %d\r\n" % len(self.body)
        return b"%bDate: %b\r\n%b%b\r\n" % (_STATUS_LINES[self.status], date, self.head, length)


_STATUS_LINES = {code: f"HTTP/1.1 {code} {reason}\r\n".encode() for code, reason in REASONS.items()}


class Answerer(Protocol):
    """Whoever stands behind a socket."""

    latency: float

    def begin(self, ask: Ask) -> None:
        """The request has arrived."""

    def answer(self, ask: Ask) -> Reply: ...

    def end(self, ask: Ask, reply: Reply) -> None:
        """The reply is out, or the reader has gone."""

    def date(self) -> bytes: ...


class Connection(asyncio.Protocol):
    """One connection: requests one after the other, kept alive as HTTP/1.1 says."""

    __slots__ = ("_answerer", "_ask", "_open", "_play", "_reply", "_rest", "_room", "_transport")

    def __init__(self, answerer: Answerer, connections: set[Connection]) -> None:
        self._answerer = answerer
        self._open = connections
        self._rest = b""
        self._ask: Ask | None = None  # under way
        self._reply: Reply | None = None
        self._play: asyncio.Task[None] | None = None
        self._room: asyncio.Event | None = None  # steps wait here while the reader is slow
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by behaviour, not by class
        self._open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.discard(self)
        self._transport = None
        if self._play is not None:
            self._play.cancel()
        if self._ask is not None:
            self._answerer.end(self._ask, self._reply or Reply(200))
            self._ask = None

    def data_received(self, data: bytes) -> None:
        self._rest = self._rest + data if self._rest else data
        while self._ask is None and self._transport is not None and self._rest:
            end = self._rest.find(b"\r\n\r\n")
            if end < 0:
                if len(self._rest) > MAX_HEAD:
                    self._transport.abort()
                return
            head, self._rest = self._rest[:end], self._rest[end + 4 :]
            self._take(Ask(head))

    def pause_writing(self) -> None:
        if self._room is not None:
            self._room.clear()

    def resume_writing(self) -> None:
        if self._room is not None:
            self._room.set()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _take(self, ask: Ask) -> None:
        answerer = self._answerer
        answerer.begin(ask)
        self._ask = ask
        self._reply = reply = answerer.answer(ask)
        if reply.steps:
            self._play = asyncio.get_running_loop().create_task(self._run(reply.steps))
        elif answerer.latency:
            asyncio.get_running_loop().call_later(answerer.latency, self._finish)
        else:
            self._write(ask, reply)

    def _finish(self) -> None:
        """After the host's latency."""
        if self._ask is not None and self._reply is not None:
            self._write(self._ask, self._reply)
            self.data_received(b"")

    def _write(self, ask: Ask, reply: Reply) -> None:
        transport = self._transport
        if transport is not None:
            start = reply.start(self._answerer.date())
            transport.write(start if ask.method == b"HEAD" else start + reply.body)
        self._ask = None
        self._answerer.end(ask, reply)
        if transport is not None and (reply.closes or not ask.keeps_alive):
            transport.close()

    async def _run(self, steps: tuple[Step, ...]) -> None:
        self._room = asyncio.Event()
        self._room.set()
        for step in steps:
            if isinstance(step, Wait):
                await asyncio.sleep(step.seconds)
            elif isinstance(step, Break):
                self._break(step)
            else:
                await self._send(step, self._room)
        self._play = None
        ask, reply = self._ask, self._reply
        self._ask = None
        if ask is not None and reply is not None:
            self._answerer.end(ask, reply)
            if self._transport is not None and (reply.closes or not ask.keeps_alive):
                self._transport.close()
            self.data_received(b"")

    async def _send(self, step: Send, room: asyncio.Event) -> None:
        for _ in range(step.times):
            await room.wait()
            if self._transport is None:
                return
            self._transport.write(step.data)
            if step.gap:
                await asyncio.sleep(step.gap)

    def _break(self, step: Break) -> None:
        transport = self._transport
        if transport is None:
            return
        if step.reset:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            transport.abort()
        else:
            transport.close()


# Spellings of one request target that this web takes for the same page.

HOPS = "/hop/"  # a redirect chain in progress: /hop/<hops left><target>
_IGNORED = ("utm_", "fbclid", "gclid", "sid", "phpsessid", "print", "ref")


def plain_target(target: str) -> str:
    """Without slash at the end, index page, session ids, trackers; the query in order, escapes undone."""
    path, _, query = target.partition("?")
    path = unquote(path.split(";", 1)[0])
    path = path.removesuffix("index.html").removesuffix("index.php").rstrip("/").lower()
    kept = sorted(part for part in query.split("&") if part and not part.lower().startswith(_IGNORED))
    return f"{path}?{'&'.join(kept)}" if kept else path


def hop_target(target: str, hops: int) -> str:
    return f"{HOPS}{hops}{target}"


def split_hop(target: str) -> tuple[int, str]:
    """How many hops are left, and to where."""
    hops, slash, rest = target.removeprefix(HOPS).partition("/")
    return (int(hops), slash + rest) if hops.isdecimal() and len(hops) < 4 else (0, target)
