"""What one elected worker does for all: publishes the price, makes visits of what is due, keeps cron and health."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from datetime import timedelta

from vedette.app.job_buses import open_calls
from vedette.app.service import Service
from vedette.config.model import Loaded
from vedette.config.rules import scheduler_options
from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.lane import LaneState
from vedette.contracts.ports import Clock
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey
from vedette.core.lanes.visit import LEASE, SWEEP, SWEPT_AT_ONCE
from vedette.core.schedule.due import LEARNED
from vedette.engine.service.sentinel import SentinelHearing
from vedette.engine.settle.ids import Ids
from vedette.engine.settle.scheduler import Scheduler
from vedette.store.connection import comes_back, connect, transaction
from vedette.store.lane_visits import LaneVisits
from vedette.store.schedule_rows import ScheduleReader, publish_schedule
from vedette.store.sqlite import Reader
from vedette.store.worker_rows import Election

STAND_S = 5.0  # an elected worker that is gone is replaced within this
REVIEW_S = 15.0  # how often it asks whether the price is to be worked out
AGAIN_S = 1.0  # while watches are planned anew
MUCH = SWEPT_AT_ONCE // 20  # lanes of a part that nobody would have visited in time
CALL_S = 0.5  # how often lanes that are due are called
CALLED = 1000  # at most so many at once: those that wait longest
STAY = timedelta(0)  # others look: what was ordered is not waited for


class SchedulerDuty:
    """Stands for election until it is cancelled; `service` keeps the cron while it is elected."""

    def __init__(self, loaded: Loaded, path: PostgresAddress, clock: Clock, service: Service) -> None:
        self._loaded = loaded
        self._path = path
        self._clock = clock
        self._service = service
        self.is_elected = False

    async def run(self) -> None:
        while True:
            try:
                await self._stand()
            except (StoreError, sqlite3.Error, BaseExceptionGroup) as error:
                if not comes_back(error, self._path):
                    raise
            await asyncio.sleep(STAND_S)

    async def _stand(self) -> None:
        """On one session, until the server is away."""
        election = await asyncio.to_thread(Election, self._path)
        try:
            while True:
                if await asyncio.to_thread(election.stand):
                    await self._while_elected(election)
                await asyncio.sleep(STAND_S)
        finally:
            self.is_elected = False
            await asyncio.to_thread(election.close)

    async def _while_elected(self, election: Election) -> None:
        hearing = SentinelHearing(lane=self._lane, patience=STAY)
        works = (self._publish, self._sweep, self._call_lanes)
        async with self._service.duties(self._path, hearing, works):
            self.is_elected = True
            try:
                while await asyncio.to_thread(election.stand):
                    await asyncio.sleep(STAND_S)
            finally:
                self.is_elected = False

    async def _publish(self) -> None:
        """Only the learned policy has a price."""
        if self._loaded.config.schedule.policy != LEARNED:
            return
        while True:
            is_moving = await asyncio.to_thread(self._review)
            await asyncio.sleep(AGAIN_S if is_moving else REVIEW_S)

    def _review(self) -> bool:
        """True where there is more to plan anew."""
        with closing(connect(self._path)) as db:
            reader = ScheduleReader(db)
            options = scheduler_options(self._loaded.config, reader.crawl_delay)
            rows = Scheduler(reader, options, Ids().next).review(self._clock.now())
            if rows is None:
                return False
            with transaction(db, self._path):
                publish_schedule(db, rows)
            return bool(rows.replanned)

    async def _sweep(self) -> None:
        """Part after part of all lanes.  Where much is wrong, as after a copy, the next part follows at once."""
        with closing(LaneVisits(self._path, worker="", lease=LEASE)) as visits:
            while True:
                wrong = await asyncio.to_thread(visits.sweep, SWEEP / 2)
                while wrong >= MUCH:
                    wrong = await asyncio.to_thread(visits.sweep)
                await asyncio.sleep(SWEEP.total_seconds())

    async def _call_lanes(self) -> None:
        """Brings lanes that are due to workers.  While Redis is away they find them in the store."""
        calls = open_calls(self._loaded, self._clock)
        if calls is None:
            return
        with closing(calls), closing(LaneVisits(self._path, worker="", lease=LEASE)) as visits:
            while True:
                try:
                    await asyncio.to_thread(lambda: calls.call(visits.due(CALLED)))
                    await asyncio.sleep(CALL_S)
                except StoreWaitError:
                    await asyncio.sleep(STAND_S)

    def _lane(self, lane: LaneKey) -> LaneState:
        with closing(Reader(self._path)) as reader:
            return reader.lane(lane) or LaneState()
