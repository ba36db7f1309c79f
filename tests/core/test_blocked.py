"""Hosts kept out by their name."""

from __future__ import annotations

import pytest

from vedette.core.urls.admission import blocked_by


@pytest.mark.parametrize(
    ("host", "word"),
    [
        ("test.hr", "test"),
        ("TEST.hr", "test"),
        ("my-test.hr", "test"),
        ("a.debug.hr", "debug"),
        ("heartbeat.x", "heartbeat"),
        ("synthetic", "synthetic"),
        ("test.hr.", "test"),
        ("latest.hr", None),
        ("testament.hr", None),
        ("contest-2024.hr", None),
        ("hgk.hr", None),
        ("127.0.0.1", None),
        ("", None),
    ],
)
def test_whole_labels_and_words_block_and_parts_of_words_do_not(host: str, word: str | None) -> None:
    assert blocked_by(host) == word


def test_a_word_with_a_dot_blocks_a_host_and_all_below_it() -> None:
    words = ("ads.example.com", "my-host")
    assert blocked_by("ads.example.com", words) == blocked_by("x.ads.example.com", words) == "ads.example.com"
    assert blocked_by("bads.example.com", words) is None
    assert blocked_by("my-host.hr", words) == "my-host"


def test_no_words_block_nothing() -> None:
    assert blocked_by("test.hr", ()) is None
