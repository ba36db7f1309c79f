"""Names to addresses, once per new connection, every address past the guard before any is used."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import aiodns
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

from vedette.fetch.guard import Guard, read_nameserver

CACHE_SECONDS = 30.0
STALE_SECONDS = 3600.0  # an address that was right is used so long while no name server answers (RFC 8767)
STALE_PATIENCE = 0.5  # and its name server is waited for no longer than this
FAILED_SECONDS = 5.0  # who failed to answer is not asked again at once
CACHE_SIZE = 10_000
THREADS = 16  # getaddrinfo cannot be interrupted; only names whose servers answer get this far
ADDRESSES = 32  # more records than any site has; a hostile zone may send thousands
TRIES = 2  # of each name server; c-ares may wait twice as long for the second, so both fit in three quarters
BETWEEN_S = (
    0.02  # c-ares may say `timeout` at once, without a packet: asking on must let others have their turn
)
_NO_NAME = "not a name that DNS can hold"
_NO_ADDRESS = "the name has no address"
_SYSTEM_WORDS = {
    socket.EAI_NONAME: "no such name",
    socket.EAI_AGAIN: "the name server did not answer or failed",
}
_NAMESERVER_WORDS = {  # the row higher up is said when A and AAAA failed differently: what may pass comes first
    aiodns.error.ARES_ESERVFAIL: "the name server failed (SERVFAIL)",
    aiodns.error.ARES_EREFUSED: "the name server refused to answer",
    aiodns.error.ARES_ECONNREFUSED: "the name server cannot be reached",
    aiodns.error.ARES_ETIMEOUT: "the name server did not answer in time",
    aiodns.error.ARES_EBADRESP: "the name server answered nonsense",
    aiodns.error.ARES_EBADNAME: _NO_NAME,
    aiodns.error.ARES_ENOTFOUND: "no such name (NXDOMAIN)",
    aiodns.error.ARES_ENODATA: _NO_ADDRESS,
}
_SAID = frozenset((aiodns.error.ARES_EBADNAME, aiodns.error.ARES_ENOTFOUND, aiodns.error.ARES_ENODATA))


class DnsFault(Exception):
    """The name gave no address.  Not an OSError, so that aiohttp hands it on as it is."""

    def __init__(self, words: str, *, is_answered: bool = True) -> None:
        super().__init__(words)
        self.is_answered = is_answered  # False: nobody knows, the name servers are dead or failed


class Lookup(Protocol):
    """Where addresses of a name come from."""

    async def __call__(self, host: str) -> Sequence[str]: ...

    async def close(self) -> None: ...


class NoLookup(AbstractResolver):
    """Behind a proxy that takes names nothing is resolved here.  Asked all the same, it refuses."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        raise DnsFault("names are for the proxy to resolve")

    async def close(self) -> None:
        """Nothing is open."""


class GuardedResolver(AbstractResolver):
    """What aiohttp asks.  One refused address refuses the name: half a rebinding is still one."""

    def __init__(self, lookup: Lookup, guard: Guard, timeout: float) -> None:
        self._lookup = lookup
        self._guard = guard
        self._timeout = timeout
        self._cache: dict[str, tuple[float, tuple[str, ...]]] = {}
        self._failed: dict[str, tuple[float, str]] = {}

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
        """As known, else as the name servers say; while they say nothing, as they said before."""
        now = asyncio.get_running_loop().time()
        until, known = self._cache.get(host, (0.0, ()))
        if until > now:
            return known
        stale = known if until + STALE_SECONDS > now else ()
        failed_until, words = self._failed.get(host, (0.0, ""))
        if failed_until > now:
            if stale:
                return stale
            raise DnsFault(words, is_answered=False)
        try:
            return self._remember(host, await self._asked(host, STALE_PATIENCE if stale else self._timeout))
        except DnsFault as fault:
            _check_sockets()
            if fault.is_answered:
                raise
            _trim(self._failed)
            self._failed[host] = (now + FAILED_SECONDS, str(fault))
            if stale:
                return stale
            raise

    async def _asked(self, host: str, seconds: float) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(min(seconds, self._timeout)):
                found = tuple(dict.fromkeys(await self._lookup(host)))
        except TimeoutError:
            raise DnsFault(f"{host}: no answer in {self._timeout:g} s", is_answered=False) from None
        if not found:
            raise DnsFault(f"{host}: {_NO_ADDRESS}")
        return found

    def _remember(self, host: str, found: tuple[str, ...]) -> tuple[str, ...]:
        _trim(self._cache)
        self._cache[host] = (asyncio.get_running_loop().time() + CACHE_SECONDS, found)
        return found


