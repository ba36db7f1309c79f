"""One connection of a provider: requests with bodies, one after the other, and answers that may fail on purpose."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import NamedTuple, cast

from vedette.livingweb.wire import MAX_HEAD, RESET

MAX_BODY = 1 << 20
KEEP, CLOSE, CUT, SILENT = "keep", "close", "cut", "silent"  # what happens to the line after an answer


class Asked(NamedTuple):
    method: bytes
    target: str
    headers: dict[bytes, bytes]
    body: bytes


class Played(NamedTuple):
    """Those bytes after that many seconds, and then `ending`."""

    data: bytes
    delay: float = 0.0
    ending: str = KEEP


class Line(asyncio.Protocol):
    """HTTP/1.1 as far as clients of providers speak it: Content-Length, no chunks, no pipelining."""

    __slots__ = ("_answer", "_done", "_is_busy", "_lines", "_rest", "_transport")

    def __init__(self, answer: Callable[[Asked], Played], done: Callable[[], None], lines: set[Line]) -> None:
        self._answer = answer
        self._done = done
        self._lines = lines
        self._rest = b""
        self._is_busy = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by behaviour, not by class
        self._lines.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lines.discard(self)
        self._transport = None
        if self._is_busy:
            self._is_busy = False
            self._done()

    def data_received(self, data: bytes) -> None:
        self._rest = self._rest + data if self._rest else data
        while self._rest and not self._is_busy and self._transport is not None:
            asked = self._next()
            if asked is None:
                return
            self._is_busy = True
            played = self._answer(asked)
            if played.delay > 0:
                asyncio.get_running_loop().call_later(played.delay, self._finish, played)
            else:
                self._write(played)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _next(self) -> Asked | None:
        """The first request that is here whole."""
        end = self._rest.find(b"\r\n\r\n")
        if end < 0:
            if len(self._rest) > MAX_HEAD:
                self.close()
            return None
        first, *lines = self._rest[:end].split(b"\r\n")
        method, _, rest = first.partition(b" ")
        headers = {}
        for line in lines:
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        length = headers.get(b"content-length", b"0")
        size = int(length) if length.isdigit() else MAX_BODY + 1
        if size > MAX_BODY:
            self.close()
            return None
        whole = end + 4 + size
        if len(self._rest) < whole:
            return None
        body, self._rest = self._rest[end + 4 : whole], self._rest[whole:]
        return Asked(method, rest.partition(b" ")[0].decode("latin-1"), headers, body)

    def _finish(self, played: Played) -> None:
        if self._is_busy:
            self._write(played)
            self.data_received(b"")

    def _write(self, played: Played) -> None:
        transport = self._transport
        if transport is None or played.ending == SILENT:
            return
        self._is_busy = False
        self._done()
        if played.data:
            transport.write(played.data)
        if played.ending == CUT:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            transport.abort()
        elif played.ending == CLOSE:
            transport.close()
