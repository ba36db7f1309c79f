"""The one door of everything that is shown over HTTP.

Loopback unless a token is set.  With a token everything but the two probes asks for it, also what does not exist; the
peer's address is never taken from a header (THREATS: metrics spoofing).
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from vedette.contracts.errors import ConfigError

OPEN = frozenset(("/healthz", "/readyz"))  # what a load balancer may ask without a token
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


Opener = Callable[[Iterable[web.RouteDef]], AbstractAsyncContextManager[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Doorway:
    """Where the door is, and who may come in."""

    section: str  # of the configuration, whose `listen` and `token` these are
    listen: str  # 127.0.0.1:9464, [::1]:9464
    token: str | None = None
    locked: frozenset[str] = frozenset()  # paths that nobody is let to while there is no token


def door(way: Doorway) -> Opener:
    """Checked now, opened later: it gives its address."""
    host, port = _address(way)

    @asynccontextmanager
    async def opened(routes: Iterable[web.RouteDef]) -> AsyncIterator[str]:
        site = web.Application(middlewares=[_guarded(way)])
        site.add_routes(routes)
        runner = web.AppRunner(site, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, host, port).start()
            except OSError as error:
                raise _wrong(way, f"cannot listen on {way.listen}: {error.strerror}") from None
            yield "http://{}:{}".format(*runner.addresses[0][:2])
        finally:
            await runner.cleanup()

    return opened


def _address(way: Doorway) -> tuple[str, int]:
    """Beyond loopback only with a token."""
    host, _, port = way.listen.rpartition(":")
    try:
        address, number = ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise _wrong(way, f"{way.listen!r} is not an address and a port, as in 127.0.0.1:9464") from None
    if not 0 <= number <= 65535:
        raise _wrong(way, f"{way.listen!r} has no usable port")
    if not address.is_loopback and not way.token:
        raise _wrong(way, f"{way.listen} is open to others; set {way.section}.token, or listen on 127.0.0.1")
    return str(address), number


def _wrong(way: Doorway, what: str) -> ConfigError:
    return ConfigError(f"`{way.section}.listen`: {what}")


def _guarded(way: Doorway) -> Middleware:
    """Default deny: what is not listed as open asks for the token."""
    wanted = None if way.token is None else f"Bearer {way.token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        if wanted is None and request.path in way.locked:
            return _refused(403, f"this needs {way.section}.token to be set\n")
        if wanted is not None and request.path not in OPEN and not hmac.compare_digest(given, wanted):
            return _refused(401, "a token is needed\n")
        response = await handler(request)
        response.headers.update(HEADERS)
        return response

    return guard


def _refused(status: int, words: str) -> web.Response:
    more = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    return web.Response(status=status, text=words, headers={**HEADERS, **more})
