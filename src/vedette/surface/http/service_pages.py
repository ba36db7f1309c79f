"""What `vedette serve` answers: probes, metrics and the panel's batches for programs, the API, and the dashboard.

One FastAPI application behind one gate, in the process of the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from socket import socket

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from vedette import __version__
from vedette.app.service import ServiceState
from vedette.contracts.errors import VedetteError
from vedette.operations.access_tokens import has_tokens
from vedette.operations.health import source_health
from vedette.operations.installation import Installation
from vedette.operations.overview import overview, politeness
from vedette.operations.search import count_waiting
from vedette.operations.sources import groups, list_sources
from vedette.surface.http import (
    access_pages,
    api_reads,
    api_writes,
    dashboard,
    dashboard_forms,
    export_routes,
    feed_routes,
    filter_pages,
    noise_pages,
    planning_pages,
    search_pages,
    sign_in,
)
from vedette.surface.http.access_check import LOGIN, OPEN, Gate, guarded
from vedette.surface.http.access_rules import TokenCheck
from vedette.surface.http.api_answers import API, ApiProblem, DoneOnce, answer, explain_errors
from vedette.surface.http.page_frame import ASSETS, assets, compile_pages, error_page
from vedette.surface.http.panel_admin import KILL, PanelAdmin, batch_routes, metrics_text
from vedette.surface.http.server import METRICS_TYPE, ListenOptions, door
from vedette.surface.http.web_context import KeptCredentials, Web

OPEN_PATHS = OPEN | {LOGIN}  # with what is under ASSETS, all that asks for nothing
PAGES = (
    dashboard,
    dashboard_forms,
    access_pages,
    filter_pages,
    noise_pages,
    planning_pages,
    search_pages,
    sign_in,
    feed_routes,
)
# What pages and calls remember, by its name there.
WARMED: dict[str, Callable[[Installation], object]] = {
    "overview": overview,
    "sources": list_sources,
    "health": source_health,
    "lanes": politeness,
    "groups": groups,
    "waiting": count_waiting,
}
FRONT = "vedette serve: /healthz /readyz /metrics\n"  # where there is no store to show


def opened(
    listen: str,
    token: str | None,
    panel: PanelAdmin | None = None,
    hosts: tuple[str, ...] = (),
    installation: Installation | None = None,
) -> Callable[[ServiceState], AbstractAsyncContextManager[str]]:
    """Checked now, opened when there is something to show."""
    has_keys = installation is not None and has_tokens(installation)
    way = ListenOptions(
        section="serve", listen=listen, token=token, hosts=hosts, locked=frozenset((KILL,)), has_keys=has_keys
    )
    return _opener(way, panel, installation)


def opened_on(
    bound: socket, installation: Installation
) -> Callable[[ServiceState], AbstractAsyncContextManager[str]]:
    """The same on loopback, on a socket that is there already."""
    address = "{}:{}".format(*bound.getsockname()[:2])
    return _opener(ListenOptions(section="serve", listen=address, bound=bound), None, installation)


def _opener(
    way: ListenOptions, panel: PanelAdmin | None, installation: Installation | None
) -> Callable[[ServiceState], AbstractAsyncContextManager[str]]:
    made = door(way)

    @asynccontextmanager
    async def serving(state: ServiceState) -> AsyncIterator[str]:
        web = None if installation is None else Web(installation, state, way.token)
        indexer: asyncio.Task[None] | None = None
        warming: asyncio.Task[None] | None = None
        try:
            async with made(application(way, state, panel, web)) as address:
                if web is not None and web.figures.takes_long(web.installation):
                    await web.promise()  # begun now: they take a while, and the first page shows them
                    warming = asyncio.create_task(_warm(web))
                indexer = None if web is None else asyncio.create_task(search_pages.keep_indexed(web))
                yield address
        finally:
            for task in (indexer, warming):
                if task is not None:
                    task.cancel()
            if web is not None:
                web.close()

    return serving


async def _warm(web: Web) -> None:
    """What a large store takes long to count is counted before somebody asks, one thing after another."""
    for name, call in WARMED.items():
        with suppress(VedetteError):  # who asks for it hears why
            await web.remembered(name, call)
    await web.ask(lambda _: compile_pages())


def application(
    way: ListenOptions, state: ServiceState, panel: PanelAdmin | None, web: Web | None
) -> ASGIApp:
    """Everything, behind the gate.  Must be called in the event loop."""
    check = TokenCheck(way.token, asyncio.get_running_loop().time)
    app = assembled(state, panel, web)
    if web is None:
        return guarded(Gate(way, check), app)
    web.gate = Gate(
        way, check, KeptCredentials(web), open_paths=OPEN_PATHS, open_prefixes=(f"{ASSETS}/",), has_login=True
    )
    return guarded(web.gate, DoneOnce(app, web), web.noted)


def assembled(state: ServiceState, panel: PanelAdmin | None, web: Web | None) -> FastAPI:
    """All routes, with nobody in front of them."""
    app = FastAPI(title="Vedette", version=__version__, docs_url=None, redoc_url=None, openapi_url=None)
    app.router.routes.extend(routes(state, panel, has_front=web is None))
    if web is not None:
        app.state.web = web
        _add_api(app)
        for one in PAGES:
            app.include_router(one.router, include_in_schema=False)
        app.mount(ASSETS, assets())
        explain_errors(app, error_page)
    return app


def _add_api(app: FastAPI) -> None:
    app.include_router(api_reads.router, prefix=API)
    app.include_router(api_writes.router, prefix=API)
    app.include_router(feed_routes.api, prefix=API)
    app.include_router(export_routes.router, prefix=API)
    for one in (planning_pages, search_pages, filter_pages, access_pages, noise_pages):
        app.include_router(one.api, prefix=API)

    def described() -> dict[str, object]:
        if not app.openapi_schema:
            made = FastAPI.openapi(app)
            made["components"]["schemas"]["ApiProblem"] = ApiProblem.model_json_schema(
                ref_template="#/components/schemas/{model}"
            )
            made["components"]["schemas"] |= made["components"]["schemas"]["ApiProblem"].pop("$defs")
            made["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
            made["security"] = [{"token": []}]
        return app.openapi_schema or {}

    app.openapi = described  # type: ignore[method-assign]

    async def schema(request: Request) -> Response:
        return answer(request, app.openapi(), is_schema=True)

    app.router.routes.append(Route(f"{API}/openapi.json", schema))


def routes(state: ServiceState, panel: PanelAdmin | None, *, has_front: bool = True) -> list[Route]:
    """What programs ask the service."""

    async def front(request: Request) -> Response:
        return PlainTextResponse(FRONT)

    async def healthz(request: Request) -> Response:
        return PlainTextResponse("ok\n")

    async def readyz(request: Request) -> Response:
        is_ready = state.is_ready()
        return PlainTextResponse("ready\n" if is_ready else "not ready\n", 200 if is_ready else 503)

    async def metrics(request: Request) -> Response:
        text = await state.metrics() + (await _of_the_panel(panel) if panel is not None else "")
        return Response(text, media_type=METRICS_TYPE)

    own = [
        *([Route("/", front)] if has_front else []),
        Route("/healthz", healthz),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
    ]
    return [*own, *batch_routes(panel)] if panel is not None else own


async def _of_the_panel(panel: PanelAdmin) -> str:
    """Of its last batch; nothing where there is none, or its database does not answer."""
    try:
        return metrics_text(await panel.last(), panel.clock.now(), panel.writes())
    except VedetteError:
        return ""
