"""A trap has no end, and the real pages of its host are still there."""

from __future__ import annotations

from collections import deque
from urllib.parse import urljoin

import aiohttp
import pytest
from selectolax.lexbor import LexborHTMLParser

from vedette.livingweb import EPOCH, LivingWeb, trap_world
from vedette.livingweb.chance import Chance
from vedette.livingweb.faults import TRAPS, trap_entry, trap_links

WORLD = trap_world()


async def links(client: aiohttp.ClientSession, url: str) -> list[str]:
    async with client.get(url) as response:
        assert response.status == 200
        tree = LexborHTMLParser(await response.read())
        return [urljoin(url, node.attributes["href"] or "") for node in tree.css("a[href]")]


@pytest.mark.parametrize("trap", TRAPS)
def test_following_links_never_ends(trap: str) -> None:
    start = "http://a.example" + trap_entry(trap)
    queue, seen = deque([start]), {start}
    for step in range(1000):
        assert queue, f"{trap} ended after {len(seen)} addresses"
        url = queue.popleft()
        more = trap_links(trap, url.removeprefix("http://a.example"), Chance("step", step))
        for href, _ in more or ():
            found = urljoin(url, href)
            if found not in seen:
                seen.add(found)
                queue.append(found)


@pytest.mark.parametrize("trap", TRAPS)
async def test_the_links_of_a_trap_are_served_and_lead_to_more(trap: str) -> None:
    async with LivingWeb(WORLD, now=lambda: EPOCH) as web, aiohttp.ClientSession() as client:
        url, seen = (
            urljoin(web.url(f"{trap.replace('_', '-')}.example", by="address"), trap_entry(trap)),
            set[str](),
        )
        for _ in range(10):
            seen.add(url)
            more = [
                link for link in await links(client, url) if trap_entry(trap) in link and link not in seen
            ]
            url = more[0]
        assert len(seen) == 10


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
