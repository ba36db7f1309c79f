"""The control address: statistics, truth and time as JSON, for a living web that is its own process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from urllib.parse import parse_qs, urlsplit

from vedette.livingweb.clock import WorldClock
from vedette.livingweb.server import http_date
from vedette.livingweb.wire import Ask, Reply
from vedette.livingweb.world import World

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
