"""The name server knows the world's names, and some that misbehave."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator
from ipaddress import ip_address

import aiodns
import pytest

from vedette.livingweb import EPOCH, LivingWeb, demo_world

A, AAAA = 1, 28


@pytest.fixture
async def web() -> AsyncIterator[LivingWeb]:
    async with LivingWeb(demo_world(), now=lambda: EPOCH) as web:
        yield web


def query(name: str, kind: int = A) -> bytes:
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return struct.pack("!6H", 0x1234, 0x0100, 1, 0, 0, 0) + labels + b"\0" + struct.pack("!2H", kind, 1)


def read(packet: bytes, question: bytes) -> tuple[int, bool, list[str]]:
    """Code, whether it is cut, addresses."""
    ident, flags, _, answers, _, _ = struct.unpack_from("!6H", packet)
    assert (ident, flags & 0x8000) == (0x1234, 0x8000)
    place, addresses = len(question), []
    for _ in range(answers):
        _, kind, _, ttl, size = struct.unpack_from("!HHHIH", packet, place)
        assert kind == int.from_bytes(question[-4:-2], "big")
        assert (ttl == 0) is (b"rebind" in question)
        addresses.append(str(ip_address(packet[place + 12 : place + 12 + size])))
        place += 12 + size
    assert place == len(packet)
    return flags & 15, bool(flags & 0x0200), addresses


async def ask(
    web: LivingWeb, name: str, kind: int = A, *, timeout: float = 2.0
) -> tuple[int, bool, list[str]]:
    loop, question = asyncio.get_running_loop(), query(name, kind)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)
        address, _, port = web.nameserver.partition(":")
        await loop.sock_connect(sock, (address, int(port)))
        await loop.sock_sendall(sock, question)
        return read(await asyncio.wait_for(loop.sock_recv(sock, 4096), timeout), question)


async def ask_by_tcp(web: LivingWeb, name: str) -> tuple[int, bool, list[str]]:
    address, _, port = web.nameserver.partition(":")
    reader, writer = await asyncio.open_connection(address, int(port))
    question = query(name)
    writer.write(struct.pack("!H", len(question)) + question)
    (length,) = struct.unpack("!H", await reader.readexactly(2))
    packet = await reader.readexactly(length)
    writer.close()
    return read(packet, question)


async def test_every_host_has_its_address_by_udp_and_tcp(web: LivingWeb) -> None:
    for host in web.world.hosts:
        assert await ask(web, host.name) == (0, False, [host.address])
    assert await ask_by_tcp(web, "gazette.example") == (0, False, [web.world.host("gazette.example").address])


async def test_case_does_not_matter_and_aaaa_is_empty(web: LivingWeb) -> None:
    assert await ask(web, "MiniStry.EXAMPLE") == (0, False, ["127.20.0.1"])
    assert await ask(web, "ministry.example", AAAA) == (0, False, [])


async def test_an_unknown_name_does_not_exist(web: LivingWeb) -> None:
    assert await ask(web, "nobody.example") == (3, False, [])
    assert await ask(web, "ministry.example.org") == (3, False, [])


async def test_odd_names_give_the_addresses_that_a_crawler_must_refuse(web: LivingWeb) -> None:
    assert await ask(web, "private.example") == (0, False, ["10.0.0.1"])
    assert await ask(web, "metadata.example") == (0, False, ["169.254.169.254"])
    assert await ask(web, "mixed.example") == (0, False, ["127.20.0.1", "10.0.0.1"])
    assert await ask(web, "loopback6.example", AAAA) == (0, False, ["::1"])
    assert (await ask(web, "mapped.example", AAAA))[2] == [str(ip_address("::ffff:10.0.0.1"))]
    assert await ask(web, "nothing.example") == (0, False, [])


async def test_the_rebinding_name_alternates(web: LivingWeb) -> None:
    answers = [(await ask(web, "rebind.example"))[2] for _ in range(4)]
    assert answers == [["127.20.0.1"], ["127.0.0.1"]] * 2


async def test_a_failing_name_fails_and_a_silent_one_is_silent(web: LivingWeb) -> None:
    assert (await ask(web, "servfail.example"))[0] == 2
    with pytest.raises(TimeoutError):
        await ask(web, "silent.example", timeout=0.1)


async def test_a_cut_answer_is_whole_by_tcp(web: LivingWeb) -> None:
    assert await ask(web, "truncated.example") == (0, True, [])
    assert await ask_by_tcp(web, "truncated.example") == (0, False, ["127.20.0.1"])


@pytest.mark.parametrize(
    "junk", [b"", b"\x12", b"\x12\x34" + bytes(10), b"\x12\x34\x81\x00" + bytes(20), b"\xff" * 40]
)
async def test_junk_is_answered_as_junk(web: LivingWeb, junk: bytes) -> None:
    reply = web.names.answer(junk, by_tcp=False)
    assert reply is not None
    assert reply[3] & 15 == 1


async def test_a_real_resolver_library_understands_the_answers(web: LivingWeb) -> None:
    address, _, port = web.nameserver.partition(":")
    resolver = aiodns.DNSResolver(nameservers=[f"{address}:{port}"], timeout=2, tries=1)
    found = await resolver.query_dns("newsroom.example", "A")
    assert [record.data.addr for record in found.answer] == [web.world.host("newsroom.example").address]
    with pytest.raises(aiodns.error.DNSError):
        await resolver.query_dns("nobody.example", "A")
