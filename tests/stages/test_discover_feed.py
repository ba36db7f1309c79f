"""Feeds as the world serves them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, ListerOptions, Listing
from vedette.discover import ListingDocument, read_listing

NOW = datetime(2026, 11, 15, tzinfo=UTC)
URL = "https://h.hr/rss/feed.xml"

RSS = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xmlns:media="http://search.yahoo.com/mrss/">
<channel><title>Vijesti</title><link>https://h.hr/</link><atom:link rel="self" href="https://h.hr/rss"/>
<item><media:title>Slika</media:title><title><![CDATA[Izmjena <b>PDV-a</b> &amp; akciza]]></title>
  <link>https://h.hr/vijesti/1?utm_source=rss</link><pubDate>Mon, 02 Mar 2026 10:00:00 +0100</pubDate>
  <enclosure url="/docs/odluka.pdf" type="application/pdf" length="1"/>
  <enclosure url="/audio.mp3" type="audio/mpeg" length="1"/></item>
<item><title>Relativna</title><link>/vijesti/2</link><dc:date>2026-03-01</dc:date></item>
<item><title>Samo guid</title><guid>https://h.hr/vijesti/3</guid></item>
<item><title>Guid nije adresa</title><guid isPermaLink="false">https://h.hr/vijesti/4</guid></item>
<item><title>Dvaput</title><link>https://h.hr/vijesti/1/</link></item>
</channel></rss>"""

ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://a.hr/blog/">
<entry xml:base="2026/"><title type="html">Prva &lt;i&gt;objava&lt;/i&gt;</title>
  <link rel="self" href="https://a.hr/api/1"/><link rel="alternate" type="application/json" href="1.json"/>
  <link rel="alternate" type="text/html" href="prva"/><link rel="enclosure" href="/f/obrazac.docx"/>
  <id>tag:a.hr,2026:1</id><published>2026-01-02T03:04:05Z</published><updated>2026-02-03T04:05:06+01:00</updated></entry>
<entry><title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Druga <b>objava</b></div></title>
  <link href="druga"/><id>x</id><updated>2026-02-03T00:00:00Z</updated></entry>
<entry><title>Treća</title><id>https://a.hr/treca</id><updated>2026-02-03T00:00:00Z</updated></entry>
</feed>"""

RDF = """<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
 xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel rdf:about="https://h.hr/"><title>x</title><items><rdf:Seq><rdf:li resource="https://h.hr/a"/></rdf:Seq></items>
