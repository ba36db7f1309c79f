"""The world of the hunt over real HTTP: what is served is what the truth says."""

from __future__ import annotations

import asyncio
import http.client
import json

import pytest

from vedette.livingweb import LivingWeb, OddPlan, OddWorld, WorldClock

PLAN = OddPlan(hosts=40, pages=900, odd=30, decoys=42, seed=4)


@pytest.fixture(scope="module")
def world() -> OddWorld:
    return OddWorld(PLAN)


def get(address: str, port: int, path: str) -> tuple[int, str, str]:
    connection = http.client.HTTPConnection(address, port, timeout=10)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.getheader("location") or "", answer.read().decode()
    finally:
        connection.close()


async def served(world: OddWorld, asks: list[tuple[int, str]]) -> tuple[list[tuple[int, str, str]], int]:
    async with LivingWeb(world, now=WorldClock(world.epoch, speed=0)) as web:
        answers = [
            await asyncio.to_thread(get, world.hosts[host].address, web.port, path) for host, path in asks
        ]
        return answers, web.port


async def test_an_odd_page_is_served_as_the_truth_has_it(world):
    host, page = next(where for where in world.specials if world.facts(*where)["is_odd"])
    answers, port = await served(world, [(host, world.sites[host].paths[page])])
    assert answers[0][0] == 200
    assert answers[0][2] == world.sites[host].html(page, port)


async def test_what_is_not_there_is_not_found_and_what_moved_says_where(world):
    site = next(site for site in world.sites if site.moved and site.ground.health == "sound")
    old, new = next(iter(site.moved.items()))
    host = site.ground.index
    answers, _ = await served(world, [(host, "/archive/abc.html"), (host, old), (host, new)])
    assert [status for status, _, _ in answers] == [404, 301, 200]
    assert answers[1][1] == new


async def test_the_control_address_tells_the_truth(world):
    host, page = next(where for where in world.specials if world.facts(*where)["is_odd"])
    async with LivingWeb(world, now=WorldClock(world.epoch, speed=0)) as web:
        asked = f"/_/truth?host={world.hosts[host].name}&page={page}"
        _, _, one = await asyncio.to_thread(get, "127.0.0.1", web.control_port, asked)
        _, _, whole = await asyncio.to_thread(get, "127.0.0.1", web.control_port, f"/_/known?port={web.port}")
        url = web.url(host, page)
    assert json.loads(one)["kind"] == world.facts(host, page)["kind"]
    known = json.loads(whole)
    assert len(known["odd"]) == PLAN.odd
    assert url in known["odd"]
    assert len(known["seeds"]) == 10
