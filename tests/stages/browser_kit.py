"""A small web of pages that scripts make, on loopback, which writes down who asked for what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from vedette.config.model import is_ci
from vedette.fetch.browser import find_browser

MISSING = find_browser()[1]
# In CI it is there or the tests fail; elsewhere they are named as not run (tests/conftest.py).
needs_chromium = pytest.mark.skipif(bool(MISSING) and not is_ci(), reason=f"NOT RUN: {MISSING}")
HOME, INNER = "127.0.0.1", "127.0.0.9"
SHELL = (
    '<!doctype html><html><head><title>Ministarstvo</title></head><body><div id="root"></div>{}</body></html>'
)


@dataclass
class Stage:
    """Pages by path; `asked` has (host, method, path, user agent)."""

    pages: dict[str, tuple[str, str]] = field(default_factory=dict)  # path: content type, body
    moved: dict[str, str] = field(default_factory=dict)  # path: location
    asked: list[tuple[str, str, str, str]] = field(default_factory=list)
    port: int = 0

    def url(self, path: str = "/", host: str = HOME) -> str:
        return f"http://{host}:{self.port}{path}"

    def script(self, path: str, body: str) -> None:
        """A page that is nothing but this script."""
        self.pages[path] = ("text/html; charset=utf-8", SHELL.format(f"<script>{body}</script>"))

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(
            (
                request.host.partition(":")[0],
                request.method,
                request.path_qs,
                request.headers.get("User-Agent", ""),
            )
        )
        if request.path in self.moved:
            raise web.HTTPFound(self.moved[request.path])
        if request.path not in self.pages:
            raise web.HTTPNotFound
        kind, body = self.pages[request.path]
        return web.Response(body=body.encode(), headers={"Content-Type": kind})

    def paths(self) -> list[str]:
        return [path for _, _, path, _ in self.asked]


@asynccontextmanager
async def stage_set() -> AsyncIterator[Stage]:
    """Listens on two addresses, so that what must not be asked could be."""
    stage = Stage()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", stage.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, HOME, 0).start()
    stage.port = runner.addresses[0][1]
    await web.TCPSite(runner, INNER, stage.port).start()
    try:
        yield stage
    finally:
        await runner.cleanup()
