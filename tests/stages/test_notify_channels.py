"""Channels against real far ends on loopback: what arrives, and how a failure is named."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from receivers import KEY, SECRET, postman, receiver
from selectolax.lexbor import LexborHTMLParser as HTMLParser

from vedette.contracts.alerts import Delivery, Notice, NoticeKind
from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import FetchSettings
from vedette.contracts.words import Outcome, Risk
from vedette.fetch.post import HttpPoster
from vedette.notify import templates
from vedette.notify.channels import (
    ServiceChannel,
    SlackChannel,
    StdoutChannel,
    WebhookChannel,
    apprise_service,
    headers,
    read_secret,
)
from vedette.notify.mail import MailChannel, MailServer
from vedette.telemetry.clock import SystemClock

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
NOTICE = Notice(
    id="change-77",
    kind=NoticeKind.CHANGE,
    at=NOW,
    risk=Risk.CRITICAL,
    title="CRITICAL changed: Stope PDV-a",
    summary="1 line changed: '25 %' -> '24 %'",
    url="https://porezna.example/pdv",
    sources=("porezna",),
    excerpt=("- PDV je 25 %", "+ PDV je 24 % <!channel> ```"),
    why=("its risk is CRITICAL: a late sighting costs most",),
    facts={"change": "77"},
)


def settings(port: int, **given: Any) -> FetchSettings:
    second = timedelta(seconds=5)
    plain = {"allow_networks": ("127.0.0.0/8",), "allow_ports": (port,), "total_timeout": second}
    return FetchSettings(**(plain | given))


async def post_to(url: str, ways: FetchSettings) -> Delivery:
    poster = HttpPoster(SystemClock())
    try:
        return await WebhookChannel(url=url, key=KEY, poster=poster, settings=ways).send(NOTICE, at=NOW)
    finally:
        await poster.close()


async def mail_to(port: int, **given: Any) -> Delivery:
    server = MailServer(host="127.0.0.1", port=port, tls="none", timeout=5, **given)
    channel = MailChannel(
        server=server, sender="vedette@here.example", to=("ops@here.example", "b@c.example")
    )
    return await channel.send(NOTICE, at=NOW)


async def test_a_webhook_arrives_signed_under_the_id_of_its_notice():
    async with receiver() as far:
        assert await post_to(far.url, settings(far.port)) == Delivery(outcome=Outcome.OK)
    assert far.forged == 0
    number, body = far.told[0]
    assert number == "change-77"
    assert (body["type"], body["timestamp"]) == ("vedette.change", NOW.isoformat())
    assert body["data"]["diff"] == list(NOTICE.excerpt)
    assert body["data"]["change"] == "77"


def test_the_signature_is_that_of_the_specification():
    """The example of standardwebhooks.com."""
    key = read_secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "x")
    at = datetime.fromtimestamp(1614265330, UTC)
    made = headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}', at=at)
    assert made["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("words", ["whsec_!!", "whsec_c2hvcnQ=", "", "whsec_" + "A" * 200])
def test_a_secret_that_cannot_sign_is_refused_without_being_shown(words: str):
    with pytest.raises(ConfigError) as caught:
        read_secret(words, "notify.channels.hook.secret")
    assert "notify.channels.hook.secret" in str(caught.value)
    assert not words or words not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [(204, "ok"), (500, "server_error"), (429, "throttled"), (404, "gone"), (400, "client_error")],
)
async def test_an_answer_means_what_it_means_everywhere(status: int, outcome: str):
    async with receiver(answers=[status], headers={"Retry-After": "7"}) as far:
        delivery = await post_to(far.url, settings(far.port))
    assert delivery.outcome == outcome
    assert delivery.retry_after == (None if status == 204 else timedelta(seconds=7))


async def test_a_redirect_is_not_followed():
    async with receiver(answers=[307], headers={"Location": "http://127.0.0.1:1/elsewhere"}) as far:
        assert (await post_to(far.url, settings(far.port))).outcome is Outcome.REDIRECT_ERROR


async def test_private_addresses_are_refused_unless_the_operator_lists_them():
    async with receiver() as far:
        refused = await post_to(far.url, settings(far.port, allow_networks=()))
        named = await post_to(f"http://localhost:{far.port}/hook", settings(far.port, allow_networks=()))
        port = await post_to(far.url, settings(far.port, allow_ports=()))
    assert [one.outcome for one in (refused, named, port)] == [Outcome.ADDRESS_REFUSED] * 3
    assert far.told == []


async def test_a_far_end_that_hangs_is_a_timeout():
    async with receiver(hangs=True) as far:
        ways = settings(far.port, total_timeout=timedelta(milliseconds=100))
        assert (await post_to(far.url, ways)).outcome is Outcome.TIMEOUT


async def test_a_chat_gets_text_in_which_nothing_of_others_is_obeyed():
    async with receiver() as far:
        poster = HttpPoster(SystemClock())
        channel = SlackChannel(url=far.url, poster=poster, settings=settings(far.port))
        await channel.send(NOTICE, at=NOW)
        await poster.close()
    text = far.told[0][1]["text"]
    assert text.startswith("*CRITICAL changed: Stope PDV-a*\n")
    assert "&lt;!channel&gt; '''" in text
    assert text.count("```") == 2


async def test_a_mail_is_plain_readable_and_named_by_its_notice():
    async with postman() as far:
        assert await mail_to(far.port) == Delivery(outcome=Outcome.OK)
    letter = far.letters[0]
    assert letter["Subject"] == "[vedette] CRITICAL changed: Stope PDV-a"
    assert letter["Message-ID"] == "<change-77@here.example>"
    assert letter["To"] == "ops@here.example, b@c.example"
    words = letter.get_body(("plain",)).get_content()
    assert "+ PDV je 24 %" in words
    assert "Why you are told: its risk is CRITICAL" in words


@pytest.mark.parametrize(
    ("answer", "outcome"), [("451 later", "server_error"), ("550 never", "client_error"), ("250 ok", "ok")]
)
async def test_a_mail_server_says_later_or_never(answer: str, outcome: str):
    async with postman(answers=[answer]) as far:
        assert (await mail_to(far.port)).outcome == outcome


@pytest.mark.parametrize(("password", "outcome"), [("right", "ok"), ("wrong", "login_wall")])
async def test_a_mail_server_that_asks_is_answered(password: str, outcome: str):
    async with postman(password="right") as far:
        delivery = await mail_to(far.port, username="me", password=password)
    assert delivery.outcome == outcome
    assert password not in delivery.detail


async def test_a_mail_server_that_is_not_there_is_weather():
    async with postman() as far:
        port = far.port
    assert (await mail_to(port)).outcome is Outcome.CONNECT_ERROR


async def test_a_mail_server_without_starttls_is_not_spoken_to_in_clear():
    async with postman() as far:
        server = MailServer(host="127.0.0.1", port=far.port, timeout=5)
        channel = MailChannel(server=server, sender="a@b.example", to=("c@d.example",))
        assert (await channel.send(NOTICE, at=NOW)).outcome is Outcome.TLS_ERROR
    assert far.letters == []


async def test_stdout_gets_the_words_and_a_broken_pipe_is_weather():
    stream = io.StringIO()
    await StdoutChannel(stream).send(NOTICE, at=NOW)
    assert stream.getvalue().startswith("CRITICAL changed: Stope PDV-a\n1 line changed")
    stream.close()
    assert (await StdoutChannel(stream).send(NOTICE, at=NOW)).outcome is Outcome.CONNECT_ERROR


async def test_a_template_of_the_operator_has_names_and_no_code():
    stream = io.StringIO()
    channel = StdoutChannel(stream, "$risk $title ${unknown} {title.__class__} {{7*7}} $why")
    await channel.send(NOTICE, at=NOW)
    assert stream.getvalue().startswith(
        "CRITICAL changed: Stope PDV-a ${unknown} {title.__class__} {{7*7}} its risk"
    )


@pytest.mark.parametrize(("status", "outcome"), [(200, Outcome.OK), (500, Outcome.SERVER_ERROR)])
async def test_a_service_of_apprise_takes_title_and_body(status: int, outcome: Outcome):
    async with receiver(answers=[status]) as far:
        service = apprise_service((f"json://127.0.0.1:{far.port}/hook",), "notify.channels.any")
        told = await ServiceChannel(name="any", service=service).send(NOTICE, at=NOW)
    assert told.outcome is outcome
    (_, document) = far.told[0]
    assert "Stope PDV-a" in str(document["title"])
    assert "24 %" in str(document["message"])


APPRISE = (
    "json://{there}/hook", "xml://{there}/hook", "form://{there}/hook", "gotify://{there}/token123",
    "ntfy://{there}/topic", "mmost://{there}/abcdefghijklmnopqrstuvwxyz", "rocket://u:p@{there}/#channel",
    "json://{there}/hook?redirect=yes",
)  # fmt: skip


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("url", APPRISE)
async def test_no_service_of_apprise_can_be_redirected_inwards(url: str, status: int):
    asked: list[str] = []

    async def inner(request: web.Request) -> web.Response:
        asked.append(request.path)
        return web.Response(text="secret")

    async def outer(request: web.Request) -> web.Response:
        return web.Response(
            status=status, headers={"Location": f"http://127.0.0.1:{inside}/latest/meta-data"}
        )

    async with answering(inner) as inside, answering(outer) as outside:
        service = apprise_service((url.format(there=f"127.0.0.1:{outside}"),), "notify.channels.any")
        told = await ServiceChannel(name="any", service=service).send(NOTICE, at=NOW)
    assert asked == []
    assert told.outcome is not Outcome.OK


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_webhook_can_be_redirected(status: int):
    async with receiver() as inner, receiver(answers=[status]) as outer:
        outer.headers["Location"] = inner.url
        told = await post_to(outer.url, replace(settings(outer.port), allow_ports=(outer.port, inner.port)))
    assert inner.told == []
    assert told.outcome is not Outcome.OK


@asynccontextmanager
async def answering(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[int]:
    """A server that answers every request so; its port."""
    site = web.Application()
    site.router.add_route("*", "/{rest:.*}", answer)
    runner = web.AppRunner(site, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def test_a_subject_is_one_line_whatever_the_title_holds():
    evil = Notice(id="x", kind=NoticeKind.CHANGE, at=NOW, risk=Risk.LOW, title="a\r\nBcc: all@x.example")
    assert templates.subject(evil) == "[vedette] a Bcc: all@x.example"
    assert SECRET.startswith("whsec_")


async def test_a_mail_is_also_there_in_colour_and_nothing_of_others_is_markup():
    async with postman() as far:
        await mail_to(far.port)
    parts = list(far.letters[0].iter_parts())
    assert [part.get_content_type() for part in parts] == ["text/plain", "text/html"]
    page = HTMLParser(parts[1].get_content())
    assert [node.text() for node in page.css("a")] == [NOTICE.url]
    assert page.css_first("a").attributes["href"] == NOTICE.url
    assert "+ PDV je 24 % <!channel> ```" in page.body.text()
    assert {node.tag for node in page.body.css("*")} <= {"body", "p", "a", "div", "br", "del", "ins"}


HOSTILE = '<script>alert(1)</script> "><img src=https://x.example/pixel> \u202e &lt;'


@given(
    field=st.sampled_from(["title", "summary", "url", "excerpt", "why", "sources"]),
    scheme=st.sampled_from(["https://a.example/", "javascript:", "data:text/html,"]),
)
def test_no_field_of_a_notice_can_add_an_element_to_a_mail(field: str, scheme: str):
    value = (
        scheme + HOSTILE
        if field == "url"
        else (HOSTILE,)
        if field in ("excerpt", "why", "sources")
        else HOSTILE
    )
    page = HTMLParser(templates.html(replace(NOTICE, **{field: value})))
    assert {node.tag for node in page.body.css("*")} <= {"body", "p", "a", "div", "br", "del", "ins"}
    assert all(node.attributes["href"].startswith("https://") for node in page.css("a"))
    assert all(set(node.attributes) <= {"style", "href"} for node in page.body.css("*"))


def test_words_that_differ_are_struck_out_and_underlined_in_a_mail():
    words = ("! The fee is [-12 euros-] {+14 euros+} a month.", "- gone", "+ new")
    page = HTMLParser(templates.html(replace(NOTICE, excerpt=words)))
    assert [node.text() for node in page.css("del")] == ["12 euros"]
    assert [node.text() for node in page.css("ins")] == ["14 euros"]
