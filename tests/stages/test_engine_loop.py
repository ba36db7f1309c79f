"""The loop on a jumping clock: who starts when, how a run ends, and what happens when something breaks."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from engine_kit import POLITE, WIDE, Rig
from settlements import ALL, HOUR, NOON, SECOND, a_look, a_watch

from vedette.contracts.errors import StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Release
from vedette.contracts.words import LaneKey, Risk
from vedette.core.limits.budget import RunLimits
from vedette.engine.crawl.loop import Mode

A, B = LaneKey("host:a.example"), LaneKey("host:b.example")


def pages(host: str, count: int, **fields: object) -> list:
    return [a_watch(f"https://{host}.example/{n}", **fields) for n in range(count)]


async def test_every_page_that_is_due_is_looked_at_once_and_the_gap_is_kept():
    rig = Rig()
    rig.plant(*pages("a", 5), *pages("b", 3))
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("idle", 8)
    assert Counter(w.id for w in rig.settler.visited).most_common(1)[0][1] == 1
    for host in "ab":
        starts = [at for url, at in rig.started if f"//{host}." in url]
        assert starts == [NOON + n * POLITE.gap_min for n in range(len(starts))]
    assert not rig.settler.leases


async def test_a_slow_host_does_not_delay_the_others():
    rig = Rig(patience=HOUR)
    rig.plant(*pages("a", 2), *pages("b", 4))
    others_are_done = asyncio.Event()

    async def slow(job):
        await others_are_done.wait()

    async def quick(job):
        if sum("//b." in url for url, _ in rig.started) == 4:
            others_are_done.set()

    rig.during = {A: slow, B: quick}
    # b's gap passes only when the clock may jump; a look that hangs keeps a jumping clock still
    rig.policies.named[B] = WIDE
    ended = await rig.run()
    assert ended.tally.visits == 6
    assert [url for url, _ in rig.started].index("https://a.example/1") == 5


async def test_the_best_value_starts_first_whatever_its_host():
    rig = Rig(at_once=1, policy=WIDE)
    rig.plant(
        *(a_watch(f"https://{risk.name.lower()}.example/", risk=risk, interval=24 * HOUR) for risk in Risk),
    )
    await rig.run()
    assert [url.split("//")[1].split(".")[0] for url, _ in rig.started] == [
        "critical",
        "high",
        "medium",
        "low",
    ]


async def test_no_more_looks_are_under_way_than_the_machine_takes():
    rig = Rig(at_once=3, policy=WIDE, is_known=True)
    rig.plant(*(watch for n in range(8) for watch in pages(f"h{n}", 2)))

    async def a_while(job):
        for _ in range(5):
            await asyncio.sleep(0)

    rig.during = {watch.lane: a_while for watch in rig.settler.watches.values()}
    ended = await rig.run()
    assert ended.tally.visits == 16
    assert rig.most_under_way == 3


async def test_a_lane_is_woken_when_something_about_it_changed_and_not_with_the_others():
    rig = Rig(at_once=4)
    rig.plant(*(watch for n in range(40) for watch in pages(f"h{n}", 3)))
    ended = await rig.run()
    assert ended.tally.visits == 120
    assert rig.keeper.woken < 12 * ended.tally.visits  # waking all 40 lanes at every end would be 40 and more


# how a run ends


async def test_once_takes_all_that_was_due_at_the_start_also_behind_a_gap():
    rig = Rig(mode=Mode.ONCE)
    rig.plant(*pages("a", 4), *pages("b", 1), *pages("c", 2, due_at=NOON + SECOND))
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("idle", 5)


async def test_once_does_not_take_what_it_finds():
    rig = Rig(mode=Mode.ONCE)
    listing = a_watch("https://a.example/list")
    rig.plant(listing)
    found = tuple(pages("a", 3, due_at=NOON))

    async def lists(job):
        rig.clock.advance(SECOND)
        return a_look(job.watch, 99, found=tuple(replace(w, due_at=rig.clock.now()) for w in found))

    rig.during = {A: lists}
    ended = await rig.run()
    assert ended.tally.visits == 1


async def test_until_idle_waits_for_what_is_due_soon_and_not_for_what_is_due_later():
    rig = Rig(patience=60 * SECOND)
    rig.plant(
        a_watch("https://a.example/soon", due_at=NOON + 59 * SECOND),
        a_watch("https://b.example/later", due_at=NOON + HOUR),
    )
    ended = await rig.run()
    assert (ended.by, [w.url for w in rig.settler.visited]) == ("idle", ["https://a.example/soon"])


async def test_forever_goes_on_until_its_deadline():
    rig = Rig(mode=Mode.FOREVER, limits=RunLimits(deadline=NOON + 24 * HOUR))
    rig.plant(*pages("a", 1))
    rig.plant(a_watch("https://b.example/", due_at=NOON + 30 * HOUR))
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("limit", 6)  # at noon, then every four hours


@pytest.mark.parametrize("most", [1, 3, 7])
async def test_a_limit_of_visits_is_exact(most: int):
    rig = Rig(policy=WIDE, limits=RunLimits(max_visits=most))
    rig.plant(*(watch for n in range(10) for watch in pages(f"h{n}", 2)))
    ended = await rig.run()
    assert (ended.by, ended.tally.visits, len(rig.started)) == ("limit", most, most)


async def test_a_released_look_does_not_use_up_the_limit():
    rig = Rig(limits=RunLimits(max_visits=2))
    rig.plant(*pages("a", 1), *pages("b", 2))
    times = iter((True, False, False))

    async def shut(job):
        return Release(job) if next(times) else None

    rig.during = {A: shut}
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("limit", 2)


async def test_a_stop_lets_looks_end_and_starts_no_new_ones():
    rig = Rig()
    rig.plant(*pages("a", 3), *pages("b", 3))

    async def stop_then_end(job):
        rig.engine.stop("stopped")
        await asyncio.sleep(0.01)

    rig.during = {A: stop_then_end}
    ended = await rig.run()
    assert (ended.by, ended.error) == ("stopped", None)
    assert ended.tally.visits == len(rig.started) == 2


async def test_a_look_that_hangs_is_cancelled_and_gives_its_lease_back():
    rig = Rig()
    rig.plant(*pages("a", 1))

    async def hang(job):
        rig.engine.stop("stopped")
        await asyncio.Event().wait()

    rig.during = {A: hang}
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("stopped", 0)
    assert [job.watch.lane for job in rig.settler.released] == [A]
    assert rig.keeper.state(A).under_way == 0
    assert not rig.settler.leases


async def test_a_stop_does_not_wait_for_looks_that_stand_in_a_lane():
    """Nobody wakes lanes any more, so they would stand there until they are cancelled."""
    rig = Rig(grace_s=500.0)
    rig.plant(*pages("a", 1))

    async def next_hop(job):
        rig.keeper.start((B, ALL), NOON)
        rig.engine.stop("stopped")
        wait = await rig.keeper.enter((B, ALL))
        assert wait is not None
        return Release(job)

    rig.during = {A: next_hop}
    ended = await rig.run()
    assert (ended.by, len(rig.settler.released)) == ("stopped", 1)


# lanes that shut, lanes that are used by others


async def test_work_that_was_leased_for_a_lane_that_closes_goes_back():
    """It held the room of others for an hour, and `until_idle` waited for it."""
    rig = Rig(policy=replace(WIDE, at_once=2, trips_after=1), room=4)
    rig.plant(*pages("a", 6), *pages("b", 3, risk=Risk.LOW))

    async def fails(job):
        return False

    rig.during = {A: fails}
    ended = await rig.run()
    assert ended.by == "idle"
    assert sum("//b." in url for url, _ in rig.started) == 3
    assert rig.clock.now() < NOON + HOUR
    assert not rig.settler.leases
    assert rig.frontier.leased == 0


async def test_a_lane_that_the_operator_blocks_gives_its_work_back():
    rig = Rig(policy=replace(WIDE, at_once=1))
    rig.plant(*pages("a", 6))

    async def blocked(job):
        rig.keeper.replace(A, LaneState(blocked_by="they asked us to stop"))

    rig.during = {A: blocked}
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("idle", 1)
    assert not rig.settler.leases


async def test_a_closed_lane_is_tried_again_when_it_opens():
    rig = Rig(
        mode=Mode.FOREVER, limits=RunLimits(deadline=NOON + 3 * HOUR), policy=replace(POLITE, trips_after=1)
    )
    rig.plant(*pages("a", 2))
    answers = iter((False, True, True))

    async def heals(job):
        return next(answers)

    rig.during = {A: heals}
    await rig.run()
    assert [at for _, at in rig.started] == [NOON, NOON + HOUR]
    assert len(rig.settler.visited) == 2


async def test_a_host_whose_lane_another_look_used_goes_on_when_that_look_leaves_it():
    """A redirect took b's lane.  Its own page was considered meanwhile, and once nobody told it of the end."""
    rig = Rig()
    rig.plant(*pages("a", 1))
    elsewhere = a_watch("https://b.example/own", due_at=NOON + SECOND)

    async def redirected(job):
        assert await rig.keeper.enter((B, ALL)) is None
        rig.plant(elsewhere)
        rig.clock.advance(3 * SECOND)
        rig.engine.touch(B)
        for _ in range(20):
            await asyncio.sleep(0)
        rig.keeper.finish((B, ALL), ok=True, now=rig.clock.now())

    rig.during = {A: redirected}
    ended = await rig.run()
    assert ended.tally.visits == 2


