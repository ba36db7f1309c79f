"""A name server for the names of the world (RFC 1035, UDP and TCP), with some names that misbehave."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Mapping
from ipaddress import ip_address
from typing import cast

A, AAAA, ANY = 1, 28, 255
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP = 0, 1, 2, 3, 4
TTL = 5
_HEAD = struct.Struct("!6H")
_QUERY_FLAGS, _TRUNCATED = 0x8480, 0x0200  # answer, authoritative, recursion available

ODD_NAMES: dict[str, tuple[str, ...]] = {  # name -> addresses, however dangerous
    "private.example": ("10.0.0.1",),
    "metadata.example": ("169.254.169.254",),
    "loopback.example": ("127.0.0.1",),
    "loopback6.example": ("::1",),
    "mapped.example": ("::ffff:10.0.0.1",),
    "mixed.example": ("127.20.0.1", "10.0.0.1"),
    "nothing.example": (),  # the name exists, no address does
}
REBINDING = "rebind.example"  # good address first, then 127.0.0.1, and so on
FAILING = "servfail.example"
SILENT = "silent.example"
TRUNCATED = "truncated.example"  # whole only by TCP


class Names:
    """What the name server answers."""

    def __init__(self, known: Mapping[str, str]) -> None:
        first = next(iter(known.values()), "127.20.0.1")
        self._known = {name: (address,) for name, address in known.items()} | ODD_NAMES
        self._known[TRUNCATED] = (first,)
        self._rebinding = ((first,), ("127.0.0.1",))
        self.queries: list[tuple[str, int]] = []
        self._turns = 0

    def put(self, name: str, address: str) -> None:
        """From now on the name leads there."""
        self._known[name] = (address,)

    def answer(self, packet: bytes, *, by_tcp: bool) -> bytes | None:
        """The reply to one query; None: silence."""
        asked = _question(packet)
        if asked is None:
            return _reply(packet[:2].ljust(2, b"\0"), FORMERR, b"", [])
        name, kind, question = asked
        self.queries.append((name, kind))
        del self.queries[:-1000]
        if name == SILENT:
            return None
        if name == FAILING:
            return _reply(packet[:2], SERVFAIL, question, [])
        if name == TRUNCATED and not by_tcp:
            return _reply(packet[:2], NOERROR, question, [], flags=_TRUNCATED)
        addresses = self._addresses(name, kind)
        if addresses is None:
            return _reply(packet[:2], NXDOMAIN, question, [])
        return _reply(packet[:2], NOERROR, question, [_record(address, name) for address in addresses])

    def _addresses(self, name: str, kind: int) -> list[str] | None:
        if name == REBINDING:
            known: tuple[str, ...] | None = self._rebinding[self._turns % 2]
            self._turns += kind == A
        else:
            known = self._known.get(name)
        if known is None:
            return None
        wanted = {A: (4,), AAAA: (6,), ANY: (4, 6)}.get(kind, ())
        return [address for address in known if ip_address(address).version in wanted]


class NameServer:
    """UDP and TCP on one loopback port."""

    def __init__(self, names: Names, *, port: int = 0) -> None:
        self.names = names
        self.port = port
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None

    async def start(self, address: str = "127.0.0.1") -> None:
        loop = asyncio.get_running_loop()
        udp, tcp = _pair(address, self.port)
        self.port = udp.getsockname()[1]
        self._udp, _ = await loop.create_datagram_endpoint(lambda: _Datagrams(self.names), sock=udp)
        self._tcp = await asyncio.start_server(self._serve, sock=tcp)

    async def stop(self) -> None:
        if self._udp is not None:
            self._udp.close()
        if self._tcp is not None:
            self._tcp.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                reply = self.names.answer(await reader.readexactly(length), by_tcp=True)
                if reply is not None:
                    writer.write(struct.pack("!H", len(reply)) + reply)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, names: Names) -> None:
        self._names = names
        self._transport: asyncio.DatagramTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        reply = self._names.answer(data, by_tcp=False)
        if reply is not None and self._transport is not None:
            self._transport.sendto(reply, addr)


def _pair(address: str, port: int) -> tuple[socket.socket, socket.socket]:
    """A UDP and a listening TCP socket on the same port."""
    for _ in range(20):
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            udp.bind((address, port))
            tcp.bind((address, udp.getsockname()[1]))
        except OSError:
            udp.close()
            tcp.close()
            if port:
                raise
            continue
        udp.setblocking(False)
        tcp.setblocking(False)
        tcp.listen(128)
        return udp, tcp
    raise OSError(f"no port on {address} is free for both UDP and TCP")


def _question(packet: bytes) -> tuple[str, int, bytes] | None:
    """Name in small letters, type, and the question as it stood; None: this is no query."""
    if len(packet) < _HEAD.size:
        return None
    _, flags, questions, *_ = _HEAD.unpack_from(packet)
    if flags & 0x8000 or questions != 1:
        return None
    labels, place = [], _HEAD.size
    while place < len(packet) and packet[place]:
        length = packet[place]
        if length > 63:
            return None
        labels.append(packet[place + 1 : place + 1 + length])
        place += 1 + length
    end = place + 5
    if end > len(packet):
        return None
    kind = int.from_bytes(packet[place + 1 : place + 3], "big")
    return b".".join(labels).decode("latin-1").lower(), kind, packet[_HEAD.size : end]


def _record(address: str, name: str) -> bytes:
    value = ip_address(address).packed
    kind, ttl = (A if len(value) == 4 else AAAA), (0 if name == REBINDING else TTL)
    return struct.pack("!HHHIH", 0xC00C, kind, 1, ttl, len(value)) + value  # 0xC00C: the name of the question


def _reply(ident: bytes, code: int, question: bytes, records: list[bytes], *, flags: int = 0) -> bytes:
    counts = struct.pack("!5H", _QUERY_FLAGS | flags | code, 1 if question else 0, len(records), 0, 0)
    return ident + counts + question + b"".join(records)
