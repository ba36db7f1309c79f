"""Builds and runs a batch of the panel: providers with their keys, lanes, store, deadlines."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from pydantic_core import to_json

from vedette.app.configured_providers import ConfiguredProvider, house_of, note_calls, panellists
from vedette.app.model_refresh import callers
from vedette.app.panel_resources import (
    Door,
    Judging,
    PanelResources,
    ShownBatch,
    open_resources,
    open_store,
    own_store,
    redis_warnings,
    refused_words,
    spent_words,
    unparked,
)
from vedette.app.process import locked, run_loop, signals
from vedette.config.model import Loaded, panel_settings
from vedette.config.policies import fetch_settings
from vedette.config.sections import PanelConfig
from vedette.contracts.errors import ConfigError, InputError, RefusedError, TakenOverError, VedetteError
from vedette.contracts.fetch import FetchRequest
from vedette.contracts.lane import LanePolicy
from vedette.contracts.panel_run import (
    Batch,
    BatchId,
    BatchShape,
    BatchView,
    Dropped,
    PanelGroup,
    PanelNote,
    Price,
    Progress,
    Prompt,
    Reopening,
)
from vedette.contracts.ports import Clock, Fetcher
from vedette.contracts.words import Outcome
from vedette.core.panel.deadline import RUNNING, SOFT_CUT, STOPPED, status_of
from vedette.core.panel.models import canonical_name, nearest
from vedette.core.panel.pace import PaceParams, begin, policy_of
from vedette.core.panel.plan import Plan, PlanLimits, PlanTerms, ceiling_of, plan, unpriced
from vedette.core.urls.canonical import canonical
from vedette.engine.panel.loop import BatchEnd, PanelEngine
from vedette.engine.panel.provider_lanes import PROVIDER_LANE, KeySetup, PanelParts
from vedette.fetch.http import HttpFetcher
from vedette.lanes import LaneKeeper
from vedette.lanes.keeper import LanePolicies
from vedette.providers.provider_table import ProviderRow
from vedette.store.panel.batches import PanelStore, open_view
from vedette.store.panel.lane_ledger import read_models
from vedette.store.panel.panel_visits import is_with_workers
from vedette.store.panel.store_thread import AskedJournal, ThreadedPanelLog, asked_cells, asked_path
from vedette.store.sqlite import Reader
from vedette.telemetry.clock import SystemClock

LOCK = "panel-lock"  # one panel engine per data folder
ALIVE = timedelta(seconds=30)  # a batch that said something within this is running somewhere
_ZERO = timedelta(0)
OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelRequest:
    """What the operator wants asked."""

    domains: Sequence[tuple[str, str]]  # id and name
    models: tuple[str, ...] = ()
    budget_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """How a batch goes on, by the operator's word."""

    fresh: bool = False  # deadlines count from now
    take_over: bool = False  # whoever ran it elsewhere is gone for sure
    parked: bool = False  # cells that ended without an answer are asked again
    budget_usd: float | None = None  # another ceiling; None: the configured one, where it is higher


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelEnd:
    """How a run of a batch ended, and what it could not ask."""

    batch: BatchId
    by: str
    progress: Progress
    dropped: tuple[Dropped, ...]
    asked_again: int = 0  # cells that had been asked, and had no row, when the run before died
    error: BaseException | None = None
    refused: int = 0  # rows that the database did not take
    unanswered: tuple[str, ...] = ()  # providers that were asked, and that answered nothing
    warnings: tuple[str, ...] = ()