</channel><item rdf:about="https://h.hr/a"><title>A</title><link>https://h.hr/a</link><dc:date>2026-05-06</dc:date></item>
</rdf:RDF>"""


def read(body: str | bytes, *, content_type: str = "application/xml", **options: object) -> Listing:
    data = body.encode() if isinstance(body, str) else body
    wanted = ListerOptions(**options)  # type: ignore[arg-type]
    document = ListingDocument(url=URL, body=data, content_type=content_type, options=wanted, now=NOW)
    return read_listing(ListerKind.FEED, document)


def urls(listing: Listing) -> list[str]:
    return [sighting.url for sighting in listing.sightings]


def test_rss_gives_pages_and_enclosed_documents_each_once():
    listing = read(RSS)
    assert listing.problem == ""
    assert urls(listing) == [
        "https://h.hr/vijesti/1",
        "https://h.hr/docs/odluka.pdf",
        "https://h.hr/vijesti/2",
        "https://h.hr/vijesti/3",
    ]
    first, document = listing.sightings[:2]
    assert first.title == "Izmjena PDV-a & akciza"
    assert first.published_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert (first.is_document, document.is_document) == (False, True)


def test_atom_takes_the_html_alternate_and_resolves_by_xml_base():
    listing = read(ATOM)
    assert urls(listing) == [
        "https://a.hr/blog/2026/prva",
        "https://a.hr/f/obrazac.docx",
        "https://a.hr/blog/druga",
        "https://a.hr/treca",
    ]
    first, _, second, _ = listing.sightings
    assert (first.title, second.title) == ("Prva objava", "Druga objava")
    assert first.published_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert first.modified_at == datetime(2026, 2, 3, 3, 5, 6, tzinfo=UTC)


def test_rss_1_0_is_read():
    listing = read(RDF)
    assert urls(listing) == ["https://h.hr/a"]
    assert listing.sightings[0].published_at == datetime(2026, 5, 6, tzinfo=UTC)


def test_url_pattern_and_date_range_refuse_with_a_reason_and_undated_entries_pass():
    options = {"url_pattern": r"/vijesti/\d", "start_date": datetime(2026, 3, 2, tzinfo=UTC)}
    listing = read(RSS, **options)
    assert urls(listing) == ["https://h.hr/vijesti/1", "https://h.hr/vijesti/3"]
    assert {(url, reason.code) for url, reason in listing.refused} == {
        ("https://h.hr/docs/odluka.pdf", "url_pattern"),
        ("https://h.hr/vijesti/2", "before_start_date"),
    }


def test_a_bad_pattern_is_a_problem_that_names_the_option():
    assert read(RSS, url_pattern="(").problem.startswith("url_pattern: '(' is not a valid RE2 expression")


CROATIAN = '<?xml version="1.0" encoding="{}"?><rss><channel><item><title>Šđčćž</title><link>https://h.hr/1</link></item></channel></rss>'


@pytest.mark.parametrize(
    ("declared", "codec", "content_type"),
    [
        ("UTF-8", "utf-8-sig", "application/xml"),
        ("windows-1250", "cp1250", "application/xml"),
        ("iso-8859-2", "iso-8859-2", "text/xml"),
        ("utf-16", "utf-16", "application/xml"),
        ("utf-16", "utf-16-le", "application/xml"),
        ("utf-16", "utf-16-be", "application/xml"),
        ("UTF-8", "cp1250", "text/xml; charset=windows-1250"),
        ("windows-1250", "utf-8", "text/xml; charset=windows-1250"),
        ("punycode", "cp1250", "text/xml; charset=utf-7"),
    ],
)
def test_the_charset_is_found_out(declared, codec, content_type):
    listing = read(CROATIAN.format(declared).encode(codec), content_type=content_type)
    assert [sighting.title for sighting in listing.sightings] == ["Šđčćž"]


def test_one_bad_entry_does_not_cost_the_others():
    body = """<rss><channel>
      <item><title>Prva &nbsp; &scaron;</title><link>https://h.hr/1?a=1&b=2</link></item>
      <item><title>Druga</title><description><p>neki<br>tekst</description><link>https://h.hr/2</link></item>
      <item><title>Treća</title><link>https://h.hr/3</link></item>
      <item><title>Četvrta</title><link>https://h.hr/4</li"""
    listing = read(body)
    assert urls(listing)[:3] == ["https://h.hr/1?a=1&b=2", "https://h.hr/2", "https://h.hr/3"]
    assert listing.sightings[0].title == "Prva š"
    assert [note.code for note in listing.notes] == ["broken_feed"]


def test_control_characters_junk_before_the_declaration_and_unbound_prefixes_are_no_obstacle():
    for body in (
        "\n\n  " + RSS,
        "Warning: mysql in /var/www on line 3\n" + RSS,
        RSS.replace("Relativna", "Rela\x0btivna\x00"),
        RSS.replace("<dc:date>2026-03-01</dc:date>", "<x:y>1</x:y>"),
        RSS.replace("</channel></rss>", ""),
    ):
        assert len(read(body).sightings) == 4, body[:60]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "<!doctype html><html><head><title>x</title></head></html>",
            "not a feed: the document is an HTML page",
        ),
        ("<html><body>404</body></html>", "not a feed: the document is an HTML page"),
        ("<urlset><url><loc>https://h.hr/</loc></url></urlset>", "use the lister 'sitemap'"),
        ("<opml/>", "not a feed: root element is <opml>"),
        ("", "the document is empty"),
        ("   \n", "the document is empty"),
        ("{}", "not a feed: JSON without the `version`"),
        (
            "<rss><channel><item><title>x</title></item></channel></rss>",
            "its only entry has no address",
        ),
        ("<rss><channel><title>Vij", "the feed ends early"),
    ],
)
def test_what_is_not_a_feed_is_said_in_words(body, words):
    listing = read(body)
    assert words in listing.problem
    assert listing.sightings == ()


