"""One parser, one identity."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vedette.core.urls.canonical import (
    MAX_URL,
    canonical,
    fold,
    host_of,
    lane_of,
    origin_of,
    shown,
    watch_id,
)

VARIANTS = [
    "https://Example.hr/Propisi/",
    "http://example.hr/Propisi",
    "https://example.hr:443/Propisi/index.html",
    "https://example.hr./Propisi",
    "https://user:secret@example.hr/Propisi#top",
    "https://example.hr/x/../Propisi?utm_source=mail&fbclid=1",
    "https://example.hr/Propisi;jsessionid=AB12?",
    "https://example.hr/%50ropisi",
]


@pytest.mark.parametrize("variant", VARIANTS)
def test_variants_of_one_page_are_one_target(variant: str) -> None:
    assert watch_id(canonical(variant) or "") == watch_id("https://example.hr/Propisi")


def test_the_order_of_a_query_is_no_difference_and_its_values_are() -> None:
    one, two, other = (canonical(f"https://x.hr/a?{q}") or "" for q in ("b=2&a=1", "a=1&b=2", "a=1&b=3"))
    assert watch_id(one) == watch_id(two) != watch_id(other)


def test_a_short_session_name_is_dropped_only_with_a_value_that_looks_like_one() -> None:
    assert canonical("https://x.hr/a?sid=0123456789abcdef0123&s=porez") == "https://x.hr/a?s=porez"


@pytest.mark.parametrize(
    "junk",
    ["", "mailto:a@b.hr", "javascript:void(0)", "http://", "http://.../", "http://a b/", "ftp://x.hr/",
     "\ud800",
     "http://x.hr/" + "a" * MAX_URL, "http://[::1", "data:text/html,x", "http://x:99999/", "file:///etc/passwd"],
)  # fmt: skip
def test_nothing_to_ask_is_none(junk: str) -> None:
    assert canonical(junk) is None


def test_a_trailing_dot_is_the_same_host_and_the_same_lane() -> None:
    dotted = canonical("http://example.hr.:8080/a./b") or ""
    assert dotted == "http://example.hr:8080/a./b"
    assert lane_of(dotted) == lane_of("http://example.hr/")


def test_a_name_that_is_an_address_without_its_dots_is_read_as_the_address() -> None:
    assert canonical("http://0x7f.1../") == "http://127.0.0.1/"


def test_credentials_never_survive() -> None:
    assert canonical("https://u:p@x.hr/@me") == "https://x.hr/@me"


def test_links_resolve_against_their_page() -> None:
    assert canonical("../b?x=1#f", "https://x.hr/a/c/d") == "https://x.hr/a/b?x=1"
    assert canonical("//y.hr/z", "https://x.hr/") == "https://y.hr/z"


def test_parts_of_a_url() -> None:
    assert host_of("http://[::1]:81/x") == "::1"
    assert origin_of("https://x.hr:8443/a?b") == "https://x.hr:8443"


def test_shown_decodes_letters_and_nothing_that_moves_a_cursor() -> None:
    url = "https://x.hr/slu%C5%BEbeni%2Fdio%1B%5B2J%E2%80%AE?q=%FF"
    assert shown(url) == "https://x.hr/službeni%2Fdio%1B%5B2J%E2%80%AE?q=%FF"
    assert shown("https://xn--e1afmkfd.xn--p1ai/") == "https://xn--e1afmkfd.xn--p1ai/ (пример.рф)"


@given(
    st.text(max_size=60),
    st.sampled_from(["", "http://", "https://x.hr/", "http://x.hr/a?", "//", "http://1."]),
)
@example("\U00018d80", "http://")  # a letter of Unicode 17
def test_canonical_never_raises_and_is_stable(tail: str, head: str) -> None:
    once = canonical(head + tail)
    if once is None:
        return
    assert canonical(once) == once
    assert host_of(once)
    assert fold(once)
    assert once.isascii()
    assert shown(once).isprintable()
