"""What every store promises to the engine.  SQLite runs it here; another database runs it with its own factory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Protocol

import pytest
from settlements import HOUR, NOON, RUN, SECOND, a_group, a_job, a_look, a_place, a_watch

from vedette.contracts.change import Change, ChangeKind, ChangeState, Comparison, DiffOp, Layer
from vedette.contracts.errors import StoreError
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import (
    Ask,
    ChangeMove,
    Decision,
    Group,
    LedgerNote,
    Parked,
    Payload,
    Refused,
    Settlement,
    Signal,
    SourceState,
    Watch,
)
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    LaneKey,
    Outcome,
    Reason,
    Risk,
    SourceId,
    VisitId,
    WatchId,
)
from vedette.core.urls.canonical import watch_id
from vedette.frontier.queue import best

A, B = LaneKey("host:a.example"), LaneKey("host:b.example")
LATER = NOON + 10 * HOUR
Row = dict[str, Any]


class WriteSide(Protocol):
    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Any]: ...
    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]: ...
    def next_dues(
        self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime
    ) -> list[datetime | None]: ...
    def payloads(self, digests: Sequence[bytes]) -> dict[bytes, list[Payload]]: ...
    def settle(self, group: Group) -> None: ...
    def commit(self) -> None: ...
    def heartbeat(self, *, until: datetime) -> None: ...
    def return_leases(self) -> int: ...
    def checkpoint(self) -> None: ...
    def close(self) -> None: ...


class Store(Protocol):
    """One empty store, as the factory of an implementation gives it."""

    def writer(
        self, *, worker: str = "one", tier: Risk | None = None, only: str = ""
    ) -> WriteSide:  # only: fetch | discover
        ...

    def reader(self) -> Any: ...
    def save_source(self, source: Source) -> None: ...
    def pause_source(self, source: SourceId) -> None: ...
    def save_lane(self, key: LaneKey, state: LaneState) -> None:
        """The operator's word."""
        ...

    def rows(self, table: str) -> list[Row]:
        """What is committed, ordered by key."""
        ...


def poison(settled: Settlement) -> Settlement:
    """A settlement that no database takes: half a surrogate pair, in a row that is not the first to be written."""
    return replace(settled, watch=replace(settled.watch, title="\ud800"))


