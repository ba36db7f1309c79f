"""`auto` finds the lister that fits."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, Listing
from vedette.discover import ListingDocument, read_listing

NOW = datetime(2026, 11, 15, tzinfo=UTC)
RSS = "<rss><channel><item><link>https://h.hr/1</link></item></channel></rss>"
JSON_FEED = r'{"version": "https:\/\/jsonfeed.org\/version\/1", "items": [{"id": "1", "url": "/1"}]}'
JSON_LINK = "<link rel=alternate type='application/feed+json' href='/f.json'>"
URLSET = "<urlset><url><loc>https://h.hr/1</loc></url></urlset>"
NAV = "<nav>" + "".join(f"<a href='/s{n}'>Odjel {n}</a>" for n in range(30)) + "</nav>"
TEXT = "<main><p>" + "Odluka stupa na snagu osmoga dana. " * 60 + "</p></main>"
ITEMS = (
    "<main>"
    + "".join(f"<article><a href='/v/{n}'>Vijest broj {n}</a></article>" for n in range(8))
    + "</main>"
)
PAGER = "<ul class='pagination'><a href='?page=2'>2</a></ul>"
FEED = "<link rel='alternate' type='application/rss+xml' title='Vijesti' href='{}'>"
COMMENTS = "<link rel='alternate' type='application/rss+xml' title='Comments' href='/comments/feed'>"
MAPS = ("https://evil.example/sitemap.xml", "https://www.h.hr/sitemap.xml")


def look(
    body: str | bytes,
    url: str = "https://h.hr/vijesti",
    sitemaps: tuple[str, ...] = (),
    kind: str = "text/html",
) -> Listing:
    data = body.encode() if isinstance(body, str) else body
    document = ListingDocument(url=url, body=data, content_type=kind, sitemaps=sitemaps, now=NOW)
    return read_listing(ListerKind.AUTO, document)


@pytest.mark.parametrize(
    ("expected", "where", "listing"),
    [
        (ListerKind.FEED, None, look(RSS, kind="application/xml")),
        (ListerKind.FEED, None, look(RSS)),
        (ListerKind.FEED, None, look(JSON_FEED, kind="application/feed+json")),
        (ListerKind.FEED, None, look(JSON_FEED, kind="text/plain")),
        (ListerKind.PAGE, None, look('{"items": [{"url": "/1"}]}', kind="application/json")),
        (ListerKind.PAGE, None, look('{"about": "https://jsonfeed.org/"}', kind="application/json")),
        (ListerKind.PAGE, None, look("{", kind="application/json")),
        (ListerKind.FEED, "https://h.hr/f.json", look(JSON_LINK + NAV + ITEMS, "https://h.hr/")),
        (ListerKind.SITEMAP, None, look(URLSET, kind="text/xml")),
        (
            ListerKind.SITEMAP,
            None,
            look(gzip.compress(URLSET.encode()), "https://h.hr/sitemap.xml.gz", kind=""),
        ),
        (ListerKind.SITEMAP, "https://www.h.hr/sitemap.xml", look(NAV + ITEMS, "https://h.hr/", MAPS)),
        (ListerKind.FEED, "https://h.hr/feed", look(FEED.format("/feed") + NAV + ITEMS, "https://h.hr/")),
        (ListerKind.CRAWL, None, look(NAV + ITEMS, "https://h.hr/")),
        (ListerKind.PAGINATION, None, look(NAV + ITEMS + PAGER, sitemaps=MAPS)),
        (ListerKind.FEED, "https://h.hr/vijesti/feed", look(FEED.format("/vijesti/feed") + NAV + ITEMS)),
        (ListerKind.HTML_LIST, None, look(NAV + ITEMS)),
        (ListerKind.HTML_LIST, None, look(COMMENTS + FEED.format("/feed") + NAV + ITEMS)),
        (ListerKind.PAGE, None, look(NAV + TEXT, "https://h.hr/zakon", MAPS)),
        (ListerKind.PAGE, None, look(FEED.format("/feed") + NAV + TEXT)),
        (ListerKind.CRAWL, None, look(NAV)),
        (ListerKind.PAGE, None, look("<p>Kratko.</p>")),
        (ListerKind.PAGE, None, look("", "https://h.hr/")),
        (ListerKind.PAGE, None, look(b"%PDF-1.7 ...", "https://h.hr/a.pdf", kind="application/pdf")),
        (ListerKind.PAGE, None, look('{"a": 1}', kind="application/json")),
        (ListerKind.PAGE, None, look("<svg xmlns='http://www.w3.org/2000/svg'/>", kind="image/svg+xml")),
    ],
    ids=str,
)
def test_the_best_lister_is_found(expected, where, listing):
    assert (listing.became, listing.became_url) == (expected, where)


def test_the_reason_is_told_with_its_rivals():
    listing = look(NAV + ITEMS + PAGER)
    assert listing.notes[0].note == "a list of many pages"
    assert listing.notes[0].points > listing.notes[1].points


def test_a_document_that_is_the_listing_is_read_at_once():
    assert [sighting.url for sighting in look(RSS).sightings] == ["https://h.hr/1"]
    listing = look(ITEMS + PAGER)
    assert (len(listing.sightings), len(listing.follow)) == (8, 1)


DOCUMENTS = "".join(f"<li><a href='/dat/obrazac-{n}.pdf'>Obrazac {n}</a> (PDF)</li>" for n in range(4))


@pytest.mark.parametrize(
    "body",
    [
        f"<h1>Obrasci</h1><ul>{DOCUMENTS}</ul>",
        f"{NAV}<main><h1>Obrasci</h1><p>Preuzmite obrazac i predajte ga uredu.</p><ul>{DOCUMENTS}</ul></main>",
        "<table>"
        + "".join(f"<tr><td>{n}<td><a href='c{n}.xlsx'>Cjenik</a></tr>" for n in range(3))
        + "</table>",
        "<p><a href='a.docx'>Prijavnica</a><p><a href='b.docx'>Izjava</a>",
    ],
)
def test_a_page_of_documents_is_a_list_of_documents(body):
    listing = look(f"<html><body>{body}</body></html>")
    assert listing.became is ListerKind.HTML_LIST
    assert len(listing.sightings) >= 2
    assert all(seen.is_document for seen in listing.sightings)


@pytest.mark.parametrize(
    "body",
    [
        f"{TEXT}<p><a href='/a.pdf'>Odluka</a> <a href='/b.pdf'>Prilog</a>",
        f"{TEXT}<footer><a href='/a.pdf'>Uvjeti</a> <a href='/b.pdf'>Pravila</a> </footer>",
        "<p>Kratko.</p><footer><a href='/a.pdf'>Uvjeti</a> <a href='/b.pdf'>Pravila</a></footer>",
        "<p>Jedan dokument: <a href='/a.pdf'>Odluka</a>",
    ],
)
def test_a_text_with_attachments_is_a_page(body):
    assert look(f"<html><body>{body}</body></html>").became is ListerKind.PAGE
