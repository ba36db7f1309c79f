"""What a name server may do to us: forge, lie, loop, cut, flood or keep silent."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import aiodns
import pytest

from vedette.fetch.resolver import DnsFault, NameserverLookup

A, CNAME, AAAA = 1, 5, 28
NOERROR, SERVFAIL, NXDOMAIN, REFUSED = 0, 2, 3, 5
TRUNCATED = 0x0200
TO_THE_QUESTION = b"\xc0\x0c"
NAME = "hgk.example"
GOOD = "192.0.2.1"
FORGED = "203.0.113.6"


@dataclass(frozen=True)
class Query:
    id: bytes
    question: bytes
    kind: int
    by_tcp: bool

    def reply(self, *records: bytes, code: int = NOERROR, flags: int = 0, count: int | None = None) -> bytes:
        return (
            self.id
            + struct.pack("!5H", 0x8180 | flags | code, 1, len(records) if count is None else count, 0, 0)
            + self.question
            + b"".join(records)
        )

    def known(self, *addresses: str) -> bytes:
        versions = {A: 4, AAAA: 6}
        return self.reply(*(_address(text) for text in addresses if _version(text) == versions[self.kind]))


Behaviour = Callable[[Query], Sequence[bytes]]


class BadNameServer(asyncio.DatagramProtocol):
    """Answers each query with the packets that `behave` gives, by UDP and by TCP."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.queries: list[Query] = []

    async def __aenter__(self) -> BadNameServer:
        self._tcp = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._tcp.sockets[0].getsockname()[1]
        loop = asyncio.get_running_loop()
        self._udp, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=("127.0.0.1", port))
        self.place = f"127.0.0.1:{port}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._udp.close()
        self._tcp.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        for packet in self._answer(data, by_tcp=False):
            self._udp.sendto(packet, addr)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                (length,) = struct.unpack("!H", await reader.readexactly(2))
                for packet in self._answer(await reader.readexactly(length), by_tcp=True):
                    writer.write(struct.pack("!H", len(packet)) + packet)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _answer(self, data: bytes, *, by_tcp: bool) -> Sequence[bytes]:
        end = data.index(b"\0", 12) + 5
        query = Query(data[:2], data[12:end], struct.unpack_from("!H", data, end - 4)[0], by_tcp)
        self.queries.append(query)
        return self.behave(query)


@pytest.fixture
async def open_lookup() -> AsyncIterator[Callable[..., NameserverLookup]]:
    opened: list[NameserverLookup] = []

    def make(*places: str, timeout: float = 0.4) -> NameserverLookup:
        opened.append(NameserverLookup(places, timeout))
        return opened[-1]

    yield make
    for lookup in opened:
        await lookup.close()


def _version(address: str) -> int:
    return ip_address(address).version


def _record(kind: int, data: bytes, owner: bytes = TO_THE_QUESTION) -> bytes:
    return owner + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def _address(text: str, owner: bytes = TO_THE_QUESTION) -> bytes:
    return _record(A if _version(text) == 4 else AAAA, ip_address(text).packed, owner)


def _wire(name: str) -> bytes:
    return b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"


