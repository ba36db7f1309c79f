"""A bug of the scheduler costs a plan: the look is settled, due by the documents' rule, and the problem is named."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from settlements import HOUR, NOON, a_look, a_watch

from vedette.contracts.schedule import Lesson, ScheduleRows
from vedette.contracts.watch import Settlement
from vedette.core.evidence.ledger import InForce, adds_up, difference
from vedette.core.schedule.due import DueParams, due_params
from vedette.core.schedule.ewma import EwmaParams, EwmaRule, VelocityParams, update_velocity
from vedette.engine.settle.fallback import GuardedScheduler, safely_due

RULE = DueParams()


class Fake:
    """A scheduler that falls over whatever `breaks` says, and plans all else for a week later."""

    made = 0

    def __init__(self, breaks: Callable[[Sequence[Settlement]], Exception | None]) -> None:
        self.breaks = breaks
        Fake.made += 1

    def decide(self, settlements: Sequence[Settlement]) -> tuple[list[Settlement], ScheduleRows | None]:
        error = self.breaks(settlements)
        if error is not None:
            raise error
        week = [replace(s, watch=replace(s.watch, due_at=NOON + 168 * HOUR)) for s in settlements]
        return week, ScheduleRows(running=str(len(settlements)))


def looks(count: int, **lesson: Any) -> list[Settlement]:
    given = {"now": NOON, "changed": False, "host_ok": True} | lesson
    return [
        a_look(a_watch(f"https://a.example/{n}", velocity=0.4, scan_count=7), n + 1, lesson=Lesson(**given))
        for n in range(count)
    ]


def guarded(breaks: Callable[[Sequence[Settlement]], Exception | None]) -> tuple[GuardedScheduler, list[str]]:
    said: list[str] = []
    return GuardedScheduler(lambda: Fake(breaks), said.append, RULE), said  # type: ignore[arg-type, return-value]


def broken_by(url: str) -> Callable[[Sequence[Settlement]], Exception | None]:
    return lambda group: ValueError("odd belief") if any(s.watch.url == url for s in group) else None


def test_one_look_that_breaks_the_scheduler_costs_the_others_nothing() -> None:
    scheduler, said = guarded(broken_by("https://a.example/1"))
    done, rows = scheduler.decide(looks(3))
    assert [s.watch.url[-1] for s in done] == ["0", "1", "2"]
    assert [s.watch.due_at == NOON + 168 * HOUR for s in done] == [True, False, True]
    assert rows is not None
    assert rows.running == "2"
    assert said == [
        "the scheduler failed on https://a.example/1; due by seed-ewma instead: ValueError('odd belief')"
    ]


def test_the_safe_look_is_that_of_the_documents_and_can_be_replayed() -> None:
    (look,) = looks(1, changed=True)
    settled = safely_due(look, ValueError("odd belief"), RULE)
    problem, schedule = settled.decisions[-2:]
    assert (problem.action, problem.reasons[0].code, problem.output) == (
        "problem",
        "scheduler_failed",
        "seed-ewma",
    )
    assert difference(schedule) is None
    assert settled.watch.due_at is not None
    assert adds_up(schedule.reasons, (settled.watch.due_at - NOON) / HOUR)
    assert settled.watch.velocity == update_velocity(0.4, 7, True)
    assert settled.watch.belief == look.watch.belief


def test_the_safe_look_goes_by_the_rule_as_it_is_configured() -> None:
    (look,) = looks(1, changed=True)
    rule = due_params("learned", EwmaRule(EwmaParams(base_hours=40.0)), VelocityParams(warmup=0))
    settled = safely_due(look, ValueError("odd belief"), rule)
    assert settled.watch.interval >= 40 * HOUR
    assert difference(settled.decisions[-1], InForce(due=rule)) is None


@pytest.mark.parametrize("has_due", [True, False])
def test_what_is_arranged_already_and_what_is_not_scheduled_stay_so(has_due: bool) -> None:
    (look,) = looks(1, has_due=has_due)
    unscheduled = replace(look, watch=replace(look.watch, due_at=None))
    assert safely_due(unscheduled, ValueError(), RULE).watch.due_at is None
    if has_due:
        assert safely_due(look, ValueError(), RULE).watch == look.watch


def test_a_closed_source_is_not_asked_before_it_opens() -> None:
    (look,) = looks(1, not_before=NOON + 1000 * HOUR)
    assert safely_due(look, ValueError(), RULE).watch.due_at == NOON + 1000 * HOUR


def test_looks_that_fail_only_together_are_all_planned_safely() -> None:
    scheduler, said = guarded(lambda group: KeyError("host") if len(group) > 1 else None)
    done, rows = scheduler.decide(looks(3))
    assert rows is None
    assert all(s.decisions[-1].action == "schedule" for s in done)
    assert "and 2 more" in said[0]


def test_after_a_failure_the_scheduler_is_made_anew_and_goes_on() -> None:
    broken = [True]
    scheduler, said = guarded(lambda _: ZeroDivisionError() if broken else None)
    before = Fake.made
    scheduler.decide(looks(1))
    broken.clear()
    done, _ = scheduler.decide(looks(1))
    assert done[0].watch.due_at == NOON + 168 * HOUR
    assert len(said) == 1
    assert Fake.made > before + 1


def test_a_scheduler_that_cannot_be_made_costs_no_look() -> None:
    said: list[str] = []

    def make() -> Any:
        raise ValueError("its sums are not JSON")

    scheduler = GuardedScheduler(make, said.append, RULE)
    assert scheduler.decide([]) == ([], None)  # a group of asides only
    done, rows = scheduler.decide(looks(2))
    assert (len(done), rows, len(said)) == (2, None, 1)


def test_broken_storage_ends_the_run() -> None:
    scheduler, _ = guarded(lambda _: sqlite3.OperationalError("disk I/O error"))
    with pytest.raises(sqlite3.OperationalError):
        scheduler.decide(looks(2))
