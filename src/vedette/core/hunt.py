"""Where the hunt looks next: new places for a stated share of the looks, those that gave most for the rest (spec 004).

What a look is worth stands in `hunt_worth.py`.  Of each neighbourhood the best page is weighed: what a find links to,
then what its link says, then a plain path, then chance.  All neighbourhoods are weighed at once, in columns; the best
of them again one by one, with their reasons.

Pure: `choose` changes nothing, chance is a hash.  The engine's lanes still say when.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason
from vedette.core.hunt_worth import (
    DEFAULT,
    NEW_HOST,
    NEW_NEIGHBOURHOOD,
    NOTHING,
    HuntFigures,
    HuntParams,
    Prospect,
    Yields,
    mean_of,
    room_of,
    sum_of,
    weigh,
)
from vedette.core.open_pages import OpenPages, RecordColumns

FIRST = 1024  # neighbourhoods that are put in order at first; the others only when these are used up
DECIMALS = 9  # values that differ by less are equal, and chance orders them
CHANCE = 0.9 * 10.0**-DECIMALS  # what chance counts beside a value
NOISE = 1e-12  # by which a value in columns may differ from the one that is added up


@dataclass(frozen=True, slots=True)
class Chosen:
    """Look here, and why: the points of the reasons add up to the value."""

    prospect: Prospect
    is_new: bool  # taken from the share for what is new
    figures: HuntFigures
    reasons: tuple[Reason, ...]

    @property
    def value(self) -> float:
        return sum_of(self.reasons)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the hunt is: with it a restart chooses alike."""

    number: int = 0  # looks chosen before: the share holds over all calls
    waiting: Mapping[str, int] = field(
        default_factory=dict
    )  # chosen and not ended, by host and neighbourhood


def choose(
    prospects: OpenPages | Iterable[Prospect],
    yields: Yields,
    most: int,
    *,
    turn: Turn,
    params: HuntParams = DEFAULT,
) -> list[Chosen]:
    """The next looks, at most `most`, in the order to take them.  A URL that is given twice counts once."""
    if most < 0 or turn.number < 0:
        raise InputError(f"most is {most} and turn is {turn.number}; both must be from 0 up")
    pages = prospects if isinstance(prospects, OpenPages) else OpenPages(prospects, seed=params.seed)
    search = _Search(pages, yields, turn.waiting, params)
    chosen: list[Chosen] = []
    for n in range(turn.number, turn.number + most):
        is_turn_of_new = math.floor((n + 1) * params.share) > math.floor(n * params.share)
        found = (search.take(is_new=True) if is_turn_of_new else None) or search.take(is_new=False)
        if found is None:
            break
        chosen.append(found)
    return chosen


