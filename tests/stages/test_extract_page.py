from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.change import Block
from vedette.contracts.words import ContentClass
from vedette.extract import Page, blocks, extract
from vedette.extract.outline import common_scope
from vedette.extract.scope import fold

URL = "https://a.hr/zakoni/pdv"
HTML = "text/html; charset=utf-8"
LONG = "Porezni obveznik podnosi prijavu do kraja ožujka tekuće godine za prethodnu godinu. " * 5


def block_pair(before: bytes, after: bytes, *, url: str, content_type: str) -> list[tuple[Block, ...]]:
    """Two states of one target, cut by one rule, as the engine does it."""
    pages = [Page.of(body, url=url, content_type=content_type) for body in (before, after)]
    scope = common_scope(page.cut() for page in pages)
    return [page.blocks(scope) for page in pages]


def html(markup: str, content_type: str = HTML, **options):
    return extract(markup.encode(), url=URL, content_type=content_type, **options)


def test_text_title_links_and_head_come_from_one_page():
    page = html(
        "<html lang='hr-HR'><head><title> Zakon \n o PDV-u </title><base href='/v/'>"
        "<link rel=canonical href='pdv?utm_source=x'>"
        "<link rel=alternate type='application/rss+xml' href='/rss'>"
        "<meta name=description content='O porezu'><meta name=robots content='noindex, nofollow'>"
        "<meta property='article:published_time' content='2026-01-14T10:30:00+01:00'></head>"
        f"<body><a href='a.pdf'>A</a><map><area href=/m></map><p>{LONG}</p></body>"
    )
    assert page.title == "Zakon o PDV-u"
    assert page.hrefs == ("a.pdf", "/m")
    assert page.base == "https://a.hr/v/"
    assert page.canonical == "https://a.hr/v/pdv"
    assert page.feeds == ("https://a.hr/rss",)
    assert page.language == "hr-hr"
    assert page.metadata["description"] == "O porezu"
    assert page.published_at == datetime(2026, 1, 14, 9, 30, tzinfo=UTC)
    assert page.is_noindex
    assert page.is_nofollow
    assert page.targets == ("https://a.hr/v/a.pdf",)


def test_a_canonical_of_another_host_is_not_believed():
    assert html("<link rel=canonical href='https://evil.example/'>").canonical is None


@pytest.mark.parametrize(
    "markup",
    [
        '<script type=\'application/ld+json\'>{"datePublished": "2026-01-14"}</script>',
        "<meta name='dcterms.issued' content='14.01.2026.'>",
        "<body><time datetime='2026-01-14'>jučer</time>",
    ],
)
def test_dates_are_found_where_pages_put_them(markup):
    assert html(markup).published_at == datetime(2026, 1, 14, tzinfo=UTC)


def test_main_scope_leaves_out_what_every_page_repeats_but_not_the_header_of_an_article():
    main = f"<main><header>Članak 1.</header><p>{LONG}</main>"
    page = f"<header>Ured</header><nav>Izbornik</nav>{main}<footer>O nama"
    assert html(page).text == f"Članak 1. {LONG}".strip()
    assert html(page, scope="all").text.startswith("Ured Izbornik Članak 1.")


def test_without_a_main_element_the_body_loses_only_boilerplate():
    page = f"<header>Ured</header><div><p>{LONG}</p></div><aside>Oglasi</aside><footer>O nama</footer>"
    assert html(page).text == LONG.strip()


@pytest.mark.parametrize("main", ["kratko", ""])
def test_when_next_to_nothing_would_remain_all_visible_text_is_used(main):
    page = f"<nav>{LONG * 3}</nav><main>{main}</main>"
    assert html(page).text == f"{LONG * 3} {main}".replace("  ", " ").strip()


NOTICE = "Ured danas ne radi zbog blagdana i praznika."
PRICES = "<table><tr><td>Kruh</td><td>1,65</td></tr><tr><td>Mlijeko</td><td>1,05</td></tr></table>"


