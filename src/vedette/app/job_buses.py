"""Which job bus an installation has: the rows of its store alone, or BullMQ that carries them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import datetime, timedelta

from vedette.config.model import Loaded
from vedette.contracts.errors import ConfigError, StoreWaitError
from vedette.contracts.jobs import SENTINEL, STAGES
from vedette.contracts.ports import Clock, JobBus
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.workers import JobCarrier
from vedette.jobs.bullmq_bus import BullmqJobBus
from vedette.jobs.bullmq_queues import SOON_S, BullmqQueues
from vedette.jobs.lane_calls import LaneCalls
from vedette.store.connection import StorePlace
from vedette.store.handed_jobs import HandedJobs
from vedette.store.job_bus import SqliteJobBus

QUEUES = (SENTINEL, *STAGES)
HEAR_S = 1.0  # how often rows are handed over, and ends that other programs made are heard of
COMPARE = timedelta(
    seconds=20
)  # how often rows are compared with what BullMQ carries: a wiped Redis is found


def open_bus(loaded: Loaded, path: StorePlace) -> JobBus:
    """ConfigError: a server that cannot be used.  One that is away is waited for by who uses the bus."""
    bus = _carried(loaded, path)
    return bus if bus is not None else SqliteJobBus(path)


def open_calls(loaded: Loaded, clock: Clock) -> LaneCalls | None:
    """The calls of lanes that are due; None: workers find them in the store."""
    return None if loaded.redis is None else LaneCalls(BullmqQueues(loaded.redis, answer_s=SOON_S), clock)


async def keep_relaying(
    loaded: Loaded, path: StorePlace, clock: Clock, problem: Callable[[str], None]
) -> None:
    """Keeps BullMQ and the rows alike, until cancelled; done at once where there is no BullMQ."""
    bus = await asyncio.to_thread(_carried, loaded, path)
    if bus is None:
        return
    with closing(bus):
        since, compared, told = clock.stopwatch(), -COMPARE, ""
        while True:
            try:
                is_due = since() - compared >= COMPARE
                await asyncio.to_thread(_relay, bus, clock, is_due)
                compared, told = (since() if is_due else compared), ""
            except StoreWaitError as error:
                compared = -COMPARE  # what was lost meanwhile is found at once
                if str(error) != told:
                    told = str(error)
                    problem(told)
            await asyncio.sleep(HEAR_S)


def carrier_of(loaded: Loaded, now: datetime) -> JobCarrier:
    """Asks Redis, where there is one."""
    if loaded.redis is None or loaded.server is None:
        return JobCarrier(name="store")
    try:
        queues = BullmqQueues(loaded.redis, answer_s=SOON_S)
    except ConfigError as error:
        return JobCarrier(name="bullmq", problem=str(error))
    try:
        found = queues.check()
        with closing(BullmqJobBus(HandedJobs(loaded.server), queues)) as bus:
            waiting = {queue: bus.depth(queue, now=now).waiting for queue in QUEUES}
    except (ConfigError, StoreWaitError) as error:
        queues.close()
        return JobCarrier(name="bullmq", problem=str(error), is_away=isinstance(error, StoreWaitError))
    return JobCarrier(name="bullmq", found=found, evicts="evicts" in found, depths=waiting)


def _relay(bus: BullmqJobBus, clock: Clock, is_due: bool) -> None:
    for queue in QUEUES:
        bus.hear(queue, now=clock.now())
        if is_due:
            bus.compare(queue, now=clock.now())
        else:
            bus.hand_over(queue, now=clock.now())


def _carried(loaded: Loaded, path: StorePlace) -> BullmqJobBus | None:
    if loaded.redis is None or not isinstance(path, PostgresAddress):
        return None
    queues = BullmqQueues(loaded.redis)
    with suppress(StoreWaitError):
        queues.check()
    return BullmqJobBus(HandedJobs(path), queues)
