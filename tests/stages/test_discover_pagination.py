"""Lists over several pages: forwards only, gaps filled, never more than max_pages."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from vedette.contracts.source import ListerKind, ListerOptions, Listing
from vedette.discover import ListingDocument, read_listing

NOW = datetime(2026, 11, 15, tzinfo=UTC)
ITEMS = "".join(f'<article><a href="/clanak/{n}">Članak {n}</a></article>' for n in range(3))


def read(html: str, *, url: str = "https://h.hr/vijesti", depth: int = 0, **options: object) -> Listing:
    wanted = ListerOptions(**options)  # type: ignore[arg-type]
    document = ListingDocument(
        url=url, body=html.encode(), content_type="text/html", options=wanted, depth=depth, now=NOW
    )
    return read_listing(ListerKind.PAGINATION, document)


def pager(*links: tuple[str, str], kind: str = "pagination") -> str:
    return (
        ITEMS
        + f'<ul class="{kind}">'
        + "".join(f'<li><a href="{href}">{text}</a></li>' for href, text in links)
        + "</ul>"
    )


def pages(listing: Listing) -> list[tuple[str, int]]:
    return [(follow.url.removeprefix("https://h.hr"), follow.depth) for follow in listing.follow]


def test_entries_are_sighted_and_links_of_the_pager_are_not():
    listing = read(pager(("?page=1", "1"), ("?page=2", "2"), ("?page=3", "3")))
    assert [sighting.url for sighting in listing.sightings] == [f"https://h.hr/clanak/{n}" for n in range(3)]
    assert pages(listing) == [("/vijesti?page=2", 1), ("/vijesti?page=3", 2)]
    assert {follow.lister for follow in listing.follow} == {ListerKind.PAGINATION}


@pytest.mark.parametrize(
    ("url", "links", "expected"),
    [
        ("/vijesti", [("?page=1", "2"), ("?page=2", "3")], [("/vijesti?page=1", 1), ("/vijesti?page=2", 2)]),
        ("/vijesti", [("?page=1", "next ›")], [("/vijesti?page=1", 1)]),
        ("/vijesti/", [("/vijesti/page/2/", "2")], [("/vijesti/page/2/", 1)]),
        ("/v?cat=7", [("?cat=7&p=2", "2"), ("?cat=7&p=3", "3")], [("/v?cat=7&p=2", 1), ("/v?cat=7&p=3", 2)]),
        ("/v?page=2", [("?page=1", "1"), ("?page=3", "3")], [("/v?page=3", 1)]),
        ("/v?page=9", [("?page=1", "1"), ("?page=8", "8")], []),
        ("/v", [("?page=0", "1"), ("?page=1", "2")], [("/v?page=1", 1)]),
        ("/v", [("/other?page=999999999", "x"), ("?page=2", "2")], [("/v?page=2", 1)]),
    ],
)
def test_pages_are_numbered_by_what_the_site_shows(url, links, expected):
    assert pages(read(pager(*links), url="https://h.hr" + url)) == expected


def test_a_link_to_the_last_page_fills_the_pages_between_up_to_max_pages():
    links = [("?page=2", "2"), ("?page=57", "57")]
    assert [depth for _, depth in pages(read(pager(*links)))] == list(range(1, 20))
    assert pages(read(pager(*links), max_pages=3)) == [("/vijesti?page=2", 1), ("/vijesti?page=3", 2)]
    assert pages(read(pager(*links), max_pages=1)) == []


@pytest.mark.parametrize(
    "head",
    [
        '<link rel="next" href="/vijesti?cursor=abc">',
        '<a rel="next" href="/vijesti?cursor=abc">x</a>',
        '<div class="pager"><a href="/vijesti?cursor=abc">Sljedeća »</a></div>',
        '<div class="pagination"><a href="/vijesti?cursor=abc">›</a></div>',
        '<nav aria-label="Pagination"><a class="next" href="/vijesti?cursor=abc">dalje</a></nav>',
    ],
)
def test_a_cursor_is_followed_one_page_at_a_time(head):
    assert pages(read(head + ITEMS, depth=4)) == [("/vijesti?cursor=abc", 5)]
    assert pages(read(head + ITEMS, depth=19)) == []


def test_page_links_outside_a_pager_count_only_for_this_listing():
    html = ITEMS + '<a href="?page=2">2</a><a href="/forum?page=7">forum</a><a href="/p/page/3">x</a>'
    assert pages(read(html)) == [("/vijesti?page=2", 1)]


def test_the_users_pattern_names_the_pages():
    html = (
        ITEMS
        + '<a href="/vijesti/str2.html">2</a><a href="/vijesti/str4.html">4</a><a href="/x?page=2">2</a>'
    )
    expected = [("/vijesti/str2.html", 1), ("/vijesti/str3.html", 2), ("/vijesti/str4.html", 3)]
    assert pages(read(html, pagination_pattern=r"/str(\d+)\.html")) == expected
    assert read(html, pagination_pattern="(").problem.startswith("pagination_pattern: '('")


def test_an_empty_page_is_the_last():
    listing = read(
        '<ul class="pager"><a href="?page=9">9</a></ul>', url="https://h.hr/vijesti?page=8", depth=7
    )
    assert (listing.follow, listing.problem) == ((), "")
    assert [note.code for note in listing.notes] == ["last_page"]


def test_a_walk_over_an_endless_list_reads_max_pages_pages():
    def serve(number: int) -> str:
        return pager((f"?page={number - 1}", "prev"), (f"?page={number + 1}", "next"), ("?page=1", "first"))

    queue, read_pages = [("https://h.hr/vijesti", 0)], []
    seen = {queue[0][0]}
    while queue:
        url, depth = queue.pop(0)
        read_pages.append(depth)
        number = int(url.partition("page=")[2] or 1)
        for follow in read(serve(number), url=url, depth=depth).follow:
            if follow.url not in seen:
                seen.add(follow.url)
                queue.append((follow.url, follow.depth))
    assert len(read_pages) <= 20 + 1
    assert max(read_pages) == 19


def test_a_page_that_names_itself_as_the_next_is_the_last():
    assert pages(read(ITEMS + '<a rel="next" href="/vijesti/">dalje</a>')) == []


def test_other_hosts_are_never_followed():
    assert pages(read(ITEMS + '<a rel="next" href="https://evil.example/?page=2">2</a>')) == []


def test_a_pager_that_numbers_its_pages_without_saying_page_is_followed():
    listing = read(pager(("/vijesti/2", "2"), ("/vijesti/4", "4")))
    assert pages(listing) == [("/vijesti/2", 1), ("/vijesti/3", 2), ("/vijesti/4", 3)]
