"""The known word that somebody meant."""

from __future__ import annotations

import pytest

from vedette.core.text.nearest import nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("rss", ["feed", "mrms"], "feed"),
        ("Spider", ["crawl", "slider"], "crawl"),
        ("croati", ["", "croatia"], "croatia"),  # an empty word may be known, and is never meant
        ("intervall", ["interval", "every"], "interval"),
        ("xyz", ["", "croatia"], None),
    ],
)
def test_a_hint_is_what_other_tools_call_it_or_what_is_spelled_alike(
    word: str, known: list[str], meant: str | None
):
    assert nearest(word, known) == meant
