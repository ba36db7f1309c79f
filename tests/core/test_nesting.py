"""Pages that would take a parser minutes are told from large pages."""

from __future__ import annotations

import pytest

from vedette.core.nesting import is_too_deep

ROW = "<tr><td><a href=x><b>x</b></a><td><p>a<p>b<br><img src=y></tr>"


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 5000,
        "<article><section>" * 3000 + "</section></article>" * 3000,
        "<b><i>" * 4000,
        "<DIV\n>" * 4000,
    ],
)
def test_nesting_without_end_is_too_deep(html):
    assert is_too_deep(html)


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<table>" + ROW * 5000 + "</table>",
        "<ul>" + "<li><a href=x>x</a>" * 9000 + "</ul>",
        "<div><span>sloppy</div>" * 9000,
        "<div>" * 300 + "<p>x</p>" * 9000,
        "<script>" + "'<div>'" * 9000 + "</script><!-- " + "<div>" * 9000 + " -->",
        "<p>1 < 2 " * 9000,
    ],
)
def test_a_large_or_sloppy_page_is_not(html):
    assert not is_too_deep(html)


@pytest.mark.parametrize("html", ["<!--" * 50_000, "<script>" * 50_000, "<div></x>" * 400 + "</y>" * 90_000])
def test_bait_takes_linear_time(html):
    assert not is_too_deep(html)


def test_depth_cannot_hide_behind_the_case_of_an_end_tag():
    assert is_too_deep("<SCRIPT></sCript>" + "<div>" * 5000)
