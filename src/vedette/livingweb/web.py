"""The living web as one thing to start and stop: hosts, control address and name server."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from vedette.livingweb.dns import Names, NameServer
from vedette.livingweb.journal import Journal, stats_of
from vedette.livingweb.listings import source_of
from vedette.livingweb.notice import NoticeBoard
from vedette.livingweb.server import Ground, Site, Times, http_date
from vedette.livingweb.wire import Answerer, Ask, Connection, Reply
from vedette.livingweb.world import World, WorldClock, authority, real_time

LOOPBACK = "127.0.0.1"
BACKLOG = 512
BLOCKS = 100  # of loopback addresses that are tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Where it listens; 0: any free one.

    URLs hold the port.  A world that `moves` goes to a block of loopback addresses where its port is free, so that it
    has the same URLs in every run, whatever runs beside it; its names lead there.
    """

    web: int = 0
    control: int = 0
    names: int = 0
    moves: bool = False


class LivingWeb:
    """Serves a world while the `async with` block runs.

    `now` is world time (default: real time).  Limits are counted by `pace`, which is the same clock unless
    another is given: a world in compressed time still counts the gaps of a crawler that lives in real time.
    """

    def __init__(
        self,
        world: World,
        *,
        now: Callable[[], float] = real_time,
        pace: Callable[[], float] | None = None,
        ports: Ports | None = None,
    ) -> None:
        self.world = world
        ports = ports or Ports()
        self.port, self.control_port, self._moves = ports.web, ports.control, ports.moves
        self.now = now
        self.journal = Journal()
        self.names = Names({host.name: host.address for host in world.hosts})
        self._times = Times(now, pace or now)
        self._sites: list[Site] = []
        self._dns = NameServer(self.names, port=ports.names)
        self._servers: list[asyncio.Server] = []
        self._connections: set[Connection] = set()

    async def __aenter__(self) -> Self:
        addresses = [host.address for host in self.world.hosts]
        sockets = (listen_somewhere if self._moves else listen_all)(addresses, self.port)
        self.port = sockets[0].getsockname()[1]
        for host, sock in zip(self.world.hosts, sockets, strict=True):
            self.names.put(host.name, sock.getsockname()[0])
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

    async def notice_board(self) -> str:
        """The address of a page that can be edited in a browser, on the port of the web where that is free."""
        try:
            sock = listen(LOOPBACK, self.port)
        except OSError:
            sock = listen(LOOPBACK, 0)
        await self._serve(NoticeBoard(self.now), sock)
        return "http://{}:{}/".format(*sock.getsockname()[:2])

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


def listen_somewhere(addresses: list[str], port: int) -> list[socket.socket]:
    """One listening socket per address on this port; in the next block of addresses where it is taken."""
    for block in range(BLOCKS):
        try:
            return listen_all([_moved(address, block) for address in addresses], port)
        except OSError as problem:
            if problem.errno != errno.EADDRINUSE:
                raise
    raise OSError(f"port {port} is free in no block of addresses")


def _moved(address: str, block: int) -> str:
    first, second, rest = address.split(".", 2)
    return f"{first}.{int(second) + block}.{rest}"


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


# The control address: statistics, truth and time as JSON, for a living web that is its own process.

Query = dict[str, str]


class Control:
    """Answers below `/_/`.  Bound to loopback; it reads and jumps the clock, nothing else."""

    latency = 0.0

    def __init__(
        self,
        world: World,
        now: Callable[[], float],
        stats: Callable[[], dict[str, object]],
        sources: Callable[[], list[dict[str, object]]],
    ) -> None:
        self._world = world
        self._now = now
        self._pages: dict[str, Callable[[Query], object]] = {
            "/_/stats": lambda query: stats(),
            "/_/sources": lambda query: sources(),
            "/_/truth": self._truth,
            "/_/time": self._time,
            "/_/known": lambda query: world.known(int(query.get("port", 80))),
        }

    def begin(self, ask: Ask) -> None: ...

    def end(self, ask: Ask, reply: Reply) -> None: ...

    def date(self) -> bytes:
        return http_date(self._now())

    def answer(self, ask: Ask) -> Reply:
        parts = urlsplit(ask.target)
        show = self._pages.get(parts.path)
        if show is None:
            return _json(404, {"error": "unknown", "known": sorted(self._pages)})
        try:
            return _json(200, show({name: values[-1] for name, values in parse_qs(parts.query).items()}))
        except (KeyError, IndexError, ValueError) as problem:
            return _json(400, {"error": f"{type(problem).__name__}: {problem}"})

    def _truth(self, query: Query) -> object:
        """`url=` or `host=&page=`: the state at `t` and the changes in (t0, t].  Neither: all changes."""
        t = float(query.get("t", self._now()))
        t0 = float(query.get("t0", self._world.epoch))
        where = self._place(query)
        if where is None:
            return {"t0": t0, "t": t, "changes": self._all_changes(t0, t)}
        host, page = where
        facts = {"host": self._world.host(host).name, "page": page, "path": self._world.page(host, page).path}
        state = asdict(self._world.state(host, page, t))
        facts |= self._world.facts(host, page)
        return facts | {"t": t, "state": state, "changes": self._world.changes(host, page, t0, t)}

    def _place(self, query: Query) -> tuple[int, int] | None:
        if "url" in query:
            where = self._world.locate(query["url"])
            if where is None:
                raise KeyError(query["url"])
            return where
        return (self._world.host(query["host"]).index, int(query.get("page", 0))) if "host" in query else None

    def _all_changes(self, t0: float, t: float) -> list[tuple[str, str, float]]:
        rows = [
            (host.name, page.path, moment)
            for host in self._world.hosts
            for page in host.pages
            for moment in page.history.between(t0, t)
        ]
        return sorted(rows, key=lambda row: row[2])

    def _time(self, query: Query) -> object:
        """The world's time; `to=` jumps ahead where the clock allows it."""
        if "to" in query:
            if not isinstance(self._now, WorldClock):
                raise ValueError("this clock cannot jump")
            self._now.jump(float(query["to"]))
        return {"now": self._now(), "epoch": self._world.epoch}


def _json(status: int, value: object) -> Reply:
    return Reply(status, b"Content-Type: application/json\r\n", json.dumps(value).encode())
