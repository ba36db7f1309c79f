"""The list of content types, as an exact table: twelve types by header and by magic."""

from __future__ import annotations

import pytest

from vedette.config.model import parse
from vedette.config.policies import check_config, fetch_settings, sources_of
from vedette.contracts.errors import ConfigError
from vedette.core.text.media_types import HUNT_TYPES, magic_type, refused_body, refused_header

BODIES = {
    "text/html": b"<!doctype html><html><body><p>hello</p></body></html>",
    "application/xhtml+xml": b'<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><body/></html>',
    "text/plain": b"hello, plain world\n",
    "application/rss+xml": b'<?xml version="1.0"?><rss version="2.0"><channel/></rss>',
    "application/json": b'{"hello": "world"}',
    "application/pdf": b"%PDF-1.7\n1 0 obj",
    "image/png": b"\x89PNG\r\n\x1a\n" + bytes(16),
    "image/jpeg": b"\xff\xd8\xff\xe0" + bytes(16),
    "video/mp4": bytes(3) + b"\x20ftypisom" + bytes(16),
    "application/zip": b"PK\x03\x04" + bytes(26),
    "application/gzip": b"\x1f\x8b\x08" + bytes(16),
    "application/x-msdownload": b"MZ\x90" + bytes(40),
}
TEXTS = ("text/html", "application/xhtml+xml", "text/plain", "application/rss+xml", "application/json")
TAKEN = {
    *((header, body) for header in ("text/html", "application/xhtml+xml", "text/plain") for body in TEXTS),
    *(("application/rss+xml", body) for body in TEXTS),
    *(("", body) for body in TEXTS),
}


@pytest.mark.parametrize("header", ["", *BODIES])
@pytest.mark.parametrize("body", BODIES)
def test_a_hunt_takes_text_that_is_called_text_and_nothing_else(header: str, body: str) -> None:
    assert (refused_body(header, BODIES[body], HUNT_TYPES) is None) is ((header, body) in TAKEN)


@pytest.mark.parametrize("header", BODIES)
def test_a_type_that_is_not_listed_is_refused_before_its_body_is_read(header: str) -> None:
    is_taken = header in ("text/html", "application/xhtml+xml", "text/plain", "application/rss+xml")
    assert (refused_header(f"{header.upper()}; charset=x", HUNT_TYPES) is None) is is_taken
    assert refused_header(header, ()) is None


@pytest.mark.parametrize("name", BODIES)
def test_without_a_list_everything_is_taken(name: str) -> None:
    assert refused_body("image/png", BODIES[name], ()) is None


def test_a_listed_type_must_be_what_it_says() -> None:
    images = ("image/*", "application/vnd.oasis.opendocument.text")
    assert refused_body("image/png", BODIES["image/png"], images) is None
    assert refused_body("image/png", BODIES["image/jpeg"], images) is not None
    assert refused_body("image/png", BODIES["text/html"], images) is not None
    assert refused_body("application/vnd.oasis.opendocument.text", BODIES["application/zip"], images) is None
    assert refused_body("", BODIES["image/jpeg"], images) is None
    assert refused_body("", BODIES["application/pdf"], images) is not None


def test_a_page_under_the_name_of_text_needs_pages_in_the_list() -> None:
    assert refused_body("text/plain", BODIES["text/html"], ("text/plain",)) is not None
    assert refused_body("text/plain", BODIES["text/html"], ("text/plain", "text/html")) is None
    assert magic_type("<html><p>č</p>".encode("utf-16")) == "text/html"


def test_a_hunt_has_the_list_and_a_source_may_have_its_own() -> None:
    crawl = {"lister": "crawl", "hunt": True}
    config = parse(
        {
            "sources": [
                {"url": "https://a.example/", **crawl},
                {"url": "https://b.example/", **crawl, "fetch": {"types": ["text/html", "application/pdf"]}},
                {"url": "https://c.example/"},
            ]
        }
    )
    found = [fetch_settings(config, source).types for source in sources_of(config)]
    assert found == [HUNT_TYPES, ("text/html", "application/pdf"), ()]


@pytest.mark.parametrize("word", ["html", "text/", "text/html; charset=utf-8", "*/*", ""])
def test_a_word_that_is_no_type_is_named(word: str) -> None:
    with pytest.raises(ConfigError, match="is no content type; write it like text/html"):
        check_config(parse({"fetch": {"types": [word]}}))
