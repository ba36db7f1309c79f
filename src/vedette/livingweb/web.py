"""The living web as one thing to start and stop: hosts, control address and name server."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Self

from vedette.livingweb.clock import real_time
from vedette.livingweb.control import Control
from vedette.livingweb.dns import Names, NameServer
from vedette.livingweb.journal import Journal, stats_of
from vedette.livingweb.listings import source_of
from vedette.livingweb.server import Ground, Site, Times
from vedette.livingweb.wire import Answerer, Connection
from vedette.livingweb.world import World, authority

LOOPBACK = "127.0.0.1"
BACKLOG = 512


class LivingWeb:
    """Serves a world while the `async with` block runs.

    `now` is world time (default: real time).  Limits are counted by `pace`, which is the same clock unless
    another is given: a world in compressed time still counts the gaps of a crawler that lives in real time.
    """

    def __init__(
        self,
        world: World,
        *,
        port: int = 0,
        now: Callable[[], float] = real_time,
        pace: Callable[[], float] | None = None,
        side_ports: tuple[int, int] = (0, 0),  # control, name server
    ) -> None:
        self.world = world
        self.port = port
        self.control_port, dns_port = side_ports
        self.now = now
        self.journal = Journal()
        self.names = Names({host.name: host.address for host in world.hosts})
        self._times = Times(now, pace or now)
        self._sites: list[Site] = []
        self._dns = NameServer(self.names, port=dns_port)
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()

    async def __aenter__(self) -> Self:
        sockets = listen_all([host.address for host in self.world.hosts], self.port)
        self.port = sockets[0].getsockname()[1]
        ground = Ground(self.world.seed, self._times, self.journal)
        for host, sock in zip(self.world.hosts, sockets, strict=True):
            site = Site(host, ground, self.port)
            self._sites.append(site)
            await self._serve(site, sock)
        control = listen(LOOPBACK, self.control_port)
        self.control_port = control.getsockname()[1]
        await self._serve(Control(self.world, self.now, self.stats, self.sources), control)
        await self._dns.start(LOOPBACK)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for server in self._servers:
            server.close()
        for connection in list(self._connections):
            connection.close()
        await self._dns.stop()
        await asyncio.sleep(0)

    @property
    def nameserver(self) -> str:
        """For `fetch.nameservers`."""
        return f"{LOOPBACK}:{self._dns.port}"

    def url(self, host: int | str, page: int | None = None, *, by: str = "name") -> str:
        """Where a page is; without `page`, the front page."""
        return self.world.url(host, page, self.port, by=by)

    def sources(self, *, by: str = "name") -> list[dict[str, Any]]:
        """Every host as a source to watch: name, url, lister, options."""
        return [source_of(host, f"http://{authority(host, self.port, by)}") for host in self.world.hosts]

    def stats(self) -> dict[str, object]:
        """What the server saw, as plain values."""
        return stats_of(self.journal, [site.count for site in self._sites])

    async def _serve(self, answerer: Answerer, sock: socket.socket) -> None:
        factory = partial(Connection, answerer, self._connections)
        loop = asyncio.get_running_loop()
        self._servers.append(await loop.create_server(factory, sock=sock, backlog=BACKLOG))


def listen_all(addresses: list[str], port: int) -> list[socket.socket]:
    """One listening socket per address, all on one port; a free port when `port` is 0."""
    for _ in range(20):
        sockets: list[socket.socket] = []
        try:
            for address in addresses:
                sockets.append(listen(address, sockets[0].getsockname()[1] if sockets else port))
        except OSError as problem:
            for sock in sockets:
                sock.close()
            if port or problem.errno != errno.EADDRINUSE:
                raise
            continue
        return sockets
    raise OSError("no port is free on all addresses of the world")


def listen(address: str, port: int) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((address, port))
        sock.listen(BACKLOG)
    except OSError:
        sock.close()
        raise
    sock.setblocking(False)
    return sock
