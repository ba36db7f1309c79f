"""Events for followers: each gets what it asked for, once written, with one wake-up however much comes at once."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from vedette.contracts.events import MadePrivate, Paused
from vedette.engine.service.event_stream import KEPT, EventStream

AT = datetime(2026, 11, 15, tzinfo=UTC)


async def taken(stream: EventStream, number: int, names: frozenset[str] | None = None) -> list[str]:
    found: list[str] = []
    with stream.follow(names) as follower:
        async for some in follower.read(5.0):
            found += [one.event.name for one in some]
            if len(found) == number:
                break
    return found


async def test_a_follower_hears_what_it_asked_for_and_is_not_woken_by_the_rest():
    stream = EventStream()
    with stream.follow(frozenset(("paused",))) as follower:
        for _ in range(3):
            stream.emit(MadePrivate(at=AT, count=1))
        assert not follower._is_woken
        stream.emit(Paused(at=AT, what="disk"))
        assert follower._is_woken
        (found,) = await anext(follower.read(5.0))
    assert found.event.name == "paused"


async def test_an_event_is_written_once_for_all_who_follow():
    stream, written = EventStream(), []

    def write(event):
        written.append(event)
        return event.name

    with stream.follow() as one, stream.follow() as other:
        stream.emit(Paused(at=AT, what="disk"))
        texts = [(await anext(each.read(5.0)))[0].written(write) for each in (one, other)]
    assert texts == ["paused", "paused"]
    assert len(written) == 1


async def test_a_slow_follower_loses_the_oldest_and_hears_the_end():
    stream = EventStream()
    with stream.follow() as follower:
        for number in range(KEPT + 10):
            stream.emit(MadePrivate(at=AT + timedelta(seconds=number), count=number))
        reader = follower.read(5.0)
        some = await anext(reader)
        assert some[0].event.count == 10
        assert len(some) == KEPT
        stream.close()
        assert [one async for one in reader] == []


async def test_what_comes_at_once_is_handed_over_at_once():
    stream = EventStream()
    with stream.follow() as follower:
        for number in range(20):
            stream.emit(MadePrivate(at=AT, count=number))
        some = await anext(follower.read(5.0))
    assert [one.event.count for one in some] == [*range(20)]


async def test_who_only_counts_is_told_a_number_at_its_own_pace_and_of_every_event():
    stream, whole, told = EventStream(), 5_000, []

    def tell():
        for _ in range(whole):
            stream.emit(MadePrivate(at=AT, count=1))

    with stream.count(frozenset(("made_private",))) as follower:
        stream.emit(Paused(at=AT, what="disk"))
        telling = asyncio.create_task(asyncio.to_thread(tell))
        async for counts in follower.read(5.0, 0.05):
            told.append(counts["made_private"])
            if sum(told) == whole:
                break
        await telling
        stream.emit(MadePrivate(at=AT, count=1))
        stream.close()
        assert [dict(counts) async for counts in follower.read(5.0, 0.0)] == [{"made_private": 1}]
    assert sum(told) == whole
    assert len(told) < whole / 10


async def test_events_of_other_threads_arrive_though_they_come_while_it_reads():
    stream, whole = EventStream(), 200

    def tell():
        for number in range(whole):
            stream.emit(MadePrivate(at=AT, count=number))

    reading = asyncio.create_task(taken(stream, whole))
    await asyncio.sleep(0)
    await asyncio.to_thread(tell)
    assert len(await reading) == whole


async def test_quiet_is_told_after_so_many_seconds():
    with EventStream().follow() as follower:
        assert await anext(follower.read(0.01)) == ()


async def test_an_event_just_before_the_close_is_counted():
    stream = EventStream()
    with stream.count() as follower:
        lock = follower._lock

        class Late:
            """As another thread that comes when the counts were just read."""

            def __enter__(self) -> None:
                lock.acquire()

            def __exit__(self, *error: object) -> None:
                lock.release()
                follower._lock = lock
                stream.emit(MadePrivate(at=AT, count=1))
                stream.close()

        follower._wake()
        follower._lock = Late()  # type: ignore[assignment]
        told = [dict(one) async for one in follower.read(0.01, 0.0)]
    assert sum(sum(one.values()) for one in told) == 1
