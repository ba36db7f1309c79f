"""The memory budget at work: small looks pass, large ones are not forgotten, and what ends gives back."""

from __future__ import annotations

import asyncio
from itertools import count

import pytest

from vedette.contracts.fetch import MIB
from vedette.contracts.words import WatchId
from vedette.core.limits.memory_budget import MARKUP, WORKER
from vedette.engine.crawl.memory_room import MemoryBudget
from vedette.engine.workers.pool import Rank, Turns, Workers
from vedette.extract import extract_in_worker

LARGE = 20 * MIB


async def turn() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


async def test_small_claims_pass_a_large_one_that_waits_and_it_comes_when_there_is_room():
    budget = MemoryBudget(WORKER + 64 * MIB)
    numbers = map(WatchId, count(1))
    first, second, large = next(numbers), next(numbers), next(numbers)
    await budget.claim(first, LARGE)
    await budget.claim(second, LARGE)
    waiting = asyncio.create_task(budget.claim(large, LARGE))
    await turn()
    assert not waiting.done()
    await budget.claim(next(numbers), MIB)
    assert not waiting.done()
    budget.free(first)
    await waiting
    assert budget.used == 2 * LARGE + MIB


async def test_large_claims_come_in_order_and_a_look_holds_one_claim_at_a_time():
    budget = MemoryBudget(WORKER + 64 * MIB)
    order: list[int] = []

    async def look(number: int) -> None:
        await budget.claim(WatchId(number), LARGE)
        order.append(number)

    looks = [asyncio.create_task(look(number)) for number in range(1, 9)]
    for number in range(1, 9):
        await turn()
        assert budget.used <= 56 * MIB
        budget.free(WatchId(number))
    await asyncio.gather(*looks)
    assert order == sorted(order)
    await budget.claim(WatchId(1), MIB)
    await budget.claim(WatchId(1), 2 * MIB)  # the body of the next hop
    assert budget.used == 2 * MIB
    budget.free(WatchId(1))
    assert (budget.used, budget.waiting) == (0, 0)


@pytest.mark.parametrize("is_let_in", [False, True])
async def test_a_look_that_is_cancelled_while_it_waits_leaves_nothing_behind(is_let_in: bool):
    budget = MemoryBudget(WORKER + 64 * MIB)
    await budget.claim(WatchId(1), 60 * MIB)
    waiting = asyncio.create_task(budget.claim(WatchId(2), LARGE))
    await turn()
    if is_let_in:
        budget.free(WatchId(1))
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    budget.free(WatchId(1))
    assert (budget.used, budget.waiting) == (0, 0)


async def test_who_began_goes_on_small_work_passes_and_large_work_has_its_turn():
    turns, order = Turns(), []

    async def work(name: str, rank: Rank) -> None:
        async with turns.take(rank):
            order.append(name)

    async with turns.take(Rank.LARGE):
        works = [work(f"large{n}", Rank.LARGE) for n in range(2)]
        works += [work(f"small{n}", Rank.SMALL) for n in range(6)] + [work("begun", Rank.BEGUN)]
        tasks = [asyncio.create_task(one) for one in works]
        await turn()
    await asyncio.gather(*tasks)
    assert order == ["begun", *(f"small{n}" for n in range(4)), "large0", "small4", "small5", "large1"]


def _inflate(size: int) -> int:
    return len(bytearray(size))


async def test_work_that_inflates_beyond_its_limit_ends_and_the_next_goes_on():
    workers = Workers()
    try:
        assert await workers.run(_inflate, 64 * MIB, memory=96 * MIB) == 64 * MIB
        assert await workers.run(_inflate, 400 * MIB, memory=96 * MIB) is None
        assert await workers.run(_inflate, 10, size=5 * MIB) == 10
    finally:
        workers.close()


WORDS = "Odluka o visini naknade stupa na snagu osmog dana od objave. "


def a_page() -> bytes:
    rows = [f"<div class='c{n % 9}'><p>{n} {WORDS}</p><a href='/p{n}'>{n}</a></div>" for n in range(82_000)]
    return f"<html><title>Big</title><body><main>{''.join(rows)}</main></body></html>".encode()[: 9 * MIB]


def a_feed() -> bytes:
    rows = [f"<item><title>n{n}</title><link>http://127.0.0.1/n{n}</link></item>" for n in range(100_000)]
    return f"<rss><channel>{''.join(rows)}</channel></rss>".encode()


@pytest.mark.parametrize(
    ("make", "kind", "memory"), [(a_page, "text/html", MARKUP), (a_feed, "application/rss+xml", 80 * MIB)]
)
async def test_a_large_input_is_read_in_the_memory_of_one_input(make, kind, memory):
    """150 MB in all: the worker's own size and the body, on both sides, come to less than 40."""
    assert memory + 30 * MIB < 150_000_000
    workers = Workers()
    try:
        extraction = await workers.run(
            extract_in_worker, [make()], "http://a.hr/", kind, "main", memory=memory
        )
    finally:
        workers.close()
    assert extraction is not None
    assert not extraction.problem
    assert len(extraction.text) > 4_000_000


async def test_what_the_worker_prints_and_raises_does_not_end_it():
    workers = Workers()
    try:
        assert await workers.run(print, "not an answer") is None
        with pytest.raises(KeyError):
            await workers.run(_raises, KeyError("a"))
        with pytest.raises(RuntimeError, match="Unsendable: words"):
            await workers.run(_raises_unsendable)
        assert await workers.run(abs, -4) == 4
    finally:
        workers.close()


def _raises(error: Exception) -> None:
    raise error


def _raises_unsendable() -> None:
    class Unsendable(Exception):
        pass

    raise Unsendable("words")


async def test_looks_that_give_up_together_leave_nothing_behind():
    budget = MemoryBudget(WORKER + 64 * MIB)
    await budget.claim(WatchId(1), 50 * MIB)
    waiting = [asyncio.create_task(budget.claim(WatchId(number), LARGE)) for number in range(2, 6)]
    await turn()
    for one in waiting:
        one.cancel()
    given = await asyncio.gather(*waiting, return_exceptions=True)
    assert {type(one) for one in given} == {asyncio.CancelledError}
    budget.free(WatchId(1))
    assert (budget.used, budget.waiting) == (0, 0)


async def test_a_look_that_gets_no_room_in_time_holds_nothing_and_the_next_one_does():
    budget = MemoryBudget(WORKER + 64 * MIB, patience_s=0.01)
    assert await budget.claim(WatchId(1), 50 * MIB)
    assert not await budget.claim(WatchId(2), LARGE)
    budget.free(WatchId(1))
    assert await budget.claim(WatchId(3), 50 * MIB)
    budget.free(WatchId(3))
    assert (budget.used, budget.waiting) == (0, 0)
