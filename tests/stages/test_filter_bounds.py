"""Filters on pages that were made to hurt: the work is bounded, or a worker that can be ended does it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import Fetched, FetchSettings
from vedette.contracts.words import Outcome
from vedette.core.evidence.secret_guard import without_secrets
from vedette.core.filters.filter_steps import read_filters
from vedette.core.filters.local_numbers import find_number, number_text
from vedette.engine.crawl.session_cookies import SessionCookies
from vedette.extract.element_filters import takes_long
from vedette.extract.page import Page

AT = datetime(2026, 3, 1, tzinfo=UTC)


def left(body: str, *filters: str, content_type: str = "text/html"):
    page = Page.of(body.encode(), url="https://x.example/", content_type=content_type)
    return page.filtering(read_filters(filters)).filtered("main")


@pytest.mark.timeout(60)
def test_many_parts_of_one_list_are_numbered_once():
    """It took 178 s: each part counted all before it."""
    found = left("<html><body>" + "<p>x</p>" * 50_000 + "</body></html>", "css: body p")
    assert found.blocks[:2] == (("p", "x"), ("p[2]", "x"))
    assert found.blocks[-1] == ("p[50000]", "x")


@pytest.mark.timeout(60)
def test_a_line_of_numbers_that_are_none_is_read_once():
    """It took a minute: every search read the line anew."""
    assert find_number((" " + "1" * 41) * 20_000) is None
    assert find_number((" " + "1" * 41) * 20_000 + " 7,5 EUR") == 7.5


def test_a_large_number_is_shown_as_it_is_written():
    assert number_text(find_number("1.234.567,89 EUR")) == "1234567.89"


@pytest.mark.parametrize(
    ("selector", "is_slow"),
    [
        (".price", False),
        ("main .price, .offer b", False),
        ("main > div > div > p + p", False),
        (".a div div p", True),
        ("p:has(b)", True),
        ("h2 ~ p", True),
    ],
)
def test_a_selector_that_multiplies_its_work_is_left_to_a_worker(selector, is_slow):
    assert takes_long(read_filters((f"css: {selector}",))) is is_slow


def test_a_path_of_filters_in_filters_is_refused_in_a_sentence():
    with pytest.raises(ConfigError, match="more than 10 filters stand in each other") as caught:
        read_filters(("jsonpath: $" + "[?@" * 300 + "]" * 300,))
    assert len(str(caught.value)) < 200


def test_a_path_that_lists_the_same_again_and_again_ends():
    body = "[" + "0," * 50_000 + "0]"
    found = left(body, "jsonpath: $[" + ",".join(["0:"] * 200) + "]", content_type="application/json")
    assert "make it narrower" in found.unmatched


@pytest.mark.parametrize("age", ["\u00b2", "9" * 5000, "-" * 9, "", "1e9", "--5"])
def test_no_cookie_of_a_site_breaks_a_look(age):
    kept = SessionCookies()
    kept.take(
        Fetched(
            url="https://x.example/",
            outcome=Outcome.OK,
            at=AT,
            took=timedelta(0),
            headers=(("Set-Cookie", f"sid=1; Max-Age={age}"), ("Set-Cookie", "gone=1; Max-Age=0")),
        )
    )
    assert kept.header("https://x.example/", FetchSettings()) == "sid=1"


SECRET = 'tok-&"7k/2v'
ECHOES = {
    "HTML": b"<p>tok-&amp;&quot;7k/2v</p>",
    "JSON": b'{"token": "tok-&\\"7k/2v"}',
    "address": b"<a href='/?t=tok-%26%227k%2F2v'>on</a>",
    "two bytes a letter": '<p>tok-&"7k/2v</p>'.encode("utf-16"),
}


@pytest.mark.parametrize("body", ECHOES.values(), ids=ECHOES)
def test_an_answer_that_spells_a_secret_in_its_own_way_is_not_kept(body, monkeypatch):
    from vedette.config.model import parse
    from vedette.config.policies import fetch_settings

    monkeypatch.setenv("SITE_TOKEN", SECRET)
    settings = fetch_settings(parse({"fetch": {"headers": {"X-Key": "env:SITE_TOKEN"}}}))
    came = Fetched(
        url="https://x.example/",
        outcome=Outcome.OK,
        at=AT,
        took=timedelta(0),
        status=200,
        body=body,
        wire=body,
    )
    kept = without_secrets(came, settings)
    assert kept.outcome is Outcome.SCREENED
    assert kept.body == b""
