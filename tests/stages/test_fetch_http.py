"""One good hop: what is sent, what is kept, and settings that cannot work."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import uvloop
from aiohttp import ClientConnectionResetError
from hostile import (
    HELLO,
    NOON,
    OK,
    Do,
    Hostile,
    StoppedClock,
    answer,
    ask,
)

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import FetchRequest, FetchSettings
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.fetch.connections import MAX_CLIENTS
from vedette.fetch.far_end import FarEnd
from vedette.fetch.heads import read_retry_after
from vedette.fetch.http import HttpFetcher, check_settings
from vedette.telemetry.clock import SystemClock

pytestmark = pytest.mark.filterwarnings("ignore:Overriding the:DeprecationWarning")


@pytest.fixture
def event_loop_policy() -> uvloop.EventLoopPolicy:
    return uvloop.EventLoopPolicy()


@pytest.fixture
async def fetcher() -> AsyncIterator[HttpFetcher]:
    fetcher = HttpFetcher(StoppedClock())
    yield fetcher
    await fetcher.close()


async def test_the_answer_says_when_the_request_was_on_the_line(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        answered = await ask(fetcher, server.url("/"), server.settings())
    assert timedelta(0) <= answered.sent_after <= answered.took
    refused = await ask(fetcher, server.url("/"), server.settings())
    assert refused.outcome is Outcome.CONNECT_ERROR
    assert refused.sent_after == refused.took  # it may have been out until the last moment


async def test_who_asks_is_told_when_the_request_is_out_and_when_the_answer_begins(
    fetcher: HttpFetcher,
) -> None:
    told: list[str] = []
    words = {name: functools.partial(told.append, name) for name in ("on_sent", "on_heard")}
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(), **words)
        assert told == ["on_sent", "on_heard"]
    async with Hostile(Do.RESET) as server:
        await ask(fetcher, server.url(), server.settings(), **words)
    assert told == ["on_sent", "on_heard", "on_sent"]  # no answer began


async def test_a_request_names_us_and_asks_for_what_we_can_read(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url("/a%20b?q=%C5%BE&x="), server.settings(user_agent="Sentry/1 (+x)"))
        request = server.requests[0].decode()
    assert request.startswith("GET /a%20b?q=%C5%BE&x= HTTP/1.1\r\n")
    for line in (
        f"Host: 127.0.0.1:{server.port}",
        "User-Agent: Sentry/1 (+x)",
        "Accept-Language: en,*;q=0.5",
        "Accept-Encoding: gzip, deflate, br, zstd",
    ):
        assert line + "\r\n" in request
    assert "Cookie" not in request
    assert "If-" not in request


async def test_a_condition_is_sent_as_it_was_kept(fetcher: HttpFetcher) -> None:
    date = "Sun, 15 Nov 2026 11:00:00 GMT"
    async with Hostile(answer('ETag: W/"1"', f"Last-Modified: {date}"), Do.NEXT, HELLO) as server:
        first = await ask(fetcher, server.url(), server.settings())
        assert (first.etag, first.last_modified) == ('W/"1"', date)
        await ask(
            fetcher, server.url(), server.settings(), etag=first.etag, last_modified=first.last_modified
        )
        assert f'If-None-Match: W/"1"\r\nIf-Modified-Since: {date}\r\n'.encode() in server.requests[1]


async def test_a_condition_stands_once_also_where_the_operator_set_one(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(headers=(("if-none-match", '"old"'),)), etag='"new"')
        assert server.requests[0].lower().count(b"if-none-match") == 1
        assert b'If-None-Match: "new"' in server.requests[0]


async def test_a_second_look_asks_caches_for_a_new_answer_unless_the_operator_says_otherwise(
    fetcher: HttpFetcher,
) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, Do.NEXT, HELLO) as server:
        await ask(fetcher, server.url(), server.settings())
        await ask(fetcher, server.url(), server.settings(), is_fresh=True)
        own = server.settings(headers=(("Cache-Control", "max-age=60"),))
        await ask(fetcher, server.url(), own, is_fresh=True)
        asked = [request.lower() for request in server.requests]
    assert [b"cache-control: no-cache" in one for one in asked] == [False, True, False]
    assert asked[2].count(b"cache-control") == 1


async def test_credentials_in_one_address_do_not_go_along_with_the_next(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO, Do.NEXT, HELLO) as server:
        with_user = server.url().replace("http://", "http://me:s3cret@")
        for url in (with_user, server.url(), with_user):
            await ask(fetcher, url, server.settings())
    assert [b"Authorization: Basic" in request for request in server.requests] == [True, False, True]
    assert not any(b"s3cret" in request for request in server.requests)


@pytest.mark.parametrize("tail", ["?a/b", "", "/a b", "/a#b", "/x\r\nEvil: 1"])
async def test_an_address_that_is_not_canonical_cannot_bend_the_request(
    tail: str, fetcher: HttpFetcher
) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server:
        for _ in range(2):
            await ask(fetcher, server.url("").rstrip("/") + tail, server.settings())
    target = {"?a/b": b"/?a/b", "": b"/", "/a#b": b"/a"}.get(tail)
    expected = [] if target is None else [b"GET %b HTTP/1.1" % target] * 2
    assert [request.split(b"\r\n")[0] for request in server.requests] == expected


async def test_a_condition_that_could_split_the_request_is_left_out(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(), etag='"a"\r\nX-Evil: 1', last_modified="x\ny")
        assert b"Evil" not in server.requests[0]
        assert b"If-" not in server.requests[0]


OWN = (("Authorization", "Bearer s3cret"), ("Cookie", "a=s3cret"), ("X-Api-Key", "s3cret"), ("DNT", "1"))


async def test_own_headers_go_to_their_origin(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(headers=OWN))
        assert all(f"{name}: {value}".encode() in server.requests[0] for name, value in OWN)


async def test_no_credential_goes_to_a_foreign_origin(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(headers=OWN), is_foreign=True)
        assert b"s3cret" not in server.requests[0]
        assert b"DNT: 1" in server.requests[0]


async def test_credentials_of_a_proxy_never_reach_a_site(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        await ask(fetcher, server.url(), server.settings(headers=(("Proxy-Authorization", "Basic s3cret"),)))
        assert b"s3cret" not in server.requests[0]


async def test_no_cookie_is_kept(fetcher: HttpFetcher) -> None:
    async with Hostile(answer("Set-Cookie: a=b; Path=/"), Do.NEXT, HELLO) as server:
        await ask(fetcher, server.url(), server.settings())
        await ask(fetcher, server.url(), server.settings())
        assert b"Cookie" not in server.requests[1]


async def test_headers_come_back_as_sent_in_order_and_case(fetcher: HttpFetcher) -> None:
    async with Hostile(
        answer("X-b: 1", "x-A: \xe9", "X-b: 2", "Content-Type: text/html; charset=utf-8")
    ) as server:
        fetched = await ask(fetcher, server.url(), server.settings())
    kind = "text/html; charset=utf-8"
    expected = (("X-b", "1"), ("x-A", "é"), ("X-b", "2"), ("Content-Type", kind), ("Content-Length", "5"))
    assert fetched.headers == expected
    assert (fetched.content_type, fetched.phrase, fetched.address) == (kind, "OK", "127.0.0.1")
    assert (fetched.wire, fetched.body, fetched.at) == (b"hello", b"hello", NOON)


@pytest.mark.parametrize("etag", ['"' + "a" * 2000 + '"', '"\x01"', '"\xff"', '"\t"'])
async def test_an_etag_that_cannot_be_sent_back_is_not_kept(etag: str, fetcher: HttpFetcher) -> None:
    async with Hostile(answer(f"ETag: {etag}")) as server:
        fetched = await ask(fetcher, server.url(), server.settings())
    assert (fetched.outcome, fetched.etag) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("0", 0),
        ("-5", None),
        ("99999999999999999999", 86_400),
        ("1e3", None),
        ("soon", None),
        ("", None),
        ("Sun, 15 Nov 2026 12:00:30 GMT", 30),
        ("Sun, 15 Nov 2026 11:00:00 GMT", 0),
        ("Sun, 15 Nov 2026 12:00:30", 30),
        ("Mon, 15 Nov 2027 12:00:00 GMT", 86_400),
        ("Sun, 99 Nov 2026 12:00:00 GMT", None),
        ("Sun, 15 Nov 0000 12:00:00 GMT", 0),
        ("Sun, 15 Nov 2026 12:00:00 +9999", None),
        ("٣", None),
    ],
)
def test_retry_after_is_a_wait_or_nothing(value: str, seconds: int | None) -> None:
    wait = read_retry_after(value, NOON)
    assert wait == (timedelta(seconds=seconds) if seconds is not None else None)


async def test_a_cancelled_fetch_stays_cancelled_and_leaves_no_line(fetcher: HttpFetcher) -> None:
    async with Hostile(OK, Do.HOLD) as server:
        task = asyncio.create_task(
            ask(fetcher, server.url(), server.settings(read_timeout=timedelta(seconds=9)))
        )
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_settings_that_differ_in_how_they_connect_do_not_share_lines(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server:
        narrow = server.settings()
        wide = server.settings(allow_networks=("127.0.0.0/8",))
        assert [(await ask(fetcher, server.url(), way)).outcome for way in (narrow, wide)] == [Outcome.OK] * 2
        assert server.connections == 2
        shut = server.settings(allow_networks=())
        assert (await ask(fetcher, server.url(), shut)).outcome is Outcome.ADDRESS_REFUSED


async def test_the_number_of_ways_is_bounded_and_a_dropped_one_comes_back(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        for extra in [*range(2, MAX_CLIENTS + 12), 2]:
            settings = server.settings(allow_ports=(server.port, extra))
            assert (await ask(fetcher, server.url(), settings)).outcome is Outcome.OK
    assert fetcher._clients is not None
    assert len(fetcher._clients._clients) <= MAX_CLIENTS


async def test_a_closed_fetcher_can_be_used_again(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO) as server:
        for _ in range(2):
            assert (await ask(fetcher, server.url(), server.settings())).outcome is Outcome.OK
            await fetcher.close()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"allow_networks": ("127.0.0.1/8",)}, "fetch.allow_networks"),
        ({"allow_ports": (0,)}, "fetch.allow_ports"),
        ({"nameservers": ("dns.example",)}, "fetch.nameservers"),
        ({"nameservers": ("1.1.1.1:99999",)}, "fetch.nameservers"),
        ({"ca_file": "/nonexistent/ca.pem"}, "fetch.ca_file"),
        ({"proxy": "socks5://127.0.0.1:9050"}, "fetch.proxy"),
        ({"headers": (("X-A", "b\r\nX-Evil: 1"),)}, "fetch.headers"),
        ({"headers": (("X A", "b"),)}, "fetch.headers"),
        ({"user_agent": "a\nb"}, "fetch.headers"),
    ],
)
def test_settings_that_cannot_work_are_named_before_any_fetch(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        check_settings(FetchSettings(**changes))


def test_settings_that_can_work_pass() -> None:
    check_settings(FetchSettings(nameservers=("127.0.0.1:53", "[::1]:5353", "9.9.9.9", "::1")))


def test_the_system_clock_tells_time_chance_and_how_long() -> None:
    clock = SystemClock()
    took = clock.stopwatch()
    assert clock.now().utcoffset() == timedelta()
    assert 0 <= clock.chance() < 1
    first, second = took(), took()
    assert timedelta() <= first <= second


def test_a_ca_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("hello")
    with pytest.raises(ConfigError, match=r"fetch\.ca_file"):
        check_settings(FetchSettings(ca_file=str(tmp_path / "ca.pem")))


POSTED = {"headers": (("Content-Type", "application/json"), ("Authorization", "Bearer k"))}


async def test_a_post_sends_its_body_once_and_with_its_length(fetcher: HttpFetcher) -> None:
    async with Hostile(HELLO, Do.NEXT, HELLO) as server:
        for body in (b'{"question": "hgk.hr?"}\r\n\r\n', b""):
            answered = await ask(fetcher, server.url("/v1"), server.settings(**POSTED), post=body)
            assert (answered.outcome, answered.body) == (Outcome.OK, b"hello")
        first = server.requests[0].decode()
    assert first.startswith("POST /v1 HTTP/1.1\r\n")
    assert "Content-Length: 27\r\n" in first
    assert "Content-Type: application/json\r\n" in first
    assert "Authorization: Bearer k\r\n" in first


async def test_one_post_is_one_request_even_when_a_kept_line_is_cut(fetcher: HttpFetcher) -> None:
    body = b"x\r\n\r\n"
    async with Hostile(
        HELLO, Do.NEXT, Do.NEXT
    ) as server:  # the body of the first, then the head of the second
        outcomes = [
            (await ask(fetcher, server.url(), server.settings(**POSTED), post=body)).outcome for _ in range(2)
        ]
        assert outcomes == [Outcome.OK, Outcome.CONNECT_ERROR]
        assert sum(request.startswith(b"POST") for request in server.requests) == 2


async def test_a_redirect_of_a_post_comes_back_as_a_value(fetcher: HttpFetcher) -> None:
    moved = answer("Location: http://127.0.0.1/elsewhere", status="307 Moved")
    async with Hostile(moved) as server:
        answered = await ask(fetcher, server.url(), server.settings(**POSTED), post=b"x")
        assert answered.redirect_to == "http://127.0.0.1/elsewhere"
        assert len(server.requests) == 1


async def test_an_answer_before_the_body_was_read_is_an_answer(fetcher: HttpFetcher) -> None:
    async with Hostile(answer(status="401 Unauthorized")) as server:
        answered = await ask(fetcher, server.url(), server.settings(**POSTED), post=b"x" * 3_000_000)
    assert answered.outcome in (Outcome.LOGIN_WALL, Outcome.CONNECT_ERROR)


async def test_a_far_end_that_takes_no_body_is_a_timeout(fetcher: HttpFetcher) -> None:
    async with Hostile(5.0) as server:  # ended with the block
        hurried = server.settings(**POSTED, total_timeout=timedelta(seconds=0.15))
        answered = await ask(fetcher, server.url(), hurried, post=b"x" * 30_000_000)
    assert answered.outcome is Outcome.TIMEOUT


async def test_a_body_for_which_there_is_no_room_is_no_look_and_nobody_is_blamed(
    fetcher: HttpFetcher,
) -> None:
    asked: list[int] = []

    async def none(size: int) -> bool:
        asked.append(size)
        return False

    body = b"a" * 600_000
    head = OK + b"Content-Length: 600000\r\n\r\n"
    async with Hostile(head, body[:400_000], Do.HOLD) as server:
        request = FetchRequest(url=server.url("/"), settings=server.settings(), reserve=none)
        fetched = await fetcher.fetch(request)
    assert (fetched.outcome, asked) == (Outcome.LANE_CLOSED, [1_200_000])
    assert "no room in memory" in fetched.detail
    meaning = MEANING[fetched.outcome]
    assert (meaning.is_look, meaning.lane_verdict) == (False, None)


class _Line:
    """A transport that keeps what happened to it."""

    def __init__(self, told: list[str], *, is_closing: bool = False) -> None:
        self.told, self.is_closed = told, is_closing

    def is_closing(self) -> bool:
        return self.is_closed

    def write(self, data: bytes) -> None:
        self.told.append("written")


async def test_a_request_is_on_record_before_it_is_on_the_line_and_not_at_all_where_there_is_none():
    told: list[str] = []

    def on_record() -> timedelta:
        told.append("on record")
        return timedelta(0)

    far = FarEnd(asyncio.get_running_loop())
    far.transport = _Line(told)
    far.say(b"GET / HTTP/1.1\r\n\r\n", on_record)
    assert told == ["on record", "written"]
    far.transport = _Line(told, is_closing=True)
    with pytest.raises(ClientConnectionResetError):
        far.say(b"GET / HTTP/1.1\r\n\r\n", on_record)
    assert told == ["on record", "written"]