class StoreContract:
    """Subclass it with a `store` fixture."""

    @pytest.fixture
    def writer(self, store: Store) -> Any:
        writer = store.writer()
        yield writer
        writer.close()

    @pytest.fixture
    def plant(self, writer: WriteSide) -> Callable[..., None]:
        """New watches, as a listing finds them."""

        def planted(*watches: Watch) -> None:
            finder = a_watch("https://finder.example/", due_at=None)
            settled = a_look(finder, 900_000 + planted.count, None, outcome=Outcome.TIMEOUT, found=watches)
            planted.count += 1
            writer.settle(a_group(settled))

        planted.count = 0
        return planted

    # claims

    def test_a_claim_gives_the_heads_of_each_class_in_order_of_due_time(self, writer, plant):
        late = a_watch("https://a.example/late", due_at=NOON - 3 * HOUR, interval=2 * HOUR)
        early = a_watch("https://a.example/early", due_at=NOON - HOUR)
        grave = a_watch("https://a.example/grave", risk=Risk.CRITICAL)
        plant(early, late, grave)
        heads = writer.claim([Ask(A, 5)], now=NOON, due_by=NOON)[A]
        assert heads == [
            (grave.id, Risk.CRITICAL, NOON - HOUR, 0),
            (late.id, Risk.MEDIUM, NOON - 3 * HOUR, 7200),
            (early.id, Risk.MEDIUM, NOON - HOUR, 0),
        ]

    def test_what_was_ordered_stands_before_the_heads_unless_it_is_leased_or_not_due(self, writer, plant):
        late = [a_watch(f"https://a.example/{n}", due_at=NOON - HOUR, risk=Risk.CRITICAL) for n in range(9)]
        mine = a_watch("https://a.example/mine", due_at=NOON, risk=Risk.LOW)
        leased = a_watch("https://a.example/leased", due_at=NOON)
        later = a_watch("https://a.example/later", due_at=NOON + SECOND)
        plant(mine, leased, later, *late)
        writer.take([leased.id], now=NOON, until=NOON + HOUR)
        ask = Ask(A, 2, ordered=(leased.id, mine.id, later.id))
        heads = writer.claim([ask], now=NOON, due_by=NOON)[A]
        assert heads[0] == (mine.id, Risk.LOW, NOON, -1)
        assert best(heads, 2, NOON)[0] == mine.id
        assert {leased.id, later.id}.isdisjoint(head[0] for head in heads)

    def test_a_claim_gives_at_most_so_many_of_each_class(self, writer, plant):
        plant(*(a_watch(f"https://a.example/{n}", risk=Risk(n % 4)) for n in range(40)))
        heads = writer.claim([Ask(A, 3)], now=NOON, due_by=NOON)[A]
        assert [risk for _, risk, _, _ in heads] == [r for r in (3, 2, 1, 0) for _ in range(3)]

    def test_what_is_due_later_or_never_is_not_given(self, writer, plant):
        plant(
            a_watch("https://a.example/soon", due_at=NOON + SECOND),
            a_watch("https://a.example/never", due_at=None),
        )
        assert writer.claim([Ask(A, 5)], now=NOON, due_by=NOON)[A] == []
        assert len(writer.claim([Ask(A, 5)], now=NOON, due_by=NOON + SECOND)[A]) == 1

    def test_due_by_may_lie_before_now(self, writer, plant):
        """A run that takes what was due at its start does not take what became due since."""
        plant(a_watch(due_at=NOON))
        assert writer.claim([Ask(A, 5)], now=NOON + HOUR, due_by=NOON - SECOND)[A] == []

    def test_a_busy_lane_takes_no_room_in_the_answer_for_another(self, writer, plant):
        plant(*(a_watch(f"https://a.example/{n}") for n in range(50)), a_watch("https://b.example/1"))
        claimed = writer.claim([Ask(A, 2), Ask(B, 2)], now=NOON, due_by=NOON)
        assert {lane: len(heads) for lane, heads in claimed.items()} == {A: 2, B: 1}

    def test_what_is_leased_is_not_given_again_until_the_lease_is_over(self, store, writer, plant):
        first, second = a_watch("https://a.example/1"), a_watch("https://a.example/2", due_at=NOON - SECOND)
        plant(first, second)
        assert writer.take([first.id], now=NOON, until=NOON + 60 * SECOND) == [first]
        writer.commit()

        def offered(now: datetime) -> list[WatchId]:
            return [i for i, *_ in writer.claim([Ask(A, 5)], now=now, due_by=now)[A]]

        assert offered(NOON) == [second.id]
        assert offered(NOON + 59 * SECOND) == [second.id]
        assert offered(NOON + 60 * SECOND) == [first.id, second.id]

    def test_a_heartbeat_keeps_the_leases_of_its_own_worker(self, store, writer, plant):
        mine, theirs = a_watch("https://a.example/mine"), a_watch("https://b.example/theirs")
        plant(mine, theirs)
        writer.take([mine.id], now=NOON, until=NOON + SECOND)
        writer.commit()
        other = store.writer(worker="two")
        other.take([theirs.id], now=NOON, until=NOON + SECOND)
        other.commit()
        other.close()
        writer.heartbeat(until=NOON + HOUR)
        writer.commit()
        later = NOON + 2 * SECOND
        claimed = writer.claim([Ask(A, 5), Ask(B, 5)], now=later, due_by=later)
        assert {lane: len(heads) for lane, heads in claimed.items()} == {A: 0, B: 1}

    def test_a_start_returns_what_a_killed_process_had_leased(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        writer.take([watch.id], now=NOON, until=NOON + HOUR)
        writer.commit()
        assert writer.return_leases() == 1
        assert len(writer.claim([Ask(A, 5)], now=NOON, due_by=NOON)[A]) == 1

    @pytest.mark.parametrize(
        ("pick", "wanted"),
        [
            ({}, {"page", "plain", "crawled", "feed", "high"}),
            ({"only": "fetch"}, {"page", "plain", "crawled", "high"}),
            ({"only": "discover"}, {"feed", "crawled"}),
            ({"tier": Risk.HIGH}, {"high"}),
            ({"tier": Risk.HIGH, "only": "discover"}, set()),
        ],
    )
    def test_a_run_takes_what_it_picked(self, store, plant, pick, wanted):
        store.save_source(Source(id=SourceId("a"), name="a", url="https://s.example/a"))
        store.save_source(Source(id=SourceId("high"), name="h", url="https://s.example/h", tier=Risk.HIGH))
        listers = {
            "page": ListerKind.PAGE,
            "plain": None,
            "crawled": ListerKind.CRAWL,
            "feed": ListerKind.FEED,
        }
        watches = {n: a_watch(f"https://a.example/{n}", lister=kind) for n, kind in listers.items()}
        watches["high"] = a_watch("https://a.example/high", source=SourceId("high"))
        plant(*watches.values())
        writer = store.writer(**pick)
        heads = writer.claim([Ask(A, 9)], now=NOON, due_by=NOON)[A]
        writer.close()
        assert {i for i, *_ in heads} == {watches[name].id for name in wanted}

    def test_the_next_due_time_is_told_by_class(self, writer, plant):
        plant(
            a_watch("https://a.example/1", due_at=NOON),
            a_watch("https://a.example/2", due_at=NOON + 2 * HOUR),
            a_watch("https://a.example/3", due_at=NOON + HOUR, risk=Risk.LOW),
            a_watch("https://b.example/1", due_at=NOON + SECOND),
        )
        told = writer.next_dues([(A, risk) for risk in Risk], after=NOON)
        assert told == [NOON + HOUR, NOON + 2 * HOUR, None, None]
        assert writer.next_dues([], after=NOON) == []

    # one transaction

    def test_a_look_settles_visit_evidence_watch_ledger_and_lease_together(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        writer.take([watch.id], now=NOON, until=NOON + HOUR)
        settled = a_look(watch, 1)
        writer.settle(a_group(settled))
        assert store.reader().watch(watch.id) == settled.watch
        visit = next(row for row in store.rows("visits") if row["id"] == 1)
        assert (visit["watch_id"], visit["outcome"], visit["evidence_id"]) == (watch.id, "ok", 1)
        (evidence,) = store.rows("evidence")
        assert (evidence["id"], evidence["digest"]) == (1, settled.visit.digest)
        assert next(row for row in store.rows("ledger") if row["visit_id"] == 1)["watch_id"] == watch.id
        assert store.rows("leases") == []

    def test_a_group_that_fails_in_the_middle_leaves_nothing(self, store, writer, plant):
        watches = [a_watch(f"https://a.example/{n}") for n in range(3)]
        plant(*watches)
        before = everything(store)
        looks = [a_look(watch, n + 1) for n, watch in enumerate(watches)]
        with pytest.raises((StoreError, ValueError)):
            writer.settle(a_group(looks[0], poison(looks[1]), looks[2]))
        writer.commit()  # nor may what comes after keep the half of it
        assert everything(store) == before

    def test_a_store_goes_on_after_a_group_that_failed(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        with pytest.raises((StoreError, ValueError)):
            writer.settle(a_group(poison(a_look(watch, 1))))
        writer.settle(a_group(a_look(watch, 2)))
        assert [row["id"] for row in store.rows("visits") if row["id"] < 900_000] == [2]

    def test_the_same_group_twice_leaves_the_same_rows(self, store, writer, plant):
        watch, other = a_watch(), a_watch("https://a.example/other", due_at=NOON + 9 * HOUR)
        plant(watch, other)
        refused = Refused(
            url="https://a.example/no", id=WatchId(5), source=watch.source, reason=Reason("blocked"), at=NOON
        )
        settled = a_look(
            watch,
            1,
            found=(a_watch("https://a.example/new"),),
            refused=(refused,),
            signals=(Signal(watch=other.id, lane=A, modified_at=NOON, due_at=NOON + HOUR),),
            change=a_change(watch),
            moves=(ChangeMove(id=ChangeId(7), state=ChangeState.REPORTED, at=NOON),),
        )
        note = LedgerNote(id=77, at=NOON, kind="lane", decision=Decision(action="breaker"))
        group = a_group(settled, notes=(note,), lanes=((A, LaneState(failures=2)),), robots=(some_robots(),))
        writer.settle(group)
        once = everything(store)
        writer.settle(group)
        assert everything(store) == once

    def test_a_watch_found_and_looked_at_in_one_group_ends_as_looked_at(self, store, writer):
        found = a_watch("https://a.example/new")
        listing = a_look(a_watch("https://a.example/list"), 1, found=(found,))
        look = a_look(found, 2)
        writer.settle(a_group(look, listing))
        assert store.reader().watch(found.id) == look.watch

    def test_a_watch_that_is_known_is_not_made_again(self, store, writer, plant):
        watch = a_watch(title="mine", due_at=NOON + HOUR)
        plant(watch)
        plant(replace(watch, title="other", due_at=NOON))
        assert store.reader().watch(watch.id) == watch

    # evidence

    def test_there_and_back_again_is_two_states_and_three_visits(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        looks = [a_look(watch, n, body) for n, body in ((1, b"A"), (2, b"B"), (3, b"A"))]
        for settled in looks[:2]:
            writer.settle(a_group(settled))
        again = replace(a_place(looks[2]), evidence=EvidenceId(1), payload=None)
        writer.settle(Group(run=RUN, placed=(again,)))
        assert [row["id"] for row in store.rows("evidence")] == [1, 2]
        visits = [row["evidence_id"] for row in store.rows("visits") if row["watch_id"] == watch.id]
        assert visits == [1, 2, 1]
        assert store.reader().watch(watch.id).seen.evidence == 1

    def test_a_state_is_kept_once_per_watch(self, store, writer, plant):
        """The unique key is the truth, whatever the caller believes."""
        watch = a_watch()
        plant(watch)
        writer.settle(a_group(a_look(watch, 1, b"A"), a_look(watch, 2, b"A")))
        assert [(row["id"], row["watch_id"]) for row in store.rows("evidence")] == [(1, watch.id)]

    def test_a_payload_is_found_by_its_digest_for_every_watch_that_showed_it(self, store, writer, plant):
        one, two = a_watch("https://a.example/1"), a_watch("https://b.example/1")
        plant(one, two)
        first, second = a_look(one, 1, b"same"), a_look(two, 2, b"same")
        writer.settle(a_group(first, second))
        digest = first.visit.digest
        found = writer.payloads([digest, b"unknown"])
        assert [p.watch for p in found[digest]] == [one.id, two.id]
        assert found[digest][0] == a_place(first).payload
        assert list(found) == [digest]

    # what goes along

    def test_a_refusal_is_one_row_with_its_last_reason_and_a_count(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        for n, code in enumerate(("depth", "budget", "budget"), start=1):
            reason = Reason(code, note=f"the {n}.")
            refused = Refused(
                url="https://a.example/no",
                id=WatchId(5),
                source=watch.source,
                reason=reason,
                at=NOON + n * HOUR,
            )
            writer.settle(a_group(a_look(watch, n, refused=(refused,))))
        (row,) = store.rows("refusals")
        assert (row["reason"], row["note"], row["count"]) == ("budget", "the 3.", 3)
        assert row["last_at"] - row["first_at"] == 2 * 3600 * 1000

    def test_a_parked_job_leaves_the_shelf_with_the_next_good_look(self, store, writer, plant):
        """Parking forgets the attempts, so the good look comes from a watch with none."""
        watch = a_watch()
        plant(watch)
        parked = Parked(
            watch=watch.id, url=watch.url, outcome=Outcome.TIMEOUT, detail="slow", attempts=3, at=NOON
        )
        failed = a_look(watch, 1, None, outcome=Outcome.TIMEOUT, parked=parked)
        writer.settle(a_group(failed))
        (row,) = store.rows("parked")
        assert (row["watch_id"], row["outcome"], row["attempts"]) == (watch.id, "timeout", 3)
        writer.settle(a_group(a_look(failed.watch, 2)))
        assert store.rows("parked") == []

    def test_a_parked_job_stays_on_the_shelf_while_it_goes_on_failing(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        parked = Parked(
            watch=watch.id, url=watch.url, outcome=Outcome.TIMEOUT, detail="slow", attempts=3, at=NOON
        )
        failed = a_look(watch, 1, None, outcome=Outcome.TIMEOUT, parked=parked)
        writer.settle(a_group(failed))
        again = a_look(failed.watch, 2, None, outcome=Outcome.TIMEOUT)
        writer.settle(a_group(replace(again, watch=replace(again.watch, attempt=1))))
        assert len(store.rows("parked")) == 1

    @pytest.mark.parametrize(
        ("due_at", "seen_at", "wanted"),
        [
            (NOON + 9 * HOUR, None, NOON + HOUR),  # pulled forward
            (NOON - HOUR, None, NOON - HOUR),  # never pushed back
            (None, None, None),  # what is paused stays paused
            (NOON + 9 * HOUR, NOON + 2 * HOUR, NOON + 9 * HOUR),  # we looked since
        ],
    )
    def test_a_signal_only_pulls_a_look_forward(self, store, writer, plant, due_at, seen_at, wanted):
        listing, told = a_watch("https://a.example/list"), a_watch("https://b.example/told", due_at=due_at)
        if seen_at is not None:
            told = replace(a_look(told, 5, at=seen_at).watch, due_at=due_at)
        plant(listing, told)
        signal = Signal(watch=told.id, lane=B, modified_at=NOON, due_at=NOON + HOUR)
        writer.settle(a_group(a_look(listing, 1, signals=(signal,))))
        assert store.reader().watch(told.id).due_at == wanted

    def test_a_release_gives_the_lease_back_and_nothing_else_moves(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        writer.take([watch.id], now=NOON, until=NOON + HOUR)
        writer.settle(Group(run=RUN, released=(a_job(watch),)))
        assert store.rows("leases") == []
        assert store.reader().watch(watch.id) == watch

    def test_lanes_robots_and_notes_are_read_back(self, store, writer):
        state = LaneState(
            next_start_at=NOON,
            bucket_at=NOON + SECOND,
            failures=3,
            recent=0b101,
            recent_count=3,
            closed_until=NOON + HOUR,
            held_until=NOON + 2 * HOUR,
            crawl_delay=timedelta(seconds=2.5),
        )
        rules = some_robots()
        note = LedgerNote(id=5, at=NOON, kind="lane", decision=Decision(action="breaker"), watch=WatchId(3))
        writer.settle(Group(run=RUN, lanes=((A, state),), robots=(rules,), notes=(note,)))
        reader = store.reader()
        assert reader.lane(A) == state
        assert reader.lane(B) is None
        assert reader.robots(rules.origin) == rules
        assert reader.robots("https://none.example") is None
        assert [(r["id"], r["kind"], r["watch_id"]) for r in store.rows("ledger")] == [(5, "lane", 3)]

    @pytest.mark.parametrize("said", [LaneState(), LaneState(blocked_by="they asked us to stop")])
    def test_an_engine_that_has_not_heard_the_operator_does_not_write_their_word_away(
        self, store, writer, said
    ):
        closed = LaneState(failures=5, recent=1, recent_count=1, closed_until=NOON + HOUR, held_until=NOON)
        writer.settle(Group(run=RUN, lanes=((A, closed),)))
        store.save_lane(A, said)
        writer.settle(Group(run=RUN, lanes=((A, replace(closed, next_start_at=NOON + SECOND)),)))
        kept = store.reader().lane(A)
        assert kept == replace(said, next_start_at=NOON + SECOND, word=1)  # a start counts all the same
        writer.settle(Group(run=RUN, lanes=((A, replace(kept, failures=1)),)))  # now it has heard
        assert store.reader().lane(A).failures == 1

    def test_a_look_that_was_under_way_when_its_source_was_paused_schedules_no_other(
        self, store, writer, plant
    ):
        watch = a_watch()
        store.save_source(Source(id=watch.source, name="s", url="https://s.example/"))
        plant(watch)
        store.pause_source(watch.source)
        writer.settle(a_group(a_look(watch, 1, b"A")))
        assert store.reader().watch(watch.id).due_at is None
        assert store.reader().watch(watch.id).seen is not None

    def test_the_last_of_several_words_stands(self, store, writer):
        store.save_lane(A, LaneState(blocked_by="no"))
        store.save_lane(A, LaneState())
        writer.settle(Group(run=RUN, lanes=((A, LaneState(blocked_by="no", word=1)),)))
        assert store.reader().lane(A) == LaneState(word=2)

    def test_how_a_source_fares_is_read_back(self, store, writer):
        source = Source(id=SourceId("a"), name="a", url="https://a.example/")
        store.save_source(source)
        state = SourceState(
            source=source.id,
            failures=2,
            last_error="empty",
            last_success_at=NOON,
            closed_until=NOON + HOUR,
            tally='{"taken":3}',
        )
        writer.settle(Group(run=RUN, sources=(state,)))
        assert store.reader().source(source.id) == (source, state)
        assert store.reader().source(SourceId("none")) is None

    def test_a_change_is_read_back_and_moves_on_in_its_life(self, store, writer, plant):
        watch = a_watch()
        plant(watch)
        change = a_change(watch)
        writer.settle(a_group(a_look(watch, 1, change=change)))
        kept = replace(change, after_evidence=EvidenceId(1))  # what the archive made of the visit
        assert store.reader().change(change.id) == kept
        moved = ChangeMove(
            id=change.id, state=ChangeState.REJECTED, at=NOON + HOUR, reasons=(Reason("noise"),)
        )
        seal = store.rows("changes")[0]["seal"]
        writer.settle(a_group(a_look(watch, 2, moves=(moved,))))
        read = store.reader().change(change.id)
        assert (read.state, read.comparison.reasons) == (ChangeState.REJECTED, (Reason("noise"),))
        assert store.rows("changes")[0]["seal"] == seal

    def test_which_urls_are_known_and_which_lanes_have_work(self, store, writer, plant):
        plant(
            a_watch("https://a.example/1", due_at=NOON, risk=Risk.HIGH),
            a_watch("https://a.example/2", due_at=NOON - HOUR, risk=Risk.HIGH),
            a_watch("https://b.example/1", due_at=None),
            a_watch("https://c.example/1", due_at=NOON + HOUR, risk=Risk.LOW),
        )
        reader = store.reader()
        ids = [watch_id(f"https://{host}.example/1") for host in "abcd"]
        assert reader.known(ids) == set(ids[:3])
        assert set(reader.lanes_due()) == {
            (A, Risk.HIGH, NOON - HOUR),
            (LaneKey("host:c.example"), Risk.LOW, NOON + HOUR),
        }

    def test_more_ids_than_a_statement_takes_are_asked_in_parts(self, store, writer, plant):
        watches = [a_watch(f"https://a.example/{n}", due_at=None) for n in range(1203)]
        plant(*watches)
        ids = [watch.id for watch in watches]
        assert store.reader().known([*ids, WatchId(1)]) == set(ids)
        assert {w.id for w in writer.take(ids, now=NOON, until=LATER)} == set(ids)


def a_change(watch: Watch) -> Change:
    return Change(
        id=ChangeId(7),
        watch=watch.id,
        kind=ChangeKind.CHANGED,
        state=ChangeState.OBSERVED,
        before_visit=VisitId(0),
        after_visit=VisitId(1),
        before_evidence=EvidenceId(0),
        after_evidence=None,
        observed_at=NOON,
        comparison=Comparison(
            has_changed=True,
            layer=Layer.CONTENT,
            similarity=0.75,
            summary="1 line changed",
            diff=(
                DiffOp("replace", ("PDV 25 %",), ("PDV 24 %",), (("25", "24"),)),
                DiffOp("insert", (), ("Kava | 13 %",), (), ("Proizvod", "Stopa")),
            ),
            reasons=(Reason("content", 1.0, "one line"),),
        ),
    )


def some_robots() -> RobotsRules:
    return RobotsRules(
        origin="https://a.example",
        fetched_at=NOON,
        expires_at=NOON + 24 * HOUR,
        status=200,
        outcome=Outcome.OK,
        text="User-agent: *\nDisallow: /private/\n",
        verdict="rules",
        crawl_delay=1.5,
        sitemaps=("https://a.example/sitemap.xml",),
    )


TABLES = (
    "watches visits evidence changes ledger refusals parked leases lanes robots segments sources runs".split()
)


def everything(store: Store) -> dict[str, list[Row]]:
    return {table: store.rows(table) for table in TABLES}
