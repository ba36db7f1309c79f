"""A process beside the loop: it may hang or die, and others wait for their turn without running out of time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator

import pytest

from vedette.engine.workers.pool import Workers


@pytest.fixture
async def workers() -> AsyncIterator[Workers]:
    workers = Workers(wall_s=30.0)
    assert await workers.run(abs, -1) == 1  # its process is there from now on
    yield workers
    workers.close()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def test_what_takes_too_long_is_given_up_and_the_next_is_served(workers: Workers):
    workers._wall_s = 0.1
    assert await workers.run(time.sleep, 60) is None
    workers._wall_s = 30.0
    assert await workers.run(abs, -2) == 2


async def test_a_process_that_dies_takes_only_its_own_page_with_it(workers: Workers):
    given = await asyncio.gather(workers.run(abs, -1), workers.run(die), workers.run(abs, -3))
    assert given == [1, None, 3]


async def test_who_waits_for_a_turn_is_not_out_of_time(workers: Workers):
    workers._wall_s = 2.0  # each takes 0.15 s, all of them longer than that
    given = await asyncio.gather(*(workers.run(_slow_abs, -n) for n in range(1, 17)))
    assert given == list(range(1, 17))


async def test_a_run_that_ends_while_a_page_is_parsed_says_nothing_on_the_way(workers: Workers, capfd):
    looks = [asyncio.create_task(workers.run(time.sleep, 60)) for _ in range(3)]
    await asyncio.sleep(0.05)
    for look in looks:
        look.cancel()
    await asyncio.wait(looks)
    workers.close()
    await asyncio.sleep(0.2)
    assert capfd.readouterr().err == ""


async def test_what_takes_too_much_memory_is_given_up_and_the_next_is_served(workers: Workers):
    assert await workers.run(_hoard, 1 << 31) is None
    assert await workers.run(_hoard, 1 << 20) == 1 << 20


async def test_what_takes_too_much_processor_time_is_ended_by_the_system(workers: Workers):
    workers._cpu_s = 0  # the second that is under way is still given
    assert await workers.run(_spin) is None
    workers._cpu_s = 10
    assert await workers.run(abs, -2) == 2


def _hoard(size: int) -> int:
    return len(bytearray(size))


def _spin() -> None:
    while True:
        pass


def _slow_abs(number: int) -> int:
    time.sleep(0.15)
    return abs(number)
