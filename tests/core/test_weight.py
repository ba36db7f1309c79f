"""Pages that would take a parser minutes are told from large pages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.text import parse_cost as weight
from vedette.core.text.parse_cost import is_irregular, lean, too_heavy

ROW = "<tr><td><a href=x><b>x</b></a><td><p>a<p>b<br><img src=y></tr>"
DEEP = {
    "div": "<div>" * 20_000,
    "closed": "<article><section>" * 9000 + "</section></article>" * 9000,
    "formatting": "<b><i>" * 9000,
    "capitals": "<DIV\n>" * 20_000,
    "behind an odd end tag": "<SCRIPT></sCript>" + "<div>" * 20_000,
    "closed by what was never open": "<div></x>" * 20_000,
}
SOUND = {
    "nothing": "",
    "table": "<table>" + ROW * 5000 + "</table>",
    "list": "<ul>" + "<li><a href=x>x</a>" * 9000 + "</ul>",
    "sloppy": "<div><span>sloppy</div>" * 9000,
    "deep for people": "<div>" * 300 + "<p>x</p>" * 9000,
    "in scripts": "<script>" + "'<div>'" * 20_000 + "</script><!-- " + "<div>" * 20_000 + " -->",
    "less than": "<p>1 < 2 " * 9000,
}


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16", "utf-16-be"])
def test_nesting_without_end_is_too_heavy_in_any_charset(name, charset):
    assert too_heavy(DEEP[name].encode(charset)) == weight.DEEP


@pytest.mark.parametrize("name", SOUND)
def test_a_large_or_sloppy_page_is_not(name):
    assert too_heavy(SOUND[name].encode()) == ""


def test_formatting_that_is_rebuilt_in_every_block_is_too_heavy():
    for end in ("", "</i>"):
        markup = "".join(f"<b a={n}><p>{end}" for n in range(2000))
        assert too_heavy(markup.encode()) == "too many unclosed tags"
    assert too_heavy(("<b><p>x" * 4000).encode()) == ""  # three are rebuilt, not four thousand


def test_a_tag_with_thousands_of_attributes_is_too_heavy():
    markup = "<p " + " ".join(f"a{n}=1" for n in range(20_000)) + ">"
    assert too_heavy(markup.encode()) == "too many attributes"


@pytest.mark.parametrize(
    "markup", ["<!--" * 50_000, "<script>" * 50_000, "<div></x>" * 400 + "</y>" * 90_000]
)
def test_bait_is_read_once(markup):
    assert too_heavy(markup.encode()) == ""


ODD = {
    "half as deep": "<div>" * 9000,
    "options": "<select>" + "<option>" * 9000,
    "closed by others": "".join(f"<b a={n}><i><u>" for n in range(50)) + "<div>x</b>" * 2000,
    "closings alone": "<div>" * 3000 + "</p></x>" * 3000,
    "lists": "<li><ul>" * 3000,
}


@pytest.mark.parametrize("name", ODD)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16"])
def test_tags_that_do_not_pair_are_left_to_a_worker(name, charset):
    assert is_irregular(ODD[name].encode(charset))


@pytest.mark.parametrize("name", ["nothing", "table", "list", "deep for people", "less than"])
def test_a_page_whose_tags_pair_is_not(name):
    assert not is_irregular(SOUND[name].encode())


WORDS = " ".join(f"w{n}" for n in range(9000))
PAIRS = " ".join(f'a{n}="1"' for n in range(9000))
FEW_ATTRIBUTES = {
    "a comparison in a script": f"<script>if (a <b && c) {{ x = '{WORDS}' }}</script>",
    "an open quote in a script": f'<script>x = "<a title=\'" + y; z = [{WORDS}]</script>',
    "markup in a script": f"<script>t = '<p {WORDS}'</script>",
    "a script in a comment of a script": f"<script><!-- <script> </script> <p {WORDS} --></script>",
    "style": f"<style>a <b {PAIRS}</style>",
    "comment": f"<!-- <p {PAIRS} -->",
    "text field": f"<textarea><p {PAIRS}</textarea>",
    "words in a value": f'<p title="{WORDS}">x</p>' * 3,
    "words in a value with other quotes": f'<p data-x=\'{{"a": "{WORDS}"}}\'>x</p>',
    "slashes of a path": '<path d="' + "M 1/2 " * 9000 + '"/>',
    "one value without quotes": "<a href=" + "x/" * 30_000 + ">x</a>",
    "a value that is not closed": f'<p title="{WORDS}',
}
MANY_ATTRIBUTES = {
    "bare": f"<p {WORDS}>",
    "quoted": f"<p {PAIRS}>",
    "without spaces": "<p " + "".join(f'a{n}="1"' for n in range(9000)) + ">",
    "apart by slashes": "<p/" + "/".join(f"a{n}" for n in range(9000)) + ">",
    "behind a script": f"<script>a = '<b \"'</script><p {WORDS}>",
    "behind a quote in a name": f'<p a" b><i {WORDS}>',
    "behind an empty comment": f"<!--><p {WORDS}> -->",
    "in an end tag": f"</p {WORDS}>",
    "behind styles": f"<style></styles></style ><p {WORDS}>",
}


@pytest.mark.parametrize("name", FEW_ATTRIBUTES)
@pytest.mark.parametrize("size", [0, 300_000])
def test_only_attributes_count_as_attributes(name, size):
    assert too_heavy((FEW_ATTRIBUTES[name] + "<p>x</p>" * (size // 8)).encode()) == ""


@pytest.mark.parametrize("name", MANY_ATTRIBUTES)
def test_attributes_that_a_parser_sees_are_found(name):
    assert too_heavy(MANY_ATTRIBUTES[name].encode()) == "too many attributes"


@pytest.mark.parametrize("behind", ["<svg><style>", "<select><title>", "<svg><script>"])
def test_attributes_that_are_made_to_look_like_a_script_are_left_to_a_worker(behind):
    markup = f"{behind}<p {PAIRS}>".encode()
    assert too_heavy(markup) or is_irregular(markup)


@pytest.mark.parametrize(
    "bait", ["<script><!--<script>", "<p a='", '<p a="', "<!--", "<p =", "<style></styl", "<p a = "]
)
def test_markup_that_is_never_closed_is_read_once(bait):
    assert too_heavy((bait * 100_000).encode()) in (
        "",
        weight.DEEP,
        "too many unclosed tags",
        "too many attributes",
    )


def test_attributes_that_nobody_reads_are_left_out_and_everything_else_stays():
    markup = (
        b'<html lang=\'hr\'><div class="a b" data-n="1" hidden=""><a class="l" href=\'/p\'>A</a><img src="i" />'
        b'<p class=odd title="<b>">1 < 2</p><font class="f">x</font></div>'
    )
    assert lean(markup) == (
        b"<html lang='hr'><div hidden=\"\"><a class=\"l\" href='/p'>A</a><img />"
        b'<p class=odd title="<b>">1 < 2</p><font class="f">x</font></div>'
    )
    assert lean(lean(markup)) == lean(markup)


@given(st.lists(st.sampled_from([b"<", b"</", b"<p>", b"</p>", b"/", b"x"]), max_size=40), st.integers(1, 60))
def test_tags_are_counted_as_bytes_count_them(parts: list[bytes], times: int) -> None:
    body = b"".join(parts) * times
    tags, closings = body.count(b"<"), body.count(b"</")
    few, many = weight.SMALL_UNCLOSED, weight.SMALL_TAGS
    assert weight._may_be_odd(body) == (tags > few and (tags > many or tags - 2 * closings > few))
