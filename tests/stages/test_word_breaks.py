"""Words that a browser shows apart are apart in the compared text, and words that it shows together are together."""

from __future__ import annotations

import json
import random
import re

import pytest
from browser_kit import needs_chromium
from playwright.sync_api import sync_playwright

from vedette.contracts.change import Noise, Place
from vedette.extract import Page
from vedette.extract.outline import CELLS
from vedette.extract.page import blocks
from vedette.fetch.browser import find_browser
from vedette.store.text_columns import dump_noise, read_noise

URL, KIND = "https://a.hr/", "text/html"


def words(markup: str) -> str:
    """The text of a page that is this markup."""
    body = f"<!doctype html><body><div>{markup}</div>".encode()
    read = blocks(body, url=URL, content_type=KIND, scope="all")
    return " ".join(text for path, text in read if "@href" not in path).replace(CELLS, " ")


@pytest.mark.parametrize(
    "markup",
    [
        "<button>one</button><button>two</button>",
        "<a>one</a><button>two</button>",
        "<label>one</label><input><label>two</label>",
        "<label>one<input type=checkbox></label><label>two</label>",
        "one<img src=x.png>two",
        "<a href=1>one</a><svg><title>arrow</title><path/></svg><a href=2>two</a>",
        "<a href=1>one</a><span><svg/></span><a href=2>two</a>",
        "one<iframe src=x>frame</iframe>two",
        "one<video></video>two",
        "one<br>two",
        "one<hr>two",
        "<ul><li>one<li>two</ul>",
        "<dl><dt>one<dd>two</dl>",
        "<table><tr><td>one<td>two</table>",
        "<table><tr><td><div>one</div>two<td></table>",
        "<table><tr><td><div>one</div>two<td>three</table>".replace("<td>three", "<td>"),
        "<table><tr><td>one<td><button></button>two</table>",
        "<table><tr><td>one</td></tr><tr><td>two</td></tr></table>",
        "<select><option>one<option>two</select>",
        "<ruby>one<rp>(</rp><rt>two</rt><rp>)</rp></ruby>",
        "<listing>one</listing>two",
        "<span style='display:block'>one</span>two",
        "<span STYLE='Color:red; DISPLAY : Block ;'>one</span>two",
        "<span style='display:block;display:table'>one</span>two",
        "<div style='display:flex'><span>one</span><span>two</span></div>",
        "<span style='display:inline-grid'><a>one</a><a>two</a></span>",
        "<span style='position:absolute'>one</span>two",
        "<span style='float:right'>one</span>two",
        "<span style='margin-left:.5em'>one</span><span style='margin-left:.5em'>two</span>",
        "<span style='margin:0 4px'>one</span>two",
        "<span style='padding:0 3px 0 0'>one</span>two",
        "one<span style='padding:0 0 0 3px'>two</span>",
        "<span style='padding-inline-end:1ch'>one</span>two",
        "<div style='display:inline;margin-right:4px'>one</div>two",
    ],
)
def test_words_that_a_browser_shows_apart_are_apart(markup: str):
    assert words(markup) == "one two"


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<b>W</b>ord", "Word"),
        ("H<sub>2</sub>O, 12 m<sup>2</sup>", "H2O, 12 m2"),
        ("<em>un</em>believ<i>able</i>", "unbelievable"),
        ("<span class=a>1</span><span class=b>,90</span>", "1,90"),
        ("<a href=x>word</a>s", "words"),
        ("un<wbr>believable", "unbelievable"),
        ("un&shy;believ&#8203;able", "unbelievable"),
        ("un<!-- no -->believ<script>1</script>able", "unbelievable"),
        ("un<input type=HIDDEN>believable", "unbelievable"),
        ("<span style='float:left;margin-right:3px;font-size:3em'>O</span>nce", "Once"),
        (
            "<div style='display:inline'>un</div><div style='display: inline-block'>believable</div>",
            "unbelievable",
        ),
        ("<span style='margin:0'>un</span><span style='padding:0 0 4px 0'>believ</span>able", "unbelievable"),
        ("<span style='margin-top:4px;padding-bottom:1em'>un</span>believable", "unbelievable"),
        ("<span style='margin-left:-4px;margin-right:0.00em'>un</span>believable", "unbelievable"),
        ("<span style='color:block;x-display:block'>un</span>believable", "unbelievable"),
        ("<table><tr><td><b>W</b>ord<td>H<sub>2</sub>O</table>", "Word H2O"),
        ("<li style='display:inline'>un</li><li style='display:inline'>believable</li>", "unbelievable"),
    ],
)
def test_words_that_a_browser_shows_together_are_together(markup: str, shown: str):
    assert words(markup) == shown


def test_pages_with_very_many_styles_are_read_in_bounded_time():
    many = (
        "<span style='margin:0 4px;;;display:'>a</span>" * 30_000
        + "<i style=''>b</i><i style>c</i><i style=':;:'>d"
    )
    assert words(many).endswith("bcd")
    assert words("<div style='display:flex'>" * 400 + "<i>one</i><i>two</i>") == "one two"


# What is learned of a page keeps the form of the text that it was learned of.


