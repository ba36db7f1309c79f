"""The HTTP server of everything that is shown: who is let in, and how an answer is made.

Loopback unless a token is set.  With a token everything but the two probes asks for it, also what does not exist; the
peer's address is never taken from a header (THREATS: metrics spoofing).  The rules are in `door_rules`.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import cast

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from vedette.contracts.errors import ConfigError

# Access: who is let in, and how long a client may take.  The same rules for every port.
#
# - Host: the names of loopback, addresses, and names that the operator configured.  A page in the operator's browser
#   that points its own name at us (DNS rebinding) sends its own name here.
# - Token: not short, and a wrong one is answered late.  A client that asks over many connections and waits for no
#   answer is hardly slowed by that.  So after some wrong ones all tokens are checked one after another, a few per
#   second whoever sent them; the right one has its turn too, and at once from an address that had it right and was
#   not wrong since.
# - Connections: a limited number at once.  One that has not sent its request in time is closed; when all are taken,
#   the one that has kept us waiting for longest makes room.

TOKEN_LEAST = 5  # characters
TOKEN_KINDS = 3  # different ones
LINES = 128
HEAD_S = 10.0  # from the first byte, or the last answer, until a request is there
REQUEST_S = 30.0  # until it is answered
WRONG_S = 0.5  # the first wrong token; the delay grows with those that were wrong lately
WRONG_MOST_S = 3.0
WRONG_FEW = 8  # in a minute, before all that come are looked at one after another,
TURN_S = 0.1  # and how long each turn is: with every line taken the last one waits 13 s
TRUSTED = 256  # addresses
_LOCAL = frozenset(("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"))


def is_ours(host: str | None, names: Iterable[str]) -> bool:
    """True where the Host header names us.  Addresses do: a foreign page can only come by a name."""
    name = _name_of(host or "")
    if name in _LOCAL or name.endswith(".localhost") or name in {one.lower() for one in names}:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def token_problem(token: str) -> str:
    """Why a token protects nothing; empty: it is not short."""
    if len(token) >= TOKEN_LEAST and len(set(token)) >= TOKEN_KINDS:
        return ""
    return f"is easily guessed; use at least {TOKEN_LEAST} characters, better 32 random ones"


@dataclass(slots=True)
class TokenCheck:
    """One secret, and how often it was guessed wrongly of late."""

    token: str | None
    now: Callable[[], float]
    _wrong: list[float] = field(default_factory=list)
    _trusted: OrderedDict[str, None] = field(default_factory=OrderedDict)
    turns: asyncio.Lock = field(default_factory=asyncio.Lock)  # whose turn it is

    def turn(self, address: str) -> float:
        """How long it takes until a token from there is looked at, when its turn has come."""
        if address in self._trusted:
            return 0.0
        return TURN_S if len(self._lately()) >= WRONG_FEW else 0.0

    def heard(self, address: str, *, is_right: bool) -> None:
        """Of a token from there."""
        self._trusted.pop(address, None)
        if is_right:
            self._trusted[address] = None
            if len(self._trusted) > TRUSTED:
                self._trusted.popitem(last=False)

    def is_right(self, authorization: str) -> bool:
        wanted = f"Bearer {self.token}".encode()
        given = authorization.encode("utf-8", "surrogateescape")
        return self.token is not None and hmac.compare_digest(given, wanted)

    def delay(self) -> float:
        """How long the answer to a wrong token waits."""
        self._wrong = [*self._lately(), self.now()]
        return min(WRONG_MOST_S, WRONG_S * len(self._wrong))

    def _lately(self) -> list[float]:
        return [at for at in self._wrong[-16:] if at > self.now() - 60]


class Lines:
    """Connections that are open, those that owe us a request in the order in which they began to."""

    def __init__(self, now: Callable[[], float], most: int = LINES) -> None:
        self._now = now
        self._most = most
        self._owing: OrderedDict[object, tuple[float, Callable[[], None]]] = OrderedDict()
        self._busy: set[object] = set()

    def __len__(self) -> int:
        return len(self._owing) + len(self._busy)

    def open(self, line: object, cut: Callable[[], None]) -> bool:
        """True where the connection may stay.  When all are taken, one that owes a request is closed for it."""
        if len(self) >= self._most:
            if not self._owing:
                return False
            self._owing.popitem(last=False)[1][1]()
        self._owing[line] = (self._now(), cut)
        return True

    def asked(self, line: object) -> None:
        """A whole request is there."""
        if self._owing.pop(line, None) is not None:
            self._busy.add(line)

    def answered(self, line: object, cut: Callable[[], None]) -> None:
        """It may ask again."""
        if line in self._busy:
            self._busy.discard(line)
            self._owing[line] = (self._now(), cut)

    def time_left(self, line: object) -> float:
        """Until it is cut, unless it asks."""
        since = self._owing[line][0] if line in self._owing else self._now()
        return since + HEAD_S - self._now()

    def closed(self, line: object) -> None:
        self._owing.pop(line, None)
        self._busy.discard(line)


def _name_of(host: str) -> str:
    """The name in a Host header, without port, brackets and last dot."""
    text = host.strip().lower()
    if text.startswith("["):
        return text[1:].partition("]")[0]
    name = text if text.count(":") > 1 else text.partition(":")[0]
    return name.removesuffix(".")


OPEN = frozenset(("/healthz", "/readyz"))  # what a load balancer may ask without a token
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
BODY = 64 * 1024  # of a request
BACKLOG = 128
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


Opener = Callable[[Iterable[web.RouteDef]], AbstractAsyncContextManager[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenOptions:
    """Where the door is, and who may come in."""

    section: str  # of the configuration, whose `listen` and `token` these are
    listen: str  # 127.0.0.1:9464, [::1]:9464
    token: str | None = None
    locked: frozenset[str] = frozenset()  # paths that nobody is let to while there is no token
    hosts: tuple[str, ...] = ()  # names that we are asked by, beside those of loopback


def door(way: ListenOptions) -> Opener:
    """Checked now, opened later: it gives its address."""
    host, port = _address(way)

    @asynccontextmanager
    async def opened(routes: Iterable[web.RouteDef]) -> AsyncIterator[str]:
        loop = asyncio.get_running_loop()
        lines = Lines(loop.time)
        site = web.Application(middlewares=[_guarded(way, lines)], client_max_size=BODY)
        site.add_routes(routes)
        runner = web.AppRunner(site, access_log=None, shutdown_timeout=1.0, keepalive_timeout=HEAD_S)
        await runner.setup()
        try:
            try:
                server = await loop.create_server(lambda: _Line(runner, lines), host, port, backlog=BACKLOG)
            except OSError as error:
                raise _wrong(way, f"cannot listen on {way.listen}: {error.strerror}") from None
            try:
                yield "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
            finally:
                server.close()
        finally:
            await runner.cleanup()

    return opened


class _Line(asyncio.Protocol):
    """One connection: aiohttp speaks on it, we say how long it may take."""

    def __init__(self, runner: web.AppRunner, lines: Lines) -> None:
        assert runner.server is not None  # noqa: S101  it was set up
        self._inner = runner.server()
        self._lines = lines
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # that of uvloop is one by its methods alone
        if not self._lines.open(transport, self._cut):
            self._cut()
            return
        self._timer = asyncio.get_running_loop().call_later(HEAD_S, self._cut_if_owing)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._inner.data_received(data)

    def eof_received(self) -> None:
        self._inner.eof_received()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._lines.closed(self._transport)
        if self._timer is not None:
            self._timer.cancel()
            self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def _cut_if_owing(self) -> None:
        left = self._lines.time_left(self._transport)
        if left <= 0:
            self._cut()
        else:
            self._timer = asyncio.get_running_loop().call_later(left, self._cut_if_owing)

    def _cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _address(way: ListenOptions) -> tuple[str, int]:
    """Beyond loopback only with a token."""
    host, _, port = way.listen.rpartition(":")
    try:
        address, number = ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise _wrong(way, f"{way.listen!r} is not an address and a port, as in 127.0.0.1:9464") from None
    if not 0 <= number <= 65535:
        raise _wrong(way, f"{way.listen!r} has no usable port")
    if not address.is_loopback and not way.token:
        raise _wrong(way, f"{way.listen} is open to others; set {way.section}.token, or listen on 127.0.0.1")
    if way.token is not None and (words := token_problem(way.token)):
        raise ConfigError(f"`{way.section}.token` {words}")
    return str(address), number


def _wrong(way: ListenOptions, what: str) -> ConfigError:
    return ConfigError(f"`{way.section}.listen`: {what}")


def _guarded(way: ListenOptions, lines: Lines) -> Middleware:
    """Default deny: what is not listed as open asks for the token."""
    check = TokenCheck(way.token, asyncio.get_running_loop().time)

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        line = request.transport
        lines.asked(line)
        try:
            async with asyncio.timeout(REQUEST_S):
                refused = await _refuses(way, check, request)
                response = await handler(request) if refused is None else refused
        except TimeoutError:
            response = _refused(408, "this took too long\n")
            response.force_close()
        finally:
            lines.answered(line, line.abort if line is not None else _nothing)
        response.headers.update(HEADERS)
        return response

    return guard


async def _refuses(way: ListenOptions, check: TokenCheck, request: web.Request) -> web.Response | None:
    """None: the request may go on.  The answer to a wrong token waits, the next request does not."""
    if not is_ours(request.headers.get("Host"), way.hosts):
        return _refused(421, f"this name is not one of ours; add it to {way.section}.hosts\n")
    if way.token is None:
        is_locked = request.path in way.locked
        return _refused(403, f"this needs {way.section}.token to be set\n") if is_locked else None
    given = request.headers.get("Authorization", "")
    if request.path in OPEN or (given and await _is_right(check, request, given)):
        return None
    if given:
        await asyncio.sleep(check.delay())
    return _refused(401, "a token is needed\n")


async def _is_right(check: TokenCheck, request: web.Request, given: str) -> bool:
    """One after another while many are wrong.  Who does not wait for it has no turn."""
    address = request.remote or ""
    if check.turn(address):
        async with check.turns:
            if request.transport is None or request.transport.is_closing():
                return False
            await asyncio.sleep(check.turn(address))
    is_right = check.is_right(given)
    check.heard(address, is_right=is_right)
    return is_right


def _nothing() -> None:
    """There is no line to cut."""


def _refused(status: int, words: str) -> web.Response:
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return web.Response(status=status, text=words, headers={**HEADERS, **more})
