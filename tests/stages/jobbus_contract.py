"""What every job bus promises.  SQLite runs it; another bus runs it with its own `bus` fixture."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import JobEnd, NewJob, QueueRule
from vedette.contracts.ports import JobBus

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
WIDE, NARROW = "extract", "sentinel"
RULES = {
    WIDE: QueueRule(keep_done=3, keep_parked=2),
    NARROW: QueueRule(at_once=1, per_minute=5),
}


def a_job(job_id: str | None = None, queue: str = WIDE, **given: object) -> NewJob:
    return NewJob(queue=queue, name="extract", data={"evidenceId": "7", "č": [1, None]}, id=job_id, **given)  # type: ignore[arg-type]


class JobBusContract:
    """Subclass it and give a `bus` fixture with the queues of RULES."""

    def test_a_job_comes_back_as_it_was_added(self, bus: JobBus):
        assert bus.add([a_job("extract-7")], now=NOON) == ["extract-7"]
        job = bus.take(WIDE, worker="w", now=NOON)
        assert job is not None
        assert (job.id, job.name, job.data, job.attempt) == (
            "extract-7",
            "extract",
            {"evidenceId": "7", "č": [1, None]},
            1,
        )

    def test_adding_twice_is_adding_once_also_when_it_is_done(self, bus: JobBus):
        bus.add([a_job("extract-7"), a_job("extract-7")], now=NOON)
        job = bus.take(WIDE, worker="w", now=NOON)
        assert job is not None
        bus.done(job, now=NOON, result={"ok": True})
        bus.add([a_job("extract-7")], now=NOON)
        assert bus.take(WIDE, worker="w", now=NOON) is None

    def test_a_job_without_an_id_gets_one_of_its_own(self, bus: JobBus):
        ids = bus.add([a_job(), a_job()], now=NOON)
        assert len(set(ids)) == 2

    @pytest.mark.parametrize("job_id", ["extract:7", "17", ""])
    def test_ids_that_another_bus_refuses_are_refused(self, bus: JobBus, job_id: str):
        if job_id:
            with pytest.raises(InputError):
                bus.add([a_job("fine"), a_job(job_id)], now=NOON)
            assert bus.take(WIDE, worker="w", now=NOON) is None

    def test_jobs_go_in_order_and_a_delay_is_waited_for(self, bus: JobBus):
        bus.add([a_job("late", delay=MINUTE), a_job("first"), a_job("second")], now=NOON)
        taken = [bus.take(WIDE, worker="w", now=NOON) for _ in range(3)]
        assert [job and job.id for job in taken] == ["first", "second", None]
        late = bus.take(WIDE, worker="w", now=NOON + MINUTE)
        assert late is not None
        assert late.id == "late"

    def test_queues_do_not_see_each_other(self, bus: JobBus):
        bus.add([a_job("x", queue=NARROW)], now=NOON)
        assert bus.take(WIDE, worker="w", now=NOON) is None

    def test_a_failed_job_is_tried_three_times_after_ten_and_twenty_seconds_then_parked(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        now, waits = NOON, []
        for _ in range(3):
            job = bus.take(WIDE, worker="w", now=now)
            assert job is not None
            again = bus.failed(job, now=now, error="no text")
            waits.append(None if again is None else again - now)
            assert bus.take(WIDE, worker="w", now=now) is None
            now = again or now
        assert waits == [10 * SECOND, 20 * SECOND, None]
        parked = bus.parked(WIDE)[0]
        assert (parked.id, parked.error, parked.attempts, parked.failed_at) == ("x", "no text", 3, now)

    def test_a_parked_job_is_retried_or_dropped_by_hand(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        now = NOON
        while not bus.parked(WIDE):
            job = bus.take(WIDE, worker="w", now=now)
            assert job is not None
            now = bus.failed(job, now=now, error="no") or now
        assert bus.retry(WIDE, "x", now=now)
        assert not bus.retry(WIDE, "x", now=now)
        job = bus.take(WIDE, worker="w", now=now)
        assert job is not None
        assert job.attempt == 1
        assert not bus.drop(WIDE, "x")

    @pytest.mark.parametrize("other", ["two", "one"])  # a worker that was restarted has its old name
    def test_a_worker_that_is_gone_loses_its_job_and_cannot_end_it_any_more(self, bus: JobBus, other: str):
        bus.add([a_job("x")], now=NOON)
        lost = bus.take(WIDE, worker="one", now=NOON)
        assert lost is not None
        later = NOON + 6 * MINUTE
        assert bus.take(WIDE, worker=other, now=later) is None  # returned, and tried after its back-off
        found = bus.take(WIDE, worker=other, now=later + 10 * SECOND)
        assert found is not None
        assert found.attempt == 2
        bus.done(lost, now=later)
        assert bus.failed(lost, now=later, error="late") is None
        assert not bus.extend(lost, now=later)
        assert bus.depth(WIDE, now=later).active == 1

    def test_a_worker_that_says_so_keeps_its_job(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        job = bus.take(WIDE, worker="one", now=NOON)
        assert job is not None
        for n in range(1, 4):
            assert bus.extend(job, now=NOON + n * 4 * MINUTE)
        assert bus.take(WIDE, worker="two", now=NOON + 13 * MINUTE) is None
        assert bus.depth(WIDE, now=NOON).active == 1

    def test_one_at_a_time_means_one_at_a_time(self, bus: JobBus):
        bus.add([a_job(f"x-{n}", queue=NARROW) for n in range(2)], now=NOON)
        job = bus.take(NARROW, worker="one", now=NOON)
        assert job is not None
        assert bus.take(NARROW, worker="two", now=NOON) is None
        bus.done(job, now=NOON)
        assert bus.take(NARROW, worker="two", now=NOON) is not None

    def test_five_a_minute_means_five_in_any_minute(self, bus: JobBus):
        bus.add([a_job(f"x-{n}", queue=NARROW) for n in range(20)], now=NOON)
        starts = []
        for n in range(40):
            now = NOON + n * 5 * SECOND
            job = bus.take(NARROW, worker="w", now=now)
            if job is not None:
                starts.append(now)
                bus.done(job, now=now)
        assert len(starts) > 10
        assert all(sum(at <= other < at + MINUTE for other in starts) <= 5 for at in starts)

    def test_what_ended_is_kept_up_to_a_number(self, bus: JobBus):
        bus.add([a_job(f"x-{n}") for n in range(6)], now=NOON)
        for n in range(6):
            job = bus.take(WIDE, worker="w", now=NOON)
            assert job is not None
            bus.done(job, now=NOON + n * SECOND)
        assert bus.depth(WIDE, now=NOON).done == 3

    def test_many_are_taken_in_one_step_in_order_and_within_the_rule(self, bus: JobBus):
        bus.add([a_job(f"x-{n}") for n in range(5)], now=NOON)
        assert [job.id for job in bus.take_some(WIDE, worker="w", now=NOON, most=3)] == ["x-0", "x-1", "x-2"]
        assert [job.id for job in bus.take_some(WIDE, worker="w", now=NOON, most=3)] == ["x-3", "x-4"]
        bus.add([a_job(f"y-{n}", queue=NARROW) for n in range(3)], now=NOON)
        assert len(bus.take_some(NARROW, worker="w", now=NOON, most=3)) == 1

    def test_what_follows_from_a_job_is_added_with_its_end_and_only_once(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        (job,) = bus.take_some(WIDE, worker="w", now=NOON, most=9)
        following = a_job("follows", queue=NARROW)
        for _ in range(2):  # the second time it is not ours any more
            bus.end([JobEnd(job=job, result={"ok": 1}, then=(following,))], now=NOON)
        assert bus.depth(WIDE, now=NOON).done == 1
        assert bus.depth(NARROW, now=NOON).waiting == 1

    def test_a_worker_that_lost_its_job_adds_nothing_that_follows(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        (lost,) = bus.take_some(WIDE, worker="one", now=NOON, most=1)
        bus.take(WIDE, worker="two", now=NOON + 6 * MINUTE)
        bus.end([JobEnd(job=lost, then=(a_job("follows", queue=NARROW),))], now=NOON + 6 * MINUTE)
        assert bus.depth(NARROW, now=NOON).waiting == 0

    def test_ends_of_one_step_may_differ_and_a_bad_one_undoes_all(self, bus: JobBus):
        bus.add([a_job("x"), a_job("y")], now=NOON)
        x, y = bus.take_some(WIDE, worker="w", now=NOON, most=2)
        with pytest.raises(InputError):
            bus.end([JobEnd(job=x), JobEnd(job=y, then=(a_job("extract:7"),))], now=NOON)
        assert bus.depth(WIDE, now=NOON).active == 2
        again = bus.end([JobEnd(job=x), JobEnd(job=y, error="no", stack="line 7")], now=NOON)
        assert again == [None, NOON + 10 * SECOND]

    def test_a_parked_job_tells_where_our_code_failed(self, bus: JobBus):
        bus.add([a_job("x")], now=NOON)
        now = NOON
        while not bus.parked(WIDE):
            (job,) = bus.take_some(WIDE, worker="w", now=now, most=1)
            now = bus.end([JobEnd(job=job, error="no", stack="line 7")], now=now)[0] or now
        assert bus.parked(WIDE)[0].stack == "line 7"
