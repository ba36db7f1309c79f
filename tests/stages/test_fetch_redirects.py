"""Redirects come back as values: absolute, http(s) only, or named for what is wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import uvloop
from hostile import (
    Do,
    Hostile,
    StoppedClock,
    answer,
    ask,
)

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
    ("location", "target"),
    [
        ("/b", "http://127.0.0.1:{port}/b"),
        ("b?c=d", "http://127.0.0.1:{port}/a/b?c=d"),
        ("?x=1", "http://127.0.0.1:{port}/a/?x=1"),
        ("//hgk.hr/x", "http://hgk.hr/x"),
        ("https://HGK.hr:443/x#frag", "https://hgk.hr/x"),
        ("https://user:pass@hgk.hr/x", "https://hgk.hr/x"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://0x7f000001/", "http://127.0.0.1/"),
        ("http://[::ffff:7f00:1]/", "http://[::ffff:7f00:1]/"),
        ("http:\\\\hgk.hr\\x", "http://hgk.hr/x"),
        ("/\u010daj".encode().decode("latin-1"), "http://127.0.0.1:{port}/%C4%8Daj"),
        ("/\xe9", "http://127.0.0.1:{port}/%C3%A9"),
        ("http://\u010daj.hr/".encode().decode("latin-1"), "http://xn--aj-dma.hr/"),
        ("  /b  ", "http://127.0.0.1:{port}/b"),
    ],
)
async def test_a_redirect_comes_back_as_an_absolute_url(
    location: str, target: str, fetcher: HttpFetcher
) -> None:
    async with Hostile(answer(f"Location: {location}", status="302 Found")) as server:
        fetched = await ask(fetcher, server.url("/a/"), server.settings())
    assert fetched.outcome is Outcome.OK
    assert fetched.redirect_to == target.format(port=server.port)


R, S = Outcome.REDIRECT_ERROR, Outcome.SCHEME_REFUSED


@pytest.mark.parametrize(
    ("headers", "status", "outcome"),
    [
        ([], "301 Moved", R),
        (["Location:"], "301 Moved", R),
        (["Location: http://"], "301 Moved", R),
        (["Location: http://[::1"], "301 Moved", R),
        (["Location: http://a b/"], "301 Moved", R),
        (["Location: http://hgk.hr:99999/"], "301 Moved", R),
        (["Location: /" + "a" * 8000], "301 Moved", R),
        (["Location: /a", "Location: /b"], "301 Moved", R),
        (["Location: /a"], "305 Use Proxy", R),
        (["Location: /a"], "399 Odd", R),
        (["Location: javascript:alert(1)"], "302 Found", S),
        (["Location: data:text/html,x"], "302 Found", S),
        (["Location: file:///etc/passwd"], "302 Found", S),
        (["Location: ftp://hgk.hr/x"], "302 Found", S),
        (["Location: gopher://127.0.0.1:70/"], "302 Found", S),
        (["Location: mailto:a@b.hr"], "302 Found", S),
    ],
)
async def test_a_redirect_to_nowhere_is_named(
    headers: list[str], status: str, outcome: Outcome, fetcher: HttpFetcher
) -> None:
    async with Hostile(answer(*headers, status=status)) as server:
        fetched = await ask(fetcher, server.url(), server.settings())
    assert (fetched.outcome, fetched.redirect_to) == (outcome, None)


async def test_equal_locations_are_one(fetcher: HttpFetcher) -> None:
    async with Hostile(answer("Location: /a", "Location: /a", status="307 X")) as server:
        assert (await ask(fetcher, server.url(), server.settings())).redirect_to == server.url("/a")


async def test_a_line_break_inside_a_location_adds_no_header(fetcher: HttpFetcher) -> None:
    async with Hostile(answer("Location: /a%0d%0aX-Evil:%201", status="302 X")) as server:
        fetched = await ask(fetcher, server.url(), server.settings())
    assert fetched.redirect_to == server.url("/a%0d%0aX-Evil:%201")


async def test_the_body_of_a_redirect_is_not_waited_for(fetcher: HttpFetcher) -> None:
    slow = b"HTTP/1.1 302 X\r\nLocation: /b\r\nContent-Length: 999\r\n\r\nabc"
    async with Hostile(slow, Do.HOLD) as server:
        fetched = await ask(fetcher, server.url(), server.settings())
    assert (fetched.redirect_to, fetched.wire) == (server.url("/b"), b"")