def test_an_empty_feed_is_no_problem():
    assert read("<rss version='2.0'><channel><title>x</title></channel></rss>").problem == ""


BOMB = """<?xml version="1.0"?><!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<rss><channel><item><title>&b;</title><link>https://h.hr/1</link></item></channel></rss>"""
XXE = """<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]><rss><channel><item><title>&x;</title>
<link>https://h.hr/1</link></item></channel></rss>"""
OUTER = """<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://127.0.0.1:9/rss.dtd"><rss><channel>
<item><title>x</title><link>https://h.hr/1</link></item></channel></rss>"""


@pytest.mark.parametrize("body", [BOMB, XXE, BOMB.encode("utf-16"), "<!DOCTYPE a><!DOCTYPE b>" * 500 + BOMB])
def test_a_document_that_declares_entities_is_not_read(body):
    listing = read(body)
    assert "declares entities" in listing.problem
    assert listing.sightings == ()


def test_an_outer_document_type_is_not_fetched_and_no_obstacle():
    assert urls(read(OUTER)) == ["https://h.hr/1"]


def test_an_article_about_entities_is_an_article():
    body = RSS.replace("Relativna", "<![CDATA[<!DOCTYPE x [<!ENTITY a 'b'>]>]]>")
    assert len(read(body).sightings) == 4


def test_addresses_that_lead_nowhere_are_left_out():
    body = "<rss><channel>" + "".join(
        f"<item><link>{href}</link></item>"
        for href in (
            "javascript:alert(1)",
            "mailto:a@h.hr",
            "http://",
            "ftp://h.hr/a",
            "http://[::1",
            "https://h.hr/ok",
        )
    )
    assert urls(read(body + "</channel></rss>")) == ["https://h.hr/ok"]


@pytest.mark.parametrize(
    "body",
    [
        "<rss><channel><item><link>https://h.hr/1</link><description>"
        + "x" * 10_500_000
        + "</description></item></channel></rss>",
        "<rss><channel><item><link>" + "h" * 10_500_000,
        "<rss>" + "<a>" * 400_000,
        "<rss><channel><item>" + "<item>" * 200_000,
        "<rss><channel><item>" + "<![CDATA[" * 100_000,
        "<rss><channel><item>" + "&" * 1_000_000,
        "<rss>" + "</item " * 200_000,
        "<!--" * 200_000 + "<rss>",
        "<?a?>" * 200_000 + "<rss><channel/></rss>",
        " " * 3_000_000 + "<rss/>",
        "<" * 1_000_000,
    ],
    ids=[
        "10 MB entry",
        "10 MB link",
        "deep",
        "nested",
        "cdata",
        "ampersands",
        "ends",
        "comments",
        "pis",
        "spaces",
        "<",
    ],
)
def test_a_document_made_to_hurt_ends_as_a_listing(body):
    listing = read(body)
    assert len(listing.sightings) <= 1


JSON_FEED = {
    "version": "https://jsonfeed.org/version/1.1",
    "title": "Vijesti",
    "home_page_url": "https://h.hr/",
    "items": [
        {
            "id": "https://h.hr/vijesti/0",
            "url": "https://h.hr/vijesti/1?utm_source=feed",
            "title": "Izmjena <b>PDV-a</b>",
            "date_published": "2026-03-02T10:00:00+01:00",
            "date_modified": "2026-03-03T10:00:00Z",
            "attachments": [
                {"url": "/docs/odluka.pdf", "mime_type": "application/pdf"},
                {"url": "/audio.mp3", "mime_type": "audio/mpeg"},
            ],
        },
        {"id": "2", "external_url": "https://drugdje.hr/clanak", "content_text": "bez naslova"},
        {"id": "https://h.hr/vijesti/3", "title": "Samo id", "date_modified": "2026-03-01T00:00:00Z"},
        {"id": "nije adresa"},
        {"id": 7, "url": ["x"], "title": None, "attachments": "x", "date_published": 3},
        "nije zapis",
        {"id": "5", "url": "https://h.hr/vijesti/1"},
    ],
}


