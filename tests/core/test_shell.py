"""Which pages only scripts fill, and which merely say little."""

from __future__ import annotations

import pytest

from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass
from vedette.core.change.gate import LITTLE, is_shell

SCRIPT = '<script src="/static/main.js"></script>'


def shell(body: str, text: str = "", kind: ContentClass = ContentClass.HTML) -> bool:
    return is_shell(Extraction(content_class=kind, text=text), body.encode())


@pytest.mark.parametrize(
    "body",
    [
        f'<div id="root"></div>{SCRIPT}',
        f"<div id=app class=x>\n  <!-- ovdje -->\n</div>{SCRIPT}",
        f'<main data-x="1" id="__next"><div class="spinner"></div></main>{SCRIPT}',
        f"<app-root></app-root>{SCRIPT}",
        f"<mfin-app>Učitavanje…</mfin-app>{SCRIPT}",
        f"<noscript><p>Za ovu stranicu uključite JavaScript.</p></noscript>{SCRIPT}",
        f"<NOSCRIPT>You need to enable Java Script to run this app.</NOSCRIPT>{SCRIPT.upper()}",
    ],
)
def test_an_empty_root_or_a_word_to_those_without_scripts_makes_a_shell(body: str):
    assert shell(body)


@pytest.mark.parametrize(
    "body",
    [
        '<div id="root"></div>',  # nobody would fill it
        f"<p>Kratka obavijest.</p>{SCRIPT}",
        f'<div id="root">Stopa je 25 %.</div>{SCRIPT}',
        f'<div id="approval"></div>{SCRIPT}',
        f'<noscript><img src="https://mjeri.example/p.gif"></noscript>{SCRIPT}',
        "",
    ],
)
def test_a_short_page_is_no_shell_for_that(body: str):
    assert not shell(body)


def test_a_page_with_text_and_a_file_that_is_no_page_are_no_shells():
    body = f'<div id="root"></div>{SCRIPT}'
    assert shell(body, "x" * (LITTLE - 1))
    assert not shell(body, "x" * LITTLE)
    assert not shell(body, kind=ContentClass.XML)


@pytest.mark.parametrize(
    "bait", ["<div " * 50_000, "<noscript>" * 30_000, '<div id="root">' + " " * 200_000, "<!--" * 60_000]
)
def test_bait_for_the_patterns_takes_no_time(bait: str):
    shell(f"{SCRIPT}{bait}")
