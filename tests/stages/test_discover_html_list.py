"""Pages that list others, with and without known selectors."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, ListerOptions, Listing, ListSelectors
from vedette.discover import ListingDocument, read_listing

NOW = datetime(2026, 11, 15, tzinfo=UTC)

MENU = """<nav><ul><li><a href="/o-nama">O nama</a></li><li><a href="/kontakt">Kontakt</a></li>
<li><a href="/mapa">Mapa weba</a></li></ul></nav>"""
HZZO = f"""<html><body>{MENU}<main>
<div class="vijest"><a href="/v/1"><img src="a.jpg"></a><h3><a href="/v/1">Nova lista lijekova</a></h3>
  <span class="date">14. 1. 2026.</span><a href="/tag/lijekovi">lijekovi</a></div>
<article><a href="/v/2"><h2>Druga vijest</h2></a>
  <time datetime="2026-01-13T10:00:00+01:00">jučer</time></article>
<p>Vidi i <a href="/dokumenti/Odluka.PDF?v=2">odluku</a>, <a href="obrazac.docx">obrazac</a></p>
</main><footer><ul><li><a href="/rss">RSS</a></li></ul></footer></body></html>"""


def read(html: str | bytes, *, url: str = "https://hzzo.hr/novosti/", **options: object) -> Listing:
    body = html.encode() if isinstance(html, str) else html
    wanted = ListerOptions(**options)  # type: ignore[arg-type]
    document = ListingDocument(url=url, body=body, content_type="text/html", options=wanted, now=NOW)
    return read_listing(ListerKind.HTML_LIST, document)


def urls(listing: Listing) -> list[str]:
    return [sighting.url for sighting in listing.sightings]


@pytest.mark.parametrize("host", ["hzzo.hr", "www.hzzo.hr", "elsewhere.example"])
def test_an_entry_is_its_main_link_with_title_and_date_and_documents_come_from_anywhere(host):
    listing = read(HZZO, url=f"https://{host}/novosti/")
    assert listing.problem == ""
    assert urls(listing) == [
        f"https://{host}{path}"
        for path in ("/v/1", "/v/2", "/dokumenti/Odluka.PDF?v=2", "/novosti/obrazac.docx")
    ]
    first, second, document, _ = listing.sightings
    assert (first.title, first.published_at) == ("Nova lista lijekova", datetime(2026, 1, 14, tzinfo=UTC))
    assert (second.title, second.published_at) == ("Druga vijest", datetime(2026, 1, 13, 9, tzinfo=UTC))
    assert (document.title, document.is_document) == ("odluku", True)


def test_porezna_uprava_has_its_own_row():
    rows = "".join(f'<div class="views-row"><a href="/{name}">Mišljenje</a></div>' for name in "ab")
    html = rows + '<li><a href="/c">C</a></li>'
    assert [url[-2:] for url in urls(read(html, url="https://www.porezna-uprava.gov.hr/x"))] == ["/a", "/b"]


def test_the_users_selectors_win():
    row = '<div class="row"><a href="/t">t</a><a class="go" href="/1">Jedan</a><i>2. 3. 2026.</i></div>'
    html = row + '<article><a href="/2">x</a></article>'
    listing = read(html, selectors=ListSelectors(item=".row", link="a.go", title="b", date="i"))
    assert [(s.url, s.title, s.published_at) for s in listing.sightings] == [
        ("https://hzzo.hr/1", "Jedan", datetime(2026, 3, 2, tzinfo=UTC))
    ]


@pytest.mark.parametrize("bad", ["li[", ":::", "//li/a", ""])
@pytest.mark.parametrize("option", ["item", "link", "title", "date"])
def test_a_bad_selector_is_a_problem_that_names_the_option(option, bad):
    listing = read(HZZO, selectors=ListSelectors(**{option: bad}))
    assert listing.problem.startswith(f"selectors.{option}: {bad!r} is not a CSS selector")


def test_when_selectors_match_nothing_the_largest_group_of_links_is_read_and_told():
    rows = "".join(
        f'<div class="x"><span><a href="/n/{n}">Naslov vijesti broj {n}</a></span></div>' for n in range(5)
    )
    listing = read(MENU + rows, selectors=ListSelectors(item=".gone"))
    assert urls(listing) == [f"https://hzzo.hr/n/{n}" for n in range(5)]
    (note,) = listing.notes
    assert note.note == "the selector '.gone' matched nothing; the largest group of links was read (5)"


def test_a_page_without_a_list_says_what_to_do():
    assert "set selectors" in read("<p>Stranica nije pronađena.</p>").problem
    assert "requires_headless" in read("<div id=app></div><script src=app.js></script>").problem


def test_links_resolve_against_the_base_element_and_trackers_go():
    links = "".join(f'<article><a href="{href}">A</a></article>' for href in ("1?utm_source=x", "2#x"))
    html = '<base href="https://hzzo.hr/b/">' + links
    assert urls(read(html)) == ["https://hzzo.hr/b/1", "https://hzzo.hr/b/2"]


def test_old_pages_are_read_in_their_charset():
    meta = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1250">'
    html = meta + '<article><a href="/1">Šume i čuvari</a></article>'
    assert read(html.encode("cp1250")).sightings[0].title == "Šume i čuvari"


def test_links_that_lead_nowhere_are_not_the_main_link():
    html = "".join(
        f'<article><a href="#">+</a><a href="javascript:go()">x</a><a href="/{n}">Vijest</a></article>'
        for n in (1, 2)
    )
    assert urls(read(html)) == ["https://hzzo.hr/1", "https://hzzo.hr/2"]


def test_a_page_that_nests_without_end_is_not_parsed():
    listing = read("<div>" * 20_000 + '<article><a href="/1">x</a></article>')
    assert (listing.sightings, listing.problem) == ((), "nested too deep")


def test_filters_refuse_with_a_reason():
    listing = read(HZZO, url_pattern=r"/v/\d", start_date=datetime(2026, 1, 14, tzinfo=UTC))
    assert urls(listing) == ["https://hzzo.hr/v/1"]
    assert {reason.code for _, reason in listing.refused} == {"url_pattern", "before_start_date"}


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * 100_000 + "<article><a href=/1>x</a>" * 1000,
        "<article><a href=/1>x</a>" * 500,
        "<article>" * 20_000,
        "<li><a href=/1>" * 20_000,
        b"\xff\xfe\x00" * 1000,
        "<a href=x>" * 50_000,
        "",
    ],
)
def test_a_page_made_to_hurt_ends_as_a_listing(html):
    assert len(read(html).sightings) <= 1
