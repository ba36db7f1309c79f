"""003's keys in a real Redis: bucket, circuit, lock, consensus; and a Redis that is away."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest
from redis_kit import own_redis

from vedette.contracts.errors import ConfigError
from vedette.contracts.panel_run import BatchId, Circuit, Told
from vedette.contracts.words import LaneKey
from vedette.store.panel import redis_board
from vedette.store.panel.redis_board import RedisBoard
from vedette.telemetry.clock import SystemClock

B1 = BatchId("b1")
LANE = LaneKey("provider:openai/k1")
NAMES = [("a.example", "openai/gpt-4o-mini"), ("b.example", "openai/gpt-4o-mini")]
OPEN = Told(Circuit.OPEN, timedelta(seconds=15))


@pytest.fixture(scope="module")
def shared_server():
    with own_redis() as made:
        yield made


@pytest.fixture
def server(shared_server):
    shared_server.client.flushall()
    return shared_server


@pytest.fixture
def board_of(server):
    made: list[RedisBoard] = []

    def make(owner: str = "me", url: str = "") -> RedisBoard:
        made.append(RedisBoard(url or server.url, owner=owner, clock=SystemClock()))
        return made[-1]

    yield make
    for board in made:
        board.close()


async def test_two_runs_share_one_bucket_and_no_start_is_given_twice(server, board_of):
    one, two = board_of("one"), board_of("two")
    each = timedelta(seconds=0.5)
    starts = [*await one.slots(LANE, 120, 2), *await two.slots(LANE, 120, 2), *await one.slots(LANE, 120, 1)]
    gaps = [b - a for a, b in pairwise(starts)]
    assert all(abs(gap - each) < timedelta(milliseconds=150) for gap in gaps), gaps
    assert starts[0] <= timedelta(milliseconds=5)
    assert server.client.hget("rl:openai:k1", "taken") == b"5"
    assert 0 < server.client.pttl("rl:openai:k1") <= 130_000


async def test_a_circuit_is_told_in_the_words_of_003_and_lapses(server, board_of):
    one, two = board_of("one"), board_of("two")
    await one.exchange({"openai": OPEN, "cohere": Told(Circuit.CLOSED)})
    assert server.words("cb:*") == {"cb:cohere": "closed", "cb:openai": "open"}
    assert 13_000 < server.client.pttl("cb:openai") <= 15_000
    await one.exchange({"openai": Told(Circuit.OPEN, timedelta(seconds=60))})
    assert server.client.pttl("cb:openai") > 50_000, "a probe failed: open for longer"
    heard = await two.exchange({"openai": Told(Circuit.CLOSED)})
    assert heard["openai"].circuit is Circuit.OPEN, "who has just come does not talk over others"
    await one.exchange({"openai": Told(Circuit.HALF_OPEN)})
    heard = await two.exchange({"openai": Told(Circuit.CLOSED)})
    assert heard["openai"].circuit is Circuit.HALF_OPEN
    assert heard["openai"].left <= redis_board.PROBE
    await one.exchange({"openai": Told(Circuit.CLOSED)})
    assert server.words("cb:openai") == {"cb:openai": "closed"}


async def test_a_cell_that_another_run_holds_is_not_ours_until_it_lets_go(server, board_of):
    one, two = board_of("one"), board_of("two")
    assert await one.claim(B1, NAMES) == [True, True]
    key = "lock:crawl:b1:a.example:openai/gpt-4o-mini"
    assert server.words("lock:*")[key] == "one"
    assert 0 < server.client.pttl(key) <= 180_000
    assert await two.claim(B1, NAMES[:1]) == [False]
    assert await two.claim(BatchId("b2"), NAMES[:1]) == [True], "another batch"
    assert await one.claim(B1, NAMES[:1]) == [True], "the second prompt of the same cell"
    one.release(B1, NAMES[:1])
    assert await two.claim(B1, NAMES[:1]) == [False], "the second prompt still holds it"
    one.release(B1, NAMES[:1])
    await one.exchange({})
    assert await two.claim(B1, NAMES[:1]) == [True]


async def test_a_run_that_died_is_resumed_at_once_by_the_same_owner(server, board_of):
    dead = board_of("folder")
    assert await dead.claim(B1, NAMES) == [True, True]
    assert await board_of("folder").claim(B1, NAMES) == [True, True]


async def test_closing_gives_back_every_lock_of_ours_and_none_of_others(server, board_of):
    one, two = board_of("one"), board_of("two")
    await one.claim(B1, NAMES[:1])
    await two.claim(B1, NAMES[1:])
    one.close()
    assert list(server.words("lock:*").values()) == ["two"]


async def test_a_hanging_redis_lets_everything_pass_and_is_heard_again(server, board_of):
    board = board_of()
    for domain in ("a.example", "b.example"):
        server.client.set(f"cache:consensus:{domain}", "old")
    server.hang()
    try:
        assert await board.claim(B1, NAMES) == [True, True]
        assert (board.is_away, board.outages) == (True, 1)
        done = board.ops
        for _ in range(100):
            assert await board.slots(LANE, 60, 1) == ()
            assert await board.claim(B1, NAMES) == [True, True]
            board.forget(["a.example", "b.example"])
        assert board.ops == done, "nobody waits for a Redis that is known to be away"
        assert await board.exchange({"openai": OPEN}) == {}
    finally:
        server.wake()
    assert (await board.exchange({"openai": OPEN}))["openai"].circuit is Circuit.OPEN
    assert (board.is_away, board.outages) == (False, 1)
    assert server.words("cache:*") == {}, "what had to be forgotten is forgotten now"
    assert len(server.words("lock:*")) == 2, "what we hold is held again"


async def test_a_redis_that_was_never_there_costs_nothing_but_is_counted(board_of):
    board = board_of(url="redis://127.0.0.1:1/0")
    assert await board.claim(B1, NAMES) == [True, True]
    board.forget(["a.example"])
    board.close()
    assert (board.is_away, board.outages, board.unforgotten) == (True, 1, 1)


async def test_a_domain_that_is_answered_while_it_is_forgotten_is_forgotten_again(server, board_of):
    board = board_of()
    for _ in range(50):
        server.client.set("cache:consensus:a.example", "old")
        board.forget(["a.example"])
        await asyncio.sleep(0)
    board.close()
    assert server.words("cache:*") == {}


async def test_keys_are_counted(server, board_of):
    board = board_of()
    await board.claim(B1, NAMES)
    await board.slots(LANE, 60, 3)
    await board.exchange({"openai": OPEN})
    assert board.ops == 2 + 1 + 3


@pytest.mark.parametrize("url", ["6379", "http://127.0.0.1", "redis://h:port/0"])
def test_an_address_that_cannot_be_meant_is_refused(url: str):
    with pytest.raises(ConfigError, match="REDIS_URL"):
        RedisBoard(url, owner="me", clock=SystemClock())