def _check_sockets() -> None:
    """Raises OSError while no socket can be opened: then nobody was asked."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM):
        pass


def _trim(cache: dict[str, Any]) -> None:
    if len(cache) >= CACHE_SIZE:
        cache.clear()


class SystemLookup:
    """The system's own resolver (hosts file, resolv.conf, whatever else it is set up for).

    `getaddrinfo` holds its thread for as long as a dead name server says nothing, and a hundred dead names would hold
    up every other.  So c-ares asks first, without a thread.  Only a name that it gets an answer about, and no address,
    goes to `getaddrinfo`, which knows more sources than DNS.
    """

    def __init__(self, timeout: float) -> None:
        self._patience = max(timeout / 4, 0.05)
        self._dns: aiodns.DNSResolver | None = None
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="vedette-dns")

    async def __call__(self, host: str) -> list[str]:
        found = await self._by_dns(host)
        return found or await self._by_system(host)

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        if self._dns is not None:
            await self._dns.close()

    async def _by_dns(self, host: str) -> list[str]:
        """Empty: the name server said so, or it cannot be asked this way.  One that says nothing is asked again."""
        if self._dns is None:
            self._dns = aiodns.DNSResolver(timeout=self._patience, tries=TRIES)
        while True:
            try:
                answer = await self._dns.getaddrinfo(host, type=socket.SOCK_STREAM)
                return [_as_text(node.addr[0]) for node in answer.nodes]
            except aiodns.error.DNSError as error:
                if error.args[0] != aiodns.error.ARES_ETIMEOUT:
                    return []
            except UnicodeError:
                return []
            await asyncio.sleep(BETWEEN_S)

    async def _by_system(self, host: str) -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, _getaddrinfo, host)
        except socket.gaierror as error:
            words = _SYSTEM_WORDS.get(error.errno or 0, error.strerror or "look-up failed")
            is_answered = error.errno != socket.EAI_AGAIN
            raise DnsFault(f"{host}: {words}", is_answered=is_answered) from None
        except UnicodeError:  # a label over 63 characters, or an empty one
            raise DnsFault(f"{host[:80]}: {_NO_NAME}") from None


class NameserverLookup:
    """The operator's own name servers and nothing else: no hosts file, no search domains.

    It asks for A and AAAA, and not by `getaddrinfo`: that reads the hosts file unless the channel is made with
    `lookups="b"`, and pycares (5.2.1) frees this text before c-ares copies it.  Now and then the copy was
    empty, and then every name of the run failed without a packet.
    """

    def __init__(self, nameservers: Sequence[str], timeout: float) -> None:
        self._servers = [read_nameserver(text) for text in nameservers]
        self._timeout = timeout
        self._patience = max(timeout / 4, 0.05)
        self._dns = self._channel()

    async def __call__(self, host: str) -> list[str]:
        """IPv4 first.  Addresses of one kind do not wait for the retries of the other: some servers drop AAAA."""
        try:
            name = host.encode("idna").decode("ascii")
        except UnicodeError:
            raise DnsFault(f"{host[:80]}: {_NO_NAME}") from None
        asked = [asyncio.ensure_future(self._ask(name, kind)) for kind in ("A", "AAAA")]
        try:
            first, _ = await asyncio.wait(asked, return_when=asyncio.FIRST_COMPLETED)
            is_enough = any(answer.result().addresses for answer in first)
            await asyncio.wait(asked, timeout=self._patience if is_enough else None)
        finally:
            for answer in asked:
                answer.cancel()
        answers = [answer.result() for answer in asked if answer.done()]
        found = [address for answer in answers for address in answer.addresses]
        if not found:
            is_answered = any(answer.fault in _SAID for answer in answers)
            raise DnsFault(f"{host[:80]}: {_why_none(answers)}", is_answered=is_answered)
        return found

    async def close(self) -> None:
        await self._dns.close()

    async def _ask(self, name: str, kind: Literal["A", "AAAA"]) -> _Answer:
        try:
            async with asyncio.timeout(self._timeout):
                result = await self._answered(name, kind)
        except TimeoutError:
            return _Answer(fault=aiodns.error.ARES_ETIMEOUT)
        except aiodns.error.DNSError as error:
            return _Answer(fault=error.args[0])
        # Aliases stand in the answer too: their addresses count, whatever name they carry.
        records = (record.data for record in result.answer)
        kinds = (pycares.ARecordData, pycares.AAAARecordData)
        return _Answer(addresses=tuple(data.addr for data in records if isinstance(data, kinds)))

    async def _answered(self, name: str, kind: Literal["A", "AAAA"]) -> pycares.DNSResult:
        """c-ares gives up early on a server that was quick before; a busy one gets all of our patience."""
        while True:
            try:
                return await self._dns.query_dns(name, kind)
            except aiodns.error.DNSError as error:
                if error.args[0] == aiodns.error.ARES_EBADRESP:
                    return await self._answered_apart(name, kind)
                if error.args[0] != aiodns.error.ARES_ETIMEOUT:
                    raise
            await asyncio.sleep(BETWEEN_S)

    async def _answered_apart(self, name: str, kind: Literal["A", "AAAA"]) -> pycares.DNSResult:
        """One answer of nonsense fails every question on the same channel: asked again on one of its own."""
        channel = self._channel()
        try:
            return await channel.query_dns(name, kind)
        finally:
            await channel.close()

    def _channel(self) -> aiodns.DNSResolver:
        return aiodns.DNSResolver(nameservers=self._servers, timeout=self._patience, tries=TRIES)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What the name servers said of one kind of address."""

    addresses: tuple[str, ...] = ()
    fault: int = aiodns.error.ARES_ENODATA


def _as_text(address: bytes | str) -> str:
    return address.decode("ascii") if isinstance(address, bytes) else address


def _getaddrinfo(host: str) -> list[str]:
    return [str(row[4][0]) for row in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


def _why_none(answers: Sequence[_Answer]) -> str:
    faults = {answer.fault for answer in answers}
    words = (words for fault, words in _NAMESERVER_WORDS.items() if fault in faults)
    return next(words, "look-up failed")
