"""All fake providers: start and stop them together, each on its own address, with a control address."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Sequence
from functools import partial
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

from vedette.livingweb.providers.faults import FAULTS, Line
from vedette.livingweb.providers.host import ProviderHost
from vedette.livingweb.providers.specs import TWELVE, FaultRule, ProviderSpec
from vedette.livingweb.server import http_date
from vedette.livingweb.web import LOOPBACK, listen, listen_all
from vedette.livingweb.wire import Ask, Connection, Reply
from vedette.livingweb.world import real_time

NETWORK = "127.9.0."  # provider n lives at 127.9.0.n


class LivingProviders:
    """Serves providers while the `async with` block runs.

    `now` is the clock by which limits, fault windows and model changes are counted.  `latency` replaces every
    provider's own: a number of seconds for all.
    """

    def __init__(
        self,
        specs: Sequence[ProviderSpec] = TWELVE,
        *,
        seed: int = 1,
        ports: tuple[int, int] = (0, 0),  # providers, control
        now: Callable[[], float] = real_time,
        latency: float | None = None,
    ) -> None:
        self.specs = tuple(specs)
        self.port, self.control_port = ports
        self.hosts: dict[str, ProviderHost] = {
            spec.name: ProviderHost(spec, seed=seed, now=now, latency=latency) for spec in specs
        }
        self._now = now
        self._servers: list[asyncio.Server] = []
        self._doors: dict[str, asyncio.Server] = {}
        self._lines: dict[str, set[Line]] = {name: set() for name in self.hosts}
        self._opening: set[asyncio.Task[None]] = set()
        self._connections: set[Connection] = set()

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        sockets = listen_all([self._address(spec.name) for spec in self.specs], self.port)
        self.port = sockets[0].getsockname()[1]
        for name, sock in zip(self.hosts, sockets, strict=True):
            await self._open(name, sock)
        control = listen(LOOPBACK, self.control_port)
        self.control_port = control.getsockname()[1]
        desk = partial(Connection, _Control(self, self._now), self._connections)
        self._servers.append(await loop.create_server(desk, sock=control))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._opening:
            task.cancel()
        for server in (*self._servers, *self._doors.values()):
            server.close()
        for line in [line for lines in self._lines.values() for line in lines]:
            line.close()
        for connection in list(self._connections):
            connection.close()
        await asyncio.sleep(0)

    def origin(self, name: str) -> str:
        """Where a provider is: scheme, address and port; its own paths come behind."""
        return f"http://{self._address(name)}:{self.port}"

    def refuse(self, name: str, seconds: float) -> None:
        """Its lines are cut, and connections to it are refused for so long."""
        self._doors.pop(name).close()
        for line in list(self._lines[name]):
            line.close()
        task = asyncio.create_task(self._open_again(name, seconds))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _open_again(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._open(name, listen(self._address(name), self.port))

    async def _open(self, name: str, sock: socket.socket) -> None:
        host = self.hosts[name]
        factory = partial(Line, host.answer, host.done, self._lines[name])
        self._doors[name] = await asyncio.get_running_loop().create_server(factory, sock=sock)

    def stats(self) -> dict[str, object]:
        """What every provider saw, as plain values."""
        return {
            "providers": {name: host.seen() for name, host in self.hosts.items()},
            "violations": sum(host.violations for host in self.hosts.values()),
            "answers": sum(sum(host.answers.values()) for host in self.hosts.values()),
        }

    def _address(self, name: str) -> str:
        return f"{NETWORK}{1 + list(self.hosts).index(name)}"


class _Control:
    """Answers below `/_/`: statistics, and what may be changed while it runs.  Bound to loopback."""

    latency = 0.0

    def __init__(self, town: LivingProviders, now: Callable[[], float]) -> None:
        self._town = town
        self._now = now

    def begin(self, ask: Ask) -> None: ...

    def end(self, ask: Ask, reply: Reply) -> None: ...

    def date(self) -> bytes:
        return http_date(self._now())

    def answer(self, ask: Ask) -> Reply:
        """`/_/stats`, `/_/origins`, `/_/limit?provider&per_minute`, `/_/models?provider&set=a,b`,
        `/_/fault?provider&kind&share&seconds`, `/_/heal?provider`,
        `/_/refuse?provider&seconds`."""
        parts = urlsplit(ask.target)
        query = dict(parse_qsl(parts.query))
        try:
            return _json(200, self._act(parts.path.removeprefix("/_/"), query))
        except (KeyError, ValueError) as problem:
            return _json(400, {"error": f"{type(problem).__name__}: {problem}"})

    def _act(self, what: str, query: dict[str, str]) -> object:
        town = self._town
        if what == "stats":
            return town.stats()
        if what == "origins":
            return {name: town.origin(name) for name in town.hosts}
        host = town.hosts[query["provider"]]
        if what == "limit":
            host.set_limit(float(query["per_minute"]))
        elif what == "models":
            host.models[:] = query["set"].split(",")
        elif what == "heal":
            host.faults.clear()
        elif what == "refuse":
            town.refuse(query["provider"], float(query["seconds"]))
        elif what == "fault":
            kind = query["kind"]
            if kind not in FAULTS:
                raise KeyError(kind)
            share, seconds = float(query.get("share", "1")), float(query.get("seconds", "inf"))
            host.strike(FaultRule(kind=kind, share=share, end=seconds))
        else:
            raise KeyError(what)
        return {"done": what}


def _json(status: int, value: object) -> Reply:
    return Reply(status, b"Content-Type: application/json\r\n", json.dumps(value).encode())
