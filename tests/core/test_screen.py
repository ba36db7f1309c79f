"""The step before any byte reaches the disk."""

from __future__ import annotations

import hashlib

import pytest

from vedette.contracts.errors import InputError
from vedette.core.evidence.disguises import LEAST_WORK, WORK_SHARE, Views
from vedette.core.evidence.screen import EMPTY_TABLE, ScreenRow, screen, screen_table

DIGEST = hashlib.sha256(b"body").digest()
ROWS = (
    ScreenRow(name="words", category="forbidden", pattern=r"(?i)^forbidden words|secret"),
    ScreenRow(name="known", category="known_file", digest=DIGEST.hex()),
)
URL, HOST = "https://odd.example/a", "odd.example"


def test_the_empty_table_keeps_everything() -> None:
    assert screen("forbidden words", URL, HOST) is None
    assert screen("forbidden words", URL, HOST, screen_table(())) is None
    assert EMPTY_TABLE.matches is None


@pytest.mark.parametrize(
    ("text", "url", "digest", "row"),
    [
        ("Forbidden words here", URL, b"", "words"),
        ("plain", "https://odd.example/secret", b"", "words"),
        ("plain", URL, DIGEST, "known"),
        ("plain", URL, b"", None),
        ("x forbidden words", URL, b"", None),
    ],
)
def test_a_row_refuses_by_text_url_or_digest(text: str, url: str, digest: bytes, row: str | None) -> None:
    found = screen(text, url, HOST, screen_table(ROWS), digest=digest)
    assert (found.row if found else None) == row


def test_the_breadcrumb_holds_no_text_no_url_and_no_host() -> None:
    found = screen("the secret of odd.example", URL, HOST, screen_table(ROWS))
    assert found is not None
    told = repr(found)
    assert "secret of" not in told
    assert "odd.example" not in told
    assert found.host_hash == hashlib.sha256(b"odd.example").hexdigest()
    assert found.category == "forbidden"


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (ScreenRow(name="none", category="x"), "needs a pattern or a digest"),
        (ScreenRow(name="both", category="x", pattern="a", digest=DIGEST.hex()), "not both"),
        (ScreenRow(name="bad", category="x", pattern="("), "'bad' is not a valid RE2"),
        (ScreenRow(name="short", category="x", digest="abcd"), "not a sha256"),
        (ScreenRow(name="odd", category="x", digest="zz"), "not a sha256"),
    ],
)
def test_a_row_that_cannot_be_used_is_named(row: ScreenRow, words: str) -> None:
    with pytest.raises(InputError, match=words):
        screen_table([row])


def test_broken_text_is_read_all_the_same() -> None:
    assert screen("\ud800 secret", URL, HOST, screen_table(ROWS)) is not None


@pytest.mark.parametrize(
    "part",
    [
        '<p class="x"><a href="/a%20b?x=1&amp;y=2">rije\u010d</a> &nbsp; \u0161</p>',
        "&#105;&amp;%25\\u0041 \u00e9 <",
        "<a <b \\",
        "".join(map(chr, range(1, 256))),
    ],
)
def test_a_large_answer_is_read_whole_in_bounded_work(part: str):
    """Of letters beyond ASCII each match once cost a pass over the text: ten megabytes took minutes."""
    body = (part * ((1 << 20) // len(part)) + " > &#122;%6co<b></b>bn\\u0061").encode()
    views = list(Views(body, "text/html; charset=utf-8"))
    assert sum(map(len, views)) <= max(LEAST_WORK, WORK_SHARE * len(body)) + 2 * len(body)
    assert any(isinstance(view, str) and "zlobna" in view for view in views)
