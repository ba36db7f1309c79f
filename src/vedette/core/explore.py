"""Where to hunt next?  New places for a stated share of the looks, places that gave most for the rest (004).

A *neighbourhood* is a part of a host: the host and the first folder of the path (`example.org/~ana`).  What a
look *found* is a number from 0 to 1 (an oddness score, or 1 for a find); an error found nothing.

- `share` of the looks go to what is new, while anything is: hosts that were never looked at first, then
  neighbourhoods, then whatever was looked at least.
- The others go by yield, a bandit: the mean find of the neighbourhood, leaning on its host's and that on the
  whole's while looks are few, and more the less is known (an upper confidence bound).
- A deep or repeating path costs points in both.
- A host has a budget, of which a page takes one unit and an error several: who struggles is left alone soon.

Pure: `choose` changes nothing, `Yields.note` counts, chance is a hash.  The engine's lanes still say when.
"""

from __future__ import annotations

import heapq
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason
from vedette.core.schedule.chance import chances
from vedette.core.shape import shape_of
from vedette.core.urls import host_of, watch_id

# Points of a first look; half of them for the second, a third for the third, and so on.
NEW_HOST, NEW_NEIGHBOURHOOD = 60.0, 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreParams:
    """The knobs.  A sweep over seeds 100 to 105 of the yield world left the defaults as they were; tests use others."""

    share: float = 0.15  # of all looks, for what is new
    known_after: int = 3  # looks after which a neighbourhood is no longer new
    prior_yield: float = 0.05  # what is expected of a place before anything was looked at
    prior_looks: float = 4.0  # how much the larger place weighs in the belief about a smaller one
    daring: float = 0.5  # standard deviations that what is not known well is given for free
    host_budget: float = 200.0  # units that one host may cost
    error_cost: float = 5.0  # units of an error; a page costs one
    deep_after: int = 4  # parts of a path that cost nothing
    depth_cost: float = 3.0  # points for each further part
    repeat_cost: float = 40.0  # points when parts of the path repeat
    seed: int = 0  # of the chance that orders equals

    def __post_init__(self) -> None:
        for name, least, most in _BOUNDS:
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(f"explore.{name} is {value!r}; it must be from {least:g} to {most:g}")


_BOUNDS = (
    ("share", 0, 1), ("known_after", 1, math.inf), ("prior_yield", 0, 1), ("prior_looks", 1e-6, math.inf),
    ("daring", 0, math.inf), ("host_budget", 0, math.inf), ("error_cost", 1, math.inf), ("deep_after", 0, math.inf),
    ("depth_cost", 0, math.inf), ("repeat_cost", 0, math.inf),
)  # fmt: skip
DEFAULT = ExploreParams()


@dataclass(frozen=True, slots=True)
class Prospect:
    """A URL that may be looked at, taken apart once."""

    url: str
    host: str
    neighbourhood: str
    costs: tuple[Reason, ...] = ()  # of its path, points below zero


@dataclass(frozen=True, slots=True)
class Chosen:
    """Look here, and why: the points of the reasons add up to the value."""

    prospect: Prospect
    is_new: bool  # taken from the share for what is new
    value: float
    reasons: tuple[Reason, ...]


@dataclass(slots=True)
class Record:
    """What looks at one place came to."""

    looks: int = 0
    found: float = 0.0
    errors: int = 0

    def add(self, found: float | None) -> None:
        self.looks += 1
        self.found += found or 0.0
        self.errors += found is None


@dataclass(slots=True)
class Yields:
    """What all looks came to, by host and by neighbourhood.  Changes only in `note`."""

    whole: Record = field(default_factory=Record)
    hosts: dict[str, Record] = field(default_factory=dict)
    neighbourhoods: dict[str, Record] = field(default_factory=dict)

    def note(self, prospect: Prospect, found: float | None) -> None:
        """One look ended.  `found` from 0 to 1; None: an error, nothing came back."""
        if found is not None and not 0.0 <= found <= 1.0:
            raise InputError(f"found is {found!r}; it must be from 0 to 1, or None after an error")
        self.whole.add(found)
        self.hosts.setdefault(prospect.host, Record()).add(found)
        self.neighbourhoods.setdefault(prospect.neighbourhood, Record()).add(found)

    def dump(self) -> str:
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def load(cls, text: str) -> Yields:
        given = json.loads(text)
        places = (
            {name: Record(**one) for name, one in given[key].items()} for key in ("hosts", "neighbourhoods")
        )
        return cls(Record(**given["whole"]), *places)


def choose(
    prospects: Iterable[Prospect], yields: Yields, most: int, *, turn: int, params: ExploreParams = DEFAULT
) -> list[Chosen]:
    """The next looks, at most `most`, in the order to take them.  A URL that is given twice counts once.

    `turn` counts the looks chosen before: the share holds over all calls, and a restart decides alike.
    """
    if most < 0 or turn < 0:
        raise InputError(f"most is {most} and turn is {turn}; both must be from 0 up")
    search = _Search(prospects, yields, params)
    chosen: list[Chosen] = []
    for n in range(turn, turn + most):
        is_turn_of_new = math.floor((n + 1) * params.share) > math.floor(n * params.share)
        found = (search.take(is_new=True) if is_turn_of_new else None) or search.take(is_new=False)
        if found is None:
            break
        chosen.append(found)
    return chosen


