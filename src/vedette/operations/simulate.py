"""What another policy, budget or objective would have done: over the looks on record, or over a truth that is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime

from vedette.config.pace_policies import objectives, rooms, schedule_policy
from vedette.config.rules import in_force, read_rules
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.watch import Decision
from vedette.contracts.words import Risk, RunId
from vedette.core.evidence.ledger import RULES, InForce, difference
from vedette.core.schedule.protocol import SchedulePolicy
from vedette.core.whatif.history import Truth, imputer
from vedette.core.whatif.play import (
    ALL,
    Bounds,
    BoundTable,
    PlayedTruth,
    PlayTerms,
    bounds,
    exact,
    figures,
    play,
)
from vedette.operations.freshness import Objectives, a_budget, some_objectives, some_policies
from vedette.operations.installation import Installation
from vedette.operations.watches import known_watch
from vedette.store.queries import Queries
from vedette.store.recorded_looks import recorded
from vedette.store.views import LedgerFilter, LedgerView

BASE = "seed-ewma"  # whose own spending `1x` means where nothing is on record
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """None given: as configured.  Budgets and objectives are written as `operations/freshness.py` reads them."""

    policies: Sequence[str] = ()
    budgets: Sequence[str] = ()
    objectives: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """Each policy with each budget, played."""

    over: str  # history | world
    title: str
    requests_per_day: float
    goals: Objectives
    scenes: tuple[PlayedTruth, ...]
    is_even: bool  # each was given what the thriftiest of them takes

    def within(self) -> dict[str, float]:
        """Hours that IN TIME is counted against, by risk."""
        return {risk.name: hours for risk, hours in zip(Risk, _within(self.goals), strict=True)}


def simulate_record(
    installation: Installation, asked: WhatIf, *, since: datetime | None, draws: int, progress: Progress
) -> Simulation:
    """Over the looks on record.  What they do not say is drawn so many times, so that figures have bounds."""
    goals = some_objectives(asked.objectives, objectives(installation.loaded.config))
    names = _names(installation, asked)
    return _simulated(installation, asked, names, _OnRecord(installation, goals, since, draws), progress)


def simulate_truth(
    installation: Installation, asked: WhatIf, truth: Truth, *, title: str, progress: Progress
) -> Simulation:
    """Over all changes of a world, which are known."""
    goals = some_objectives(asked.objectives, objectives(installation.loaded.config))
    names = _names(installation, asked)
    return _simulated(installation, asked, names, _OverTruth(installation, goals, truth, title), progress)


def simulation_json(found: Simulation) -> dict[str, object]:
    return {
        "over": found.over,
        "title": found.title,
        "requests_per_day": found.requests_per_day,
        "objectives": {
            name: {"within_h": hours, "share": share} for name, (hours, share) in found.goals.items()
        },
        "scenes": [
            {
                "policy": one.policy,
                "budget_per_day": one.budget,
                "classes": {
                    risk: {name: _plain(bounds) for name, bounds in row.items()}
                    for risk, row in one.table.items()
                },
            }
            for one in found.scenes
        ],
    }


def _plain(bounds: Bounds) -> dict[str, float] | None:
    return asdict(bounds) if bounds.is_known else None


def _names(installation: Installation, asked: WhatIf) -> tuple[str, ...]:
    return some_policies(asked.policies, installation.loaded.config.schedule.policy)


def _simulated(
    installation: Installation, asked: WhatIf, names: Sequence[str], ground: _Ground, progress: Progress
) -> Simulation:
    configured = installation.loaded.config.schedule.budget_per_day
    is_even = not asked.budgets and configured is None and len(names) > 1
    texts = asked.budgets or ["none" if configured is None else str(configured)]
    budgets = [a_budget(text, ground.per_day) for text in texts]
    scenes = ground.scenes([(name, looks) for name in names for looks in budgets], progress)
    if is_even:
        scenes = ground.scenes([(name, _least_of(scenes)) for name in names], progress)
    return Simulation(
        over=ground.kind,
        title=ground.title,
        requests_per_day=ground.per_day,
        goals=ground.goals,
        scenes=tuple(scenes),
        is_even=is_even,
    )


def _least_of(scenes: Sequence[PlayedTruth]) -> float:
    """What the thriftiest of them takes in a day."""
    return min(one.table[ALL]["requests"].low for one in scenes)


def _within(goals: Objectives) -> tuple[float, float, float, float]:
    hours = [goals.get(risk.name, (4.0, 0.0))[0] for risk in Risk]
    return hours[0], hours[1], hours[2], hours[3]


class _Ground:
    """What is played over."""

    title: str
    per_day: float
    kind: str

    def __init__(self, installation: Installation, goals: Objectives) -> None:
        self.goals = goals
        self._config = installation.loaded.config

    def _make(self, name: str, budget: float | None) -> Callable[[], SchedulePolicy]:
        return lambda: schedule_policy(self._config, name, goals=self.goals, budget=budget)

    def play(self, name: str, budget: float | None, progress: Progress) -> BoundTable:
        raise NotImplementedError

    def scenes(self, wanted: Sequence[tuple[str, float | None]], progress: Progress) -> list[PlayedTruth]:
        """Each policy with its looks per day."""
        return [
            PlayedTruth(name, looks, self.play(name, looks, _part(progress, n, len(wanted))))
            for n, (name, looks) in enumerate(wanted)
        ]


class _OnRecord(_Ground):
    kind = "history"

    def __init__(
        self, installation: Installation, goals: Objectives, since: datetime | None, draws: int
    ) -> None:
        super().__init__(installation, goals)
        with installation.queries() as queries:
            found = recorded(queries, since=since, now=installation.now())
        history = found.history
        if not history.changed.size or history.days < 1 / 24:
            raise VedetteError(
                "there is no history to play over yet; let `vedette run` look for a while, or try --world grid"
            )
        self._draws = draws
        self.per_day = found.requests_per_day
        self.title = f"{len(history.targets)} targets, {history.days:.3g} days on record"
        self._imputer = imputer(history)
        limits = rooms(self._config, found.hosts)
        self._room = {host: room for host, room in enumerate(limits) if room != float("inf")}

    def play(self, name: str, budget: float | None, progress: Progress) -> BoundTable:
        terms = PlayTerms(budget=budget, within=_within(self.goals), room=self._room)
        return bounds(self._make(name, budget), self._imputer, terms, self._draws, progress)


class _OverTruth(_Ground):
    kind = "world"

    def __init__(self, installation: Installation, goals: Objectives, truth: Truth, title: str) -> None:
        super().__init__(installation, goals)
        self._truth = truth
        self.title = title
        own = play(self._make(BASE, None)(), truth, self._terms(None))
        self.per_day = figures(own)[ALL]["requests"]

    def play(self, name: str, budget: float | None, progress: Progress) -> BoundTable:
        done = play(self._make(name, budget)(), self._truth, self._terms(budget), on_step=progress)
        return exact(figures(done))

    def _terms(self, budget: float | None) -> PlayTerms:
        return PlayTerms(budget=budget, within=_within(self.goals))


def _part(progress: Progress, n: int, of: int) -> Progress:
    return lambda done, whole: progress(n * whole + done, of * whole)


# Decides again from the record: every decision, from its inputs and under the rules of its run.


@dataclass(frozen=True, slots=True)
class ReplayDifference:
    row: LedgerView
    action: str
    words: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """By action."""

    agreed: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    not_recomputed: Counter[str] = field(default_factory=Counter)
    differences: list[ReplayDifference] = field(default_factory=list)


def replay(
    installation: Installation,
    url: str | None = None,
    *,
    since: datetime | None = None,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> Replayed:
    """Decide again, all or about one URL, and compare."""
    with installation.queries() as queries:
        watch = None if url is None else known_watch(installation, queries, url).id
        which = LedgerFilter(watch=watch, since=since)
        whole = queries.count_decisions(which)
        result = Replayed()
        rules = _Rules(queries)
        for done, row in enumerate(queries.decisions(which), 1):
            _take(result, row, rules)
            progress(done, whole)
    return result


def replay_json(result: Replayed) -> dict[str, object]:
    return {
        "agreed": dict(result.agreed),
        "differing": dict(result.differing),
        "not_recomputed": dict(result.not_recomputed),
        "differences": [
            {"at": one.row.at, "visit": one.row.visit, "action": one.action, "difference": one.words}
            for one in result.differences
        ],
    }


def _take(result: Replayed, row: LedgerView, rules: _Rules) -> None:
    for decision in row.decisions:
        if decision.action not in RULES:
            result.not_recomputed[decision.action] += 1
            continue
        words = _compared(decision, rules, row.run)
        if words is None:
            result.agreed[decision.action] += 1
        else:
            result.differing[decision.action] += 1
            result.differences.append(ReplayDifference(row, decision.action, words))


class _Rules:
    """The rules of every run, read once."""

    def __init__(self, queries: Queries) -> None:
        self._runs = {run.id: run for run in queries.runs(most=0)}
        self._published: dict[int, str | None] = {}
        self._clocks: dict[int, bytes | None] = {}
        self._queries = queries
        self._made: dict[RunId, InForce] = {}

    def of(self, run: RunId) -> InForce:
        if run not in self._made:
            if run not in self._runs:
                raise InputError(f"its run {run} is not on record")
            known = self._runs[run]
            rules = in_force(read_rules(known.rules), known.policy)
            self._made[run] = replace(
                rules, published=self._version, clocks=self._clock, fitted=self._queries.odd_weights
            )
        return self._made[run]

    def _version(self, version: int) -> str | None:
        if version not in self._published:
            row = self._queries.published(version)
            self._published[version] = None if row is None else row.body
        return self._published[version]

    def _clock(self, number: int) -> bytes | None:
        if number not in self._clocks:
            self._clocks[number] = self._queries.clock(number)
        return self._clocks[number]


def _compared(decision: Decision, rules: _Rules, run: RunId) -> str | None:
    try:
        return difference(decision, rules.of(run))
    except VedetteError as error:
        return f"cannot be decided again: {error}"
