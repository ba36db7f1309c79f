"""003's admin of the panel: /healthz, /readyz, /metrics, /batch/{id}, /provider/{name}/state, /kill-switch.

Behind the one door (surface/http/server.py); the kill switch always asks for a token, so without one it is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import TypeVar

from aiohttp import web

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.panel_run import BatchId, BatchView
from vedette.contracts.ports import Clock
from vedette.report.panel import view_json
from vedette.report.plain import dump
from vedette.store.panel.batches import PanelStore
from vedette.surface.http.panel_metrics import Writes, metrics_text
from vedette.surface.http.server import METRICS_TYPE, ListenOptions, door

KILL = "/kill-switch"
_Found = TypeVar("_Found")


@dataclass(slots=True)
class PanelAdmin:
    """What the pages are made from.  The store is opened for each answer, and used by one thread at a time."""

    store: Callable[[bool], AbstractContextManager[PanelStore]]  # True: to be written to
    clock: Clock
    writes: Callable[[], Writes | None] = lambda: None
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, call: Callable[[PanelStore], _Found], *, writes: bool = False) -> _Found:
        def asked() -> _Found:
            with self.store(writes) as store:
                return call(store)

        async with self._gate:
            return await asyncio.to_thread(asked)

    async def last(self) -> BatchView | None:
        def found(store: PanelStore) -> BatchView | None:
            batch = store.last_batch()
            return None if batch is None else store.view(batch)

        return await self.ask(found)


def routes(admin: PanelAdmin) -> list[web.RouteDef]:
    """All that `panel run --listen` answers."""
    pages = _Pages(admin)
    return [
        web.get("/healthz", pages.healthz),
        web.get("/readyz", pages.readyz),
        web.get("/metrics", pages.metrics),
        *batch_routes(admin),
    ]


def batch_routes(admin: PanelAdmin) -> list[web.RouteDef]:
    """Those about batches, which `vedette serve` answers too."""
    pages = _Pages(admin)
    return [
        web.get("/batch/{id}", pages.batch),
        web.get("/provider/{name:.+}/state", pages.provider),
        web.post(KILL, pages.kill),
    ]


def opened(
    admin: PanelAdmin, listen: str, token: str | None, hosts: tuple[str, ...] = ()
) -> AbstractAsyncContextManager[str]:
    """Serves while the block runs; gives the address."""
    way = ListenOptions(section="panel", listen=listen, token=token, locked=frozenset((KILL,)), hosts=hosts)
    return door(way)(routes(admin))


class _Pages:
    def __init__(self, admin: PanelAdmin) -> None:
        self._office = admin

    async def healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """Ready means that the database answers."""
        try:
            await self._office.ask(lambda store: store.last_batch())
        except StoreError:
            return web.Response(text="the database does not answer\n", status=503)
        return web.Response(text="ready\n")

    async def metrics(self, request: web.Request) -> web.Response:
        admin = self._office
        text = metrics_text(await admin.last(), admin.clock.now(), admin.writes())
        return web.Response(text=text, headers={"Content-Type": METRICS_TYPE})

    async def batch(self, request: web.Request) -> web.Response:
        try:
            batch = BatchId(request.match_info["id"])
            view = await self._office.ask(lambda store: store.view(batch))
        except InputError as error:
            return _json({"error": str(error)}, status=404)
        return _json(view_json(view))

    async def provider(self, request: web.Request) -> web.Response:
        """As the last batch knows it."""
        name = request.match_info["name"]
        view = await self._office.last()
        rows = [] if view is None else [row for row in view.providers if row["model"] == name]
        if view is None or not rows:
            return _json({"error": f"no batch has asked {name}"}, status=404)
        return _json({"batch": view.batch.id, "status": view.status, **rows[0]})

    async def kill(self, request: web.Request) -> web.Response:
        """Of `?batch=ID`, or of every batch that runs.  New calls stop within a second."""
        admin = self._office
        wanted = request.query.get("batch")
        batch = BatchId(wanted) if wanted else None
        now = admin.clock.now()
        stopped = await admin.ask(lambda store: store.ask_stop(batch, now=now), writes=True)
        return _json({"stopped": stopped}, status=200 if stopped else 404)


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(text=dump(value) + "\n", status=status, content_type="application/json")