@pytest.mark.parametrize("content", [NOTICE, PRICES, f"<h1>Obrasci</h1><ul><li>{NOTICE}</li></ul>"])
@pytest.mark.parametrize("tag", ["main", "article"])
def test_the_part_that_a_page_names_is_taken_on_short_pages_too(tag, content):
    page = "<header>Ured Naslovnica Vijesti Cjenik</header><nav>Izbornik</nav><{0}>{1}</{0}><footer>© 2026</footer>"
    read = html(page.format(tag, content))
    assert not any(word in read.text for word in ("Izbornik", "2026", "Naslovnica"))
    found = [text for _, text in blocks(page.format(tag, content).encode(), url=URL, content_type=HTML)]
    assert "© 2026" not in found
    year = page.format(tag, content).replace("2026", "2027").encode()
    one, other = block_pair(page.format(tag, content).encode(), year, url=URL, content_type=HTML)
    assert one == other


ENTRIES = "".join(f"<a href=/{n}>Odjel {n}</a> " for n in range(20))
SURROUNDINGS = {
    "tags": "<nav>Naslovnica Vijesti</nav>{}<footer>Sva prava pridržana 2026</footer>",
    "a long menu": f"<nav>{ENTRIES}</nav>{{}}<footer>Sva prava pridržana 2026</footer>",
    "a menu in a div": f"<div class=menu>{ENTRIES}</div>{{}}<div class=footer>Sva prava pridržana 2026</div>",
    "a menu without a name": f"<div><ul><li>{ENTRIES}</ul></div>{{}}<footer>Sva prava pridržana 2026</footer>",
    "menus in menus": f"<div id=top-nav><nav><ul class=menu>{ENTRIES}</ul></nav></div>{{}}"
    "<div class=site-footer><footer>Sva prava pridržana 2026</footer></div>",
}


@pytest.mark.parametrize("content", ["<p>Radi svaki dan.</p>", "<p>Kruh: 1,65 eura</p>", "Ne", NOTICE])
@pytest.mark.parametrize("around", SURROUNDINGS.values(), ids=SURROUNDINGS)
@pytest.mark.parametrize(
    "main", ["<main>{}</main>", "<div role=main>{}</div>", "<section class=x role='main'>{}</section>"]
)
def test_the_main_part_is_taken_however_short_it_is_and_whatever_its_menus_are_made_of(around, content, main):
    page = around.format(main.format(content))
    assert html(page).text == content.replace("<p>", "").replace("</p>", "")
    later = page.replace("2026", "2027").replace("Odjel 3", "Odjel 33")
    one, other = block_pair(page.encode(), later.encode(), url=URL, content_type=HTML)
    assert one == other


def test_a_role_is_asked_for_where_no_tag_names_the_main_part_and_two_of_them_name_none():
    role = f"<div role=main><p>{LONG}</p></div>"
    assert html(f"<div>Novo: {NOTICE}</div>{role}").text == LONG.strip()
    assert html(f"<div role=main>{NOTICE}<article>{LONG}</article></div>").text == LONG.strip()
    assert html(f"{role}<main>{NOTICE} {LONG}</main>").text == f"{NOTICE} {LONG}".strip()
    assert html(f"{role}<div role=main>{NOTICE}</div>").text == f"{LONG.strip()} {NOTICE}"


def test_a_short_main_part_is_not_believed_beside_a_list_of_titles_or_where_it_has_no_words():
    titles = "".join(f"<li><a href=/{n}>{NOTICE} {n}</a></li>" for n in range(3))
    assert NOTICE in html(f"<main>Pretraga</main><div><ul>{titles}</ul></div>").text
    assert "Odjel 3" in html(f"<div>{ENTRIES}</div><main>–</main>").text
    dishes = "<div class=menu><p>Juha 4,50</p><p>Riba 14,50</p></div><div class=unavailable>Meso 12,00</div>"
    assert "Riba 14,50" in html(f"<main>Dobro došli</main>{dishes}").text


@pytest.mark.parametrize("tag", ["main", "article"])
def test_a_named_part_is_not_believed_where_more_of_the_page_stands_outside(tag):
    read = html(
        f"<nav>Izbornik</nav><{tag}>Tražilica: upišite pojam.</{tag}><div><p>{NOTICE}</p>{PRICES}</div>"
    )
    assert NOTICE in read.text
    assert "Kruh" in read.text