@pytest.mark.parametrize("version", ["https://jsonfeed.org/version/1", "https://jsonfeed.org/version/1.1"])
def test_json_feed_gives_pages_and_attached_documents_each_once(version: str):
    listing = read(json.dumps(JSON_FEED | {"version": version}), content_type="application/feed+json")
    assert listing.problem == ""
    assert urls(listing) == [
        "https://h.hr/vijesti/1",
        "https://h.hr/docs/odluka.pdf",
        "https://drugdje.hr/clanak",
        "https://h.hr/vijesti/3",
    ]
    first, document, *_, third = listing.sightings
    assert (first.title, first.is_document) == ("Izmjena PDV-a", False)
    assert first.published_at == datetime(2026, 3, 2, 9, tzinfo=UTC)
    assert first.modified_at == datetime(2026, 3, 3, 10, tzinfo=UTC)
    assert document.is_document
    assert third.published_at == datetime(2026, 3, 1, tzinfo=UTC)


def test_json_feed_obeys_the_options_of_its_source():
    listing = read(json.dumps(JSON_FEED), include=(r"/vijesti/",), max_urls=1)
    assert urls(listing) == ["https://h.hr/vijesti/1"]
    assert {reason.code for _, reason in listing.refused} >= {"max_urls"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"version": "https://jsonfeed.org/version/1", "items": [', "broken JSON"),
        ('{"items": []}', "without the `version`"),
        ('{"version": "https://jsonfeed.org/version/1"}', "no `items`"),
        ('{"version": "https://jsonfeed.org/version/1", "items": [{"id": "x"}]}', "its only entry"),
        ('{"version": "https://jsonfeed.org/version/1", "items": ' + "[" * 100_000, "nested too deep"),
        ('{"version": 1, "items": [' + "9" * 10_000 + "]}", "without the `version`"),
    ],
)
def test_json_that_is_no_feed_says_what_is_wrong(body: str, words: str):
    assert words in read(body, content_type="application/json").problem


def test_an_empty_json_feed_is_a_feed():
    empty = '\ufeff{"version": "https://jsonfeed.org/version/1.1", "title": "x", "items": []}'
    assert read(empty) == Listing()


@pytest.mark.parametrize(
    "title",
    [
        "<title>Odluka o <![CDATA[<script>var a = 1 < 2; alert('x')</script>]]>porezu</title>",
        "<title>Odluka o &lt;script type='a'&gt;steal()&lt;/script&gt;porezu</title>",
        "<title>Odluka o &lt;STYLE&gt;p { color: red }&lt;/style &gt; porezu</title>",
        "<title>Odluka o porezu &lt;script&gt;never.closed()</title>",
        "<title type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>Odluka <script>f(1)</script>o porezu"
        "</div></title>",
        "<title mode='base64'>T2RsdWthIG8gcG9yZXp1</title>",
        "<title mode='base64' type='text/html'>T2RsdWthIG8gPGI+cG9y\nZXp1PC9iPg==</title>",
        "<title type='application/octet-stream'>T2RsdWthIG8gcG9yZXp1</title>",
    ],
)
def test_a_title_is_words_and_neither_code_nor_base64(title):
    entry = f"<entry>{title}<link href='https://h.hr/1'/></entry>"
    listing = read(f'<feed xmlns="http://www.w3.org/2005/Atom">{entry}</feed>')
    assert [seen.title for seen in listing.sightings] == ["Odluka o porezu"]


def test_a_title_that_only_says_that_it_is_base64_stays_as_it_is():
    entry = "<entry><title mode='base64'>Odluka: 5 %!</title><link href='https://h.hr/1'/></entry>"
    assert [
        seen.title for seen in read(f"<feed xmlns='http://www.w3.org/2005/Atom'>{entry}</feed>").sightings
    ] == ["Odluka: 5 %!"]
