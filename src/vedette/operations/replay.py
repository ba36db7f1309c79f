"""Decides again from the record: every decision, from its inputs and under the rules of its run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime

from vedette.config.rules import in_force, read_rules
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.watch import Decision
from vedette.contracts.words import RunId
from vedette.core.evidence.ledger import RULES, InForce, difference
from vedette.operations.installation import Installation
from vedette.operations.watches import known_watch
from vedette.store.queries import Queries
from vedette.store.views import LedgerFilter, LedgerView


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
