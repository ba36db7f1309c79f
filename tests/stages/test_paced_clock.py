"""The clock of the demonstration: it waits for what is under way, and catches up."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from vedette.telemetry.clock import PacedClock

START = datetime(2026, 1, 5, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def test_time_stands_still_while_something_is_under_way():
    clock, wake = PacedClock(START, speed=3600.0), asyncio.Event()
    asyncio.get_running_loop().call_later(0.05, wake.set)
    await clock.pause(wake, START + HOUR, is_busy=True)
    assert clock.now() == START


async def test_it_comes_to_the_next_event_and_no_further():
    clock, wake = PacedClock(START, speed=3600.0 * 20), asyncio.Event()
    await clock.pause(wake, START + HOUR, is_busy=False)
    assert clock.now() == START + HOUR
    await clock.pause(wake, START, is_busy=False)  # what is overdue does not turn it back
    assert clock.now() == START + HOUR


async def test_whoever_is_woken_early_finds_that_some_time_went_by():
    clock, wake = PacedClock(START, speed=3600.0), asyncio.Event()
    asyncio.get_running_loop().call_later(0.02, wake.set)
    await clock.pause(wake, START + 1000 * HOUR, is_busy=False)
    assert START < clock.now() < START + 1000 * HOUR


async def test_the_time_goes_on_while_it_is_waited_for():
    clock, wake = PacedClock(START, speed=3600.0), asyncio.Event()
    waiting = asyncio.create_task(clock.pause(wake, START + 1000 * HOUR, is_busy=False))
    await asyncio.sleep(0.02)
    seen = clock.now()
    wake.set()
    await waiting
    assert START < seen <= clock.now()


async def test_a_page_that_hangs_does_not_hold_the_world_for_ever():
    clock, wake = PacedClock(START, speed=3600.0), asyncio.Event()
    await clock.pause(wake, START + 1000 * HOUR, is_busy=True)
    assert START + 2 * HOUR < clock.now() < START + 1000 * HOUR
