"""The pages of `vedette serve`: /healthz, /readyz, /metrics, and those of the panel's batches."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from vedette.app.service import ServiceState
from vedette.contracts.errors import VedetteError
from vedette.surface.http.panel_admin import KILL, PanelAdmin, batch_routes, metrics_text
from vedette.surface.http.server import METRICS_TYPE, ListenOptions, door

FRONT = """vedette serve
  /healthz  ok while the process lives
  /readyz   ready when it looks, 503 before and after
  /metrics  for Prometheus
"""


def opened(
    listen: str, token: str | None, panel: PanelAdmin | None = None, hosts: tuple[str, ...] = ()
) -> Callable[[ServiceState], AbstractAsyncContextManager[str]]:
    """Checked now, opened when there is something to show."""
    made = door(
        ListenOptions(section="serve", listen=listen, token=token, hosts=hosts, locked=frozenset((KILL,)))
    )
    return lambda pages: made(routes(pages, panel))


def routes(pages: ServiceState, panel: PanelAdmin | None) -> list[web.RouteDef]:
    async def front(request: web.Request) -> web.Response:
        return web.Response(text=FRONT)

    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        is_ready = pages.is_ready()
        return web.Response(text="ready\n" if is_ready else "not ready\n", status=200 if is_ready else 503)

    async def metrics(request: web.Request) -> web.Response:
        text = await pages.metrics() + (await _of_the_panel(panel) if panel is not None else "")
        return web.Response(text=text, headers={"Content-Type": METRICS_TYPE})

    own = [
        web.get("/", front),
        web.get("/healthz", healthz),
        web.get("/readyz", readyz),
        web.get("/metrics", metrics),
    ]
    return [*own, *batch_routes(panel)] if panel is not None else own


async def _of_the_panel(panel: PanelAdmin) -> str:
    """Of its last batch; nothing where there is none, or its database does not answer."""
    try:
        return metrics_text(await panel.last(), panel.clock.now(), panel.writes())
    except VedetteError:
        return ""
