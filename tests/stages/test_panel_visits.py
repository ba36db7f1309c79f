"""Visits of providers by panel workers: whose they are, until when, and what each may spend; on a real PostgreSQL."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from machine import patient

from vedette.app.panel_worker import PanelDuty, ProviderHold
from vedette.config.model import Loaded, parse
from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.panel_run import Batch, BatchId, BatchShape, PanelGroup, Progress, Prompt
from vedette.contracts.sql_connection import PostgresAddress
from vedette.engine.settle.ids import PANEL, Ids
from vedette.store.connection import connect
from vedette.store.dialect import open_sql
from vedette.store.panel.existing_tables import prepare_panel
from vedette.store.panel.lane_ledger import PanelLedger
from vedette.store.panel.panel_visits import (
    PanelHandover,
    PanelVisit,
    PanelVisits,
    SharedPanelStore,
    free_visits,
)
from vedette.telemetry.clock import SystemClock

ONE = Prompt(prompt_type="brand", text="What is {domain}?", version="1", system="")
LATE = timedelta(seconds=10)
NAMES = ("provider:a", "provider:b", "provider:c")


class Shared:
    """A store with one batch of three providers that workers ask."""

    def __init__(self, place: PostgresAddress) -> None:
        self.place = place
        self.projection = prepare_panel(place.url, "domain_responses", {})
        self._open = ExitStack()

    def detach(self, name: str = "b1", budget: float | None = None) -> Batch:
        now = datetime.now(UTC)
        shape = BatchShape(domains=3, models=("a", "b", "c"), prompts=(ONE,), repeats=1)
        batch = Batch(
            id=BatchId(name), shape=shape, started_at=now, target_at=now + timedelta(hours=1),
            hard_at=now + timedelta(hours=2), budget_usd=budget,
        )  # fmt: skip
        with closing(PanelHandover(open_sql(self.place.url), self.projection)) as store:
            store.detach(batch, [("1", "d1"), ("2", "d2"), ("3", "d3")], dict.fromkeys(NAMES, 3))
        return batch

    def worker(self, name: str, lease: float = 40.0) -> PanelVisits:
        made = PanelVisits(self.place, worker=name, lease=timedelta(seconds=lease))
        self._open.callback(made.close)
        return made

    def spends(self, visit: PanelVisit, batch: Batch, usd: float, wants: float = 1.0) -> float:
        """Tells of so much; gives what the visit may still spend."""
        db = open_sql(self.place.url)
        ledger = PanelLedger(db, Ids(PANEL, after=0).next)
        with closing(SharedPanelStore(db, self.projection, ledger, visit, wants_usd=wants)) as store:
            begun = store.begin(batch)
            told = Progress(
                at=datetime.now(UTC), settled=0, answered=0, under_way=0, waiting=3,
                spent_usd=begun + usd, dropped_from=None, eta=None, providers=(),
            )  # fmt: skip
            counts = store.write(PanelGroup(batch=batch.id, progress=told)) or 0.0
        return (batch.budget_usd or 0.0) - counts

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(connect(self.place, read_only=True)) as db:
            return db.execute(statement).fetchall()

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def shared(postgres_store: PostgresAddress) -> Iterator[Shared]:
    made = Shared(postgres_store)
    yield made
    made.close()


def test_only_what_a_worker_serves_is_renewed(shared: Shared):
    """A worker that came back under its old name, or could not give a provider back, must not keep it for ever."""
    shared.detach()
    first = shared.worker("host-1", lease=0.5)
    (served, forgotten) = first.take(NAMES[:2], 2, late=timedelta(0))
    until = time.monotonic() + 1.2
    while time.monotonic() < until:
        assert first.renew({served.provider: served.token}).held == {served.provider: served.token}
        time.sleep(0.1)
    other = shared.worker("host-2")
    assert [one.provider for one in other.take(NAMES[:2], 2, late=timedelta(0))] == [forgotten.provider]


def test_a_new_batch_is_nobodys_late_work(shared: Shared):
    """Providers that had nothing to be asked for hours do not make a batch of this moment late."""
    shared.detach()
    worker = shared.worker("host-1")
    assert worker.take(NAMES, 3, late=LATE) == []
    assert len(worker.take(NAMES, 2, late=timedelta(0))) == 2


def test_a_share_that_waits_is_taken_by_whoever_has_room(shared: Shared):
    shared.detach()
    time.sleep(0.3)
    taken = shared.worker("host-1").take(NAMES, 3, late=timedelta(seconds=0.2))
    assert len(taken) == 3


@pytest.mark.parametrize("is_known", [True, False])
def test_what_a_visit_had_in_hand_is_free_again_only_where_its_spending_is_known(
    shared: Shared, is_known: bool
):
    batch = shared.detach(budget=1.0)
    worker = shared.worker("host-1")
    visit, other = worker.take(NAMES[:2], 2, late=timedelta(0))
    assert shared.spends(visit, batch, 0.0, wants=0.7) == pytest.approx(0.7)
    assert worker.end_share(visit, batch.id, "", is_known=is_known)
    assert shared.spends(other, batch, 0.0) == pytest.approx(1.0 if is_known else 0.3)


def test_a_share_that_cannot_be_opened_leaves_no_session_behind(
    shared: Shared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    loaded = Loaded(config=parse({}), path=None, data=tmp_path, digest="", server=shared.place)
    duty = PanelDuty(loaded, shared.place, SystemClock(), print, worker="host-1")
    duty._projection = shared.projection
    gone = ProviderHold(PanelVisit("openai", "host-1", 1), is_late=False, until=timedelta(0))
    sessions = (  # ours: the server itself tidies a database now and then
        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'"
    )
    before = shared.rows(sessions)
    kept = []
    for _ in range(3):
        with pytest.raises(InputError) as error:
            duty._open(gone, BatchId("gone"))
        kept.append(error)  # with its frames: nothing is closed by the collector
    until = time.monotonic() + patient(10)
    while shared.rows(sessions) > before and time.monotonic() < until:
        time.sleep(0.05)  # a session that was closed is seen for a moment more
    assert shared.rows(sessions) <= before


async def test_a_fault_of_the_program_is_told_and_the_provider_is_left_to_others_for_minutes(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
):
    class Faulty(PanelDuty):
        async def _ask(self, visits: PanelVisits, one: ProviderHold, batch: BatchId) -> bool:
            raise KeyError("cell")

    told: list[Any] = []
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    loaded = Loaded(config=parse({}), path=None, data=Path(), digest="", server=shared.place)
    duty = Faulty(loaded, shared.place, SystemClock(), told.append, worker="host-1")
    duty._members = dict.fromkeys(NAMES, ())
    shared.detach()
    visits = shared.worker("host-1")
    (visit,) = visits.take([NAMES[0]], 1, late=timedelta(0))
    await duty._visit(visits, ProviderHold(visit, is_late=False, until=timedelta(hours=1)))
    (problem,) = told
    assert NAMES[0] in problem.what
    assert "the program failed: KeyError in test_panel_visits.py" in problem.what
    assert not duty._may_take(NAMES[0])
    assert duty._may_take(NAMES[1])
    assert [one.provider for one in shared.worker("host-2").take([NAMES[0]], 1, late=timedelta(0))] == [
        NAMES[0]
    ]


class Visiting(PanelDuty):
    """Asks nobody anything, until it leaves."""

    def _workers(self) -> int:
        return 2

    async def _visit(self, visits: PanelVisits, one: ProviderHold) -> None:
        while not one.is_leaving:
            await asyncio.sleep(0.01)
        free_visits(self.path, [one.visit])
        self._serving.pop(one.visit.provider)


async def test_a_worker_that_came_late_gets_its_part_of_what_another_took_for_late(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
):
    """A batch that waited for its workers is late for whoever starts first, by a moment."""
    monkeypatch.setattr("vedette.app.panel_worker.LATE", timedelta(seconds=0.2))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    loaded = Loaded(config=parse({}), path=None, data=Path(), digest="", server=shared.place)
    shared.detach()
    await asyncio.sleep(0.3)
    both = []
    for name in ("host-1", "host-2"):
        duty = Visiting(loaded, shared.place, SystemClock(), print, worker=name)
        duty._members = dict.fromkeys(NAMES, ())
        both.append((duty, shared.worker(name)))
    (first, first_visits), (second, second_visits) = both
    await first._step(first_visits)
    async with asyncio.timeout(patient(10)):
        while not second._serving:
            await asyncio.sleep(0.02)
            await second._step(second_visits)
    assert len(first._serving) == 2, "it keeps its part"
    await first._step(first_visits)
    await asyncio.sleep(0.05)
    assert len(first._serving) == 2, "and leaves no more"
    for duty, visits in both:
        await duty._drain(visits)


async def test_what_nobody_else_can_ask_is_offered_once_and_then_stays(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
):
    """The other worker has no key of it."""
    monkeypatch.setattr("vedette.app.panel_worker.LATE", timedelta(seconds=0.2))
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    loaded = Loaded(config=parse({}), path=None, data=Path(), digest="", server=shared.place)
    shared.detach()
    await asyncio.sleep(0.3)
    duty, visits = (
        Visiting(loaded, shared.place, SystemClock(), print, worker="host-1"),
        shared.worker("host-1"),
    )
    duty._members = dict.fromkeys(NAMES, ())
    await duty._step(visits)
    await asyncio.sleep(0.1)
    assert len(duty._serving) == 2, "what it has beyond its part is offered"
    async with asyncio.timeout(patient(10)):
        while len(duty._serving) < 3:
            await duty._step(visits)
            await asyncio.sleep(0.02)
    for _ in range(10):
        await duty._step(visits)
        await asyncio.sleep(0.02)
    assert len(duty._serving) == 3, "not offered again so soon"
    await duty._drain(visits)


@pytest.mark.slow
def test_a_worker_that_is_stopped_in_the_middle_of_a_write_holds_up_others_for_seconds_only(shared: Shared):
    batch = shared.detach(budget=1.0)
    visit, other = shared.worker("host-1").take(NAMES[:2], 2, late=timedelta(0))
    db = open_sql(shared.place.url)
    stopped = SharedPanelStore(
        db, shared.projection, PanelLedger(db, Ids(PANEL, after=0).next), visit, wants_usd=1.0
    )
    stopped.begin(batch)
    told = []
    with closing(stopped), suppress(StoreError), db.transaction():
        stopped._check_ours(batch.id)
        db.rows("SELECT status FROM crawl_batches WHERE id = ? FOR UPDATE", (batch.id,))  # and nothing more
        told.append(shared.spends(other, batch, 0.0))
    assert told == [pytest.approx(1.0)]
