"""The pages of `vedette serve`: /healthz, /readyz, /metrics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from aiohttp import web

from vedette.service import Pages
from vedette.surface.door import METRICS_TYPE, Doorway, door


def opened(
    listen: str, token: str | None, hosts: tuple[str, ...] = ()
) -> Callable[[Pages], AbstractAsyncContextManager[str]]:
    """Checked now, opened when there is something to show."""
    made = door(Doorway(section="serve", listen=listen, token=token, hosts=hosts))
    return lambda pages: made(routes(pages))


def routes(pages: Pages) -> list[web.RouteDef]:
    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        is_ready = pages.is_ready()
        return web.Response(text="ready\n" if is_ready else "not ready\n", status=200 if is_ready else 503)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=await pages.metrics(), headers={"Content-Type": METRICS_TYPE})

    return [web.get("/healthz", healthz), web.get("/readyz", readyz), web.get("/metrics", metrics)]
