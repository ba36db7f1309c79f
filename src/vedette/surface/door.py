"""What `vedette serve` shows over HTTP: /healthz, /readyz, /metrics.  Everything else is not there.

Loopback unless a token is set.  With a token everything but the two probes asks for it; the peer's address is never
taken from a header (THREATS: metrics spoofing).
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from vedette.contracts.errors import ConfigError
from vedette.service import Pages

OPEN = frozenset(("/healthz", "/readyz"))  # what a load balancer may ask without a token
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int


def read_address(text: str, *, has_token: bool) -> Address:
    """`127.0.0.1:9464`, `[::1]:9464`.  Beyond loopback only with a token."""
    host, mark, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        number = int(port)
    except ValueError:
        raise ConfigError(
            f"`serve.listen`: {text!r} is not an address and a port, as in 127.0.0.1:9464"
        ) from None
    if not mark or not 0 <= number <= 65535:
        raise ConfigError(f"`serve.listen`: {text!r} has no usable port")
    if not address.is_loopback and not has_token:
        raise ConfigError(
            f"`serve.listen`: {text} is open to others; set serve.token, or listen on 127.0.0.1"
        )
    return Address(str(address), number)


def door(listen: str, token: str | None) -> Callable[[Pages], AbstractAsyncContextManager[str]]:
    """Checked now, opened later."""
    address = read_address(listen, has_token=bool(token))

    @asynccontextmanager
    async def opened(pages: Pages) -> AsyncIterator[str]:
        runner = web.AppRunner(_site(pages, token), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        site = web.TCPSite(runner, address.host, address.port)
        try:
            await site.start()
        except OSError as error:
            await runner.cleanup()
            raise ConfigError(f"`serve.listen`: cannot listen on {listen}: {error.strerror}") from None
        try:
            yield "http://{}:{}".format(*runner.addresses[0][:2])
        finally:
            await runner.cleanup()

    return opened


def _site(pages: Pages, token: str | None) -> web.Application:
    async def healthz(request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(request: web.Request) -> web.Response:
        is_ready = pages.is_ready()
        return web.Response(text="ready\n" if is_ready else "not ready\n", status=200 if is_ready else 503)

    async def metrics(request: web.Request) -> web.Response:
        return web.Response(text=await pages.metrics(), headers={"Content-Type": METRICS_TYPE})

    site = web.Application(middlewares=[_guarded(token)])
    for path, handler in (("/healthz", healthz), ("/readyz", readyz), ("/metrics", metrics)):
        site.router.add_get(path, handler)
    return site


def _guarded(token: str | None) -> Middleware:
    """Default deny: what is not listed as open asks for the token, also what does not exist."""
    wanted = None if token is None else f"Bearer {token}".encode()

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        given = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
        is_open = request.path in OPEN
        if wanted is not None and not is_open and not hmac.compare_digest(given, wanted):
            return web.Response(
                status=401, text="a token is needed\n", headers={**HEADERS, "WWW-Authenticate": "Bearer"}
            )
        response = await handler(request)
        response.headers.update(HEADERS)
        return response

    return guard
