"""One hunt for all sources that hunt: opens what they find, chooses what is looked at first, counts what it gave.

It lives in the settler's thread.  What it counts goes into the same transaction as the looks that it counts, so a
restart goes on from where the last commit left it, and chooses the same.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from vedette.contracts.hunt import (
    BudgetContext,
    DueNow,
    HuntRecord,
    HuntRows,
    HuntState,
    Open,
    Rest,
    Waiting,
)
from vedette.contracts.lane import Wait
from vedette.contracts.oddness import OddPage, OddWeights
from vedette.contracts.watch import Decision, LedgerNote, Settlement
from vedette.contracts.words import SourceId, WatchId
from vedette.core.evidence.hunt_ledger import hunt_decision, oddness_decision
from vedette.core.hunt import Chosen, HuntParams, Prospect, Turn, Yields, choose, prospect_of, room_of
from vedette.core.limits.budget import Budget, ask, daily, reserve, used
from vedette.core.oddness.odd_score import DEFAULT as DEFAULT_WEIGHTS
from vedette.core.oddness.triage import Revisits, found_by, open_again_at, rest_of
from vedette.core.urls.canonical import host_of, lane_of
from vedette.discover.sitemap import site_of
from vedette.engine.settle.odd_pages import OddPages, OddSide

AHEAD = 64  # looks chosen and not ended at most, beside those whose lane is closed
REFILL = AHEAD // 2  # above it nothing is chosen,
BATCH = 8  # nor before so much is new: a choice reads what is open
POOL = 5_000  # open ones that are weighed at a time; of more, the most promising and a fair sample
PULLED, RICH, OF_RICH = (
    1_000,
    32,
    1_500,
)  # of these: what finds link to, and open ones of the best neighbourhoods
KNOWN_PLACES = 200_000  # hosts and neighbourhoods held in memory: some 50 MB
SEED, LINKED = "seed:", "link:"  # names of what is counted beside hosts and neighbourhoods
MOST_LINKS = 300  # of a page that are kept for the graph
REST = timedelta(minutes=5)  # when nothing more can be chosen: the operator may change that at any time


class HuntSide(OddSide, Protocol):
    """What a hunt reads of the store."""

    def state(self) -> HuntState: ...
    def records(self, places: Sequence[str]) -> dict[str, HuntRecord]: ...
    def prospects(self, watches: Sequence[WatchId]) -> dict[WatchId, float]: ...
    def open(self, after: int, most: int, *, now: datetime) -> list[Open]: ...
    def pulled(self, most: int, *, now: datetime) -> list[Open]: ...
    def open_at(self, places: Sequence[str], most: int, *, now: datetime) -> list[Open]: ...
    def waiting(self, *, now: datetime) -> list[Waiting]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """What the operator asks for and allows."""

    params: HuntParams = HuntParams()
    looks_per_day: float | None = None  # first looks that a hunt may choose; None: any number
    revisits: Revisits = Revisits()
    weights: OddWeights = DEFAULT_WEIGHTS
    hunting: frozenset[SourceId] = frozenset()  # sources that hunt


class Hunted(NamedTuple):
    rows: HuntRows | None = None
    notes: tuple[LedgerNote, ...] = ()


class Hunter:
    def __init__(self, store: HuntSide, options: HuntOptions, next_id: Callable[[datetime], int]) -> None:
        self._store = store
        self._options = options
        self._params = options.params
        self._per_day = options.looks_per_day
        self._next_id = next_id
        self._prospect = lru_cache(4 * POOL)(partial(_prospect_at, params=options.params))
        self._state = store.state()
        self._yields = Yields(
            store.records([""]).get("", HuntRecord()),
            linked=store.records([LINKED]).get(LINKED, HuntRecord()),
        )
        self._odd = OddPages(store, options.weights) if options.hunting else None
        self._asked: set[str] = set()  # places that were read from the store
        self._rich = _RichPlaces()
        self._news = 0  # looks that ended and pages that were found since the last choice
        self._rests_until = datetime.min.replace(tzinfo=UTC)

    def hunt(self, settlements: Sequence[Settlement], now: datetime) -> Hunted:
        """What a group found and saw, and what is to be looked at next."""
        self._forget()
        ours = [s for s in settlements if s.watch.source in self._options.hunting]
        pulls = self._store.prospects([s.watch.id for s in ours]) if ours else {}
        odd = self._judged(ours, pulls)
        risen = [] if self._odd is None else self._odd.risen()
        ended = [s for s in ours if s.watch.id in pulls]
        places = self._count(ended, pulls, odd)
        fresh, pulled = self._opened(settlements, odd)
        done = frozenset(settled.watch.id for settled in ended)
        reopened = self._failed(ended)
        chosen, again_at = self._choose(fresh, done, now)
        if not (ours or fresh or chosen or again_at):
            return Hunted()
        rows = HuntRows(
            opened=tuple(one.watch for one in fresh),
            places=tuple((one.watch, self._prospect(one.url).neighbourhood) for one in fresh),
            chosen=tuple(self._due(one, why, now) for one, why in chosen),
            ended=tuple(done),
            reopened=reopened,
            yields=tuple((place, self._record(place)) for place in places),
            state=self._state if chosen else None,
            again_at=again_at,
            rests=(*self._rests(ours, odd), *(self._rest_of_risen(page) for page in risen)),
            pulls=pulled,
            odd=(*odd.values(), *risen),
            links=_links(ours, odd),
            background=None if self._odd is None else self._odd.snapshot(),
        )
        pages = (*odd.values(), *risen)
        judged = (self._noted(oddness_decision(page), page.watch, now, "oddness") for page in pages)
        choices = (self._noted(hunt_decision(why), one.watch, now, "hunt") for one, why in chosen)
        return Hunted(rows, (*judged, *choices))

    def next(self, most: int, now: datetime) -> list[Chosen]:
        """What comes next, as things are.  Nothing is chosen."""
        return self._best(self._pool(now), self._store.waiting(now=now), most)

    def _judged(self, ours: Sequence[Settlement], pulls: Mapping[WatchId, float]) -> dict[WatchId, OddPage]:
        """Pages that came for the first time, in order."""
        if self._odd is None:
            return {}
        judged = ((s.watch.id, self._odd.judge(s, pulls.get(s.watch.id, 0.0))) for s in ours)
        return {watch: page for watch, page in judged if page is not None}

    def _count(
        self, ended: Sequence[Settlement], pulls: Mapping[WatchId, float], odd: Mapping[WatchId, OddPage]
    ) -> list[str]:
        """Notes what each look found.  Gives the places that changed."""
        if not ended:
            return []
        prospects = [self._seen_as(s.job.watch.url, s.watch.source, pulls[s.watch.id]) for s in ended]
        self._load(prospects)
        for settled, prospect in zip(ended, prospects, strict=True):
            page = odd.get(settled.watch.id)
            self._yields.note(prospect, found_by(settled.visit.outcome, page.decision if page else None))
            self._rich.note(prospect.neighbourhood, self._yields.neighbourhoods[prospect.neighbourhood])
        names = (name for p in prospects for name in _names(p))
        return list(dict.fromkeys(("", LINKED, *names)))

    def _opened(
        self, settlements: Sequence[Settlement], odd: Mapping[WatchId, OddPage]
    ) -> tuple[list[Open], tuple[tuple[WatchId, float, str], ...]]:
        """What was found, and what of it and of what is open a find of another place links to."""
        fresh: list[Open] = []
        pulled: list[tuple[WatchId, float, str]] = []
        for settled in settlements:
            page = odd.get(settled.watch.id)
            pull, place = (page.decision.found, page.place) if page else (0.0, "")
            for one in settled.found:
                if one.due_at is None:
                    is_own = self._prospect(one.url).host == place
                    fresh.append(Open(one.id, one.url, one.risk, one.source, 0.0 if is_own else pull))
            if pull:
                named = (*settled.linked, *(one.id for one in settled.found))
                pulled += [(watch, pull, place) for watch in dict.fromkeys(named)]
        return fresh, tuple(pulled)

    def _failed(self, ended: Sequence[Settlement]) -> tuple[tuple[WatchId, datetime], ...]:
        """Looks that brought nothing, and when they may be chosen again."""
        times = (
            (s.watch.id, open_again_at(s.visit.outcome, s.visit.at, self._options.revisits)) for s in ended
        )
        return tuple((watch, at) for watch, at in times if at is not None)

    def _rests(self, ours: Sequence[Settlement], odd: Mapping[WatchId, OddPage]) -> Iterator[Rest]:
        """When each is looked at again."""
        for settled in ours:
            page = odd.get(settled.watch.id)
            is_kept = settled.watch.depth == 0 or settled.job.watch.seen is not None
            yield Rest(
                settled.watch.id,
                rest_of(
                    settled.watch, page.decision if page else None, self._options.revisits, is_kept=is_kept
                ),
            )

    def _rest_of_risen(self, page: OddPage) -> Rest:
        return Rest(page.watch, page.at + self._options.revisits.finding)

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
        pool = {one.url: one for one in (*self._pool(now), *fresh)} if most else {}
        chosen = self._best(pool.values(), waiting, most)
        self._spend(len(chosen), now)
        self._news = 0
        self._rests_until = now + REST if len(chosen) < most else self._opens_at(now)
        again_at = self._rests_until if self._rests_until > now else None
        return [(pool[one.prospect.url], one) for one in chosen], again_at

    def _best(self, pool: Iterable[Open], waiting: Iterable[Waiting], most: int) -> list[Chosen]:
        prospects = [self._seen_as(one.url, one.source, one.pull) for one in pool]
        self._load(prospects)
        turn = Turn(self._state.number, self._places(waiting))
        return choose(prospects, self._yields, most, turn=turn, params=self._params)

    def _pool(self, now: datetime) -> list[Open]:
        """All that is open; of more than that what is promising, and the next stretch of the rest."""
        found = self._store.open(self._state.after, POOL, now=now)
        if len(found) < POOL and self._state.after:  # round the corner
            found += self._store.open(0, POOL - len(found), now=now)
        after = found[-1].watch if len(found) == POOL else 0
        self._state = replace(self._state, after=after)
        if len(found) < POOL:
            return found
        rich = self._store.open_at(self._rich.best(RICH), OF_RICH, now=now)
        return list(
            {one.watch: one for one in (*found, *rich, *self._store.pulled(PULLED, now=now))}.values()
        )

    def _seen_as(self, url: str, source: SourceId, pull: float) -> Prospect:
        prospect: Prospect = self._prospect(url)
        if prospect.seed == source and prospect.pull == pull:
            return prospect
        return Prospect(prospect.url, prospect.host, prospect.neighbourhood, prospect.costs, source, pull)

    def _due(self, one: Open, why: Chosen, now: datetime) -> DueNow:
        prospect, figures = why.prospect, why.figures
        context = BudgetContext(
            prospect.host,
            figures.at_host.looks,
            room_of(figures.at_host, self._params) - figures.waiting_at_host,
            figures.waiting_at_host,
        )
        return DueNow(
            watch=one.watch,
            lane=lane_of(one.url),
            risk=one.risk,
            at=now,
            url=one.url,
            priority=why.value,
            budget_context=context,
        )

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
        names = {name for one in prospects for name in _names(one)} - self._asked
        for place, record in self._store.records(sorted(names)).items():
            places, name = self._kind(place)
            places[name] = record
            if "/" in place:
                self._rich.note(place, record)
        self._asked |= names

    def _kind(self, place: str) -> tuple[dict[str, HuntRecord], str]:
        """Where a place is counted, and by which name."""
        if place.startswith(SEED):
            return self._yields.seeds, place.removeprefix(SEED)
        return (self._yields.neighbourhoods if "/" in place else self._yields.hosts), place

    def _forget(self) -> None:
        """All that was counted is in the store by now; what is needed is read again."""
        if len(self._asked) > KNOWN_PLACES:
            self._yields = Yields(self._yields.whole, linked=self._yields.linked)
            self._asked = set()

    def _record(self, place: str) -> HuntRecord:
        if place in ("", LINKED):
            return self._yields.linked if place else self._yields.whole
        places, name = self._kind(place)
        return places[name]

    def _noted(self, decision: Decision, watch: WatchId, now: datetime, kind: str) -> LedgerNote:
        return LedgerNote(id=self._next_id(now), at=now, kind=kind, decision=decision, watch=watch)


class _RichPlaces:
    """Neighbourhoods that gave most, a few of many."""

    def __init__(self) -> None:
        self._means: dict[str, float] = {}

    def note(self, place: str, record: HuntRecord) -> None:
        if record.found:
            self._means[place] = record.found / (record.looks + 1)
        if len(self._means) > 16 * RICH:
            self._means = {name: self._means[name] for name in self.best(4 * RICH)}

    def best(self, most: int) -> list[str]:
        return sorted(self._means, key=lambda name: (-self._means[name], name))[:most]


def _prospect_at(url: str, *, params: HuntParams) -> Prospect:
    """Hosts of one registrable domain are one place."""
    return prospect_of(url, params, place=site_of(host_of(url)))


def _links(
    ours: Sequence[Settlement], odd: Mapping[WatchId, OddPage]
) -> tuple[tuple[WatchId, tuple[WatchId, ...]], ...]:
    """What the pages that were judged link to, themselves left out."""
    named = ((s.watch.id, (*s.linked, *(one.id for one in s.found))) for s in ours if s.watch.id in odd)
    return tuple(
        (watch, tuple(one for one in dict.fromkeys(targets) if one != watch)[:MOST_LINKS])
        for watch, targets in named
    )


def _names(prospect: Prospect) -> tuple[str, str, str]:
    """Under which the store counts it."""
    return prospect.host, prospect.neighbourhood, SEED + prospect.seed
