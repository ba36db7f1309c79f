"""A fetch with a list of types: what is refused is not handed on, and a wrong header ends before its body."""

from __future__ import annotations

import pytest
from hostile import Hostile, ask, quick_settings

from vedette.contracts.fetch import Fetched
from vedette.contracts.words import Outcome
from vedette.core.text.media_types import HUNT_TYPES
from vedette.fetch.http import HttpFetcher
from vedette.telemetry.clock import SystemClock

PNG = b"\x89PNG\r\n\x1a\n" + b"secret pixels"
PAGE = b"<!doctype html><p>hello</p>"


def answer(header: bytes, body: bytes, status: bytes = b"200 OK") -> bytes:
    head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n" % (status, len(body))
    return head + (b"Content-Type: %b\r\n" % header if header else b"") + b"\r\n" + body


async def hunted(server: Hostile) -> Fetched:
    fetcher = HttpFetcher(SystemClock())
    try:
        settings = quick_settings(server.port, types=HUNT_TYPES)
        return await ask(fetcher, f"http://127.0.0.1:{server.port}/", settings)
    finally:
        await fetcher.close()


@pytest.mark.parametrize(
    ("header", "body", "outcome"),
    [
        (b"text/html; charset=utf-8", PAGE, Outcome.OK),
        (b"", PAGE, Outcome.OK),
        (b"image/png", PNG, Outcome.TYPE_REFUSED),
        (b"image/png", PAGE, Outcome.TYPE_REFUSED),
        (b"text/html", PNG, Outcome.TYPE_REFUSED),
        (b"", PNG, Outcome.TYPE_REFUSED),
        (b"text/html", b"", Outcome.EMPTY),
    ],
)
async def test_header_and_bytes_decide(header, body, outcome):
    async with Hostile(answer(header, body)) as server:
        got = await hunted(server)
    assert got.outcome is outcome
    if outcome is Outcome.TYPE_REFUSED:
        assert (got.body, got.wire) == (b"", b"")
        assert "list of types" in got.detail or "header says" in got.detail


async def test_of_an_error_page_of_another_type_no_byte_is_handed_on():
    async with Hostile(answer(b"image/png", PNG, b"404 Not Found")) as server:
        got = await hunted(server)
    assert (got.outcome, got.body, got.wire) == (Outcome.GONE, b"", b"")