async def test_looks_that_need_the_whole_machine_for_their_next_hop_all_end():
    """Each holds nothing while it waits, so a machine of one look at a time must not lock itself up."""
    rig = Rig(at_once=1)
    rig.plant(*(watch for n in range(5) for watch in pages(f"h{n}", 2)))

    async def robots_then_page(job):
        rig.keeper.finish(job.lanes, ok=True, now=rig.clock.now())
        assert await rig.keeper.enter(job.lanes) is None

    rig.during = {watch.lane: robots_then_page for watch in rig.settler.watches.values()}
    ended = await rig.run()
    assert (ended.by, ended.tally.visits) == ("idle", 10)
    assert rig.keeper.state(ALL).under_way == 0


# what breaks


async def test_storage_that_fails_ends_the_run_with_the_error_and_nothing_is_counted():
    rig = Rig(mode=Mode.FOREVER)
    rig.settler.fails = StoreError("the disk is full")
    rig.plant(*pages("a", 1), *pages("b", 1))

    async def hang(job):
        await asyncio.Event().wait()

    rig.during = {B: hang}
    ended = await rig.run()
    assert (ended.by, ended.error, ended.tally.visits) == ("failed", rig.settler.fails, 0)


async def test_a_fault_that_is_no_jobs_own_ends_the_run_instead_of_hanging_it():
    rig = Rig(mode=Mode.FOREVER)
    rig.plant(*pages("a", 1))

    async def breaks(job):
        raise RuntimeError("the edge itself failed")

    rig.during = {A: breaks}
    ended = await rig.run()
    assert (ended.by, str(ended.error)) == ("failed", "the edge itself failed")


async def test_the_last_moment_to_hand_something_over_is_before_the_settler_stops():
    rig = Rig()
    rig.plant(*pages("a", 1))
    said: list[bool] = []
    rig.on_stopping = lambda: said.append(rig.settler.is_alive())
    await rig.run()
    assert said == [True]


async def test_the_operators_orders_are_read_once_a_second():
    heard: list[timedelta] = []
    rig = Rig(take_orders=lambda: heard.append(rig.clock.now() - NOON))
    rig.plant(*pages("a", 3))
    await rig.run()
    assert heard[0] == timedelta(0)
    assert all(later - sooner >= SECOND for sooner, later in pairwise(heard))
