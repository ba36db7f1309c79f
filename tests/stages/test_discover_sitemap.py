"""Sitemaps: what the protocol says, and what sites serve."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, ListerOptions, Listing
from vedette.discover import ListingDocument, read_listing
from vedette.discover.sitemap import MAX_ENTRIES, read_lastmod

NOW = datetime(2026, 11, 15, tzinfo=UTC)
URL = "https://h.hr/sitemap.xml"
SPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def read(
    body: str | bytes, *, depth: int = 0, content_type: str = "application/xml", **options: object
) -> Listing:
    data = body.encode() if isinstance(body, str) else body
    wanted = ListerOptions(**options)  # type: ignore[arg-type]
    document = ListingDocument(
        url=URL, body=data, content_type=content_type, options=wanted, depth=depth, now=NOW
    )
    return read_listing(ListerKind.SITEMAP, document)


def urls(listing: Listing) -> list[str]:
    return [sighting.url for sighting in listing.sightings]


def urlset(*entries: str, space: str = SPACE) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><urlset {space}>{"".join(entries)}</urlset>'


def index(*names: str) -> str:
    children = "".join(f"<sitemap><loc>{name}</loc></sitemap>" for name in names)
    return f"<sitemapindex {SPACE}>{children}</sitemapindex>"


PAGE = "<url><loc>\n https://h.hr/a \n</loc><lastmod>2026-05-01</lastmod><priority>0.9</priority></url>"


@pytest.mark.parametrize(
    "body",
    [
        urlset(PAGE),
        urlset(PAGE, space=""),
        urlset(PAGE, space='xmlns="http://www.google.com/schemas/sitemap/0.84"'),
        urlset(PAGE.replace("<", "<s:").replace("<s:/", "</s:"), space=SPACE.replace("xmlns", "xmlns:s")),
        "\ufeff\n" + urlset(PAGE),
        urlset(PAGE).encode("utf-16"),
        gzip.compress(urlset(PAGE).encode(), mtime=0),
        gzip.compress(urlset(PAGE).encode()[:100]) + gzip.compress(urlset(PAGE).encode()[100:]),
        urlset(PAGE.replace("https://h.hr/a", "<![CDATA[https://h.hr/a]]>")),
        urlset("<!-- x -->", PAGE, PAGE.replace("/a ", "/a/ ")),
        urlset("<url><i:image><i:loc>/i.jpg</i:loc></i:image>" + PAGE[5:], space=SPACE + ' xmlns:i="i"'),
    ],
    ids="plain,no namespace,old namespace,prefix,bom,utf-16,gzip,members,cdata,twice,images".split(","),
)  # fmt: skip
def test_every_way_of_writing_one_page_gives_one_sighting(body):
    listing = read(body)
    assert (listing.problem, urls(listing)) == ("", ["https://h.hr/a"])
    assert listing.sightings[0].modified_at == datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("2026", datetime(2026, 1, 1, tzinfo=UTC)),
        ("2026-05", datetime(2026, 5, 1, tzinfo=UTC)),
        ("2026-05-06", datetime(2026, 5, 6, tzinfo=UTC)),
        ("2026-05-06T07:08+02:00", datetime(2026, 5, 6, 5, 8, tzinfo=UTC)),
        ("2026-05-06T07:08:09Z", datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)),
        ("2026-05-06T07:08:09.25-01:00", datetime(2026, 5, 6, 8, 8, 9, 250_000, tzinfo=UTC)),
        ("", None),
        ("not a date", None),
        ("9999-99-99", None),
        ("0001-01-01T00:00:00+23:59", None),
        ("9999-12-31T23:59:59-23:59", None),
    ],
)
def test_lastmod_has_six_forms(text, at):
    assert read_lastmod(text) == at


def test_the_news_extension_gives_title_and_date():
    news = """<url><loc>https://h.hr/n</loc><news:news><news:publication><news:name>H</news:name></news:publication>
      <news:publication_date>2026-11-14T08:00:00Z</news:publication_date><news:title>Novi zakon</news:title>
      </news:news></url>"""
    space = SPACE + ' xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    (sighting,) = read(urlset(news, space=space)).sightings
    assert (sighting.title, sighting.published_at) == ("Novi zakon", datetime(2026, 11, 14, 8, tzinfo=UTC))


def test_children_are_followed_one_deeper_until_the_limit():
    body = index("https://h.hr/a.xml", "/b.xml.gz", URL)
    listing = read(body, depth=4)
    assert [(child.url, child.lister, child.depth) for child in listing.follow] == [
        ("https://h.hr/a.xml", ListerKind.SITEMAP, 5),
        ("https://h.hr/b.xml.gz", ListerKind.SITEMAP, 5),
    ]
    too_deep = read(body, depth=5)
    assert too_deep.follow == ()
    assert {reason.code for _, reason in too_deep.refused} == {"sitemap_depth"}


def test_an_index_that_refers_to_itself_in_circles_ends():
    seen, queue = set(), [ListingDocument(url=URL, body=b"", now=NOW)]
    while queue:
        at = queue.pop()
        body = index(f"https://h.hr/{len(at.url)}.xml", URL, "https://h.hr/other.xml").encode()
        document = ListingDocument(url=at.url, body=body, depth=at.depth, now=NOW)
        for child in read_listing(ListerKind.SITEMAP, document).follow:
            if child.url not in seen:
                seen.add(child.url)
                queue.append(ListingDocument(url=child.url, body=b"", depth=child.depth, now=NOW))
    assert len(seen) < 10


def test_types_of_narodne_novine_are_the_first_number_of_the_name():
    names = [
        "sitemap_1_2026_5.xml",
        "sitemap_2_2026_5.xml",
        "sitemap_4_2026_5.xml",
        "sitemap_12.xml",
        "news.xml",
    ]
    listing = read(index(*(f"https://h.hr/{name}" for name in names)), sitemap_types=(1, 3))
    assert [child.url.rpartition("/")[2] for child in listing.follow] == [names[0], names[3], names[4]]
    assert {reason.code for _, reason in listing.refused} == {"sitemap_type"}


def test_entries_of_another_site_are_refused_and_of_the_same_domain_allowed():
    locs = [
        "https://www.h.hr/1",
        "https://docs.h.hr/2",
        "https://evil.example/3",
        "https://h.hr.evil.example/4",
    ]
    listing = read(urlset(*(f"<url><loc>{loc}</loc></url>" for loc in locs)))
    assert urls(listing) == locs[:2]
    assert [(url, reason.code) for url, reason in listing.refused] == [
        (loc, "other_site") for loc in locs[2:]
    ]


def test_a_text_sitemap_has_one_address_per_line():
    body = "\ufeffhttps://h.hr/1\r\nhttps://h.hr/2\n\n# note\nhttps://evil.example/3\nhttps://h.hr/1/\n"
    listing = read(body, content_type="text/plain")
    assert urls(listing) == ["https://h.hr/1", "https://h.hr/2"]
    assert [reason.code for _, reason in listing.refused] == ["other_site"]


def test_a_feed_may_serve_as_a_sitemap():
    assert urls(read("<rss><channel><item><link>https://h.hr/1</link></item></channel></rss>")) == [
        "https://h.hr/1"
    ]


def test_bare_ampersands_are_mended():
    listing = read(urlset("<url><loc>https://h.hr/?a=1&b=2</loc></url>"))
    assert (listing.problem, urls(listing)) == ("", ["https://h.hr/?a=1&b=2"])


def test_what_was_read_before_the_break_stays_and_the_break_is_told():
    body = urlset(*(f"<url><loc>https://h.hr/{n}</loc></url>" for n in range(100)))
    cut = read(body[: len(body) // 2])
    assert 40 <= len(cut.sightings) <= 60
    assert "broken" in cut.problem
    assert f"{len(cut.sightings)} entries could be read" in cut.problem
    short = read(gzip.compress(body.encode())[:-100])
    assert short.problem == "the gzip data ends early"
    assert len(short.sightings) > 10


def test_filters_apply():
    body = urlset(*(f"<url><loc>https://h.hr/{name}</loc></url>" for name in ("a/1", "b/1", "a/2.jpg")))
    assert urls(read(body, include=("/a/",))) == ["https://h.hr/a/1"]
    assert urls(read(body, max_urls=1)) == ["https://h.hr/a/1"]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("", "the sitemap is empty"),
        ("<!DOCTYPE html><html><body>Not found</body></html>", "not a sitemap: an HTML page"),
        ("<foo/>", "not a sitemap: root element is <foo>"),
        ("User-agent: *", "not a sitemap: no XML, and no line is an address"),
        ('<!DOCTYPE urlset [<!ENTITY x "y">]>' + urlset("<url><loc>&x;</loc></url>"), "declares entities"),
        (b"\x1f\x8b\x08\x00" + b"\xff" * 50, "the gzip data is damaged"),
        (gzip.compress(b"\0" * (60 << 20)), "refused: the gzip data unpacks"),
        (gzip.compress(b"<urlset>" + b" " * (20 << 20)), "refused: the gzip data unpacks"),
        (b"<urlset>" + b"\0" * 100, "broken"),
    ],
)  # fmt: skip
def test_what_is_not_a_sitemap_is_said_in_words(body, words):
    listing = read(body)
    assert words in listing.problem
    assert listing.sightings == ()


@pytest.mark.slow
def test_a_sitemap_of_too_many_entries_is_cut_at_the_protocols_limit():
    entries = "".join(f"<url><loc>https://h.hr/{n}</loc></url>" for n in range(MAX_ENTRIES + 10_000))
    listing = read(urlset(entries))
    assert len(listing.sightings) == MAX_ENTRIES
    assert [note.code for note in listing.notes] == ["sitemap_limit"]


@pytest.mark.parametrize(
    "body",
    [
        "<urlset>" + "<url>" * 100_000,
        "<urlset>" + "<url><loc>" + "x" * 11_000_000,
        "<urlset><url><loc>" + "<url><loc>a</loc>" * 20_000,
        "<sitemapindex>" + "<sitemap><loc>https://h.hr/x</loc></sitemap>" * 5_000,
        gzip.compress(gzip.compress(b"<urlset/>", mtime=0), mtime=0),
    ],
)
def test_a_sitemap_made_to_hurt_ends_as_a_listing(body):
    assert len(read(body).follow) <= 1


UNREADABLE = {
    "no address": "<{tag}><lastmod>2026-01-01</lastmod></{tag}>",
    "an empty address": "<{tag}><loc> </loc></{tag}>",
    "another name": "<{tag}><address>https://h.hr/a</address></{tag}>",
    "words": "<{tag}>to be done</{tag}>",
    "no address of the web": "<{tag}><loc>javascript:void(0)</loc></{tag}>",
    "in an attribute": "<{tag} loc='https://h.hr/a'/>",
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize(("root", "tag"), [("urlset", "url"), ("sitemapindex", "sitemap")])
def test_a_sitemap_whose_entries_have_no_address_is_not_an_empty_one(name, root, tag):
    entry = UNREADABLE[name].format(tag=tag)
    listing = read(f"<{root} {SPACE}>{entry * 3}</{root}>")
    assert (listing.sightings, listing.follow) == ((), ())
    assert listing.problem == "none of the 3 entries has an address"


def test_a_sitemap_without_entries_is_empty_and_has_no_problem():
    assert read(f"<urlset {SPACE}></urlset>") == Listing()


def test_one_entry_without_an_address_costs_itself_alone():
    listing = read(urlset("<url/>", "<url><loc>https://h.hr/a</loc></url>"))
    assert (urls(listing), listing.problem) == (["https://h.hr/a"], "")


@pytest.mark.parametrize(
    "entry",
    [
        "<sitemap>\n https://h.hr/s.xml \n</sitemap>",
        "<sitemap>https://h.hr/s.xml<lastmod>2026-01-01</lastmod></sitemap>",
        "<sitemap><loc><url>https://h.hr/s.xml</url></loc></sitemap>",
        "<sitemap><loc><![CDATA[https://h.hr/s.xml]]></loc></sitemap>",
        "<sitemap><loc>https://h.hr/<b>s.xml</b></loc></sitemap>",
        "<sitemap><loc/><loc>https://h.hr/s.xml</loc></sitemap>",
    ],
)
def test_an_address_is_read_wherever_the_entry_keeps_it(entry):
    listing = read(f"<sitemapindex {SPACE}>{entry}</sitemapindex>")
    assert [(child.url, listing.problem) for child in listing.follow] == [("https://h.hr/s.xml", "")]


def test_every_address_of_an_entry_is_read_with_its_own_date():
    dates = {"a": "2026-01-01", "b": "2026-02-02", "c": "2026-03-03"}
    inside = "".join(
        f"<loc>https://h.hr/{name}.xml</loc><lastmod>{at}</lastmod>" for name, at in dates.items()
    )
    before = "".join(
        f"<lastmod>{at}</lastmod><loc>https://h.hr/{name}.xml</loc>" for name, at in dates.items()
    )
    for form in (inside, before):
        listing = read(f"<sitemapindex {SPACE}><sitemap>{form}</sitemap></sitemapindex>")
        seen = {child.url[13:14]: f"{child.modified_at:%Y-%m-%d}" for child in listing.follow}
        assert seen == dates


def test_every_address_is_read_where_no_entry_is_closed():
    names = [f"https://h.hr/{n}.xml" for n in range(30)]
    entries = "".join(f"<sitemap><loc>{name}</loc><lastmod>2026-01-01</lastmod>" for name in names)
    listing = read(f"<sitemapindex {SPACE}>{entries}</sitemapindex>")
    assert {child.url for child in listing.follow} == set(names)
    assert all(child.modified_at == datetime(2026, 1, 1, tzinfo=UTC) for child in listing.follow)
