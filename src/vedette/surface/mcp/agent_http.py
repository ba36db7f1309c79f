"""The tools over MCP as streamable HTTP, behind the gate of everything that is answered over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from vedette.app.service import ServiceState
from vedette.operations.access_tokens import has_tokens
from vedette.operations.installation import Installation
from vedette.surface.http.access_check import Gate, Right, guarded
from vedette.surface.http.access_rules import TokenCheck
from vedette.surface.http.server import STREAM, ListenOptions, door
from vedette.surface.http.web_context import KeptCredentials, Web
from vedette.surface.mcp.agent_server import made_server

PATH = "/mcp"


@asynccontextmanager
async def listening(
    installation: Installation, way: ListenOptions, *, with_writes: bool
) -> AsyncIterator[str]:
    """Streamable HTTP; gives the address.  Tokens and names are checked as those of `vedette serve`."""
    server = made_server(installation, with_writes=with_writes)
    own = TransportSecuritySettings(enable_dns_rebinding_protection=False)  # the gate has checked the name
    app = server.streamable_http_app(
        streamable_http_path=PATH, json_response=True, stateless_http=True, transport_security=own
    )
    web = Web(installation, ServiceState(_no_metrics, lambda: True), way.token)
    right = Right.WRITE if with_writes else Right.READ
    gate = Gate(
        way,
        TokenCheck(way.token, asyncio.get_running_loop().time),
        KeptCredentials(web),
        open_paths=frozenset(),
        right_for=lambda method, path: right,
    )
    try:
        async with (  # the door first: what is wrong with the address is told as it is, not by a group of tasks
            door(way)(guarded(gate, _unhurried(app), web.noted if with_writes else None)) as address,
            server.session_manager.run(),
        ):
            yield address + PATH
    finally:
        web.close()


def listen_options(installation: Installation, listen: str, token: str | None) -> ListenOptions:
    hosts, has_keys = installation.loaded.config.serve.hosts, has_tokens(installation)
    return ListenOptions(section="serve", listen=listen, token=token, hosts=hosts, has_keys=has_keys)


def _unhurried(app: ASGIApp) -> ASGIApp:
    """To verify all evidence takes as long as it takes."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        scope[STREAM]()
        await app(scope, receive, send)

    return answer


async def _no_metrics() -> str:
    return ""
