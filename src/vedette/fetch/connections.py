"""Connections: one guarded aiohttp client per distinct way of connecting, and the lines that are free.

aiohttp is trusted with connecting and with reading answers (`far_end.py`).  Requests are written by us: aiohttp's
request and response objects cost more than the rest of an exchange.  Lines that are free wait with their origin:
aiohttp's own book-keeping of them costs a tenth of a short answer.

It leans on a name that aiohttp does not promise to keep (`_factory`); `tests/stages/test_fetch_hostile.py` turns red
when it moves.
"""

from __future__ import annotations

import asyncio
import functools
import math
import ssl
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from aiohttp import (
    ClientRequest,
    ClientTimeout,
    ConnectionTimeoutError,
    StreamReader,
    TCPConnector,
    hdrs,
)
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.http_parser import RawResponseMessage
from yarl import URL

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.words import Reason
from vedette.fetch.far_end import FarEnd, Stopwatch
from vedette.fetch.guard import Guard
from vedette.fetch.proxy_address import is_socks, read_socks
from vedette.fetch.resolver import GuardedResolver, NameserverLookup, NoLookup, SystemLookup
from vedette.fetch.socks import SocksConnector

HEADER_FIELDS = 256
HEADER_FIELD_SIZE = 32 * 1024  # content security policies of real sites pass 8 KiB
MAX_CLIENTS = 64
ORIGINS = 4096  # of which a client remembers how they are reached
DNS_TIMEOUT = 5.0
GiveBack = Callable[[Connection], None]