@dataclass(slots=True)
class Panel:
    """The panel of one configuration."""

    loaded: Loaded
    clock: Clock = field(default_factory=SystemClock)
    make_fetcher: Callable[[Clock], Fetcher] = HttpFetcher
    door: Callable[[PanelConfig], Door] | None = None  # makes what a run shows over HTTP while it goes
    on_note: Callable[[PanelNote], None] = lambda note: None  # decisions of a run, as they are made
    lane: LanePolicy = PROVIDER_LANE  # breaker and probes of every provider
    reads_environment: bool = True  # False: spec 003's variables are somebody else's, as in a demonstration
    config: PanelConfig = field(init=False)

    def __post_init__(self) -> None:
        self.config = panel_settings(self.loaded.config, reads_environment=self.reads_environment)

    def shape(self, domains: int, models: Sequence[str]) -> BatchShape:
        prompts = tuple(
            Prompt(
                prompt_type=row.type,
                text=row.text,
                tier=row.tier,
                version=row.version,
                system=row.system,
                most_tokens=row.most_tokens,
            )
            for row in sorted(self.config.prompts, key=lambda row: row.tier)
        )
        if len({prompt.prompt_type for prompt in prompts}) < len(prompts):
            raise ConfigError("`panel.prompts`: every prompt has a type of its own")
        return BatchShape(domains=domains, models=tuple(models), prompts=prompts, repeats=self.config.repeats)

    def members(self, models: Sequence[str] = (), *, needs_keys: bool = True) -> list[ConfiguredProvider]:
        """The providers that are asked: those named, else all that have a key."""
        named = tuple(models) or self.config.models
        found = {one.row.name: one for one in panellists(self.loaded.config)}
        unknown = [name for name in named if name not in found]
        if unknown:
            raise ConfigError(f"there is no provider {unknown[0]!r}; known: {', '.join(found)}")
        members = [found[name] for name in named or found]
        if members and not needs_keys:
            return members
        keyless = [one.row for one in members if not one.keys]
        if named and keyless:
            row = keyless[0]
            raise ConfigError(f"{row.name} has no key; set {row.key_env or f'providers.{row.name}.keys'}")
        if len(keyless) == len(members):
            raise ConfigError("no provider has a key; set for example OPENAI_API_KEY in the environment")
        return [one for one in members if one.keys]

    def plan(self, domains: int, models: Sequence[str] = ()) -> tuple[Plan, tuple[str, ...]]:
        """What a run would take, and what it would say before it begins.

        Planned are the providers that a run would ask: those with a key.  Where it would refuse for want of keys, those
        that are named (or all) are planned as if each had one.
        """
        everyone = self.members(models, needs_keys=False)
        keyless = [one.row for one in everyone if not one.keys]
        is_refused = bool(keyless) and (len(keyless) == len(everyone) or bool(models or self.config.models))
        members = everyone if is_refused else [one for one in everyone if one.keys]
        limits = [
            PlanLimits(
                model=one.row.name,
                per_minute=(one.row.per_minute,) * max(1, len(one.keys)),
                at_once=one.row.at_once * max(1, len(one.keys)),
                keys=len(one.keys),
            )
            for one in members
        ]
        terms = PlanTerms(target=self.config.target, hard=self.config.hard, at_once=self.config.at_once)
        made = plan(self.shape(domains, [row.model for row in limits]), limits, prices_of(members), terms)
        return made, tuple(_before_a_run(keyless, is_refused, self.config.budget_usd, made))

    @contextmanager
    def store(self) -> Iterator[PanelStore]:
        """With all the tables that a run needs: creates and adds what is missing."""
        with closing(open_store(self.loaded, self.config)) as store:
            yield store

    @contextmanager
    def view(self, *, read_only: bool = True) -> Iterator[PanelStore]:
        """As it is: for the verbs that look, and for the kill switch."""
        with closing(self._opened(read_only)) as store:
            yield store

    def _opened(self, read_only: bool) -> PanelStore:
        config = self.config
        return open_view(self.loaded.data, config.database, config.shadow_table, read_only=read_only)

    def fetch_registry(self, url: str) -> bytes:
        """What the registry of domains answers; through the one guard, as anything that is fetched."""
        address = canonical(url)
        if address is None:
            raise InputError(f"{_bare(url)!r} is not an http or https URL")
        return asyncio.run(self._fetch(address))

    def run(self, asked: PanelRequest, on_progress: OnProgress) -> PanelEnd:
        """A new batch, from its first call to its end.  Blocking."""
        batch = self.new_batch(asked)
        with self.locked(), open_resources(self.loaded, self.config, self.clock) as resources:
            resources.store.create(batch, asked.domains)
            return self._run(resources, batch, on_progress)

    def new_batch(self, asked: PanelRequest) -> Batch:
        """As it would begin now; nothing is written."""
        members = self.members(asked.models)
        budget = self.config.budget_usd if asked.budget_usd is None else asked.budget_usd
        self.check_budget(members, budget)
        now = self.clock.now()
        return Batch(
            id=BatchId(f"panel-{now:%Y%m%dT%H%M%S}-{os.getpid()}"),
            shape=self.shape(len(asked.domains), [one.row.name for one in members]),
            started_at=now,
            target_at=now + self.config.target,
            hard_at=now + self.config.hard,
            budget_usd=budget,
        )

    def resume(self, batch_id: BatchId, on_progress: OnProgress, how: Resume) -> PanelEnd:
        """The rest of a batch."""
        with self.locked(), open_resources(self.loaded, self.config, self.clock) as resources:
            view = resources.store.view(batch_id)
            now = self.clock.now()
            self._check_resume(view, how, is_shared=is_with_workers(resources.ledger.db, batch_id))
            batch = view.batch
            target_at, hard_at = batch.target_at, batch.hard_at
            if how.fresh:
                target_at, hard_at = now + self.config.target, now + self.config.hard
            if now >= hard_at:
                raise RefusedError(
                    f"the hard stop of {batch_id} was {hard_at:%Y-%m-%d %H:%M}; add --fresh-deadline"
                )
            budget = ceiling_of(how.budget_usd, self.config.budget_usd, batch.budget_usd)
            self.check_budget(self.members(batch.shape.models), budget)
            if how.parked and view.parked:
                resources.ledger.write_alone(PanelGroup(batch=batch_id, notes=unparked(view.parked, now)))
            reopening = Reopening(
                target_at=target_at,
                hard_at=hard_at,
                budget_usd=budget,
                with_parked=how.parked,
                with_cut=how.fresh,
            )
            asked = self._asked_before(resources, view)
            batch, leased = resources.store.reopen(batch_id, reopening)
            end = self._run(resources, batch, on_progress, is_resumed=True)
            return replace(end, asked_again=leased if asked is None else asked)

    def _asked_before(self, resources: PanelResources, view: BatchView) -> int | None:
        """Cells that were asked and have no row; None: they were asked on another machine, and only it knows."""
        asked = asked_cells(asked_path(self.loaded.data, view.batch.id))
        if asked is None:
            return None
        settled = resources.store.settled(view.batch.id, 0, view.cells)
        return len(asked - settled)

    async def _fetch(self, url: str) -> bytes:
        fetcher = self.make_fetcher(self.clock)
        settings = fetch_settings(self.loaded.config)
        try:
            fetched = await fetcher.fetch(FetchRequest(url=url, settings=settings, accept="application/json"))
        finally:
            await fetcher.close()
        if fetched.outcome is not Outcome.OK or fetched.redirect_to is not None:
            raise VedetteError(
                f"the registry {_bare(url)} gave no list: {fetched.outcome.value} {fetched.detail}".rstrip()
            )
        return fetched.body

    def _run(
        self, resources: PanelResources, batch: Batch, on_progress: OnProgress, *, is_resumed: bool = False
    ) -> PanelEnd:
        end = run_loop(self._engine(resources, batch, on_progress, is_resumed))
        if isinstance(end.error, TakenOverError):
            raise end.error  # its end is not ours to write
        now = self.clock.now()
        dropped = resources.store.end(batch, by=end.by, now=now)
        by = status_of(end.by, dropped)
        tally = to_json({"settled": end.progress.settled, "answered": end.progress.answered}).decode()
        resources.ledger.run_ended(batch, now=now, by=by, tally=tally)
        self._note_reliability(resources, batch, end.progress)
        silent = self._silent(resources, batch)
        return PanelEnd(
            batch=batch.id,
            by=by,
            progress=end.progress,
            dropped=dropped,
            error=end.error,
            unanswered=tuple(silent),
            refused=sum(resources.store.refused.values()),
            warnings=(
                *spent_words(batch, end),
                *silent.values(),
                *refused_words(resources.store.refused),
                *redis_warnings(resources.board),
            ),
        )

    def _silent(self, resources: PanelResources, batch: Batch) -> dict[str, str]:
        """Providers that were asked and answered nothing in all of the batch, or were stopped, in words."""
        rows = {one.row.name: one.row for one in self.members(batch.shape.models, needs_keys=False)}
        told: dict[str, str] = {}
        for model, breaker, ok, calls, outcome, detail in resources.store.silent(batch.id):
            what = f"{model} answered {ok} of {calls} calls"
            why = f", the others ended as {outcome}: {detail}" if outcome else ""
            stopped = "; it was stopped" if breaker == STOPPED else ""
            next_ = self._successor(resources, rows[model]) if model in rows and breaker == STOPPED else ""
            told[model] = f"{what}{why}{stopped}{next_}"
        return told

    def _successor(self, resources: PanelResources, row: ProviderRow) -> str:
        """What to ask instead: the nearest of the models that the provider lists, or that are known of it."""
        name = canonical_name(row.name, row.model)
        known = [one for one in read_models(resources.ledger.db.connection) if one.provider == house_of(row)]
        listed = asyncio.run(self._listed(row))
        others = {canonical_name(row.name, one) for one in listed}
        others = others or {one.name for one in known if one.retired_at is None}
        others |= {
            one.row.name for one in panellists(self.loaded.config) if house_of(one.row) == house_of(row)
        }
        others -= {name, row.name}
        found = nearest(name, others) or nearest(row.name, others)
        advice = f"set providers.{row.name}.model, then `vedette panel resume`"
        return f"; nearest: {found}; {advice}" if found else f"; {advice}"

    async def _listed(self, row: ProviderRow) -> Sequence[str]:
        """Asked once, when it matters; a provider that does not say has none."""
        fetcher = self.make_fetcher(self.clock)
        try:
            made = callers(self.loaded.config, fetcher, self.config.timeout)
            caller = next((one for one in made if one.row.name == row.name), None)
            return () if caller is None else await caller.list_models()
        finally:
            await fetcher.close()

    def _note_reliability(self, resources: PanelResources, batch: Batch, progress: Progress) -> None:
        """Each call of this run counts for or against its model, in the registry of models."""
        rows = [one.row for one in self.members(batch.shape.models, needs_keys=False)]
        counted = {row.model: (row.ok, row.failed) for row in progress.providers}
        with resources.ledger.db.transaction():
            note_calls(resources.ledger.db.connection, rows, counted)

    async def _engine(
        self, resources: PanelResources, batch: Batch, on_progress: OnProgress, is_resumed: bool
    ) -> BatchEnd:
        fetcher = self.make_fetcher(resources.clock)
        log = ThreadedPanelLog(resources.store, resources.reader, self.clock.stopwatch)
        journal, is_clean = AskedJournal(asked_path(self.loaded.data, batch.id)), False
        try:
            keys = self.keys(batch.shape.models, fetcher)
            parts = PanelParts(
                clock=resources.clock,
                keeper=self.keeper(
                    resources.lanes,
                    resources.clock,
                    keys,
                    not_before=resources.clock.now() if is_resumed else None,
                ),
                log=log,
                keys=keys,
                prices=prices_of(self.members(batch.shape.models)),
                judge=Judging(),
                chunk_size=self.config.chunk_size,
                timeout=self.config.timeout,
                is_resumed=is_resumed,
                lane=self.lane,
                board=resources.board,
                latencies=resources.store.latencies(batch.id) if is_resumed else {},
                on_asked=journal.note,
                on_note=self.on_note,
                wall=resources.clock.wall,
            )
            engine = PanelEngine(batch, parts)
            async with (
                self.door(self.config)(ShownBatch(resources.shown, log, resources.board))
                if self.door
                else nullcontext()
            ):
                telling = asyncio.create_task(
                    _tell(engine, on_progress)
                )  # from its first word on the door is open
                with signals(engine.stop):
                    end = await engine.run()
            telling.cancel()
            on_progress(end.progress)
            is_clean = end.error is None
            return end
        finally:
            await fetcher.close()
            log.close()
            journal.close(is_clean=is_clean)

    def keys(self, models: Sequence[str], fetcher: Fetcher) -> tuple[KeySetup, ...]:
        return tuple(
            KeySetup(
                model=one.row.name,
                lane=one.lane,
                provider=one,
                pace=PaceParams(per_minute=one.row.per_minute, at_once=one.row.at_once),
            )
            for one in callers(self.loaded.config, fetcher, self.config.timeout)
            if one.row.name in models
        )

    def keeper(
        self, lanes: Reader, clock: Clock, keys: Sequence[KeySetup], *, not_before: datetime | None = None
    ) -> LaneKeeper:
        """The lanes of these keys, as the store knows them."""
        everything = width_of(self.config.at_once)
        named: dict[str, LanePolicy] = {key.lane: policy_of(begin(key.pace), self.lane) for key in keys}
        policies = LanePolicies(named={**named, "all": everything})
        return LaneKeeper(policies, load=lanes.lane, clock=clock, not_before=not_before)

    def check_budget(self, members: Sequence[ConfiguredProvider], budget: float | None) -> None:
        """A ceiling that cannot be held is refused before the first call (spec 003)."""
        missing = unpriced((one.row.name for one in members), prices_of(members))
        if budget is not None and missing:
            names = ", ".join(missing)
            raise RefusedError(
                f"a budget is set, and the price of {names} is not known; set providers.NAME.price"
            )

    def _check_resume(self, view: BatchView, how: Resume, *, is_shared: bool) -> None:
        """In our own store the lock proves that nobody else runs it; a shared database only knows its last word.

        So it is with a batch that was left to workers, which hold no lock.
        """
        is_running, asks_parked = view.status == RUNNING, bool(how.parked and view.parked)
        if not is_running and not view.unasked and not asks_parked:
            hint = "; --parked asks again what ended without an answer" if view.parked else ""
            raise RefusedError(f"the batch is complete; there is nothing to resume{hint}")
        if not how.fresh and not asks_parked and _is_all_cut(view):
            raise RefusedError("what is left was dropped at the soft cut; --fresh-deadline asks it")
        is_lockless = is_shared or self.config.database is not None
        if is_running and is_lockless and not (how.take_over or self._is_silent(view)):
            raise RefusedError(
                "the batch is running elsewhere; `vedette panel kill` stops it, --take-over takes it"
            )

    def _is_silent(self, view: BatchView) -> bool:
        return view.heartbeat_at is None or self.clock.now() - view.heartbeat_at >= ALIVE

    @contextmanager
    def locked(self) -> Iterator[None]:
        own_store(self.loaded)
        with locked(self.loaded.data, LOCK):
            yield


