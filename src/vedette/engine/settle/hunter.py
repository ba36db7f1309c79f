"""One hunt for all sources that hunt: opens what they find, chooses what is looked at first, counts what it gave.

It lives in the settler's thread.  It learns from looks in the order in which it ordered them (`hunt_line.py`), and
orders more at fixed places of that order, by rows that are written.  What it counts goes into the transaction of the
looks.  So a restart, or a kill, goes on from where the last commit left it, and chooses the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import NamedTuple, Protocol

from vedette.contracts.hunt import (
    BudgetContext,
    DueNow,
    EndedLook,
    HuntRecord,
    HuntRows,
    HuntState,
    Open,
    OrderedLook,
    Rest,
    Waiting,
)
from vedette.contracts.lane import Wait
from vedette.contracts.oddness import OddPage, OddWeights
from vedette.contracts.watch import Decision, LedgerNote, Settlement
from vedette.contracts.words import Risk, SourceId, WatchId
from vedette.core.evidence.hunt_ledger import hunt_decision, oddness_decision
from vedette.core.hunt import Chosen, Turn, choose
from vedette.core.hunt_worth import HuntParams, Prospect, Yields, prospect_of, room_of
from vedette.core.limits.budget import Budget, ask, daily, reserve
from vedette.core.oddness.odd_score import DEFAULT as DEFAULT_WEIGHTS
from vedette.core.oddness.triage import Revisits, found_by, open_again_at, rest_of
from vedette.core.urls.canonical import host_of, lane_of, watch_id
from vedette.discover.sitemap import site_of
from vedette.engine.settle.hunt_line import CLOSED, HuntLine, ended_look
from vedette.engine.settle.hunt_open import HuntOpen, OpenSide
from vedette.engine.settle.odd_pages import MOST_LINKS, OddPages, OddSide

AHEAD = 64  # looks ordered and not learned from at most, beside those whose lane is closed
REFILL = AHEAD // 2  # above it nothing is chosen,
BATCH = 8  # nor before so many more were learned from: a choice reads what is open
KNOWN_URLS = 20_000  # that are held taken apart
ROUNDS = 20  # in which what is not open any more is passed over
SEED, LINKED, WORD = "seed:", "link:", "word:"  # names of what is counted beside hosts and neighbourhoods
REST = timedelta(minutes=5)  # when nothing more can be chosen: the operator may change that at any time


class HuntSide(OddSide, OpenSide, Protocol):
    """What a hunt reads of the store."""

    def state(self) -> HuntState: ...
    def records(self) -> dict[str, HuntRecord]: ...
    def prospects(self, watches: Sequence[WatchId]) -> dict[WatchId, tuple[float, SourceId]]: ...
    def line(self) -> list[OrderedLook]: ...
    def unordered(self, hunting: Sequence[SourceId], *, turn: int) -> list[OrderedLook]: ...
    def stuck(self, *, by: datetime) -> set[WatchId]: ...
    def waiting(self, *, now: datetime) -> list[Waiting]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOptions:
    """What the operator asks for and allows."""

    params: HuntParams = HuntParams()
    looks_per_day: float | None = None  # first looks that a hunt may choose; None: any number
    revisits: Revisits = Revisits()
    weights: OddWeights = DEFAULT_WEIGHTS
    hunting: frozenset[SourceId] = frozenset()  # sources that hunt
    looks: int | None = None  # that this run may make; None: any number


class Hunted(NamedTuple):
    rows: HuntRows | None = None
    notes: tuple[LedgerNote, ...] = ()


@dataclass(slots=True)
class _Lessons:
    """What the looks of one call taught, as it is written."""

    pages: dict[WatchId, OddPage] = field(default_factory=dict)
    done: list[WatchId] = field(default_factory=list)  # left the line
    ended: list[WatchId] = field(default_factory=list)  # prospects that were looked at
    places: dict[str, None] = field(default_factory=dict)  # whose yields changed
    opened: dict[WatchId, tuple[SourceId, tuple[str, ...]]] = field(default_factory=dict)
    pulls: list[tuple[WatchId, float, str]] = field(default_factory=list)
    reopened: list[tuple[WatchId, datetime, str, SourceId]] = field(default_factory=list)
    revisits: list[DueNow] = field(default_factory=list)
    links: list[tuple[WatchId, tuple[WatchId, ...]]] = field(default_factory=list)


class Hunter:
    def __init__(
        self, store: HuntSide, options: HuntOptions, next_id: Callable[[datetime], int], now: datetime
    ) -> None:
        self._store = store
        self._options = options
        self._params = options.params
        self._per_day = options.looks_per_day
        self._next_id = next_id
        self._prospect = lru_cache(KNOWN_URLS)(partial(_prospect_at, params=options.params))
        self._saved = self._state = store.state()
        self._yields = _yields_of(store.records())
        self._open = HuntOpen(store, self._seen_as, seed=options.params.seed)
        self._odd = OddPages(store, options.weights) if options.hunting else None
        self._line = HuntLine(store.line(), now)
        self._new = self._seeds(now)  # looks that were ordered and are not written yet
        self._left = options.looks
        self._rests_until = datetime.min.replace(tzinfo=UTC)

    def hunt(self, settlements: Sequence[Settlement], now: datetime) -> Hunted:
        """First chooses by what is written, then learns from the looks whose turn has come."""
        chosen, again_at = self._choose(now)
        ours = [s for s in settlements if s.watch.source in self._options.hunting]
        lessons = self._learned(ours)
        risen = [] if self._odd is None else self._odd.risen()
        lessons.revisits += [
            self._revisit(page.watch, page.url, Risk.LOW, page.at) for page in risen if page.decision.found
        ]
        lessons.done += self._line.put_aside(self._store.stuck(by=now + CLOSED), now) if self._line else ()
        released = self._released(chosen, len(settlements), now)
        again_at = self._again_at(again_at, now)
        found = [one for s in settlements for one in s.found if one.due_at is None]
        if not (ours or found or chosen or again_at or self._new or lessons.done):
            return Hunted()
        judged = lessons.pages | {page.watch: page for page in risen}
        rows = self._rows(ours, lessons, tuple(judged.values()))
        rows = replace(
            rows,
            found=tuple((one.id, self._prospect(one.url).neighbourhood) for one in found),
            ordered=tuple(self._new),
            chosen=released,
            again_at=again_at,
            dropped=tuple(page.watch for page in risen if not page.decision.found),
        )
        self._new, self._saved = [], self._state
        self._open.opened(lessons.opened)
        self._open.changed(watch for watch, _, _ in lessons.pulls if watch in self._open.pages)
        self._open.changed((*lessons.ended, *(one.watch for one, _ in chosen)))
        scores = (self._noted(oddness_decision(page), page.watch, now, "oddness") for page in rows.odd)
        choices = (self._noted(hunt_decision(why), one.watch, now, "hunt") for one, why in chosen)
        return Hunted(rows, (*scores, *choices))

    def next(self, most: int, now: datetime) -> list[Chosen]:
        """What comes next, as things are.  Nothing is chosen."""
        self._open.refresh(now)
        return [one for _, one in self._best(most, now)]

    def _rows(self, ours: Sequence[Settlement], lessons: _Lessons, pages: tuple[OddPage, ...]) -> HuntRows:
        ended = self._line.ended()
        return HuntRows(
            came=tuple(ended_look(s) for s in ours if s.watch.id in ended),
            done=tuple(lessons.done),
            opened=tuple((watch, *rest) for watch, rest in lessons.opened.items()),
            ended=tuple(lessons.ended),
            reopened=tuple(lessons.reopened),
            yields=tuple((place, self._record(place)) for place in lessons.places),
            state=None if self._state == self._saved else self._state,
            rests=tuple(self._rests(ours)),
            revisits=tuple(lessons.revisits),
            pulls=tuple(lessons.pulls),
            odd=pages,
            links=tuple(lessons.links),
            background=None if self._odd is None else self._odd.snapshot(),
        )

    # What looks teach.

    def _learned(self, ours: Sequence[Settlement]) -> _Lessons:
        """From looks that nobody ordered at once, from the others up to the next choice."""
        lessons = _Lessons()
        looks = [ended_look(settled) for settled in ours]
        loose = [look for look in looks if not self._line.end(look)]
        known = self._store.prospects([look.watch for look in loose]) if loose else {}
        if loose:
            self._rests_until = datetime.min.replace(tzinfo=UTC)
        for look in loose:
            pull, seed = known.get(look.watch, (0.0, look.source))
            prospect = self._seen_as(Open(look.watch, look.url, look.risk, seed or look.source, pull))
            self._learn(look, prospect, look.watch in known, lessons)
        while self._line.has_ended() and not self._is_turn_to_choose():
            one, look = self._line.take()
            lessons.done.append(look.watch)
            self._state = replace(self._state, learned=self._state.learned + 1)
            prospect = self._seen_as(Open(one.watch, one.url, look.risk, one.seed, one.pull, one.words))
            self._learn(look, prospect, one.is_prospect, lessons)
        return lessons

    def _learn(self, look: EndedLook, prospect: Prospect, is_prospect: bool, lessons: _Lessons) -> None:
        page = None if self._odd is None else self._odd.judge(look, prospect.pull)
        decision = page.decision if page else None
        said, seed = dict(look.said), SourceId(prospect.seed)
        for watch in look.links:
            lessons.opened.setdefault(watch, (seed, said.get(watch, ())))
        if page is not None and decision is not None:
            lessons.pages[look.watch] = page
            others = tuple(watch for watch in look.links if watch != look.watch)
            lessons.links.append((look.watch, others[:MOST_LINKS]))
            if decision.found:
                lessons.pulls += [(watch, decision.found, page.place) for watch in look.links]
                lessons.revisits.append(self._revisit(look.watch, look.url, look.risk, look.at))
        if not is_prospect:
            return
        lessons.ended.append(look.watch)
        self._yields.note(prospect, found_by(look.outcome, decision))
        lessons.places |= dict.fromkeys(("", LINKED, *_names(prospect)))
        again_at = open_again_at(look.outcome, look.at, self._options.revisits)
        if again_at is not None:
            lessons.reopened.append((look.watch, again_at, prospect.neighbourhood, SourceId(prospect.seed)))
            self._open.again(again_at, look.watch)

    def _revisit(self, watch: WatchId, url: str, risk: Risk, at: datetime) -> DueNow:
        return DueNow(
            watch=watch, lane=lane_of(url), risk=risk, at=at + self._options.revisits.finding, url=url
        )

    def _rests(self, ours: Sequence[Settlement]) -> Iterator[Rest]:
        """When each is looked at again, before it is known what it was held for."""
        for settled in ours:
            is_kept = settled.watch.depth == 0 or settled.job.watch.seen is not None
            due_at = rest_of(settled.watch, None, self._options.revisits, is_kept=is_kept)
            yield Rest(settled.watch.id, due_at)

    # What is ordered.

    def _seeds(self, now: datetime) -> list[OrderedLook]:
        """Seeds that wait for their first look stand in the line too."""
        found = self._store.unordered(sorted(self._options.hunting), turn=self._state.turn)
        self._line.add(found, now)
        self._state = replace(self._state, turn=self._state.turn + len(found))
        return found

    def _is_turn_to_choose(self) -> bool:
        """By what was learned so far alone, so that a choice does not hang on when looks ended."""
        state, waiting = self._state, len(self._line)
        if state.weighed == state.learned:
            return False
        if self._per_day is not None or not waiting:
            return not waiting
        return waiting <= REFILL and state.learned % BATCH == 0

    def _choose(self, now: datetime) -> tuple[list[tuple[Open, Chosen]], datetime | None]:
        """What is ordered next, and when there may be more without anything happening."""
        is_rested = not self._line and now >= self._rests_until
        if not (self._is_turn_to_choose() or is_rested):
            return [], None
        most = self._most()
        opens_at = self._opens_at(most, now)
        if opens_at > now:
            return [], opens_at
        self._open.refresh(now)
        chosen = self._best(most, now)
        self._order(chosen, now)
        self._rests_until = now + REST
        return chosen, None

    def _order(self, chosen: Sequence[tuple[Open, Chosen]], now: datetime) -> None:
        state, budget, looks = self._state, self._budget(), len(chosen)
        new = [
            OrderedLook(
                turn=state.turn + n,
                watch=one.watch,
                url=one.url,
                seed=one.source,
                pull=one.pull,
                words=one.words,
                is_due=False,
                ordered_at=now,
            )
            for n, (one, _) in enumerate(chosen, 1)
        ]
        self._line.add(new, now)
        self._new = [*self._new, *new]
        self._state = replace(
            state,
            number=state.number + looks,
            turn=state.turn + looks,
            weighed=state.learned,
            empty_at=state.empty_at if budget is None or not looks else reserve(budget, now, looks).empty_at,
        )

    def _released(
        self, chosen: Sequence[tuple[Open, Chosen]], settled: int, now: datetime
    ) -> tuple[DueNow, ...]:
        """What of the line is due now."""
        if self._left is not None:
            self._left = max(0, self._left - settled)
        whys = {one.watch: (one, why) for one, why in chosen}
        fresh = self._line.released(self._left, now)
        return tuple(
            self._due(*whys[one.watch], now)
            if one.watch in whys
            else DueNow(watch=one.watch, lane=lane_of(one.url), risk=Risk.LOW, at=now, url=one.url)
            for one in fresh
        )

    def _again_at(self, opens_at: datetime | None, now: datetime) -> datetime | None:
        """When there is something to do, though no look ends."""
        if self._is_turn_to_choose() and opens_at is None:
            return now
        if self._line:
            return now if self._line.has_ended() else now + CLOSED
        return opens_at or max(now, self._rests_until)

    def _most(self) -> int:
        """How many are ordered at a time."""
        budget = self._budget()
        if budget is None:
            return AHEAD - len(self._line)
        return min(REFILL, max(1, budget.burst // 2))

    def _opens_at(self, most: int, now: datetime) -> datetime:
        """When so many may be ordered."""
        budget = self._budget()
        answer = None if budget is None else ask(budget, now, most, is_second=True)
        return answer.until or now if isinstance(answer, Wait) else now

    def _best(self, most: int, now: datetime) -> list[tuple[Open, Chosen]]:
        """What was chosen and is open by the store too: an operator may have asked for it meanwhile."""
        waiting = {one.watch: one.url for one in self._store.waiting(now=now)} | self._line.urls()
        turn = Turn(self._state.number, self._places(waiting.values()))
        for _ in range(ROUNDS):
            chosen = choose(self._open.pages, self._yields, most, turn=turn, params=self._params)
            by_watch = {WatchId(watch_id(one.prospect.url)): one for one in chosen}
            known = self._open.confirmed(list(by_watch), now)
            if len(known) == len(chosen):
                break
        return [(known[watch], one) for watch, one in by_watch.items() if watch in known]

    def _seen_as(self, one: Open) -> Prospect:
        known: Prospect = self._prospect(one.url)
        words = tuple(dict.fromkeys((*one.words, *known.words)))
        return Prospect(known.url, known.host, known.neighbourhood, known.costs, one.source, one.pull, words)

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

    def _budget(self) -> Budget | None:
        return None if self._per_day is None else daily(self._per_day, self._state.empty_at)

    def _places(self, urls: Iterable[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        for url in urls:
            prospect = self._prospect(url)
            found.update((prospect.host, prospect.neighbourhood))
        return found

    def _record(self, place: str) -> HuntRecord:
        if place in ("", LINKED):
            return self._yields.linked if place else self._yields.whole
        places, name = _kind(self._yields, place)
        return places[name]

    def _noted(self, decision: Decision, watch: WatchId, now: datetime, kind: str) -> LedgerNote:
        return LedgerNote(id=self._next_id(now), at=now, kind=kind, decision=decision, watch=watch)


def _yields_of(records: Mapping[str, HuntRecord]) -> Yields:
    """As the store has them."""
    found = Yields(records.get("", HuntRecord()), linked=records.get(LINKED, HuntRecord()))
    for place, record in records.items():
        if place not in ("", LINKED):
            places, name = _kind(found, place)
            places[name] = record
    return found


def _kind(yields: Yields, place: str) -> tuple[dict[str, HuntRecord], str]:
    """Where a place is counted, and by which name."""
    if place.startswith(SEED):
        return yields.seeds, place.removeprefix(SEED)
    if place.startswith(WORD):
        return yields.words, place.removeprefix(WORD)
    return (yields.neighbourhoods if "/" in place else yields.hosts), place


def _prospect_at(url: str, *, params: HuntParams) -> Prospect:
    """Hosts of one registrable domain are one place."""
    return prospect_of(url, params, place=site_of(host_of(url)))


def _names(prospect: Prospect) -> tuple[str, ...]:
    """Under which the store counts it."""
    words = (WORD + word for word in prospect.words)
    return prospect.host, prospect.neighbourhood, SEED + prospect.seed, *words
