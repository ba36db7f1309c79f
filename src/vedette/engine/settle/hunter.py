"""One hunt for all sources that hunt: opens what they find, chooses what is looked at first, counts what it gave.

It lives in the settler's thread.  What it counts goes into the same transaction as the looks that it counts, so a
restart goes on from where the last commit left it, and chooses the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from vedette.contracts.hunt import DueNow, HuntRecord, HuntRows, HuntState, Open, Waiting
from vedette.contracts.lane import Wait
from vedette.contracts.watch import LedgerNote, Settlement
from vedette.contracts.words import WatchId
from vedette.core.evidence.ledger import hunt_decision
from vedette.core.hunt import Chosen, HuntParams, Prospect, Turn, Yields, choose, prospect_of
from vedette.core.judging.verdict import found_by
from vedette.core.limits.budget import Budget, ask, daily, reserve, used
from vedette.core.urls.canonical import lane_of

AHEAD = 64  # looks chosen and not ended at most, beside those whose lane is closed
REFILL = AHEAD // 2  # above it nothing is chosen,
BATCH = 8  # nor before so much is new: a choice reads what is open
POOL = 5_000  # open ones that are weighed at a time; of more, a fair sample
KNOWN_PLACES = 200_000  # hosts and neighbourhoods held in memory: some 50 MB
REST = timedelta(minutes=5)  # when nothing more can be chosen: the operator may change that at any time


class HuntSide(Protocol):
    """What a hunt reads of the store."""

    def state(self) -> HuntState: ...
    def records(self, places: Sequence[str]) -> dict[str, HuntRecord]: ...
    def prospects(self, watches: Sequence[WatchId]) -> set[WatchId]: ...
    def open(self, after: int, most: int) -> list[Open]: ...
    def waiting(self, *, now: datetime) -> list[Waiting]: ...
    def texts(self, keys: Sequence[int]) -> set[int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """What the operator asks for and allows."""

    params: HuntParams = HuntParams()
    looks_per_day: float | None = None  # first looks that a hunt may choose; None: any number


class Hunted(NamedTuple):
    rows: HuntRows | None = None
    notes: tuple[LedgerNote, ...] = ()


class Hunter:
    def __init__(self, store: HuntSide, options: HuntOptions, next_id: Callable[[datetime], int]) -> None:
        self._store = store
        self._params = options.params
        self._per_day = options.looks_per_day
        self._next_id = next_id
        self._prospect = lru_cache(4 * POOL)(partial(prospect_of, params=options.params))
        self._state = store.state()
        self._yields = Yields(store.records([""]).get("", HuntRecord()))
        self._asked: set[str] = set()  # places that were read from the store
        self._news = 0  # looks that ended and pages that were found since the last choice
        self._rests_until = datetime.min.replace(tzinfo=UTC)

    def hunt(self, settlements: Sequence[Settlement], now: datetime) -> Hunted:
        """What a group found and saw, and what is to be looked at next."""
        self._forget()
        ended = self._ended(settlements)
        places = self._count(ended)
        opened = [one for s in settlements for one in s.found if one.due_at is None]
        fresh = [Open(one.id, one.url, one.risk) for one in opened]
        done = frozenset(settled.watch.id for settled in ended)
        chosen, again_at = self._choose(fresh, done, now)
        if not (ended or opened or chosen or again_at):
            return Hunted()
        rows = HuntRows(
            opened=tuple(one.watch for one in fresh),
            chosen=tuple(DueNow(watch=o.watch, lane=lane_of(o.url), risk=o.risk, at=now) for o, _ in chosen),
            ended=tuple(done),
            yields=tuple((place, self._record(place)) for place in places),
            state=self._state if chosen else None,
            again_at=again_at,
        )
        return Hunted(rows, tuple(self._note(one, why, now) for one, why in chosen))

    def next(self, most: int, now: datetime) -> list[Chosen]:
        """What comes next, as things are.  Nothing is chosen."""
        return self._best((one.url for one in self._open()), self._store.waiting(now=now), most)

    def _ended(self, settlements: Sequence[Settlement]) -> list[Settlement]:
        """First looks at prospects."""
        first = [s for s in settlements if s.job.watch.last_visit_at is None]
        ours = self._store.prospects([s.watch.id for s in first]) if first else set()
        return [s for s in first if s.watch.id in ours]

    def _count(self, ended: Sequence[Settlement]) -> list[str]:
        """Notes what each look found.  Gives the places that changed."""
        if not ended:
            return []
        keys = [s.traits.text_key for s in ended if s.traits is not None and s.traits.text_key]
        shown = self._store.texts(keys)
        prospects = [self._prospect(s.job.watch.url) for s in ended]
        self._load(prospects)
        for settled, prospect in zip(ended, prospects, strict=True):
            key = settled.traits.text_key if settled.traits is not None else 0
            self._yields.note(prospect, found_by(settled, is_known=key in shown))
            shown |= {key} - {0}
        return list(dict.fromkeys(("", *(name for p in prospects for name in (p.host, p.neighbourhood)))))

    def _choose(
        self, fresh: Sequence[Open], done: frozenset[WatchId], now: datetime
    ) -> tuple[list[tuple[Open, Chosen]], datetime | None]:
        """What is due next, and when there may be more without anything happening."""
        self._news += len(fresh) + len(done)
        if not self._news and now < self._rests_until:
            return [], None
        waiting = [one for one in self._store.waiting(now=now) if one.watch not in done]
        under_way = sum(not one.is_shut for one in waiting)
        if under_way > REFILL or (under_way and self._news < BATCH):
            return [], None
        most = self._room(AHEAD - under_way, now)
        pool = {one.url: one for one in (*self._open(), *fresh)} if most else {}
        chosen = self._best(pool, waiting, most)
        self._spend(len(chosen), now)
        self._news = 0
        self._rests_until = now + REST if len(chosen) < most else self._opens_at(now)
        again_at = self._rests_until if self._rests_until > now else None
        return [(pool[one.prospect.url], one) for one in chosen], again_at

    def _best(self, urls: Iterable[str], waiting: Iterable[Waiting], most: int) -> list[Chosen]:
        prospects = [self._prospect(url) for url in urls]
        self._load(prospects)
        turn = Turn(self._state.number, self._places(waiting))
        return choose(prospects, self._yields, most, turn=turn, params=self._params)

    def _open(self) -> list[Open]:
        """All that is open, or the next stretch of it."""
        found = self._store.open(self._state.after, POOL)
        if len(found) < POOL and self._state.after:  # round the corner
            found += self._store.open(0, POOL - len(found))
        after = found[-1].watch if len(found) == POOL else 0
        self._state = replace(self._state, after=after)
        return found

    def _room(self, most: int, now: datetime) -> int:
        """How many may be chosen now."""
        budget = self._budget()
        if budget is None:
            return most
        return max(0, min(most, math.floor(budget.burst - used(budget, now))))

    def _opens_at(self, now: datetime) -> datetime:
        """When the next may be chosen."""
        budget = self._budget()
        answer = None if budget is None else ask(budget, now, is_second=True)
        return answer.until or now if isinstance(answer, Wait) else now

    def _spend(self, looks: int, now: datetime) -> None:
        empty_at, budget = self._state.empty_at, self._budget()
        if budget is not None and looks:
            empty_at = reserve(budget, now, looks).empty_at
        self._state = replace(self._state, number=self._state.number + looks, empty_at=empty_at)

    def _budget(self) -> Budget | None:
        return None if self._per_day is None else daily(self._per_day, self._state.empty_at)

    def _places(self, waiting: Iterable[Waiting]) -> Counter[str]:
        found: Counter[str] = Counter()
        for one in waiting:
            prospect = self._prospect(one.url)
            found.update((prospect.host, prospect.neighbourhood))
        return found

    def _load(self, prospects: Iterable[Prospect]) -> None:
        """What looks at these places came to, read once."""
        names = {name for one in prospects for name in (one.host, one.neighbourhood)} - self._asked
        for place, record in self._store.records(sorted(names)).items():
            (self._yields.neighbourhoods if "/" in place else self._yields.hosts)[place] = record
        self._asked |= names

    def _forget(self) -> None:
        """All that was counted is in the store by now; what is needed is read again."""
        if len(self._asked) > KNOWN_PLACES:
            self._yields = Yields(self._yields.whole)
            self._asked = set()

    def _record(self, place: str) -> HuntRecord:
        if not place:
            return self._yields.whole
        return (self._yields.neighbourhoods if "/" in place else self._yields.hosts)[place]

    def _note(self, one: Open, why: Chosen, now: datetime) -> LedgerNote:
        return LedgerNote(
            id=self._next_id(now), at=now, kind="hunt", decision=hunt_decision(why), watch=one.watch
        )