class _Search:
    """One call of `choose`: two heaps of neighbourhoods that are filled as far as needed and put right when read.

    Every value only falls while looks are chosen, so an entry that is still right at the top is the best.
    """

    def __init__(
        self, pages: OpenPages, yields: Yields, waiting: Mapping[str, int], params: HuntParams
    ) -> None:
        self._pages, self._yields, self._params = pages, yields, params
        self._waiting: Counter[str] = Counter(waiting)
        self._room: dict[str, int] = {}
        self._worth = _Worth(pages, yields, self._waiting, params)
        self._queues: dict[
            int, list[int]
        ] = {}  # of neighbourhoods that something was taken from, the best last
        values = {True: self._worth.novelty(), False: self._worth.gains()}
        orders = {is_new: _Order(self._worth, value) for is_new, value in values.items()}
        self._likely = {place for order in orders.values() for place in order.likely()}
        self._rows: dict[int, list[int]] | None = None  # of likely neighbourhoods
        self._waits = {is_new: iter(order) for is_new, order in orders.items()}
        self._next = {is_new: next(rest, None) for is_new, rest in self._waits.items()}
        self._heaps: dict[bool, list[tuple[float, float, str, int]]] = {True: [], False: []}

    def take(self, *, is_new: bool) -> Chosen | None:
        heap = self._heaps[is_new]
        while self._fill(is_new):
            worst, tie, name, place = heap[0]
            if self._is_done(place, is_new):
                heapq.heappop(heap)
                continue
            figures, reasons = self._weighed(place, is_new)
            value = round(sum_of(reasons), DECIMALS)
            if value < -worst:
                heapq.heapreplace(heap, (-value, tie, name, place))
                continue
            return self._taken(place, is_new, figures, reasons)
        return None

    def _fill(self, is_new: bool) -> bool:
        """Puts into the heap whatever may be better than its first.  False: nothing is left."""
        heap = self._heaps[is_new]
        while (after := self._next[is_new]) is not None:
            key, place = after
            if heap and key + NOISE < -heap[0][0] - CHANCE * heap[0][1]:
                break
            self._next[is_new] = next(self._waits[is_new], None)
            if self._is_done(place, is_new):
                continue
            value = round(sum_of(self._weighed(place, is_new)[1]), DECIMALS)
            heapq.heappush(heap, (-value, self._worth.tie(place), self._pages.places.all[place], place))
        return bool(heap)

    def _taken(self, place: int, is_new: bool, figures: HuntFigures, reasons: tuple[Reason, ...]) -> Chosen:
        if place not in self._queues:
            self._queues[place] = self._worth.ordered(self._rows_of(place))
        row = self._queues[place].pop()
        prospect = self._pages.prospect(row)
        self._room[prospect.host] = self._room_at(prospect.host) - 1
        self._waiting.update((prospect.host, prospect.neighbourhood))
        return Chosen(prospect, is_new, figures, reasons)

    def _rows_of(self, place: int) -> list[int]:
        """Those of all likely neighbourhoods are looked up at once."""
        if self._rows is None:
            self._rows = self._pages.rows_of(self._likely)
        return self._rows[place] if place in self._rows else self._pages.rows_of([place])[place]

    def _is_done(self, place: int, is_new: bool) -> bool:
        """Nothing of this place can be chosen any more."""
        head = self._head(place)
        if head is None or self._room_at(head.host) < 1:
            return True
        name = head.neighbourhood
        looks = self._yields.neighbourhoods.get(name, NOTHING).looks + self._waiting[name]
        return is_new and looks >= self._params.known_after

    def _head(self, place: int) -> Prospect | None:
        queue = self._queues.get(place)
        if queue is None:
            return self._pages.prospect(self._worth.head(place))
        return self._pages.prospect(queue[-1]) if queue else None

    def _weighed(self, place: int, is_new: bool) -> tuple[HuntFigures, tuple[Reason, ...]]:
        yields, prospect = self._yields, self._head(place)
        if prospect is None:
            raise LookupError(f"nothing is left of {self._pages.places.all[place]}")
        figures = HuntFigures(
            yields.whole,
            yields.hosts.get(prospect.host, NOTHING),
            yields.neighbourhoods.get(prospect.neighbourhood, NOTHING),
            self._waiting[prospect.host],
            self._waiting[prospect.neighbourhood],
            yields.seeds.get(prospect.seed, NOTHING),
            yields.linked,
            prospect.pull,
            yields.of_words(prospect.words),
        )
        return figures, weigh(prospect, figures, is_new=is_new, params=self._params)

    def _room_at(self, host: str) -> int:
        known = self._room.get(host)
        if known is not None:
            return known
        left = room_of(self._yields.hosts.get(host, NOTHING), self._params)
        return min(left, self._params.at_host) - self._waiting[host]