def test_scripts_styles_and_hidden_parts_are_not_text():
    page = (
        f"<p>{LONG}</p><script>x</script><style>y</style><noscript>z</noscript><template>t</template>"
        "<svg><text>s</svg><p hidden>h1</p><p style='display: none'>h2</p>"
        "<p style='color:red;DISPLAY:NONE'>h3</p><dialog>h4</dialog>"
    )
    assert html(page).text == LONG.strip()


def test_a_page_that_is_hidden_until_its_scripts_run_is_read_anyway():
    assert html(f"<div style='display:none'>{LONG}</div>").text == LONG.strip()


@given(
    st.lists(st.sampled_from(["word", " ", "  ", "\n", "\xa0", "č"]), max_size=60), st.sampled_from([1, 40])
)
def test_a_long_text_is_folded_as_a_short_one_is(parts: list[str], times: int):
    text = "".join(parts) * times
    assert fold(text) == " ".join(text.replace("\n", " ").replace("\xa0", " ").split())


def test_white_space_is_folded_and_unicode_composed():
    assert html("<p>a\n\t  b&nbsp;&nbsp;c z\u030cena me\u00adko</p>").text == "a b c žena meko"


def test_blocks_have_paths_without_ids_and_rows_are_lines():
    page = (
        "<div id=x1 class=y><table><tr><td>a<td>b<tr><td>c</table></div>"
        "<div>uvod<p>jedan<br>dva <b>tri</b>ljuna "
        "<a href='f.pdf?utm_source=q&PHPSESSID=123'>PDF</a></p></div>"
    )
    assert blocks(page.encode(), url=URL, content_type=HTML, scope="all") == (
        ("div/table/tbody/tr", "a | b"),
        ("div/table/tbody/tr[2]/td", "c"),
        ("div[2]", "uvod"),
        ("div[2]/p", "jedan"),
        ("div[2]/p/text[2]", "dva triljuna PDF"),
        ("div[2]/p/text[2]/@href", "https://a.hr/zakoni/f.pdf"),
    )


def test_both_scopes_name_a_block_alike():
    page = f"<nav>n</nav><div></div><div><main><p>{LONG}</p></main></div>".encode()
    narrow = blocks(page, url=URL, content_type=HTML)
    wide = blocks(page, url=URL, content_type=HTML, scope="all")
    assert narrow == (("div[2]/main/p", LONG.strip()),)
    assert narrow[0] in wide


def test_a_page_at_the_edge_of_the_gate_is_cut_alike_on_both_sides():
    main = f"<main><p>{LONG}</p></main>"
    before, after = (f"<nav>{'izbornik ' * size}</nav>{main}".encode() for size in (40, 400))
    one, other = block_pair(before, after, url=URL, content_type=HTML)
    assert one == other == (("main/p", LONG.strip()),)


def test_link_targets_of_documents_are_compared_and_other_links_are_not():
    links = f"<a href='/x'>x</a><a href='/dl/3.pdf'>p</a><a href='/download/7?sid={'a1' * 10}'>d</a>"
    page = f"<main><p>{LONG}{links}</main>"
    assert html(page).targets == ("https://a.hr/dl/3.pdf", "https://a.hr/download/7")


def test_a_linked_notice_that_is_an_image_is_compared_and_a_linked_photograph_is_not():
    links = (
        "<a href='/docs/notice-1.png?v=2'>open</a><a href='/img/hall.jpg'>hall</a><a href='s.TIF'>scan</a>"
    )
    page = f"<main><p>Notice</p>{links}</main>"
    assert html(page).targets == ("https://a.hr/docs/notice-1.png?v=2", "https://a.hr/zakoni/s.TIF")