def prospect_of(url: str, params: ExploreParams = DEFAULT) -> Prospect:
    """Takes a canonical URL apart."""
    host = host_of(url)
    shape = shape_of(url)
    folder, mark, _ = shape.path.partition("/")[2].partition("/")
    costs = []
    if shape.depth > params.deep_after:
        costs.append(Reason("deep_path", params.depth_cost * (params.deep_after - shape.depth)))
    if shape.is_repeating:
        costs.append(Reason("repeating_path", -params.repeat_cost))
    return Prospect(url, host, f"{host}/{folder if mark else ''}", tuple(costs))


def room_of(record: Record, params: ExploreParams = DEFAULT) -> int:
    """Pages that a host may still be asked for.  An error takes the room of several."""
    spent = (record.looks - record.errors) + params.error_cost * record.errors
    return max(0, math.floor(params.host_budget - spent))


class _Search:
    """One call of `choose`: queues by neighbourhood, and two heaps over them that are put right when read.

    Every value only falls while looks are chosen, so an entry that is still right at the top is the best.
    """

    def __init__(self, prospects: Iterable[Prospect], yields: Yields, params: ExploreParams) -> None:
        self._yields, self._params = yields, params
        self._queues, ties = _queues(prospects, params.seed)
        self._hosts = {place: queue[0].host for place, queue in self._queues.items()}
        self._pending: Counter[str] = Counter()  # looks chosen in this call, by host and by neighbourhood
        self._room = {host: room_of(self._at_host(host), params) for host in self._hosts.values()}
        self._heaps: dict[bool, list[tuple[float, float, str]]] = {}
        for is_new in (True, False):
            heap = [(-_sum(self._reasons(place, is_new)), ties[place], place) for place in self._queues]
            heapq.heapify(heap)
            self._heaps[is_new] = heap

    def take(self, *, is_new: bool) -> Chosen | None:
        heap = self._heaps[is_new]
        while heap:
            worst, tie, place = heap[0]
            if self._is_done(place, is_new):
                heapq.heappop(heap)
                continue
            reasons = self._reasons(place, is_new)
            value = _sum(reasons)
            if value < -worst:
                heapq.heapreplace(heap, (-value, tie, place))
                continue
            host = self._hosts[place]
            self._room[host] -= 1
            self._pending.update((host, place))
            return Chosen(self._queues[place].pop(), is_new, value, reasons)
        return None

    def _is_done(self, place: str, is_new: bool) -> bool:
        """Nothing of this place can be chosen any more."""
        if not self._queues[place] or self._room[self._hosts[place]] < 1:
            return True
        looks = self._at(place).looks + self._pending[place]
        return is_new and looks >= self._params.known_after

    def _reasons(self, place: str, is_new: bool) -> tuple[Reason, ...]:
        costs = self._queues[place][-1].costs if self._queues[place] else ()
        return (*(self._novelty(place) if is_new else self._yield(place)), *costs)

    def _novelty(self, place: str) -> tuple[Reason, ...]:
        host = self._hosts[place]
        at_host = self._at_host(host).looks + self._pending[host]
        at_place = self._at(place).looks + self._pending[place]
        return (
            Reason("new_host", NEW_HOST / (1 + at_host), f"{at_host} looks at {host}"),
            Reason("new_neighbourhood", NEW_NEIGHBOURHOOD / (1 + at_place), f"{at_place} looks at {place}"),
        )

    def _yield(self, place: str) -> tuple[Reason, ...]:
        """100 points are a find with every look."""
        params, record = self._params, self._at(place)
        whole = _mean(self._yields.whole, params.prior_yield, params)
        host = _mean(self._at_host(self._hosts[place]), whole, params)
        mean = _mean(record, host, params)
        known = record.looks + self._pending[place] + params.prior_looks
        unsure = params.daring * math.sqrt(mean * (1.0 - mean) / known)
        return (
            Reason("yield", 100.0 * whole, f"{self._yields.whole.looks} looks in all"),
            Reason("yield_of_host", 100.0 * (host - whole)),
            Reason("yield_of_neighbourhood", 100.0 * (mean - host), f"{record.looks} looks"),
            Reason("unsure", 100.0 * unsure),
        )

    def _at(self, place: str) -> Record:
        return self._yields.neighbourhoods.get(place, _NOTHING)

    def _at_host(self, host: str) -> Record:
        return self._yields.hosts.get(host, _NOTHING)


_NOTHING = Record()


def _queues(prospects: Iterable[Prospect], seed: int) -> tuple[dict[str, list[Prospect]], dict[str, float]]:
    """Prospects by neighbourhood, the cheapest path last, equal ones by chance; and a tie-break for each."""
    unique = list({prospect.url: prospect for prospect in prospects}.values())
    ids = np.fromiter((watch_id(one.url) for one in unique), np.int64, len(unique))
    chance = chances(seed, ids, np.zeros(len(unique), np.int64)).tolist()
    queues: dict[str, list[tuple[float, float, int]]] = {}
    for at, one in enumerate(unique):
        queues.setdefault(one.neighbourhood, []).append((_sum(one.costs), chance[at], at))
    ordered = {place: sorted(queue) for place, queue in queues.items()}
    ties = {place: queue[-1][1] for place, queue in ordered.items()}
    return {place: [unique[at] for _, _, at in queue] for place, queue in ordered.items()}, ties


def _mean(record: Record, larger: float, params: ExploreParams) -> float:
    """What a look at this place is expected to find; `larger` is the same of the place that holds it."""
    return (record.found + params.prior_looks * larger) / (record.looks + params.prior_looks)


def _sum(reasons: Iterable[Reason]) -> float:
    return math.fsum(reason.points for reason in reasons)