class _Worth:
    """What every neighbourhood is worth before anything was taken, in columns by its number."""

    def __init__(
        self, pages: OpenPages, yields: Yields, waiting: Mapping[str, int], params: HuntParams
    ) -> None:
        self._pages, self._params = pages, params
        self._whole = mean_of(yields.whole, params.prior_yield, params)
        self._linked = yields.linked
        self._said = self._promised(pages.summed(self._lifts(yields)))
        self._own = 100.0 * pages.pull + self._said + pages.cost
        self._heads = self._best_rows()
        self._here, self._hosts = pages.places.column(yields.neighbourhoods), pages.hosts.column(yields.hosts)
        self._seeds = pages.seeds.column(yields.seeds)
        self._host = pages.host_of_places()
        self._waiting_here, self._waiting_at = pages.places.counted(waiting), pages.hosts.counted(waiting)
        self.live = np.flatnonzero((self._heads >= 0) & (self._rooms() >= 1)[self._host])

    def head(self, place: int) -> int:
        return int(self._heads[place])

    def tie(self, place: int) -> float:
        return float(self._pages.chance[self._heads[place]])

    def ties(self) -> np.ndarray:
        """Of all that live."""
        found: np.ndarray = self._pages.chance[self._heads[self.live]]
        return found

    def ordered(self, found: list[int]) -> list[int]:
        """Pages of one neighbourhood, the best last."""
        rows = np.array(found)
        ranked: list[int] = rows[np.lexsort((rows, self._pages.chance[rows], self._own[rows]))].tolist()
        return ranked

    def novelty(self) -> np.ndarray:
        live, host = self.live, self._host[self.live]
        here = self._here.looks[live] + self._waiting_here[live]
        at_host = self._hosts.looks[host] + self._waiting_at[host]
        points = NEW_HOST / (1.0 + at_host) + NEW_NEIGHBOURHOOD / (1.0 + here)
        return np.where(
            here >= self._params.known_after, -np.inf, points + self._pages.cost[self._heads[live]]
        )

    def gains(self) -> np.ndarray:
        """What a look may find."""
        params, live, rows = self._params, self.live, self._heads[self.live]
        seed = self._seeds.mean(self._whole, params.prior_looks)[self._pages.seed_of(rows)]
        at_host = _part(self._hosts, self._host[live]).mean(seed, params.prior_looks)
        mean = _part(self._here, live).mean(at_host, params.prior_looks)
        known = self._here.looks[live] + self._waiting_here[live] + params.prior_looks
        unsure = params.daring * np.sqrt(np.maximum(0.0, mean * (1.0 - mean)) / known)
        points = 100.0 * (mean + unsure + self._followed(self._pages.pull[rows], mean))
        return np.asarray(points + self._said[rows] + self._pages.cost[rows])

    def _followed(self, pull: np.ndarray, mean: np.ndarray) -> np.ndarray:
        params, linked = self._params, self._linked
        prior = np.maximum(params.prior_yield, 0.5 * pull)
        gave = (linked.found + params.prior_looks * prior) / (linked.looks + params.prior_looks)
        return np.where(pull > 0.0, params.follow * np.maximum(0.0, gave - mean), 0.0)

    def _lifts(self, yields: Yields) -> np.ndarray:
        """What each word changes, as `lifts_of` has it."""
        least, prior = max(self._whole, 1e-6), self._params.word_looks
        known = self._pages.words.column(yields.words)
        return np.log((known.found + prior * least) / ((known.looks + prior) * least))

    def _promised(self, sums: np.ndarray) -> np.ndarray:
        """Points that the words of a link promise beyond the mean of everything."""
        bound, whole = self._params.most_lift, self._whole
        if whole >= 1.0:
            return np.zeros(len(sums))
        odds = np.exp(np.clip(self._params.trust * sums, -bound, bound)) * (whole / (1.0 - whole))
        return np.where(sums == 0.0, 0.0, 100.0 * (odds / (1.0 + odds) - whole))

    def _best_rows(self) -> np.ndarray:
        """Of each neighbourhood the row of the best page; -1: it has none."""
        place, chance, many = self._pages.place, self._pages.chance, len(self._pages.places)
        best = np.full(many, -np.inf)
        np.maximum.at(best, place, self._own)
        rows = np.flatnonzero((self._own == best[place]) & (place > 0))
        luck = np.full(many, -1.0)
        np.maximum.at(luck, place[rows], chance[rows])
        rows = rows[chance[rows] == luck[place[rows]]]
        found = np.full(many, -1, np.int64)
        found[place[rows]] = rows
        return found

    def _rooms(self) -> np.ndarray:
        params, hosts = self._params, self._hosts
        spent = (hosts.looks - hosts.errors) + params.error_cost * hosts.errors
        left = np.maximum(0.0, np.floor(params.host_budget - spent))
        return np.asarray(np.minimum(left, params.at_host) - self._waiting_at)


def _part(records: RecordColumns, at: np.ndarray) -> RecordColumns:
    return RecordColumns(records.looks[at], records.found[at], records.errors[at])


class _Order:
    """Neighbourhoods with what they are worth, chance included, the best first."""

    def __init__(self, worth: _Worth, values: np.ndarray) -> None:
        self._live = worth.live
        self._keys = np.round(values, DECIMALS) - CHANCE * worth.ties()
        at = np.flatnonzero(self._keys > -np.inf)
        self._parts = [at]
        if len(at) > FIRST:
            split = np.argpartition(-self._keys[at], FIRST)
            self._parts = [at[split[:FIRST]], at[split[FIRST:]]]

    def __iter__(self) -> Iterator[tuple[float, int]]:
        for part in self._parts:
            for one in part[np.argsort(-self._keys[part], kind="stable")].tolist():
                yield float(self._keys[one]), int(self._live[one])

    def likely(self) -> list[int]:
        found: list[int] = self._live[self._parts[0]].tolist()
        return found