MARKUP = (
    "<div> </div> <p> <main> </main> <nav> </nav> <a_href=x> <b_hidden> <table> <td> <svg> <script> "
    "</script> <template> <form> <br> <!-- --> <title> <base_href=//> <link_rel=canonical_href=:> &amp; text "
    "č \0"
)
TAGS = st.sampled_from([tag.replace("_", " ") for tag in MARKUP.split(" ")])


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(TAGS, st.text(max_size=5)), max_size=40), st.sampled_from(["main", "all"]))
def test_any_markup_gives_a_value_and_blocks_say_what_the_text_says(parts, scope):
    body = "".join(parts).encode("utf-8", "replace")
    page = extract(body, url=URL, content_type=HTML, scope=scope)
    assert page.content_class is ContentClass.HTML or page.text is not None
    assert "\0" not in page.text
    if page.content_class is ContentClass.HTML:
        said = "".join(
            text for path, text in blocks(body, url=URL, content_type=HTML, scope=scope) if "@" not in path
        )
        assert "".join(said.split()) == "".join(page.text.split())


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300),
    st.sampled_from(["", HTML, "application/json", "text/xml", "text/plain", "x/;charset=utf-7"]),
)
def test_any_bytes_give_a_value(body, content_type):
    page = extract(body, url=URL, content_type=content_type)
    page.text.encode()
    blocks(body, url=URL, content_type=content_type)


LEFT_OPEN = {
    "a division": "<noscript><div></noscript>",
    "a notice in a division": "<noscript><div class=x><p>Uključite JavaScript.</noscript>",
    "a table": "<noscript><table><tr><td></noscript>",
    "twice": "<noscript><div></noscript><noscript><section></noscript>",
    "in capitals": "<NOSCRIPT><DIV></NOSCRIPT >",
    "an object": "<object data=x.swf><param name=a>",
    "beside a script that writes one": "<script>document.write('<noscript>')</script><noscript><div></noscript>",
}


@pytest.mark.parametrize("name", LEFT_OPEN)
@pytest.mark.parametrize("before", ["", f"<p>{LONG}</p>" * 3])
def test_what_a_browser_does_not_show_cannot_swallow_the_page_behind_it(name, before):
    rest = f"<main><h1>Obavijest</h1><p>{LONG}</p></main><script>x()</script>"
    page = html(f"<body>{before}{LEFT_OPEN[name]}{rest}</body>", scope="all")
    assert "Obavijest Porezni obveznik" in page.text
    assert "JavaScript" not in page.text
    found = blocks(f"<body>{LEFT_OPEN[name]}{rest}</body>".encode(), url=URL, content_type=HTML)
    assert "Obavijest" in [text for _, text in found]


def test_a_notice_for_browsers_without_scripts_is_not_text():
    for notice in ("Uključite JavaScript.", "<p>Uključite <b>JavaScript</b>.</p>", f"<p>{LONG}</p>"):
        page = html(f"<body><noscript>{notice}</noscript><p>Obavijest</p></body>")
        assert page.text == "Obavijest"
    assert html("<body><noscript>Uključite JavaScript.</noscript><div id=app></div>").text == ""


@pytest.mark.parametrize("seed", range(3))
def test_a_huge_page_says_what_a_smaller_one_with_the_same_content_says(seed):
    """Beyond 4 MiB a page is read with less memory: without attributes that nobody reads, its text in pieces."""
    chance = random.Random(seed)
    rows = [_a_row(chance, number) for number in range(60)]
    small = f"<html lang='hr'><title>T</title><body><nav><a href='/n'>N</a></nav><main>{''.join(rows)}</main>"
    huge = small.replace("class='c'", f"class='{'x' * (5_000_000 // 60)}'")
    (one, other), (blocks_of_one, blocks_of_other) = (
        [extract(page.encode(), url="http://a.hr/", content_type="text/html") for page in (small, huge)],
        [
            blocks(page.encode(), url="http://a.hr/", content_type="text/html", scope="strict")
            for page in (small, huge)
        ],
    )
    assert one == other
    assert blocks_of_one == blocks_of_other


def _a_row(chance: random.Random, number: int) -> str:
    inside = [
        f"<p title='{number}'>red {number}&nbsp;</p>", f"<ul><li>a</li><li style='display:none'>{number}</li></ul>",
        f"<table><tr><td class='v'>k{number}</td><td>{number}</td></tr></table>", f"<a href='/d{number}.pdf'>D</a>",
        "<b class='b'>x<i>y</b>z</i>", "<span role='note'>\n</span> t ",
    ]  # fmt: skip
    return f"<div class='c' data-n='{number}'>{''.join(chance.choices(inside, k=4))}</div>"
