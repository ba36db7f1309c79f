"""Names to addresses, once per new connection, every address past the guard before any is used."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import aiodns
from aiohttp.abc import AbstractResolver, ResolveResult

from vedette.contracts.errors import ConfigError
from vedette.fetch.guard import Guard

CACHE_SECONDS = 30.0
CACHE_SIZE = 10_000
THREADS = 16  # getaddrinfo cannot be interrupted; names that hang may hold this many threads
ADDRESSES = 32  # more records than any site has; a hostile zone may send thousands
_SYSTEM_WORDS = {
    socket.EAI_NONAME: "no such name",
    socket.EAI_AGAIN: "the name server did not answer or failed",
}
_NAMESERVER_WORDS = {
    aiodns.error.ARES_ENOTFOUND: "no such name (NXDOMAIN)",
    aiodns.error.ARES_ENODATA: "the name has no address",
    aiodns.error.ARES_ESERVFAIL: "the name server failed (SERVFAIL)",
    aiodns.error.ARES_EREFUSED: "the name server refused to answer",
    aiodns.error.ARES_ETIMEOUT: "the name server did not answer in time",
    aiodns.error.ARES_ECONNREFUSED: "the name server cannot be reached",
    aiodns.error.ARES_EBADNAME: "not a name that DNS can hold",
}


class DnsFault(Exception):
    """The name gave no address.  Not an OSError, so that aiohttp hands it on as it is."""


class Lookup(Protocol):
    """Where addresses of a name come from."""

    async def __call__(self, host: str) -> Sequence[str]: ...

    async def close(self) -> None: ...


class GuardedResolver(AbstractResolver):
    """What aiohttp asks.  One refused address refuses the name: half a rebinding is still one."""

    def __init__(self, lookup: Lookup, guard: Guard, timeout: float) -> None:
        self._lookup = lookup
        self._guard = guard
        self._timeout = timeout
        self._cache: dict[str, tuple[float, tuple[str, ...]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name, each one allowed.  Asked anew for every new connection."""
        addresses = await self._addresses(host)
        for address in addresses:
            self._guard.check(address, port)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in addresses[:ADDRESSES]
        ]

    async def close(self) -> None:
        """Nothing of its own: who made the lookup closes it."""

    async def _addresses(self, host: str) -> tuple[str, ...]:
        now = asyncio.get_running_loop().time()
        known = self._cache.get(host)
        if known is not None and known[0] > now:
            return known[1]
        try:
            async with asyncio.timeout(self._timeout):
                found = tuple(dict.fromkeys(await self._lookup(host)))
        except TimeoutError:
            raise DnsFault(f"{host}: no answer in {self._timeout:g} s") from None
        if not found:
            raise DnsFault(f"{host}: the name has no address")
        if len(self._cache) >= CACHE_SIZE:
            self._cache.clear()
        self._cache[host] = (now + CACHE_SECONDS, found)
        return found


class SystemLookup:
    """The system's own resolver (hosts file, resolv.conf), in a bounded number of threads."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="vedette-dns")

    async def __call__(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, _getaddrinfo, host)
        except socket.gaierror as error:
            words = _SYSTEM_WORDS.get(error.errno or 0, error.strerror or "look-up failed")
            raise DnsFault(f"{host}: {words}") from None
        except UnicodeError:  # a label over 63 characters, or an empty one
            raise DnsFault(f"{host[:80]}: not a name that DNS can hold") from None

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


class NameserverLookup:
    """The operator's own name servers and nothing else: no hosts file, no search domains."""

    def __init__(self, nameservers: Sequence[str], timeout: float) -> None:
        servers = [_read_nameserver(text) for text in nameservers]
        self._dns = aiodns.DNSResolver(
            nameservers=servers, timeout=max(timeout / 2, 0.05), tries=2, lookups="b", domains=[]
        )

    async def __call__(self, host: str) -> list[str]:
        try:
            answer = await self._dns.getaddrinfo(host, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            code = error.args[0] if error.args else None
            raise DnsFault(f"{host[:80]}: {_NAMESERVER_WORDS.get(code, error.args[-1])}") from None
        return [_text(node.addr[0]) for node in answer.nodes]

    async def close(self) -> None:
        await self._dns.close()


def check_nameservers(nameservers: Sequence[str]) -> None:
    """Raises ConfigError for one that cannot be used."""
    for text in nameservers:
        _read_nameserver(text)


def _getaddrinfo(host: str) -> list[str]:
    return [str(row[4][0]) for row in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def _text(address: str | bytes) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def _read_nameserver(text: str) -> str:
    """ "9.9.9.9", "127.0.0.1:5353" or "[2620:fe::9]:53", as c-ares takes it."""
    host, colon, port = text.rpartition(":") if text.count(":") == 1 or "]:" in text else (text, "", "53")
    try:
        ipaddress.ip_address(host.strip("[]"))
        if not 0 < int(port) < 65536:
            raise ValueError(port)
    except ValueError:
        raise ConfigError(
            f"fetch.nameservers: {text!r} is not an address; write it like 127.0.0.1:5353 or [2620:fe::9]:53"
        ) from None
    return text if colon else host
