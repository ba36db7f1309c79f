"""003's admin of the panel: /healthz, /readyz, /metrics, /batch/{id}, /provider/{name}/state, /kill-switch.

Loopback unless a token is set.  With a token everything but the two probes asks for it; the kill switch always does,
so without a token it is refused.  The peer's address is never taken from a header.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from vedette.contracts.errors import ConfigError, InputError, StoreError
from vedette.contracts.panel_run import BatchId
from vedette.contracts.ports import Clock
from vedette.report.plain import dump
from vedette.store.panel import BatchView, PanelStore
from vedette.surface.api.panel_metrics import Writes, metrics_text
from vedette.surface.cli.panel_words import view_json

OPEN = frozenset(("/healthz", "/readyz"))  # what a load balancer may ask without a token
KILL = "/kill-switch"
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(slots=True)
class Office:
    """What the pages are made from.  `store` is used by one thread at a time."""

    store: PanelStore
    clock: Clock
    token: str | None = None
    writes: Callable[[], Writes] = Writes
    _gate: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def ask(self, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        async with self._gate:
            return await asyncio.to_thread(call, *given, **named)

    async def last(self) -> BatchView | None:
        batch = await self.ask(self.store.last_batch)
        return None if batch is None else await self.ask(self.store.view, batch)


def site(office: Office) -> web.Application:
    """All pages, default deny."""
    made = web.Application(middlewares=[_guarded(office.token)])
    made.add_routes(routes(office))
    return made


def routes(office: Office) -> list[web.RouteDef]:
    """For a site of its own, or to stand beside others under the same guard."""
    pages = _Pages(office)
    return [
        web.get("/healthz", pages.healthz),
        web.get("/readyz", pages.readyz),
        web.get("/metrics", pages.metrics),
        web.get("/batch/{id}", pages.batch),
        web.get("/provider/{name:.+}/state", pages.provider),
        web.post(KILL, pages.kill),
    ]


@asynccontextmanager
async def opened(office: Office, listen: str) -> AsyncIterator[str]:
    """Serves while the block runs; gives the address."""
    host, port = _address(listen, has_token=bool(office.token))
    runner = web.AppRunner(site(office), access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            raise ConfigError(f"`panel.listen`: cannot listen on {listen}: {error.strerror}") from None
        yield "http://{}:{}".format(*runner.addresses[0][:2])
    finally:
        await runner.cleanup()


class _Pages:
    def __init__(self, office: Office) -> None:
        self._office = office

    async def healthz(self, request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(self, request: web.Request) -> web.Response:
        """Ready means that the database answers."""
        try:
            await self._office.ask(self._office.store.last_batch)
        except StoreError:
            return web.Response(text="the database does not answer\n", status=503)
        return web.Response(text="ready\n")

    async def metrics(self, request: web.Request) -> web.Response:
        office = self._office
        text = metrics_text(await office.last(), office.clock.now(), office.writes())
        return web.Response(text=text, headers={"Content-Type": METRICS_TYPE})

    async def batch(self, request: web.Request) -> web.Response:
        try:
            view = await self._office.ask(self._office.store.view, BatchId(request.match_info["id"]))
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
        office = self._office
        wanted = request.query.get("batch")
        batch = BatchId(wanted) if wanted else None
        stopped = await office.ask(office.store.ask_stop, batch, now=office.clock.now())
        return _json({"stopped": stopped}, status=200 if stopped else 404)


def _guarded(token: str | None) -> Middleware:
    wanted = None if token is None else f"Bearer {token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        knows = wanted is not None and hmac.compare_digest(given, wanted)
        if request.path == KILL and wanted is None:
            return _refused(403, "the kill switch needs panel.token to be set\n")
        if wanted is not None and request.path not in OPEN and not knows:
            return _refused(401, "a token is needed\n")
        response = await handler(request)
        response.headers.update(HEADERS)
        return response

    return guard


def _refused(status: int, words: str) -> web.Response:
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return web.Response(status=status, text=words, headers={**HEADERS, **more})


def _json(value: object, *, status: int = 200) -> web.Response:
    return web.Response(text=dump(value) + "\n", status=status, content_type="application/json")


def _address(text: str, *, has_token: bool) -> tuple[str, int]:
    """`127.0.0.1:9465`, `[::1]:9465`.  Beyond loopback only with a token."""
    host, _, port = text.rpartition(":")
    try:
        address, number = ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise ConfigError(
            f"`panel.listen`: {text!r} is not an address and a port, as in 127.0.0.1:9465"
        ) from None
    if not 0 <= number <= 65535:
        raise ConfigError(f"`panel.listen`: {text!r} has no usable port")
    if not address.is_loopback and not has_token:
        raise ConfigError(
            f"`panel.listen`: {text} is open to others; set panel.token, or listen on 127.0.0.1"
        )
    return str(address), number
