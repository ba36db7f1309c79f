"""The HTTP server of everything that is shown: FastAPI and Starlette speak, uvicorn reads and writes the connection.

It runs in the event loop of the engine.  The rules of `access_rules` are applied here: to a connection by the protocol,
to a request by a wrapper that no route can be outside of.  The peer's address is never taken from a header.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from vedette.contracts.errors import ConfigError
from vedette.surface.http.access_rules import HEAD_S, REQUEST_S, Lines, token_problem

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BODY = 64 * 1024  # of a request
BACKLOG = 128
END_S = 1.0  # that answers under way are given when the server ends
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
STREAM = "vedette.stream"  # set in the scope by an answer that goes on until the client leaves

Opener = Callable[[ASGIApp], AbstractAsyncContextManager[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Where the server listens, and the token of the configuration."""

    section: str  # of the configuration, whose `listen` and `token` these are
    listen: str  # 127.0.0.1:9464, [::1]:9464
    token: str | None = None
    locked: frozenset[str] = frozenset()  # paths that nobody is let to while there is no token
    hosts: tuple[str, ...] = ()  # names that we are asked by, beside those of loopback
    has_keys: bool = False  # tokens were made by `vedette token add`, so others may be let in
    bound: socket.socket | None = None  # it listens already


def door(way: ListenOptions) -> Opener:
    """Checked now, opened later: it gives its address."""
    host, port = _address(way)

    @asynccontextmanager
    async def opened(app: ASGIApp) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        config = Config(
            _bounded(app),
            log_config=None,
            access_log=False,
            lifespan="off",
            ws="none",
            timeout_keep_alive=int(HEAD_S),
        )
        config.load()
        state, lines = ServerState(), Lines(loop.time)
        try:
            where: dict[str, Any] = {"host": host, "port": port} if way.bound is None else {"sock": way.bound}
            server = await loop.create_server(lambda: _Line(config, state, lines), backlog=BACKLOG, **where)
        except OSError as error:
            raise _wrong(way, f"cannot listen on {way.listen}: {error.strerror}") from None
        try:
            yield "http://{}:{}".format(*_bracketed(*server.sockets[0].getsockname()[:2]))
        finally:
            server.close()
            await _ended(state)

    return opened


class _Line(H11Protocol):
    """One connection: uvicorn speaks on it, we say how long it may take."""

    def __init__(self, config: Config, state: ServerState, lines: Lines) -> None:
        super().__init__(config, state, {"line": self})
        self._lines = lines
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        line = cast(asyncio.Transport, transport)  # that of uvloop is one by its methods alone
        super().connection_made(line)
        if not self._lines.open(self, self._cut):
            self._cut()
            return
        self._timer = self.loop.call_later(HEAD_S, self._cut_if_owing)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lines.closed(self)
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self.cycle is not None and not self.cycle.response_complete:
            self._lines.asked(self)

    def on_response_complete(self) -> None:
        self._lines.answered(self, self._cut)
        super().on_response_complete()

    def _cut_if_owing(self) -> None:
        left = self._lines.time_left(self)
        if left <= 0:
            self._cut()
        else:
            self._timer = self.loop.call_later(left, self._cut_if_owing)

    def _cut(self) -> None:
        self.transport.abort()


async def _ended(state: ServerState) -> None:
    """Answers under way may end; what takes longer is cut."""
    for line in list(state.connections):
        line.shutdown()
    tasks = set(state.tasks)
    if tasks:
        await asyncio.wait(tasks, timeout=END_S)
    for task in set(state.tasks):
        task.cancel()
    for line in list(state.connections):
        if line.transport is not None:
            line.transport.abort()
    await asyncio.sleep(0)


def _bounded(app: ASGIApp) -> ASGIApp:
    """No answer takes for ever, no body is endless, and every answer has our headers."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        sender = _Sender(send)
        try:
            async with asyncio.timeout(REQUEST_S) as limit:
                scope[STREAM] = lambda: limit.reschedule(None)
                await app(scope, _limited(scope, receive), sender.send)
        except TimeoutError:
            await sender.last(scope, receive, refused(408, "this took too long\n"))
        except BodyTooLarge:
            await sender.last(scope, receive, refused(413, f"a request has at most {BODY} bytes\n"))

    return answer


class BodyTooLarge(HTTPException):
    """More than `BODY` bytes were sent."""

    def __init__(self) -> None:
        super().__init__(413, f"a request has at most {BODY} bytes")


@dataclass(slots=True)
class _Sender:
    """Adds our headers, and knows whether an answer has begun."""

    inner: Send
    has_begun: bool = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            headers = MutableHeaders(
                raw=message["headers"] if isinstance(message["headers"], list) else list(message["headers"])
            )
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            message = {**message, "headers": headers.raw}
        await self.inner(message)

    async def last(self, scope: Scope, receive: Receive, response: Response) -> None:
        if self.has_begun:
            scope["state"]["line"].transport.abort()
            return
        response.headers["Connection"] = "close"
        await response(scope, receive, self.send)


def _limited(scope: Scope, receive: Receive) -> Receive:
    """BodyTooLarge before it is kept."""
    length = Headers(scope=scope).get("content-length", "0")
    is_too_long = length.isdigit() and int(length) > BODY
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        if is_too_long:
            raise BodyTooLarge
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > BODY:
            raise BodyTooLarge
        return message

    return limited


def refused(status: int, words: str, **headers: str) -> Response:
    """An answer in words, for a client that is not let in."""
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return PlainTextResponse(words, status_code=status, headers={**more, **headers})


def _address(way: ListenOptions) -> tuple[str, int]:
    """Beyond loopback only with a token."""
    host, _, port = way.listen.rpartition(":")
    try:
        address, number = ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise _wrong(way, f"{way.listen!r} is not an address and a port, as in 127.0.0.1:9464") from None
    if not 0 <= number <= 65535:
        raise _wrong(way, f"{way.listen!r} has no usable port")
    if not address.is_loopback and not way.token and not way.has_keys:
        raise _wrong(way, f"{way.listen} is open to others; set {way.section}.token, or listen on 127.0.0.1")
    if way.token is not None and (words := token_problem(way.token)):
        raise ConfigError(f"`{way.section}.token` {words}")
    return str(address), number


def _bracketed(host: str, port: int) -> tuple[str, int]:
    return (f"[{host}]" if ":" in host else host), port


def _wrong(way: ListenOptions, what: str) -> ConfigError:
    return ConfigError(f"`{way.section}.listen`: {what}")
