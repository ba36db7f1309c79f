"""A bug in the scheduler or the hunt costs a plan, never a look: what is not decided is due by the documents' rule.

When a group cannot be decided, the scheduler is made anew from the last commit and its looks are tried one by one.
Those that fail alone get their next look by `seed-ewma`, with a `problem` in the ledger and a `problem` event; the
others are decided together as ever.  Their beliefs stay as they were, so the next look finds them whole.  A hunt that
fails on a group is made anew as well: what the group found is open, what it looked at is not counted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from vedette.contracts.copies import replace
from vedette.contracts.errors import StoreError
from vedette.contracts.hunt import HuntRows
from vedette.contracts.schedule import Lesson, ScheduleRows
from vedette.contracts.watch import Decision, LedgerNote, Settlement
from vedette.contracts.words import Reason
from vedette.core.evidence.ledger import schedule_decision
from vedette.core.schedule.due import DueParams, LookFacts, ScheduleTerms, apply_schedule, decide

if TYPE_CHECKING:
    from vedette.engine.settle.hunter import Hunter
    from vedette.engine.settle.scheduler import Scheduler

RULE = "seed-ewma"
_STORAGE = (sqlite3.Error, OSError, StoreError)  # broken storage is no bug of the plan: the run must end
_MIDDLE = 0.5  # no jitter: which looks fail together is chance enough
_MOST_NOTE = 300  # characters of an error

Decided = tuple[list[Settlement], ScheduleRows | None]
Hunted = tuple[HuntRows | None, tuple[LedgerNote, ...]]


class GuardedScheduler:
    """`tell` hears of every group that could not be decided as a whole, in words.

    `rule`: the documents' rule as it is configured.
    """

    def __init__(self, make: Callable[[], Scheduler], tell: Callable[[str], None], rule: DueParams) -> None:
        self._make = make
        self._tell = tell
        self._rule = rule
        self._scheduler: Scheduler | None = None

    def decide(self, settlements: Sequence[Settlement]) -> Decided:
        if all(settled.lesson is None for settled in settlements):
            return list(settlements), None
        decided = self._try(settlements)
        return self._one_by_one(settlements, decided) if isinstance(decided, Exception) else decided

    def _try(self, settlements: Sequence[Settlement]) -> Decided | Exception:
        """After a failure the scheduler is forgotten: what it knows is half of a group ahead of the store."""
        try:
            if self._scheduler is None:
                self._scheduler = self._make()
            return self._scheduler.decide(settlements)
        except _STORAGE:
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours costs one plan, not the run
            self._scheduler = None
            return error

    def _one_by_one(self, settlements: Sequence[Settlement], first: Exception) -> Decided:
        failed: dict[int, Exception] = {}
        for n, settled in enumerate(settlements):
            if settled.lesson is not None:
                alone = self._try([settled])
                self._scheduler = None  # it was only to be tried
                if isinstance(alone, Exception):
                    failed[n] = alone
        rest = [settled for n, settled in enumerate(settlements) if n not in failed]
        decided = self._try(rest) if failed else first
        if isinstance(decided, Exception):  # they fail together only: nobody is left to blame
            failed = {n: failed.get(n, decided) for n, s in enumerate(settlements) if s.lesson is not None}
            decided = ([s for n, s in enumerate(settlements) if n not in failed], None)
        self._say(settlements, failed)
        others = iter(decided[0])
        done = [
            safely_due(settled, failed[n], self._rule) if n in failed else next(others)
            for n, settled in enumerate(settlements)
        ]
        return done, decided[1]

    def _say(self, settlements: Sequence[Settlement], failed: dict[int, Exception]) -> None:
        n, error = next(iter(failed.items()))
        more = f" and {len(failed) - 1} more" if len(failed) > 1 else ""
        url = settlements[n].watch.url
        self._tell(f"the scheduler failed on {url}{more}; due by {RULE} instead: {_words(error)}")


class GuardedHunter:
    """`tell` hears of every group that the hunt failed on, in words."""

    def __init__(self, make: Callable[[datetime], Hunter], tell: Callable[[str], None]) -> None:
        self._make = make
        self._tell = tell
        self._hunter: Hunter | None = None

    def hunt(self, settlements: Sequence[Settlement], now: datetime) -> Hunted:
        try:
            if self._hunter is None:
                self._hunter = self._make(now)
            return self._hunter.hunt(settlements, now)
        except _STORAGE:
            raise
        except Exception as error:  # noqa: BLE001  a fault of ours costs one choice, not the run
            self._hunter = None
            self._tell(f"the hunt failed on a group and chose nothing: {_words(error)}")
            found = [one for s in settlements for one in s.found if one.due_at is None]
            looked_at = tuple(s.watch.id for s in settlements)
            ended = tuple(s.watch.id for s in settlements if s.job.watch.last_visit_at is None)
            rows = HuntRows(
                found=tuple((one.id, "") for one in found),
                opened=tuple((one.id, one.source, ()) for one in found),
                ended=ended,
                done=looked_at,
            )
            return rows, ()


def safely_due(settled: Settlement, error: Exception, rule: DueParams) -> Settlement:
    """The look with a next one by the documents' rule, and with the problem on record."""
    problem = Decision(
        action="problem", reasons=(Reason("scheduler_failed", note=_words(error)),), output=RULE
    )
    lesson, watch = settled.lesson, settled.watch
    if lesson is None or lesson.has_due:
        return replace(settled, decisions=(*settled.decisions, problem))
    facts = _facts(settled, lesson)
    plain = decide(facts, rule)
    terms = ScheduleTerms(not_before=lesson.not_before, is_active=watch.due_at is not None)
    done = apply_schedule(watch, plain, terms, is_taught=False)
    decision = schedule_decision(facts, done.due, RULE)
    return replace(settled, watch=done.watch, decisions=(*settled.decisions, problem, decision))


def _facts(settled: Settlement, lesson: Lesson) -> LookFacts:
    watch = settled.watch
    return LookFacts(
        velocity=watch.velocity,
        scan_count=watch.scan_count,
        risk=watch.risk,
        changed=lesson.changed,
        now=lesson.now,
        jitter=_MIDDLE,
        asked=lesson.asked,
        is_parked=lesson.is_parked,
    )


def _words(error: Exception) -> str:
    return repr(error)[:_MOST_NOTE]


def rested(settlements: list[Settlement], hunt: HuntRows | None) -> list[Settlement]:
    """A hunt says itself when it looks again at what it looked at."""
    rests = {} if hunt is None else dict(hunt.rests)
    if not rests:
        return settlements
    return [
        replace(s, watch=replace(s.watch, due_at=rests[s.watch.id])) if s.watch.id in rests else s
        for s in settlements
    ]
