"""Rules of 000 and 001 that only the whole stream can show."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta

import pytest
from cli_call import Cli
from scripted import START, life, page
from watching import clock_of, living, living_web

from vedette.contracts.jobs import SentinelOrder
from vedette.contracts.words import RunId, SourceId
from vedette.core.health.source_health import health_of, is_healthy
from vedette.core.urls.canonical import watch_id
from vedette.livingweb import HostSpec, World
from vedette.livingweb.process import Never
from vedette.store.alerts import health_facts
from vedette.store.operator import operating, order_sources

URL = "https://ured.hr/obavijest"
NEW, FRONT = "https://ured.hr/stope/2026", "https://ured.hr/"
DAY = 86_400.0
POLLS_PER_DAY = 6  # one in four hours


def site(answer):
    """A script; robots.txt is missing."""
    return lambda url, hours: (200, "") if url.endswith("robots.txt") else answer(url, hours)


def decisions(watched, url: str) -> list[list[dict[str, object]]]:
    """What each look at this URL decided, oldest first."""
    rows = watched.rows(
        "SELECT payload FROM ledger l JOIN watches w ON w.id = l.watch_id "
        "WHERE w.url = ? AND l.kind = 'visit' ORDER BY l.at",
        url,
    )
    return [json.loads(payload) for (payload,) in rows]


def actions(watched, url: str) -> list[set[object]]:
    return [{one["action"] for one in look} for look in decisions(watched, url)]


async def test_the_time_of_the_last_change_stays_when_nothing_changed(tmp_path):
    """000 section 3 has null for a look without a change, which would erase it."""
    texts = site(lambda url, h: (200, page("Stopa je 24 %." if h >= 6 else "Stopa je 25 %.")))
    watched = life(tmp_path, texts, {"url": URL, "lister": "page"})
    await watched.run(seconds=5 * 3600)
    assert watched.rows("SELECT last_changed_at FROM watches") == [(None,)]
    await watched.run(seconds=8 * 3600)
    (changed_at,) = watched.rows("SELECT last_changed_at FROM watches")[0]
    ((_, _, after, _),) = watched.reported()
    assert changed_at == after > START.timestamp() * 1000
    looks = len(watched.rows("SELECT id FROM visits"))
    await watched.run(seconds=24 * 3600)
    assert len(watched.rows("SELECT id FROM visits")) > looks + 4
    assert watched.rows("SELECT last_changed_at FROM watches") == [(changed_at,)]


async def test_a_listing_that_did_not_change_is_not_parsed_again(tmp_path):
    """001 sections 2.4 and 9.2: equal bytes, and 304, end the scan before the lister."""
    listing = "https://ured.hr/vijesti"

    def news(url, hours):
        if url != listing:
            return (200, page(f"O tome: {url}"))
        known = [f'<article><a href="/vijesti/{n}">Vijest broj {n}</a></article>' for n in range(1, 4)]
        late = '<article><a href="/vijesti/9">Vijest broj 9</a></article>' if hours >= 14 else ""
        return (304, "") if 5 < hours < 9 else (200, f"<html><body>{''.join(known)}{late}</body></html>")

    watched = life(tmp_path, site(news), {"url": listing, "lister": "html_list"})
    await watched.run(seconds=13 * 3600)
    assert watched.outcomes()["not_modified"] == 1
    looks = actions(watched, listing)
    assert [("list" in look) for look in looks] == [True, *[False] * (len(looks) - 1)]
    assert len(looks) >= 4
    await watched.run(seconds=8 * 3600)
    assert any("list" in look for look in actions(watched, listing)[len(looks) :])
    assert watched.rows("SELECT 1 FROM watches WHERE url LIKE '%/vijesti/9'") == [(1,)]


async def test_a_listing_that_a_run_had_no_room_for_is_read_again_by_the_next(tmp_path):
    """001 section 11.2, maxItemsPerRun: what is over the limit is refused for now, and not forgotten."""
    listing = "https://ured.hr/vijesti"
    entries = "".join(f'<article><a href="/vijesti/{n}">Vijest broj {n}</a></article>' for n in range(7))

    def news(url, hours):
        return (200, f"<html><body>{entries}</body></html>" if url == listing else page(f"O tome: {url}"))

    watched = life(tmp_path, site(news), {"url": listing, "lister": "html_list"}, run={"max_sightings": 3})
    counts = []
    for _ in range(4):
        await watched.run(seconds=5 * 3600)
        counts.append(watched.rows("SELECT COUNT(*) FROM watches WHERE url <> ?", listing)[0][0])
    assert counts == [3, 6, 7, 7]
    assert "run_limit" in {reason for (reason,) in watched.rows("SELECT reason FROM refusals")}


SITEMAP = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def _sitemaps(url, hours):
    """An index, two sitemaps, pages of which half are wanted."""
    if url.endswith("/sitemap.xml"):
        parts = "".join(f"<sitemap><loc>https://ured.hr/map-{n}.xml</loc></sitemap>" for n in (1, 2))
        return (200, f"<sitemapindex {SITEMAP}>{parts}</sitemapindex>")
    if "/map-" in url:
        number = url[-5]
        paths = (f"zakon/{number}", f"vijest/{number}")
        return (
            200,
            f"<urlset {SITEMAP}>{''.join(f'<url><loc>https://ured.hr/{p}</loc></url>' for p in paths)}</urlset>",
        )
    return (200, page(f"O tome: {url}"))


def _pages(url, hours):
    """A list of two pages; half of what they name is wanted."""
    if "/popis" not in url:
        return (200, page(f"O tome: {url}"))
    number = 2 if "page=2" in url else 1
    entries = "".join(
        f'<article><a href="/{kind}/{number}{n}">{kind} broj {number}{n}</a></article>'
        for kind in ("zakon", "vijest")
        for n in range(4)
    )
    return (200, f'<html><body>{entries}<a rel="next" href="/popis?page=2">Dalje</a></body></html>')


@pytest.mark.parametrize(
    ("answer", "source", "wanted"),
    [
        (_sitemaps, {"url": "https://ured.hr/sitemap.xml", "lister": "sitemap"}, 2),
        (_pages, {"url": "https://ured.hr/popis", "lister": "pagination"}, 8),
    ],
    ids=["sitemap", "pagination"],
)
@pytest.mark.parametrize(
    "filters", [{"include": ["/zakon/"]}, {"url_pattern": "/zakon/"}, {"exclude": ["/vijest/"]}], ids=str
)
async def test_filters_say_which_pages_are_wanted_not_which_lists_are_read(
    tmp_path, answer, source, wanted, filters
):
    """A child of a sitemap index, or the next page of a list, need not look like the pages that it names."""
    watched = life(tmp_path, site(answer), source | filters)
    await watched.run(seconds=2 * 3600)
    pages = [url for (url,) in watched.rows("SELECT url FROM watches WHERE lister IS NULL")]
    assert len(pages) == wanted
    assert all("/zakon/" in url for url in pages)


async def test_listings_that_an_older_version_held_back_are_read_once_it_is_replaced(tmp_path):
    """The index itself is as it was: nobody would read it again for that."""
    source = {"url": "https://ured.hr/sitemap.xml", "lister": "sitemap", "include": ["/zakon/"]}
    watched = life(tmp_path, site(_sitemaps), source)
    await watched.run(seconds=1800)
    with operating(watched.data / "vedette.db") as db:
        db.execute("DELETE FROM watches WHERE url LIKE '%map-_.xml' OR url LIKE '%/zakon/_'")
        db.execute("UPDATE runs SET rules = json_remove(rules, '$.settings.admission')")
        db.execute("UPDATE watches SET due_at = due_at + 1000000000")
    await watched.run(seconds=1800)
    assert len(watched.rows("SELECT url FROM watches WHERE lister IS NULL")) == 2


async def test_a_listing_that_is_excluded_is_not_read(tmp_path):
    source = {"url": "https://ured.hr/sitemap.xml", "lister": "sitemap", "exclude": ["/map-2", "/vijest/"]}
    watched = life(tmp_path, site(_sitemaps), source)
    await watched.run(seconds=2 * 3600)
    pages = [url for (url,) in watched.rows("SELECT url FROM watches WHERE lister IS NULL")]
    assert pages == ["https://ured.hr/zakon/1"]


async def test_sources_that_fail_each_in_their_way_leave_the_others_alone(tmp_path):
    """001 section 8.1."""

    def town(url, hours):
        if "kvar" in url:
            return (500, "x")
        if "nema" in url:
            return (404, "x")
        if "greska" in url and not url.endswith("robots.txt"):
            raise ValueError("a fault of ours")
        if "zid" in url:
            return (200, "User-agent: *\nDisallow: /")
        return (200, page(f"Stranica {url}, stopa je 25 %."))

    bad = [f"https://{name}.hr/x" for name in ("kvar", "nema", "greska", "zid")]
    good = [f"https://dobar-{n}.hr/x" for n in range(6)]
    named = [{"url": url, "name": url.split("/")[2], "lister": "page"} for url in (*bad, *good)]
    watched = life(tmp_path, town, *named)
    ended = await watched.run(seconds=600)
    seen = watched.rows(
        "SELECT w.url FROM visits v JOIN watches w ON w.id = v.watch_id WHERE v.outcome = 'ok' ORDER BY 1"
    )
    assert [url for (url,) in seen] == good
    assert ended.result is not None
    assert {error.split(": ")[0] for error in ended.result.errors} >= {"kvar.hr", "greska.hr", "zid.hr"}
    assert ended.result.success


async def test_no_more_jobs_are_leased_at_once_than_a_cycle_has(tmp_path):
    """000 section 5: 500 of them; `run.per_cycle` says how many."""
    urls = [f"https://ured-{n}.hr/x" for n in range(9)]
    slowly = {"all": {"gap_min": "10s", "gap_max": "10s"}}  # so that each look is settled before the next

    async def most_leased(name: str, **run: int) -> int:
        leased = []

        def count(url, hours):
            with sqlite3.connect(tmp_path / name / "vedette.db") as db:
                leased.append(db.execute("SELECT COUNT(*) FROM leases").fetchone()[0])
            return (200, page("Stopa je 25 %."))

        sources = [{"url": url, "lister": "page"} for url in urls]
        watched = life(tmp_path / name, site(count), *sources, run=run, lanes=slowly)
        await watched.run(seconds=600)
        assert watched.rows("SELECT COUNT(*) FROM visits") == [(9,)]
        return max(leased)

    assert await most_leased("plain") > 5
    assert await most_leased("few", per_cycle=2) <= 3  # one may be under way


async def test_an_address_that_moved_for_good_becomes_one_target_with_the_new_one(tmp_path):
    """001 section 12.4.  Only once both showed the same text, and the ledger says so."""
    moved = site(lambda url, h: (301, "", {"location": NEW}) if url == URL else (200, page("Stopa je 25 %.")))
    watched = life(tmp_path, moved, {"url": URL, "lister": "page"})
    await watched.run(seconds=24 * 3600)
    rows = watched.rows("SELECT url, merged_into IS NOT NULL, due_at IS NULL FROM watches ORDER BY url")
    assert rows == [(URL, 1, 1), (NEW, 0, 0)]
    (merge,) = [one for one in decisions(watched, URL)[-1] if one["action"] == "merge"]
    assert merge["output"] == NEW
    said = Cli(watched.data)("explain", URL, "--json").json
    assert (said["url"], said["merged_from"]) == (NEW, URL)
    assert (
        f"merged    {URL} showed the same text and is looked at here" in Cli(watched.data)("explain", URL).out
    )
    assert Cli(watched.data)("why-not", URL, "--json").json["reason"] == "merged"
    assert watched.reported() == []


async def test_a_source_whose_address_moved_is_ordered_and_judged_by_where_it_is_looked_at(tmp_path):
    moved = site(lambda url, h: (301, "", {"location": NEW}) if url == URL else (200, page("Stopa je 25 %.")))
    watched = life(tmp_path, moved, {"url": URL, "name": "ured", "lister": "page"})
    await watched.run(seconds=60 * 3600)
    now = watched.clock.now()
    with operating(tmp_path / "vedette.db") as db:
        (health,) = (health_of(facts, now=now) for facts in health_facts(db, now=now))
        (address,) = order_sources(db, SentinelOrder(run=RunId("r"), source=SourceId("ured")), now=now)
    assert is_healthy(health)
    assert address.watch == watch_id(NEW)
    ((scraped_at, errors),) = watched.rows(
        'SELECT "lastScrapedAt", "consecutiveErrors" FROM "DiscoveryEndpoint"'
    )
    assert (scraped_at > (now - timedelta(hours=5)).timestamp() * 1000, errors) == (True, 0)
    ended = await watched.run(seconds=60)
    assert ended.result is not None
    assert (ended.result.sources_checked, ended.result.errors) == (1, ())


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((302, "", {"location": NEW}), id="for now"),
        pytest.param((301, "", {"location": FRONT}), id="to the front page"),
        pytest.param((301, "", {"location": "https://drugi.hr/stope"}), id="to another host"),
        pytest.param(
            (200, page("Rok je 31. ožujka.", head=f'<link rel="canonical" href="{NEW}">')), id="text"
        ),
        pytest.param(
            (200, page("Stopa je 25 %.", head='<link rel="canonical" href="https://ured.hr/nema">')),
            id="gone",
        ),
        pytest.param(
            (200, page("Stopa je 25 %.", head=f'<link rel="canonical" href="{FRONT}">')), id="front page"
        ),
    ],
)
async def test_addresses_that_are_not_surely_the_same_page_stay_two(tmp_path, answer):
    def town(url, hours):
        return answer if url == URL else (404, "nema") if "nema" in url else (200, page("Stopa je 25 %."))

    watched = life(tmp_path, site(town), *({"url": url, "lister": "page"} for url in (URL, NEW, FRONT)))
    await watched.run(seconds=24 * 3600)
    assert watched.rows("SELECT merged_into, due_at IS NOT NULL FROM watches WHERE url = ?", URL) == [
        (None, 1)
    ]


async def test_nothing_is_merged_into_an_address_that_is_gone(tmp_path):
    def town(url, hours):
        if url == NEW:
            return (404, "nema") if hours >= 2 else (200, page("Stopa je 25 %."))
        head = f'<link rel="canonical" href="{NEW}">' if hours >= 40 else ""
        return (200, page("Stopa je 25 %.", head=head))

    watched = life(tmp_path, site(town), *({"url": url, "lister": "page"} for url in (URL, NEW)))
    await watched.run(seconds=72 * 3600)
    assert watched.rows("SELECT is_gone FROM watches WHERE url = ?", NEW) == [(1,)]
    assert watched.rows("SELECT merged_into, due_at IS NOT NULL FROM watches WHERE url = ?", URL) == [
        (None, 1)
    ]


async def test_evidence_that_says_nearly_the_same_as_another_is_kept_and_named_as_similar(tmp_path):
    """001 section 9.2, step 2."""
    law = "Porezni obveznik podnosi prijavu poreza do kraja veljače, a upravitelj o njoj odlučuje u roku. "

    def town(url, hours):
        if url == FRONT:
            return (
                200,
                page("Lučka kapetanija objavljuje tablice plime i cijene vezova za male brodice. " * 9),
            )
        return (200, page(law * 8 + ("U Zagrebu, 1. ožujka." if url == NEW else "U Splitu, 2. ožujka.")))

    watched = life(tmp_path, site(town), *({"url": url, "lister": "page"} for url in (URL, NEW, FRONT)))
    await watched.run(seconds=3600)
    assert watched.rows("SELECT COUNT(*) FROM evidence") == [(3,)]
    ((one, other, share),) = watched.rows(
        "SELECT e.url, o.url, l.share FROM likenesses l JOIN evidence e ON e.id = l.evidence_id "
        "JOIN evidence o ON o.id = l.other_id"
    )
    assert {one, other} == {URL, NEW}
    assert 0.9 <= share < 1
    cli = Cli(watched.data)
    assert cli("explain", one, "--json").json["similar"] == {"url": other, "share": share}
    assert f"similar   {share:.0%} as {other}" in cli("explain", one).out
    assert cli("explain", FRONT, "--json").json["similar"] is None


async def test_static_pages_are_scanned_a_fifth_as_often_as_fixed_polling_would(tmp_path):
    """000 section 8, with 000's own rule, counted by the server.  The twin over 60 days is `bench/twin.py`."""
    world = World([HostSpec(pages=3, changes=Never())], seed=5)
    clock, days = clock_of(world), 30
    async with living_web(world, clock) as web:
        watched = living(world, web, tmp_path, clock=clock, config={"schedule": {"policy": "seed-ewma"}})
        await watched.run(seconds=days * DAY)
        scans = [web.journal.page_fetches[0, number] for number in range(3)]
        assert web.stats()["violations"] == 0
    assert min(scans) >= 5
    assert sum(scans) / (len(scans) * days * POLLS_PER_DAY) <= 0.2