async def test_addresses_of_both_kinds_are_found_ipv4_first(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    async with BadNameServer(lambda query: [query.known("2001:db8::1", GOOD, "192.0.2.2")]) as server:
        assert await open_lookup(server.place)(NAME) == [GOOD, "192.0.2.2", "2001:db8::1"]
        assert sorted(query.kind for query in server.queries) == [A, AAAA]


@pytest.mark.parametrize("name", ["localhost", "localhost.localdomain"])
async def test_the_hosts_file_is_not_read(name: str, open_lookup: Callable[..., NameserverLookup]) -> None:
    async with BadNameServer(lambda query: [query.known(GOOD)]) as server:
        assert await open_lookup(server.place)(name) == [GOOD]


async def test_the_name_is_asked_as_it_stands_without_search_domains(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    async with BadNameServer(lambda query: [query.reply(code=NXDOMAIN)]) as server:
        with pytest.raises(DnsFault, match="NXDOMAIN"):
            await open_lookup(server.place)("intranet")
        assert {query.question[:-4] for query in server.queries} == {_wire("intranet")}


def _cut(query: Query) -> Sequence[bytes]:
    return [query.reply(flags=TRUNCATED) if not query.by_tcp else query.known(GOOD)]


def _alias(query: Query) -> Sequence[bytes]:
    target = _wire("cdn.example")
    address = [_address(GOOD, target)] if query.kind == A else []
    return [query.reply(_record(CNAME, target), *address)]


def _unknown_records_too(query: Query) -> Sequence[bytes]:
    return [query.reply(_record(65280, b"\xff" * 9), *([_address(GOOD)] if query.kind == A else []))]


def _forged(query: Query) -> Sequence[bytes]:
    other_id = bytes([query.id[0] ^ 1, query.id[1]])
    lie = _address(FORGED) if query.kind == A else b""
    count = int(query.kind == A)
    return [
        Query(other_id, query.question, query.kind, False).reply(lie, count=count),
        Query(query.id, _wire("bank.example") + query.question[-4:], query.kind, False).reply(
            lie, count=count
        ),
        query.known(GOOD),
    ]


def _six_is_silent(query: Query) -> Sequence[bytes]:
    return [query.known(GOOD)] if query.kind == A else []


def _six_fails(query: Query) -> Sequence[bytes]:
    return [query.known(GOOD) if query.kind == A else query.reply(code=SERVFAIL)]


@pytest.mark.parametrize(
    "behave",
    [_cut, _alias, _unknown_records_too, _forged, _six_is_silent, _six_fails],
    ids=lambda b: b.__name__,
)
async def test_the_true_address_is_found(
    behave: Behaviour, open_lookup: Callable[..., NameserverLookup]
) -> None:
    async with BadNameServer(behave) as server:
        assert await open_lookup(server.place)(NAME) == [GOOD]


async def test_an_address_in_hand_does_not_wait_for_the_retries_of_the_other_kind(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    timeout = 0.8  # every try of both servers would take longer
    async with BadNameServer(_six_is_silent) as one, BadNameServer(_six_is_silent) as other:
        async with asyncio.timeout(timeout):
            assert await open_lookup(one.place, other.place, timeout=timeout)(NAME) == [GOOD]


async def test_an_answer_from_another_place_is_not_believed(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.bind(("127.0.0.2", 0))

        class Overheard(BadNameServer):
            def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
                for packet in self._answer(data, by_tcp=False):
                    stranger.sendto(packet, addr)

        async with Overheard(lambda query: [query.known(FORGED)]) as server:
            with pytest.raises(DnsFault, match="in time"):
                await open_lookup(server.place, timeout=0.2)(NAME)
            assert server.queries


def _loop(query: Query) -> Sequence[bytes]:
    here = len(query.reply())
    return [query.reply(_address(GOOD, owner=struct.pack("!H", 0xC000 | here)))]


def _pointer_past_the_end(query: Query) -> Sequence[bytes]:
    return [query.reply(_address(GOOD, owner=b"\xff\xff"))]


def _alias_to_itself(query: Query) -> Sequence[bytes]:
    return [query.reply(*[_record(CNAME, TO_THE_QUESTION)] * 20)]


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (lambda query: [query.reply(code=NXDOMAIN)], "NXDOMAIN"),
        (lambda query: [query.reply(code=SERVFAIL)], "SERVFAIL"),
        (lambda query: [query.reply(code=REFUSED)], "refused to answer"),
        (lambda query: [query.reply()], "no address"),
        (lambda query: [query.reply(code=SERVFAIL if query.kind == A else NOERROR)], "SERVFAIL"),
        (lambda query: [], "in time"),
        (lambda query: [b""], ""),
        (lambda query: [b"\xff" * 40], ""),
        (lambda query: [query.id], ""),
        (lambda query: [query.reply()[:12]], ""),
        (lambda query: [query.known(GOOD, "2001:db8::1")[:-2]], "nonsense"),
        (lambda query: [query.reply(_address(GOOD), count=60_000)], "nonsense"),
        (lambda query: [query.reply(_record(query.kind, b"\1\2\3"))], "nonsense"),
        (_loop, "nonsense"),
        (_pointer_past_the_end, "nonsense"),
        (_alias_to_itself, "no address"),
        (lambda query: [query.reply(flags=TRUNCATED)] if not query.by_tcp else [], "in time"),
    ],
)
async def test_a_bad_answer_is_a_fault_with_the_name_in_it(
    behave: Behaviour, words: str, open_lookup: Callable[..., NameserverLookup]
) -> None:
    async with BadNameServer(behave) as server:
        with pytest.raises(DnsFault, match=f"{NAME}: .*{words}"):
            await open_lookup(server.place, timeout=0.2)(NAME)


class GivesUpAtOnce:
    """A channel that says `timeout` without waiting for anything, as c-ares does of servers that it took for dead."""

    def __init__(self) -> None:
        self.asked = 0

    async def query_dns(self, name: str, kind: str) -> None:
        self.asked += 1
        assert self.asked < 5000, "asked again and again, and never let go"
        raise aiodns.error.DNSError(aiodns.error.ARES_ETIMEOUT, "Timeout")

    async def close(self) -> None:
        return None


async def test_a_channel_that_gives_up_at_once_neither_holds_the_loop_nor_takes_the_processor(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    lookup = open_lookup("127.0.0.1:9")
    dead = lookup._dns, GivesUpAtOnce()
    lookup._dns = dead[1]  # type: ignore[assignment]
    try:
        with pytest.raises(DnsFault):
            await lookup("slow.example")
    finally:
        lookup._dns = dead[0]
    assert dead[1].asked <= 2 * (0.4 / 0.01)


async def test_the_lookup_lives_on_after_bad_answers(open_lookup: Callable[..., NameserverLookup]) -> None:
    turns: list[Behaviour] = [
        lambda query: [],
        _loop,
        lambda query: [b"\xff" * 40],
        lambda query: [query.reply(code=SERVFAIL)],
    ]
    async with BadNameServer(turns[0]) as server:
        lookup = open_lookup(server.place, timeout=0.2)
        for turn in turns:
            server.behave = turn
            with pytest.raises(DnsFault):
                await lookup(NAME)
        server.behave = lambda query: [query.known(GOOD)]
        assert await lookup(NAME) == [GOOD]


async def test_a_flood_of_records_by_tcp_is_read_and_bounded_by_the_wire(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    flood = [_address(f"10.0.{n >> 8}.{n & 255}") for n in range(4000)]

    def behave(query: Query) -> Sequence[bytes]:
        if not query.by_tcp:
            return [query.reply(flags=TRUNCATED)]
        return [query.reply(*(flood if query.kind == A else []))]

    async with BadNameServer(behave) as server:
        assert len(await open_lookup(server.place, timeout=4)(NAME)) == 4000


@pytest.mark.parametrize("is_silent", [True, False])
async def test_the_next_name_server_answers_for_one_that_is_down(
    is_silent: bool, open_lookup: Callable[..., NameserverLookup]
) -> None:
    async with BadNameServer(lambda query: []) as silent, BadNameServer(lambda q: [q.known(GOOD)]) as server:
        first = silent.place if is_silent else "127.0.0.1:9"
        assert await open_lookup(first, server.place)(NAME) == [GOOD]


async def test_a_name_server_that_is_not_there_cannot_be_reached(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    with pytest.raises(DnsFault, match="cannot be reached"):
        await open_lookup("127.0.0.1:9")(NAME)


@pytest.mark.parametrize(
    "name", ["a..b", "a" * 64 + ".example", "a." * 130 + "example", "š" * 300, "\udc80.hr"]
)
async def test_a_name_that_dns_cannot_hold_is_a_fault_without_a_packet(
    name: str, open_lookup: Callable[..., NameserverLookup]
) -> None:
    async with BadNameServer(lambda query: [query.known(GOOD)]) as server:
        with pytest.raises(DnsFault, match="not a name"):
            await open_lookup(server.place)(name)
        assert server.queries == []


async def test_a_hidden_service_is_not_told_to_the_name_server(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    """RFC 7686: such a name never leaves for DNS."""
    async with BadNameServer(lambda query: [query.known(GOOD)]) as server:
        with pytest.raises(DnsFault, match="NXDOMAIN"):
            await open_lookup(server.place)("abcdefgh.onion")
        assert server.queries == []


async def test_a_lookup_that_is_given_up_leaves_nothing_behind(
    open_lookup: Callable[..., NameserverLookup],
) -> None:
    async with BadNameServer(lambda query: []) as server:
        asking = asyncio.ensure_future(open_lookup(server.place, timeout=4)(NAME))
        while len(server.queries) < 2:
            await asyncio.sleep(0.005)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
