"""Whatever way a host is listed, a reader of that kind finds every page of it."""

from __future__ import annotations

import gzip
from collections import deque
from collections.abc import Callable
from urllib.parse import urljoin

import aiohttp
import feedparser
import pytest
from lxml import etree
from selectolax.lexbor import LexborHTMLParser

from vedette.livingweb import EPOCH, HostSpec, LivingWeb, Noise, World
from vedette.livingweb.noise import KINDS
from vedette.livingweb.process import DAY, At, Every
from vedette.livingweb.world import LISTINGS

T0 = EPOCH + 3 * DAY


class Reader:
    """The simplest reader of each kind that works."""

    def __init__(self, client: aiohttp.ClientSession) -> None:
        self.client = client

    async def get(self, url: str) -> bytes:
        async with self.client.get(url) as response:
            return await response.read() if response.status == 200 else b""

    async def feed(self, source: dict[str, object]) -> list[str]:
        return [entry.link for entry in feedparser.parse(await self.get(str(source["url"]))).entries]

    async def sitemap(self, source: dict[str, object]) -> list[str]:
        found, queue = [], deque([str(source["url"])])
        while queue:
            body = await self.get(queue.popleft())
            root = etree.fromstring(gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body)
            addresses = [str(loc.text) for loc in root.iter("{*}loc")]
            (queue if root.tag.endswith("sitemapindex") else found).extend(addresses)
        return found

    async def html_list(self, source: dict[str, object]) -> list[str]:
        return self.rows(source, str(source["url"]), await self.get(str(source["url"])))

    async def pagination(self, source: dict[str, object]) -> list[str]:
        start = str(source["url"])
        found, seen, queue = [], {start}, deque([start])
        while queue:
            url = queue.popleft()
            body = await self.get(url)
            found += self.rows(source, url, body)
            nexts = {urljoin(url, href) for href in self.pager(body)} - seen
            seen |= nexts
            queue.extend(nexts)
        assert 1 < len(seen) <= 20
        return found

    async def crawl(self, source: dict[str, object]) -> list[str]:
        seen, ring = set[str](), [str(source["url"])]
        for _ in range(4):  # the start and three links further
            seen |= set(ring)
            links = [
                (url, href) for url in ring for href in hrefs(LexborHTMLParser(await self.get(url)), "a")
            ]
            ring = sorted({urljoin(url, href).partition("#")[0] for url, href in links} - seen)
        return sorted(seen)

    def rows(self, source: dict[str, object], url: str, body: bytes) -> list[str]:
        selectors = source["options"]["selectors"]  # type: ignore[index]
        found = []
        for row in LexborHTMLParser(body).css(selectors["item"]):
            link, title, date = (row.css_first(selectors[part]) for part in ("link", "title", "date"))
            assert link is not None
            assert title is not None
            assert date is not None
            assert title.text().strip()
            assert date.text().strip()
            found.append(urljoin(url, link.attributes["href"] or ""))
        return found

    def pager(self, body: bytes) -> list[str]:
        tree = LexborHTMLParser(body)
        classed = hrefs(tree, ".pager a") or hrefs(tree, ".pagination a") or hrefs(tree, "[rel=next]")
        return classed or [href for href in hrefs(tree, "a") if "?page=" in href]


def hrefs(tree: LexborHTMLParser, selector: str) -> list[str]:
    return [node.attributes["href"] or "" for node in tree.css(selector) if "href" in node.attributes]


@pytest.mark.parametrize("layout", ["semantic", "tables", "divs", "aspnet", "blog", "wiki"])
@pytest.mark.parametrize("listing", LISTINGS)
async def test_every_page_is_found(listing: str, layout: str) -> None:
    spec = HostSpec(listing=listing, layout=layout, pages=45, documents=3, forbidden=2, variants=True)
    world = World([spec], seed=4)
    async with LivingWeb(world, now=lambda: T0) as web, aiohttp.ClientSession() as client:
        (source,) = web.sources(by="address")
        read: Callable[..., object] = getattr(Reader(client), str(source["lister"]))
        found = {world.locate(url) for url in await read(source)}  # type: ignore[misc]
        assert {(0, page) for page in range(45)} <= found


async def test_a_crawl_only_host_must_be_crawled_three_links_deep() -> None:
    world = World([HostSpec(listing="crawl", pages=45)], seed=4)
    async with LivingWeb(world, now=lambda: T0) as web, aiohttp.ClientSession() as client:
        front = hrefs(LexborHTMLParser(await Reader(client).get(web.url(0, by="address"))), "a")
        assert len(front) < 10


