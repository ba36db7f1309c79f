"""Tools for programs that talk to a language model: mcp."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from vedette.config.model import secret
from vedette.contracts.errors import ConfigError
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

EXAMPLE = """vedette mcp
vedette mcp --listen 127.0.0.1:9466
vedette mcp --allow-writes"""


def register(app: typer.Typer) -> None:
    verb(app, "mcp", example=EXAMPLE)(mcp)


def mcp(
    session: Session,
    listen: Annotated[
        str | None,
        typer.Option("--listen", metavar="ADDRESS:PORT", help="Streamable HTTP instead of stdin and stdout."),
    ] = None,
    allow_writes: Annotated[
        bool, typer.Option("--allow-writes", help="Also the tools that add a source and order looks.")
    ] = False,
) -> None:
    """Answer programs that talk to a language model (MCP).

    On stdin and stdout, as such programs start it, or with --listen as streamable HTTP under /mcp, for which tokens of
    `vedette token` count.  Tools: list_changes, list_watches, search, history, diff, explain, why_not, verify.

    What pages wrote stands between two marks in every answer and is said to be data.  Needs `pip install
    'vedette[mcp]'`.
    """
    if find_spec("mcp") is None:
        raise ConfigError("the SDK of MCP is not installed; pip install 'vedette[mcp]'")
    installation = session.installation
    installation.store()
    if listen is None:
        stdio = import_module("vedette.surface.mcp.agent_server")  # with the SDK, which is an extra
        stdio.run_stdio(installation, with_writes=allow_writes)
        return
    http = import_module("vedette.surface.mcp.agent_http")
    row = session.loaded.config.serve
    token = None if row.token is None else secret(row.token, "`serve.token`")
    way = http.listen_options(installation, listen, token)

    async def until_stopped() -> None:
        async with http.listening(installation, way, with_writes=allow_writes) as address:
            session.out.note(f"listening on {address}")
            await asyncio.Event().wait()

    asyncio.run(until_stopped())
