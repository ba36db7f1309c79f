"""A trap has no end, and the real pages of its host are still there."""

from __future__ import annotations

from urllib.parse import urljoin

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser

from vedette.livingweb import EPOCH, LivingWeb, trap_world
from vedette.livingweb.traps import TRAPS

WORLD = trap_world()


async def links(client: aiohttp.ClientSession, url: str) -> list[str]:
    async with client.get(url) as response:
        assert response.status == 200
        tree = LexborHTMLParser(await response.read())
        return [urljoin(url, node.attributes["href"] or "") for node in tree.css("a[href]")]


@pytest.mark.parametrize("trap", TRAPS)
async def test_following_links_never_ends(trap: str) -> None:
    async with LivingWeb(WORLD, now=lambda: EPOCH) as web, aiohttp.ClientSession() as client:
        host = web.world.host(f"{trap.replace('_', '-')}.example")
        queue = [urljoin(web.url(host.index, by="address"), TRAPS[trap][0])]
        seen = set(queue)
        for _ in range(150):
            assert queue, f"{trap} ended after {len(seen)} addresses"
            for url in await links(client, queue.pop()):
                if (
                    url not in seen
                    and host.find(url[url.index("/", 8) :]) is None
                    and not url.endswith("/popis")
                ):
                    seen.add(url)
                    queue.append(url)
        assert len(seen) > 100


@pytest.mark.parametrize("trap", TRAPS)
async def test_the_front_page_links_the_trap_and_the_real_pages(trap: str) -> None:
    async with LivingWeb(WORLD, now=lambda: EPOCH) as web, aiohttp.ClientSession() as client:
        name = f"{trap.replace('_', '-')}.example"
        found = await links(client, web.url(name, by="address"))
        assert urljoin(found[0], TRAPS[trap][0]) in found
        pages = {web.world.locate(url) for url in found} - {None}
        assert len(pages) >= 2


async def test_a_session_trap_gives_other_links_for_the_same_page_each_time() -> None:
    async with LivingWeb(WORLD, now=lambda: EPOCH) as web, aiohttp.ClientSession() as client:
        for name, entry in (("session-path.example", "s/"), ("session-query.example", "trgovina")):
            url = web.url(name, by="address") + entry
            first = {link for link in await links(client, url) if entry in link}
            assert first
            assert first.isdisjoint(await links(client, url))
