"""Where we may connect: refused places, names that lie, and the proof that no other socket is opened."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
import uvloop
from hostile import (
    HELLO,
    Do,
    FakeDns,
    Hostile,
    StoppedClock,
    answer,
    ask,
    quick_settings,
)

from vedette.contracts.fetch import FetchSettings
from vedette.contracts.words import Outcome
from vedette.fetch.http import HttpFetcher

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the:DeprecationWarning")


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(StoppedClock())
    yield fetcher
    await fetcher.close()


@pytest.mark.parametrize(
    ("url", "outcome"),
    [
        ("ftp://hgk.hr/", Outcome.SCHEME_REFUSED),
        ("file:///etc/passwd", Outcome.SCHEME_REFUSED),
        ("javascript:alert(1)", Outcome.SCHEME_REFUSED),
        ("", Outcome.SCHEME_REFUSED),
        ("http://", Outcome.SCHEME_REFUSED),
        ("http://[::1/", Outcome.SCHEME_REFUSED),
        ("http://hgk.hr:notaport/", Outcome.SCHEME_REFUSED),
        ("http://127.0.0.1/", Outcome.ADDRESS_REFUSED),
        ("http://127.1/", Outcome.ADDRESS_REFUSED),
        ("http://2130706433/", Outcome.ADDRESS_REFUSED),
        ("http://0x7f.1/", Outcome.ADDRESS_REFUSED),
        ("http://localhost/", Outcome.ADDRESS_REFUSED),
        ("http://[::1]/", Outcome.ADDRESS_REFUSED),
        ("http://[::ffff:127.0.0.1]/", Outcome.ADDRESS_REFUSED),
        ("http://[::]/", Outcome.ADDRESS_REFUSED),
        ("http://0/", Outcome.ADDRESS_REFUSED),
        ("http://0.0.0.0/", Outcome.ADDRESS_REFUSED),
        ("http://169.254.169.254/latest/meta-data/", Outcome.ADDRESS_REFUSED),
        ("https://10.0.0.1/", Outcome.ADDRESS_REFUSED),
        ("http://user:pass@127.0.0.1/", Outcome.ADDRESS_REFUSED),
        ("http://8.8.8.8:22/", Outcome.ADDRESS_REFUSED),
        ("http://8.8.8.8:6379/", Outcome.ADDRESS_REFUSED),
        (f"http://{'a' * 64}.example/", Outcome.DNS_ERROR),
        (f"http://{'a.' * 130}example/", Outcome.DNS_ERROR),
        ("http://a..b/", Outcome.DNS_ERROR),
    ],
)
async def test_a_refused_place_is_refused_without_a_packet(
    url: str, outcome: Outcome, fetcher: HttpFetcher, connects: list[Any]
) -> None:
    fetched = await ask(fetcher, url, FetchSettings())
    assert (fetched.outcome, bool(fetched.detail)) == (outcome, True), fetched
    assert connects == []


_CONNECTS: list[list[Any]] = []


def _note_connect(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _CONNECTS:
        _CONNECTS[-1].append(arguments[1])


sys.addaudithook(_note_connect)  # hooks cannot be taken off again, so one notes for whoever listens


@pytest.fixture
def connects() -> Any:
    """Where Python sockets of this process connected to while the test ran."""
    _CONNECTS.append([])
    yield _CONNECTS[-1]
    _CONNECTS.pop()


async def test_names_are_asked_of_the_configured_name_server(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server, FakeDns({"hgk.example": ["127.0.0.1"]}) as dns:
        settings = server.settings(nameservers=(dns.place,))
        fetched = await ask(fetcher, server.url(host="hgk.example"), settings)
        assert (fetched.body, fetched.address) == (b"hello", "127.0.0.1")
        assert f"Host: hgk.example:{server.port}".encode() in server.requests[0]
        assert dns.asked == ["hgk.example"]


@pytest.mark.parametrize(
    ("zone", "words"),
    [("nxdomain", "NXDOMAIN"), ("servfail", "SERVFAIL"), ("silent", ""), ("garbage", ""), ([], "")],
)
async def test_a_name_without_an_address_is_a_dns_error(zone: Any, words: str, fetcher: HttpFetcher) -> None:
    async with FakeDns({"hgk.example": zone}) as dns:
        settings = quick_settings(80, nameservers=(dns.place,), connect_timeout=timedelta(seconds=0.4))
        fetched = await ask(fetcher, "http://hgk.example/", settings)
    assert fetched.outcome is Outcome.DNS_ERROR
    assert words in fetched.detail
    assert "hgk.example" in fetched.detail


async def test_nonsense_about_one_name_fails_no_other_that_is_asked_at_the_same_time(
    fetcher: HttpFetcher,
) -> None:
    names = [f"sound{n}.example" for n in range(20)]
    async with FakeDns({"bad.example": "garbage", **{name: ["10.0.0.1"] for name in names}}) as dns:
        settings = quick_settings(80, nameservers=(dns.place,))
        asked = [
            ask(fetcher, f"http://{name}/", settings) for name in (*names[:10], "bad.example", *names[10:])
        ]
        outcomes = [fetched.outcome for fetched in await asyncio.gather(*asked)]
    assert outcomes.pop(10) is Outcome.DNS_ERROR
    assert set(outcomes) == {Outcome.ADDRESS_REFUSED}


async def test_the_system_resolver_answers_too(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        settings = server.settings(allow_networks=("127.0.0.0/8", "::1"))
        assert (await ask(fetcher, server.url(host="localhost"), settings)).body == b"hello"
    missing = await ask(fetcher, "http://no-such-name.invalid/", quick_settings(80))
    assert missing.outcome is Outcome.DNS_ERROR


@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["127.0.0.1", "10.0.0.1"],
        ["8.8.8.8", "169.254.169.254"],
        ["::1"],
        ["127.0.0.1", "fd00:ec2::254"],
    ],
)
async def test_one_refused_address_refuses_the_name(
    addresses: list[str], fetcher: HttpFetcher, connects: list[Any]
) -> None:
    async with FakeDns({"evil.example": addresses}) as dns:
        settings = quick_settings(80, nameservers=(dns.place,))
        fetched = await ask(fetcher, "http://evil.example/", settings)
    assert fetched.outcome is Outcome.ADDRESS_REFUSED
    assert connects == []


async def test_a_name_that_turns_inward_later_is_refused_at_the_next_connection(connects: list[Any]) -> None:
    turns = iter((["127.0.0.1"], ["10.0.0.1"]))
    async with Hostile(HELLO) as server, FakeDns({"turn.example": lambda: next(turns)}) as dns:
        settings = server.settings(nameservers=(dns.place,))
        outcomes = []
        for _ in range(2):  # a fetcher each: the second knows nothing of the first look-up
            fetcher = HttpFetcher(StoppedClock())
            outcomes.append((await ask(fetcher, server.url(host="turn.example"), settings)).outcome)
            await fetcher.close()
    assert outcomes == [Outcome.OK, Outcome.ADDRESS_REFUSED]
    assert {place[0] for place in connects} == {"127.0.0.1"}


async def test_no_socket_of_ours_reaches_an_address_that_is_not_listed(
    fetcher: HttpFetcher, connects: list[Any]
) -> None:
    """Every way in: a literal, a name, a mixed name, a redirect, robots.txt, a proxy."""
    zone = {
        "good.example": ["127.0.0.1"],
        "bad.example": ["127.0.0.2"],
        "mixed.example": ["127.0.0.1", "127.0.0.2"],
    }
    async with Hostile(answer("Location: http://127.0.0.2/", status="302 X")) as server, FakeDns(zone) as dns:
        settings = server.settings(nameservers=(dns.place,))
        first = await ask(fetcher, server.url(host="good.example"), settings)
        assert first.redirect_to == "http://127.0.0.2/"
        hosts = ["127.0.0.2", "bad.example", "mixed.example", "[::1]", "[::ffff:127.0.0.2]", "127.0.0.2."]
        for host in hosts:
            for path in ("/", "/robots.txt"):
                fetched = await ask(fetcher, server.url(path, host), settings)
                assert fetched.outcome is Outcome.ADDRESS_REFUSED, host
        proxied = server.settings(proxy=f"http://127.0.0.2:{server.port}")
        assert (await ask(fetcher, server.url(host="8.8.8.8"), proxied)).outcome is Outcome.ADDRESS_REFUSED
    assert {place[:2] for place in connects} == {("127.0.0.1", server.port)}


async def test_a_proxy_is_asked_in_place_of_the_site_and_inner_targets_stay_refused(
    fetcher: HttpFetcher,
) -> None:
    async with Hostile(HELLO) as proxy:
        settings = quick_settings(proxy.port, 80, proxy=f"http://user:pw@127.0.0.1:{proxy.port}")
        assert (await ask(fetcher, "http://hgk.example/x", settings)).body == b"hello"
        assert proxy.requests[0].startswith(b"GET http://hgk.example/x HTTP/1.1\r\n")
        assert b"Proxy-Authorization: Basic" in proxy.requests[0]
        for url in ("http://10.0.0.1/", "http://localhost/", "http://a.localhost./", "http://[::1]/"):
            assert (await ask(fetcher, url, settings)).outcome is Outcome.ADDRESS_REFUSED


async def test_a_proxy_that_will_not_tunnel_is_a_connect_error(fetcher: HttpFetcher) -> None:
    async with Hostile(answer(status="407 Who are you")) as proxy:
        settings = quick_settings(proxy.port, 443, proxy=f"http://127.0.0.1:{proxy.port}")
        fetched = await ask(fetcher, "https://hgk.example/", settings)
    assert (fetched.outcome, fetched.detail) == (Outcome.CONNECT_ERROR, "the proxy answered 407")


async def test_a_closed_port_is_a_connect_error(fetcher: HttpFetcher) -> None:
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port = line.getsockname()[1]
        for scheme in ("http", "https"):
            fetched = await ask(fetcher, f"{scheme}://127.0.0.1:{port}/", quick_settings(port))
            assert (fetched.outcome, "refused" in fetched.detail) == (Outcome.CONNECT_ERROR, True)
