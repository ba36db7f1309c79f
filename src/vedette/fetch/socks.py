"""Connections by a SOCKS5 proxy, such as Tor: the name goes to the proxy as a name, and nothing is resolved here.

Part of the one connector (`connections.py`).  The only socket that is opened goes to the address that the operator
wrote; when the proxy is down the look fails, and nothing connects by another way.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from typing import Any

import aiohappyeyeballs
from aiohttp import ClientConnectorError, TCPConnector
from aiohttp.abc import ResolveResult
from aiohttp.client_reqrep import ClientRequest

from vedette.fetch.proxy_address import SocksProxy

_VERSION, _CONNECT, _IPV4, _NAME, _IPV6 = 5, 1, 1, 3, 4
_ANY, _PASSWORD = 0, 2
_LENGTHS = {_IPV4: 4, _IPV6: 16}
_WORDS = {
    1: "the proxy failed",
    2: "the proxy does not allow it",
    3: "the proxy cannot reach the network",
    4: "the proxy cannot reach the host",
    5: "the host refused the proxy",
    6: "the proxy waited too long",
    7: "the proxy knows no such command",
    8: "the proxy knows no such address",
}


class SocksError(OSError):
    """What the proxy said."""


class SocksConnector(TCPConnector):
    """Every connection goes to the proxy, and through it to the name that is asked for."""

    def __init__(self, proxy: SocksProxy, **options: Any) -> None:
        super().__init__(**options)
        self._socks = proxy

    async def _resolve_host(self, host: str, port: int, traces: Any = None) -> list[ResolveResult]:
        """The proxy's address, whoever is asked for."""
        address = self._socks.host
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=self._socks.port,
                family=family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
        ]

    async def _wrap_create_connection(
        self, *args: Any, addr_infos: Any, req: ClientRequest, timeout: Any, **kwargs: Any
    ) -> Any:
        try:
            async with asyncio.timeout(timeout.connect):
                line = await aiohappyeyeballs.start_connection(
                    addr_infos=addr_infos, loop=self._loop, socket_factory=self._socket_factory
                )
                try:
                    await self._greet(line)
                    await self._ask_for(line, req.url.raw_host or "", req.port or 0)
                except BaseException:
                    line.close()
                    raise
        except TimeoutError:
            raise
        except OSError as error:
            raise ClientConnectorError(req.connection_key, error) from error
        return await self._wrap_existing_connection(*args, req=req, timeout=timeout, sock=line, **kwargs)

    async def _greet(self, line: socket.socket) -> None:
        """RFC 1928 section 3, RFC 1929."""
        user, password = self._socks.user, self._socks.password
        method = _ANY if user is None else _PASSWORD
        await self._loop.sock_sendall(line, bytes((_VERSION, 1, method)))
        version, chosen = await self._read(line, 2)
        if (version, chosen) != (_VERSION, method):
            raise SocksError("the proxy speaks no SOCKS5, or wants other credentials")
        if user is None:
            return
        name, word = user.encode(), (password or "").encode()
        await self._loop.sock_sendall(line, bytes((1, len(name))) + name + bytes((len(word),)) + word)
        if (await self._read(line, 2))[1] != 0:
            raise SocksError("the proxy does not accept the credentials")

    async def _ask_for(self, line: socket.socket, host: str, port: int) -> None:
        """RFC 1928 section 4: a name as a name."""
        await self._loop.sock_sendall(
            line, bytes((_VERSION, _CONNECT, 0)) + _spelled(host) + port.to_bytes(2, "big")
        )
        _, said, _, kind = await self._read(line, 4)
        if said != 0:
            raise SocksError(_WORDS.get(said, "the proxy failed"))
        size = _LENGTHS.get(kind) or (await self._read(line, 1))[0]
        await self._read(line, size + 2)

    async def _read(self, line: socket.socket, size: int) -> bytes:
        found = b""
        while len(found) < size:
            more = await self._loop.sock_recv(line, size - len(found))
            if not more:
                raise SocksError("the proxy closed the line")
            found += more
        return found


def _spelled(host: str) -> bytes:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        name = host.rstrip(".").encode("ascii")
        return bytes((_NAME, len(name))) + name
    return bytes((_IPV4 if address.version == 4 else _IPV6,)) + address.packed