async def test_lists_with_session_ids_in_their_links_still_lead_to_the_pages() -> None:
    kinds: tuple[Noise, ...] = (KINDS["session_path"], KINDS["session_query"])
    world = World([HostSpec(listing="html_list", layout="aspnet", noise=kinds, pages=8)], seed=4)
    async with LivingWeb(world, now=lambda: T0) as web, aiohttp.ClientSession() as client:
        (source,) = web.sources(by="address")
        reader = Reader(client)
        found = await reader.html_list(source)
        assert {world.locate(url) for url in found} == {(0, page) for page in range(8)}
        assert not set(found) & set(await reader.html_list(source))
        assert b"</html>" in await reader.get(found[0])


async def test_a_new_page_appears_at_the_top_of_the_feed_when_it_is_born() -> None:
    world = World([HostSpec(pages=4, born_later=2, births=Every(DAY))], seed=4)
    clock = [EPOCH]
    async with LivingWeb(world, now=lambda: clock[0]) as web, aiohttp.ClientSession() as client:
        (source,) = web.sources(by="address")
        reader, counts = Reader(client), []
        for clock[0] in (EPOCH, EPOCH + DAY, EPOCH + 2 * DAY):
            found = await reader.feed(source)
            counts.append(len(found))
        assert counts == [2, 3, 4]
        assert world.locate(found[0]) == (0, 3)


@pytest.mark.parametrize(("listing", "tag"), [("sitemap", "lastmod"), ("atom", "updated"), ("rdf", "date")])
async def test_a_listing_tells_when_a_page_changed_or_lies_or_is_silent(listing: str, tag: str) -> None:
    specs = [
        HostSpec(listing=listing, pages=1, changes=At((T0 - DAY,)), dates=dates)
        for dates in ("true", "lying", "none")
    ]
    async with LivingWeb(World(specs, seed=4), now=lambda: T0) as web, aiohttp.ClientSession() as client:
        said = []
        for source in web.sources(by="address"):
            root = etree.fromstring(await Reader(client).get(str(source["url"])))
            said.append([str(node.text) for node in root.iter("{*}" + tag)][-1:])
        assert said[:2] == [["2026-01-07T00:00:00Z"], ["2026-01-08T00:00:00Z"]]
        assert not said[2] or said[2][0] < "2026-01-05"


async def test_a_listing_that_did_not_change_answers_304() -> None:
    clock = [T0]
    spec = HostSpec(listing="sitemap", validators="etag", changes=At((T0 + 10,)))
    async with (
        LivingWeb(World([spec], seed=4), now=lambda: clock[0]) as web,
        aiohttp.ClientSession() as client,
    ):
        url = str(web.sources(by="address")[0]["url"])

        async def status(tag: str) -> tuple[int, str]:
            async with client.get(url, headers={"If-None-Match": tag}) as response:
                return response.status, response.headers["ETag"]

        first, tag = await status('"none"')
        again, _ = await status(tag)
        clock[0] += 10
        changed, _ = await status(tag)
        assert (first, again, changed) == (200, 304, 200)


async def test_the_front_page_and_robots_txt_point_to_the_listing() -> None:
    world = World([HostSpec(listing="rss"), HostSpec(listing="sitemap_index")], seed=4)
    async with LivingWeb(world, now=lambda: T0) as web, aiohttp.ClientSession() as client:
        reader = Reader(client)
        front = LexborHTMLParser(await reader.get(web.url(0, by="address")))
        assert hrefs(front, 'link[type="application/rss+xml"]') == ["/rss.xml"]
        robots = await reader.get(web.url(1, by="address") + "robots.txt")
        assert f"Sitemap: {web.sources(by='address')[1]['url']}".encode() in robots


async def test_a_page_of_a_list_beyond_the_last_is_missing() -> None:
    async with (
        LivingWeb(World([HostSpec(listing="page_query", pages=25)], seed=4), now=lambda: T0) as web,
        aiohttp.ClientSession() as client,
    ):
        reader, url = Reader(client), str(web.sources(by="address")[0]["url"])
        assert await reader.get(url + "?page=3")
        for tail in ("?page=4", "?page=0", "?page=x", "/2", "?page=99999999999999"):
            assert not await reader.get(url + tail)


@pytest.mark.parametrize("listing", ["rss", "sitemap", "sitemap_gzip", "html_list", "pager"])
async def test_one_page_in_and_one_out_is_a_listing_that_changed(listing: str) -> None:
    clock = [T0]
    spec = HostSpec(
        listing=listing,
        pages=6,
        born_later=1,
        births=At((T0 + 5,)),
        departures=((2, T0 + 5),),
        validators="etag",
    )
    async with (
        LivingWeb(World([spec], seed=4), now=lambda: clock[0]) as web,
        aiohttp.ClientSession() as client,
    ):
        url, bodies = str(web.sources(by="address")[0]["url"]), []
        for clock[0] in (T0, T0 + 5):
            bodies.append(await Reader(client).get(url))
        assert bodies[0] != bodies[1]
