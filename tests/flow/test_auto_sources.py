"""Pages that a feed names on other hosts: whose they are, through the whole stream."""

from __future__ import annotations

from scripted import life, page

FEED = "https://news.hr/feed"
ITEMS = (
    "https://news.hr/1",
    "https://nn.hr/a",
    "https://www.nn.hr/b",
    "https://latest.hr/c",
    "https://test.nn.hr/d",
)
SOURCE = {"id": "news", "url": FEED, "lister": "feed"}


def script(url: str, hours: float):
    if url == FEED:
        entries = "".join(f"<item><title>t</title><link>{link}</link></item>" for link in ITEMS)
        return 200, f'<rss version="2.0"><channel>{entries}</channel></rss>'
    return (200, "") if url.endswith("/robots.txt") else (200, page(url))


def owners(watched) -> dict[str, str]:
    return dict(watched.rows("SELECT url, source_id FROM watches"))


async def test_unknown_hosts_get_a_source_where_that_is_wanted(tmp_path):
    watched = life(tmp_path, script, SOURCE, discover={"auto_sources": True})
    assert (await watched.run(seconds=3600.0)).error is None
    assert owners(watched) == {
        FEED: "news",
        "https://news.hr/1": "news",
        "https://nn.hr/a": "nn-hr",
        "https://www.nn.hr/b": "nn-hr",
        "https://latest.hr/c": "latest-hr",
    }  # test.nn.hr is blocked by a whole label, latest.hr is not
    rows = watched.rows("SELECT id, name, url, origin FROM sources WHERE origin = 'auto' ORDER BY id")
    assert rows == [
        ("latest-hr", "Auto: latest.hr", "https://latest.hr/", "auto"),
        ("nn-hr", "Auto: nn.hr", "https://nn.hr/", "auto"),
    ]
    assert watched.rows("SELECT url FROM refusals") == [("https://test.nn.hr/d",)]
    assert watched.outcomes() == {"ok": 5}
    await watched.run(seconds=6 * 3600.0)
    assert watched.rows("SELECT COUNT(*) FROM sources") == [(3,)]


async def test_otherwise_a_page_belongs_to_the_source_that_found_it(tmp_path):
    watched = life(tmp_path, script, SOURCE)
    await watched.run(seconds=3600.0)
    assert set(owners(watched).values()) == {"news"}
