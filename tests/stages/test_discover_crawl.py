"""Links of pages to targets in scope, and what a memo may and may not change."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from vedette.contracts.source import ListerKind, ListerOptions, Listing, Sighting
from vedette.core.urls.canonical import PLAIN_PATH, canonical, watch_id
from vedette.discover import ListingDocument, lister_of_found, read_listing
from vedette.discover.crawl import LinkReader, sight

NOW = datetime(2026, 11, 15, tzinfo=UTC)
PAGE = "https://www.h.hr/a/b/page.html?x=1"


def read(html: str, *, depth: int = 0, **options: object) -> Listing:
    wanted = ListerOptions(**options)  # type: ignore[arg-type]
    document = ListingDocument(
        url=PAGE, body=html.encode(), content_type="text/html", options=wanted, depth=depth, now=NOW
    )
    return read_listing(ListerKind.CRAWL, document)


def urls(listing: Listing) -> list[str]:
    return [sighting.url for sighting in listing.sightings]


HTML = """<a href="/1">1</a><a href="c">c</a><a href="../d?z=1&amp;a=2">d</a>
<a href="https://h.hr/bare">bare</a><a href="https://other.hr/x">other</a><a href="/s.css">css</a>
<a href="/i.PNG?1">i</a><a href="mailto:a@h.hr">m</a><a href="/1#frag">again</a><a href="/1/">again</a>
<area href="/map"><a href="/f.pdf">pdf</a><a rel="nofollow ugc" href="/nf">n</a>"""


def test_links_in_scope_come_once_and_parts_of_pages_never():
    expected = ["https://www.h.hr/1", "https://www.h.hr/a/b/c", "https://www.h.hr/a/d?z=1&a=2", "https://h.hr/bare",
                "https://www.h.hr/map", "https://www.h.hr/f.pdf"]  # fmt: skip
    assert [url.rstrip("/") for url in urls(read(HTML))] == expected
    assert [sighting.is_document for sighting in read(HTML).sightings] == [False] * 5 + [True]


def test_nofollow_is_honoured_unless_the_user_says_otherwise():
    meta = '<meta name="ROBOTS" content="noindex, nofollow">'
    assert "https://www.h.hr/nf" in urls(read(HTML, honour_nofollow=False))
    listing = read(meta + HTML)
    assert (listing.sightings, [note.code for note in listing.notes]) == ((), ["nofollow"])
    assert len(urls(read(meta + HTML, honour_nofollow=False))) == 7


def test_at_the_last_depth_only_documents_are_sighted():
    assert urls(read(HTML, depth=4)) == ["https://www.h.hr/f.pdf"]
    assert len(urls(read(HTML, depth=3))) == 6


def test_include_and_exclude_refuse_with_a_reason():
    listing = read(HTML, include=(r"/a/", r"\.pdf$"), exclude=(r"\?",))
    assert urls(listing) == ["https://www.h.hr/a/b/c", "https://www.h.hr/f.pdf"]
    assert {reason.code for _, reason in listing.refused} == {"include", "exclude"}


def test_other_hosts_of_the_source_are_in_scope():
    assert "https://other.hr/x" in urls(read(HTML, follow_hosts=("other.hr",)))
    assert "https://other.hr/x" in urls(read(HTML, follow_hosts=("*",)))


def test_pages_of_a_crawl_are_crawled_on_and_documents_are_not():
    page, document = (
        Sighting(url=url, id=watch_id(url), is_document=url.endswith("pdf"))
        for url in ("https://h.hr/a", "https://h.hr/a.pdf")
    )
    assert lister_of_found(ListerKind.CRAWL, page) is ListerKind.CRAWL
    assert lister_of_found(ListerKind.CRAWL, document) is None
    assert lister_of_found(ListerKind.SITEMAP, page) is None


def test_only_unseen_links_need_to_become_sightings():
    reader = LinkReader("https://h.hr/")
    links = reader.links("https://h.hr/", "", ["/1", "/2", "/3"])
    seen = {links[0][0]}
    listing = sight([link for link in links if link[0] not in seen], ListerOptions(), depth=0)
    assert urls(listing) == ["https://h.hr/2", "https://h.hr/3"]


ODD = (
    "|#a|?page=2|x|./x|../x|/x|/x/|//other.hr/x|//h.hr/y|http:x|http:/x|https://h.hr|HTTPS://H.HR/z| /x |/a//b|"
    "/./x|/a/../b|/%7Ex|\\\\h.hr\\x|/x;jsessionid=1|mailto:x|JavaScript:x|/i.jpg|/a.pdf|/?a=1&utm_x=2|"
    "/index.html|http://[|data:x"
)
HREF = st.one_of(st.sampled_from(ODD.split("|")), st.text("/.a?#:%-_~1 ", max_size=8))
BASE = st.sampled_from(
    [
        "https://h.hr/",
        "https://h.hr/a/b.html?q=1",
        "http://www.h.hr/a/",
        "https://h.hr/a/c",
        "https://evil.hr/a/",
    ]
)


@settings(deadline=None)
@given(st.lists(st.tuples(BASE, st.lists(HREF, max_size=8)), max_size=6), st.sampled_from([1, 5, 1000]))
def test_the_memo_never_changes_the_answer(pages, memo):
    reader = LinkReader("https://h.hr/", memo=memo)
    for base, hrefs in pages:
        expected = {}
        for href in hrefs:
            url = canonical(href, base)
            host = url.split("/")[2] if url else ""
            if (
                url
                and host in ("h.hr", "www.h.hr")
                and not href.lower().startswith("#")
                and ".jpg" not in url
            ):
                expected[watch_id(url)] = None
        assert [identity for identity, _ in reader.links(base, base, hrefs)] == list(expected)


@given(
    st.lists(st.text("abcXYZ019_.~-", min_size=1, max_size=6), min_size=1, max_size=5),
    st.sampled_from(["", "/"]),
)
def test_a_plain_path_needs_no_parser(segments, end):
    path = "/" + "/".join(segments) + end
    assume(PLAIN_PATH.fullmatch(path))
    assert canonical(path, PAGE) == "https://www.h.hr" + path
    assert canonical("https://www.h.hr" + path, "http://else.hr/") == "https://www.h.hr" + path
    for folder in ("https://h.hr/", "http://h.hr:8080/a/", "https://h.hr/a/b.c/"):
        assert canonical(path[1:], f"{folder}page.html?q=/x") == folder + path[1:]


def test_the_memo_is_bounded():
    reader = LinkReader("https://h.hr/", memo=100)
    for page in range(50):
        reader.links(
            f"https://h.hr/d{page}/", "", [f"/{page}/{n}" for n in range(60)] + [f"r{n}" for n in range(60)]
        )
        assert sum(map(len, reader._memos.values())) <= 100


@pytest.mark.parametrize(
    "html", ["<a href>" * 10_000, "<a href='" + "x" * 100_000 + "'>", "<a href=/1>" * 100_000]
)
def test_a_page_made_to_hurt_ends_as_a_listing(html):
    assert len(read(html).sightings) <= 1