def width_of(at_once: int) -> LanePolicy:
    """No more than so many calls at once, and no other limit."""
    return LanePolicy(gap_min=_ZERO, gap_max=_ZERO, per_minute=0, at_once=at_once, trips_after=1_000_000)


def prices_of(members: Sequence[ConfiguredProvider]) -> dict[str, Price]:
    return {
        one.row.name: Price(tokens_in=one.row.price[0], tokens_out=one.row.price[1], request=one.row.price[2])
        for one in members
        if one.row.price is not None
    }


def _before_a_run(
    keyless: Sequence[ProviderRow], is_refused: bool, budget: float | None, made: Plan
) -> Iterator[str]:
    """What a run would refuse, or leave out."""
    names = ", ".join(f"{row.name} ({row.key_env or f'providers.{row.name}.keys'})" for row in keyless)
    if is_refused:
        yield f"`panel run` would refuse, for want of a key: {names}; planned as if each had one"
    elif keyless:
        yield f"without a key, and not asked: {names}"
    if budget is not None and made.unpriced:
        yield f"`panel run` would refuse: a budget is set, and there is no price for {', '.join(made.unpriced)}"
    elif budget is not None and made.most_usd is not None and made.most_usd > budget:
        yield f"the budget of {budget:g} USD may end it early: it can cost up to {made.most_usd:.2f} USD"


def _bare(url: str) -> str:
    """An address to show: without what may be a password or a key in it."""
    return url.partition("?")[0].rpartition("@")[2]


async def _tell(engine: PanelEngine, on_progress: OnProgress) -> None:
    while True:
        on_progress(engine.progress())
        await asyncio.sleep(1.0)


def _is_all_cut(view: BatchView) -> bool:
    """True where all that is left was dropped at the soft cut."""
    cut = sum(one.cells for one in view.dropped if one.reason == SOFT_CUT)
    return cut > 0 and cut == view.unasked