class FarResponse:
    """An answer on its line, which goes back to the others as soon as the body is in."""

    __slots__ = (
        "_connection",
        "_give_back",
        "content",
        "far",
        "headers",
        "is_tls",
        "raw_headers",
        "reason",
        "sent_after",
        "status",
    )

    def __init__(
        self, connection: Connection, give_back: GiveBack, answer: tuple[RawResponseMessage, StreamReader]
    ) -> None:
        head, content = answer
        far = connection.protocol
        assert isinstance(far, FarEnd)  # noqa: S101 - the connector was told to make them
        self.far = far
        self.status = head.code
        self.reason = head.reason
        self.headers = head.headers
        self.raw_headers = head.raw_headers
        self.content = content
        self.sent_after = timedelta(0)  # the request was on the line
        self.is_tls = False
        self._connection: Connection | None = connection
        self._give_back = give_back
        content.on_eof(self.release)

    def release(self) -> None:
        """Said again it does nothing.  A line with something left to read or to write is closed."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        line = self.far.transport
        if line is not None and line.get_write_buffer_size():
            connection.close()
        else:
            self._give_back(connection)


class Sending(NamedTuple):
    """What goes out: a GET, or a POST of that body.  `headers` are whole lines."""

    target: str
    headers: bytes
    post: bytes | None
    head_by: float  # the time of the loop at which the head of the answer must be here


class Origin:
    """How one origin is reached, worked out once, and the lines to it that are free."""

    __slots__ = ("base", "host", "is_kept", "is_tls", "lines", "refused", "request")

    def __init__(self, url: URL, proxy: URL | None, loop: asyncio.AbstractEventLoop) -> None:
        self.base = str(url.origin())
        self.is_tls = url.scheme == "https"
        self.request = ClientRequest("GET", url, loop=loop, proxy=proxy)  # only the connector asks it
        self.host = _lines(self.request, hdrs.HOST, hdrs.AUTHORIZATION)
        self.refused: Reason | None = None  # why nobody may connect there
        self.is_kept = False  # by its client
        self.lines: deque[tuple[Connection, float]] = deque()  # with the time since which they are free

    def close_lines(self, long_ago: float = math.inf) -> None:
        """Those that are free since then, and those that the far end has closed."""
        while self.lines and (self.lines[0][1] <= long_ago or self.lines[0][0].closed):
            self.lines.popleft()[0].close()

    def spell(self, sending: Sending, *, is_proxied: bool, closes: bool) -> bytes:
        """The bytes of a request."""
        target, more = sending.target, b""
        if is_proxied and not self.is_tls:
            target, more = f"{self.base}{target}", _lines(self.request, hdrs.PROXY_AUTHORIZATION)
        if closes:
            more += b"Connection: close\r\n"
        if sending.post is None:
            return b"GET %b HTTP/1.1\r\n%b%b%b\r\n" % (target.encode(), self.host, sending.headers, more)
        more += b"Content-Length: %d\r\n" % len(sending.post)
        return b"POST %b HTTP/1.1\r\n%b%b%b\r\n%b" % (
            target.encode(),
            self.host,
            sending.headers,
            more,
            sending.post,
        )


def _lines(request: ClientRequest, *names: str) -> bytes:
    return "".join(
        f"{name}: {request.headers[name]}\r\n" for name in names if name in request.headers
    ).encode()


@dataclass(frozen=True, slots=True)
class _Route:
    """Everything that connections must agree on to be shared."""

    nameservers: tuple[str, ...]
    ca_file: str | None
    proxy: str | None
    networks: tuple[str, ...]
    ports: tuple[int, ...]
    keep_alive: float
    dns_timeout: float


class Client:
    """Guarded connections of one kind.  Keeps no cookies, follows nothing, decodes nothing, asks once.

    It drives aiohttp's connector without `ClientSession`: the session would repeat a request whose line was cut,
    past the lane's permit, and costs a fifth of the whole exchange.
    """

    def __init__(self, way: _Route, system: SystemLookup) -> None:
        self.guard = Guard(way.networks, way.ports)
        self.under_way = 0
        self._loop = asyncio.get_running_loop()
        self._proxy = URL(way.proxy) if way.proxy and not is_socks(way.proxy) else None
        self._closes = way.keep_alive <= 0
        self._keep_alive = way.keep_alive
        self._sweeper: asyncio.TimerHandle | None = None
        self._origins: dict[str, Origin] = {}
        self._lookup = NameserverLookup(way.nameservers, way.dns_timeout) if way.nameservers else None
        resolver = GuardedResolver(self._lookup or system, self.guard, way.dns_timeout)
        self._connector = _connector(way, self.guard, resolver)

    @property
    def is_closed(self) -> bool:
        return self._connector.closed

    def origin(self, base: str) -> Origin | None:
        """What is known of an origin; None: nothing yet."""
        return self._origins.get(base)

    def meet(self, base: str, url: URL) -> Origin:
        """An origin that nobody asked for before, remembered under what a URL begins with.

        ValueError: it cannot be asked.
        """
        origin = Origin(url, self._proxy, self._loop)
        if len(self._origins) >= ORIGINS:
            self._forget_origins()
        if "?" not in base:  # a query without a path: there the first slash is none of the path's
            self._origins[base] = origin
            origin.is_kept = True
        return origin

    async def send(
        self, origin: Origin, sending: Sending, timeout: ClientTimeout, waited: Stopwatch
    ) -> FarResponse:
        """One request, up to the head of its answer.  The stopwatch is the caller's."""
        connection = self._free_line(origin)
        if connection is None:
            async with asyncio.timeout_at(sending.head_by):
                connection = await self._connect(origin, timeout)
        far = connection.protocol
        assert isinstance(far, FarEnd)  # noqa: S101 - the connector was told to make them
        far.set_response_params(
            read_until_eof=True,
            auto_decompress=False,
            read_timeout=timeout.sock_read,
            max_line_size=HEADER_FIELD_SIZE,
            max_field_size=HEADER_FIELD_SIZE,
            max_headers=HEADER_FIELDS,
        )
        try:
            request = origin.spell(sending, is_proxied=self._proxy is not None, closes=self._closes)
            sent_after = far.say(request, waited, sending.head_by)
            answer = await far.answer()
        except BaseException:
            connection.close()
            raise
        response = FarResponse(connection, functools.partial(self._give_back, origin), answer)
        response.sent_after, response.is_tls = sent_after, origin.is_tls
        return response

    async def close(self) -> None:
        self._forget_origins()
        if self._sweeper is not None:
            self._sweeper.cancel()
        await self._connector.close()
        if self._lookup is not None:
            await self._lookup.close()

    async def _connect(self, origin: Origin, timeout: ClientTimeout) -> Connection:
        try:
            return await self._connector.connect(origin.request, traces=[], timeout=timeout)
        except TimeoutError as error:
            raise ConnectionTimeoutError from error

    def _free_line(self, origin: Origin) -> Connection | None:
        """The one that has been free longest, unless that is too long."""
        if not origin.lines:
            return None
        origin.close_lines(self._loop.time() - self._keep_alive)
        return origin.lines.popleft()[0] if origin.lines else None

    def _give_back(self, origin: Origin, connection: Connection) -> None:
        """A line whose answer is in.  Behind a proxy the connector keeps it: it has words of its own for each use."""
        far = connection.protocol
        if self._closes or self._proxy is not None or not origin.is_kept or far is None or far.should_close:
            connection.release()
            return
        origin.lines.append((connection, self._loop.time()))
        if self._sweeper is None:
            self._sweeper = self._loop.call_later(self._keep_alive, self._sweep)

    def _sweep(self) -> None:
        """Closes the lines that nobody has used for long."""
        self._sweeper, long_ago = None, self._loop.time() - self._keep_alive
        for origin in self._origins.values():
            origin.close_lines(long_ago)
        if any(origin.lines for origin in self._origins.values()):
            self._sweeper = self._loop.call_later(self._keep_alive, self._sweep)

    def _forget_origins(self) -> None:
        for origin in self._origins.values():
            origin.is_kept = False
            origin.close_lines()
        self._origins.clear()