def test_what_was_learned_of_glued_words_is_kept_and_known_as_such():
    learned = Noise(places=(Place("div/p", 0, 8),), agreed=3)
    kept = dump_noise(learned)
    assert kept is not None
    older = read_noise(kept.replace('"form":4', '"form":3'))
    assert older.is_glued
    assert older.places == learned.places
    assert json.loads(dump_noise(older) or "")["form"] == 3
    assert not read_noise(dump_noise(learned)).is_glued


def test_the_glued_form_is_what_it_was():
    markup = "<p>Tax<button>12</button>x<svg/>y</p><table><tr><td><div>a</div>b<td>c</table>"
    page = Page.of(f"<body>{markup}".encode(), url=URL, content_type=KIND)
    assert [text for _, text in page.blocks("all", is_glued=True)] == ["Tax12xy", "ab | c"]
    assert [text for _, text in page.blocks("all")] == ["Tax 12 x y", "a b | c"]


# Against a browser, over markup that is drawn.

SHOWN = r"""
() => [...document.querySelectorAll('body > div.case')].map(box => {
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT), range = document.createRange();
  const words = [];
  let word = '', last = null;
  for (let node; node = walker.nextNode();) for (let at = 0; at < node.data.length; at++) {
    if (/\s/.test(node.data[at])) continue;
    range.setStart(node, at); range.setEnd(node, at + 1);
    const now = range.getClientRects()[0];
    if (!now || now.width === 0) continue;
    if (last && Math.abs(now.left - last.right) > 0.6) { words.push(word); word = ''; }
    word += node.data[at]; last = now;
  }
  return [[...words, word].join(' ').trim(), box.innerText];
})
"""
INLINE = (
    "a",
    "b",
    "i",
    "em",
    "span",
    "strong",
    "sub",
    "sup",
    "mark",
    "code",
    "label",
    "time",
    "x-part",
    "small",
    "u",
)
BOXES = (
    "<button>{}</button>",
    "{}<input>",
    "{}<input type=checkbox>",
    "{}<img width=9 height=9>",
    "{}<canvas></canvas>",
)
EMPTY = (
    "<br>",
    "<hr>",
    "<wbr>",
    "<!-- x -->",
    "<svg width=9 height=9></svg>",
    "<input type=hidden>",
    "<script>1</script>",
)
BLOCKS = ("<p>{}</p>", "<div>{}</div>", "<h2>{}</h2>", "<ul><li>{}<li>{}</ul>", "<dl><dt>{}<dd>{}</dl>")
TABLES = ("<table><tr><td>{}<td>{}<tr><td>{}<td>{}</table>", "<table><tr><th>{}<td>{}</table>")
STYLES = (
    "display:block",
    "display:inline-block",
    "margin:0 5px",
    "padding-left:5px",
    "margin-right:5px",
    "color:red",
)


def drawn(seed: int) -> str:
    return _drawn(random.Random(seed), 0)


def _drawn(chance: random.Random, depth: int) -> str:
    parts = [_part(chance, depth) for _ in range(chance.randint(1, 4))]
    return chance.choice(("", "", "", " ")).join(parts)


def _part(chance: random.Random, depth: int) -> str:
    text = "".join(chance.choice("abcdeKLMN0123,.") for _ in range(chance.randint(1, 4)))
    if depth > 3 or chance.random() < 0.3:
        return text
    kind = chance.choice(("inline", "inline", "inline", "styled", "box", "empty", "block", "table", "flex"))
    below = [_drawn(chance, depth + 1) for _ in range(4)]
    if kind == "empty":
        return text + chance.choice(EMPTY) + text
    if kind == "inline":
        tag = chance.choice(INLINE)
        return f"<{tag}>{below[0]}</{tag}>"
    if kind == "styled":
        return f'<span style="{chance.choice(STYLES)}">{text}</span>'
    if kind == "flex":
        return f'<div style="display:flex"><span>{text}</span><span>{text}</span></div>'
    return chance.choice({"box": BOXES, "block": BLOCKS, "table": TABLES}[kind]).format(
        *(below if kind != "box" else [text])
    )


def borders(text: str) -> tuple[str, set[int]]:
    """The letters, and after how many of them a word ends."""
    letters, found = "", set()
    for word in text.split():
        letters += word
        found.add(len(letters))
    return letters, found


@needs_chromium
@pytest.mark.slow
def test_a_browser_shows_the_same_words_on_pages_that_are_drawn():
    seeds = [*range(400), *(random.randrange(10**9) for _ in range(200))]
    cases = [drawn(seed) for seed in seeds]
    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=find_browser()[0], args=["--no-sandbox"])
        page = chromium.new_page(viewport={"width": 20_000, "height": 900})
        page.set_content("<!doctype html>" + "".join(f'<div class="case">{one}</div>' for one in cases))
        shown = page.evaluate(SHOWN)
        chromium.close()
    wrong = []
    for seed, case, (drawn_words, inner) in zip(seeds, cases, shown, strict=True):
        letters, ours = borders(words(case))
        seen, apart = borders(drawn_words)
        said, also_apart = borders(re.sub("[​­]", "", inner))
        assert letters == seen == said, (seed, case)
        if ours != apart | also_apart:
            wrong.append((seed, case, words(case), drawn_words, inner))
    assert not wrong, f"{len(wrong)} of {len(cases)}: {wrong[:3]}"
