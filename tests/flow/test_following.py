"""What a crawl follows, as the far end sees it."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripted import life, page

SITE = "https://ured.hr/"
LINKS = "".join(
    f"<p><a href='/{name}'{mark}>{name}</a></p>"
    for name, mark in (
        ("plain", ""),
        ("marked", " rel='noopener NoFollow'"),
        ("twice", " rel=nofollow"),
        ("twice", ""),
        ("ugc", " rel=ugc"),
    )
)


def site(**front):
    """The first page says `front`; every other page has a text of its own."""

    def script(url, hours):
        if url.endswith("robots.txt"):
            return 200, ""
        if url != SITE:
            return 200, page(f"Stranica {url} ima svoj tekst.")
        head = f"<meta name=robots content='{front['meta']}'>" if "meta" in front else ""
        body = page("Pregled svih stranica ureda.", head=head).replace("</body>", LINKS + "</body>")
        return 200, body, front.get("headers", {})

    return script


async def crawled(folder: Path, script, **source) -> set[str]:
    watched = life(folder, script, {"url": SITE, "lister": "crawl"} | source)
    await watched.run(seconds=3600)
    return {url.removeprefix(SITE) for _, url in watched.fetcher.asked} - {"", "robots.txt"}


async def test_a_crawl_does_not_follow_what_the_page_only_ever_marks_nofollow(tmp_path: Path):
    assert await crawled(tmp_path, site()) == {"plain", "twice", "ugc"}


@pytest.mark.parametrize(
    "front",
    [
        {"meta": "noindex, nofollow"},
        {"meta": "none"},
        {"headers": {"X-Robots-Tag": "nofollow"}},
        {"headers": {"x-robots-tag": "vedette: none"}},
    ],
)
async def test_a_page_that_asks_so_leads_nowhere(tmp_path: Path, front):
    assert await crawled(tmp_path, site(**front)) == set()


@pytest.mark.parametrize(
    "front", [{"meta": "noindex"}, {"headers": {"X-Robots-Tag": "noindex, otherbot: nofollow"}}]
)
async def test_noindex_speaks_to_search_engines_so_the_page_is_watched_and_its_links_followed(
    tmp_path: Path, front
):
    watched = life(tmp_path, site(**front), {"url": SITE, "lister": "crawl"})
    await watched.run(seconds=48 * 3600)
    assert len(watched.fetcher.looks(SITE)) > 5
    assert watched.fetcher.looks(SITE + "plain")


async def test_the_operator_of_a_site_may_have_everything_followed(tmp_path: Path):
    script = site(meta="nofollow", headers={"X-Robots-Tag": "nofollow"})
    found = await crawled(tmp_path, script, honour_nofollow=False)
    assert found == {"plain", "marked", "twice", "ugc"}


async def test_a_source_sets_its_own_budgets_against_sites_without_end(tmp_path: Path):
    def endless(url, hours):
        if url.endswith("robots.txt"):
            return 200, ""
        links = "".join(f"<a href='/clanak/{n}'>{n}</a>" for n in range(30))
        return 200, page(f"Stranica {url} ima svoj tekst.").replace("</body>", links + "</body>")

    watched = life(tmp_path, endless, {"url": SITE, "lister": "crawl", "traps": {"shape": 5}})
    await watched.run(seconds=3600)
    assert watched.rows("SELECT COUNT(*) FROM watches") == [(6,)]
    assert watched.rows("SELECT DISTINCT reason FROM refusals") == [("trap_shape",)]
    assert "'shape' is 5" in watched.rows("SELECT note FROM refusals")[0][0]