class Clients:
    """A bounded number of clients, the least used closed first, none while it is at work."""

    def __init__(self) -> None:
        self._clients: OrderedDict[_Route, Client] = OrderedDict()
        self._system = SystemLookup(DNS_TIMEOUT)

    async def of(self, settings: FetchSettings) -> Client:
        """The client that connects as these settings ask.  Raises ConfigError when they cannot be used."""
        way = _way_of(settings)
        client = self._clients.get(way)
        if client is not None and not client.is_closed:
            self._clients.move_to_end(way)
            return client
        client = self._clients[way] = Client(way, self._system)
        await self._trim()
        return client

    async def close(self) -> None:
        while self._clients:
            await self._clients.popitem()[1].close()
        await self._system.close()

    async def _trim(self) -> None:
        idle = [way for way, client in list(self._clients.items())[:-1] if not client.under_way]
        for way in idle[: max(0, len(self._clients) - MAX_CLIENTS)]:
            await self._clients.pop(way).close()


def _way_of(settings: FetchSettings) -> _Route:
    return _Route(
        nameservers=settings.nameservers,
        ca_file=settings.ca_file,
        proxy=settings.proxy,
        networks=settings.allow_networks,
        ports=settings.allow_ports,
        keep_alive=settings.keep_alive.total_seconds(),
        dns_timeout=min(DNS_TIMEOUT, settings.connect_timeout.total_seconds() / 2),
    )


def _connector(way: _Route, guard: Guard, resolver: GuardedResolver) -> TCPConnector:
    """No limit of its own: lanes decide how much goes on.  No DNS cache of its own: ours is guarded."""
    options: dict[str, Any] = {"force_close": True}
    if way.keep_alive > 0:
        options = {"keepalive_timeout": way.keep_alive}
    options |= {"limit": 0, "use_dns_cache": False, "ssl": tls_context(way.ca_file) if way.ca_file else True}
    connector: TCPConnector
    if is_socks(way.proxy):
        proxy = read_socks(way.proxy or "")
        only = Guard((f"{proxy.host}/{128 if ':' in (proxy.host or '') else 32}",), (proxy.port or 0,))
        connector = SocksConnector(proxy, resolver=NoLookup(), socket_factory=only.open_socket, **options)
    else:
        connector = TCPConnector(resolver=resolver, socket_factory=guard.open_socket, **options)
    connector._factory = functools.partial(_far_end, loop=asyncio.get_running_loop())
    return connector


def _far_end(loop: asyncio.AbstractEventLoop) -> ResponseHandler:
    return FarEnd(loop)


def tls_context(ca_file: str) -> ssl.SSLContext:
    """The system's trust, and the operator's own authority beside it."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_verify_locations(ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"fetch.ca_file: cannot use {ca_file!r} as a list of certificates: {error}"
        ) from None
    return context
