"""Where the hunt looks next: new places for a stated share of the looks, those that gave most for the rest (spec 004).

A *place* is a registrable domain: a farm of made-up subdomains is one.  A *neighbourhood* is a part of it: a host and
the first folder of the path (`example.org/~ana`).  What a look *found* is a number from 0 to 1, the oddness of a page
that triage kept, 0 of any other; an error found nothing.

- `share` of the looks go to what is new, while anything is: hosts that were never looked at first, then
  neighbourhoods, then whatever was looked at least.
- The others go by yield, a bandit: the mean find of the neighbourhood, leaning on its host's, that on its seed's and
  that on the whole's while looks are few, and more the less is known (an upper confidence bound).  What a find links
  to is worth what such pages were worth so far.  The words of a link and of the path that it leads to count by what
  looks by such words found before.
- A deep or repeating path costs points in both.
- A host has a budget, of which a page takes one unit and an error several: who struggles is left alone soon.
  And only a few looks wait there at a time: what they find may change our mind.

Pure: `choose` changes nothing, `Yields.note` counts, chance is a hash.  The engine's lanes still say when.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.hunt import HuntRecord
from vedette.contracts.words import Reason
from vedette.core.schedule.columns import chances
from vedette.core.urls.canonical import host_of, watch_id
from vedette.core.urls.link_words import path_words
from vedette.core.urls.url_shape import shape_of

# Points of a first look; half of them for the second, a third for the third, and so on.
NEW_HOST, NEW_NEIGHBOURHOOD = 60.0, 40.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntParams:
    """The knobs.  A sweep over seeds 100 to 105 of the yield world left the defaults as they were; tests use others."""

    share: float = 0.15  # of all looks, for what is new
    known_after: int = 3  # looks after which a neighbourhood is no longer new
    prior_yield: float = 0.05  # what is expected of a place before anything was looked at
    prior_looks: float = 4.0  # how much the larger place weighs in the belief about a smaller one
    daring: float = 0.5  # standard deviations that what is not known well is given for free
    host_budget: float = 200.0  # units that one host may cost
    error_cost: float = 5.0  # units of an error; a page costs one
    at_host: int = 2  # looks that were chosen at one host and have not ended
    deep_after: int = 4  # parts of a path that cost nothing
    depth_cost: float = 3.0  # points for each further part
    repeat_cost: float = 40.0  # points when parts of the path repeat
    follow: float = 0.8  # of what pages that a find links to gave so far, for the next of them
    word_looks: float = 10.0  # how much the mean of everything weighs in the belief about a word of links
    trust: float = 0.5  # in the words of a link together: they do not speak independently
    most_lift: float = 3.0  # by which they can change the odds, as a logarithm
    seed: int = 0  # of the chance that orders equals

    def __post_init__(self) -> None:
        for name, least, most in _BOUNDS:
            value = getattr(self, name)
            if not least <= value <= most:
                raise InputError(f"hunt.{name} is {value!r}; it must be from {least:g} to {most:g}")


_BOUNDS = (
    ("share", 0, 1), ("known_after", 1, math.inf), ("prior_yield", 0, 1), ("prior_looks", 1e-6, math.inf),
    ("daring", 0, math.inf), ("host_budget", 0, math.inf), ("error_cost", 1, math.inf), ("at_host", 1, math.inf),
    ("follow", 0, 1), ("word_looks", 1e-6, math.inf), ("trust", 0, math.inf), ("most_lift", 0, 20),
    ("deep_after", 0, math.inf), ("depth_cost", 0, math.inf), ("repeat_cost", 0, math.inf),
)  # fmt: skip
DEFAULT = HuntParams()
NOTHING = HuntRecord()


@dataclass(frozen=True, slots=True)
class Prospect:
    """A URL that may be looked at, taken apart once."""

    url: str
    host: str  # or the registrable domain that hosts are counted by
    neighbourhood: str
    costs: tuple[Reason, ...] = ()  # of its path, points below zero
    seed: str = ""  # the source whose crawl came by it
    pull: float = 0.0  # the oddness of the best page that links to it, 0 to 1
    words: tuple[str, ...] = ()  # of the link that led to it and of its path


@dataclass(slots=True)
class Yields:
    """What all looks came to, by host, neighbourhood, seed and word of a link.  Changes only in `note`."""

    whole: HuntRecord = NOTHING
    hosts: dict[str, HuntRecord] = field(default_factory=dict)
    neighbourhoods: dict[str, HuntRecord] = field(default_factory=dict)
    seeds: dict[str, HuntRecord] = field(default_factory=dict)
    linked: HuntRecord = NOTHING  # looks at pages that a find links to
    words: dict[str, HuntRecord] = field(default_factory=dict)

    def note(self, prospect: Prospect, found: float | None) -> None:
        """One look ended.  `found` from 0 to 1; None: an error, nothing came back."""
        if found is not None and not 0.0 <= found <= 1.0:
            raise InputError(f"found is {found!r}; it must be from 0 to 1, or None after an error")
        self.whole = _with(self.whole, found)
        if prospect.pull:
            self.linked = _with(self.linked, found)
        for places, name in (
            (self.hosts, prospect.host),
            (self.neighbourhoods, prospect.neighbourhood),
            (self.seeds, prospect.seed),
        ):
            places[name] = _with(places.get(name, NOTHING), found)
        for word in prospect.words:
            self.words[word] = _with(self.words.get(word, NOTHING), found)

    def of_words(self, words: Iterable[str]) -> tuple[tuple[str, HuntRecord], ...]:
        """What looks that such a link led to came to, where there were any."""
        return tuple((word, self.words[word]) for word in words if word in self.words)


@dataclass(frozen=True, slots=True)
class HuntFigures:
    """What is known of a place when a look at it is weighed."""

    whole: HuntRecord
    at_host: HuntRecord
    here: HuntRecord
    waiting_at_host: int = 0  # looks that were chosen and have not ended
    waiting_here: int = 0
    of_seed: HuntRecord = NOTHING
    linked: HuntRecord = NOTHING
    pull: float = 0.0
    words: tuple[tuple[str, HuntRecord], ...] = ()  # of its link, and what looks by such links came to


@dataclass(frozen=True, slots=True)
class Chosen:
    """Look here, and why: the points of the reasons add up to the value."""

    prospect: Prospect
    is_new: bool  # taken from the share for what is new
    figures: HuntFigures
    reasons: tuple[Reason, ...]

    @property
    def value(self) -> float:
        return _sum(self.reasons)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where the hunt is: with it a restart chooses alike."""

    number: int = 0  # looks chosen before: the share holds over all calls
    waiting: Mapping[str, int] = field(
        default_factory=dict
    )  # chosen and not ended, by host and neighbourhood


def choose(
    prospects: Iterable[Prospect],
    yields: Yields,
    most: int,
    *,
    turn: Turn,
    params: HuntParams = DEFAULT,
) -> list[Chosen]:
    """The next looks, at most `most`, in the order to take them.  A URL that is given twice counts once."""
    if most < 0 or turn.number < 0:
        raise InputError(f"most is {most} and turn is {turn.number}; both must be from 0 up")
    search = _Search(prospects, yields, turn.waiting, params)
    chosen: list[Chosen] = []
    for n in range(turn.number, turn.number + most):
        is_turn_of_new = math.floor((n + 1) * params.share) > math.floor(n * params.share)
        found = (search.take(is_new=True) if is_turn_of_new else None) or search.take(is_new=False)
        if found is None:
            break
        chosen.append(found)
    return chosen


def prospect_of(url: str, params: HuntParams = DEFAULT, *, place: str = "") -> Prospect:
    """Takes a canonical URL apart.  `place`: its registrable domain, where hosts are counted by that."""
    host = host_of(url)
    shape = shape_of(url)
    folder, mark, _ = shape.path.partition("/")[2].partition("/")
    costs = []
    if shape.depth > params.deep_after:
        costs.append(Reason("deep_path", params.depth_cost * (params.deep_after - shape.depth)))
    if shape.is_repeating:
        costs.append(Reason("repeating_path", -params.repeat_cost))
    neighbourhood = f"{host}/{folder if mark else ''}"
    return Prospect(url, place or host, neighbourhood, tuple(costs), words=path_words(url))


def weigh(
    prospect: Prospect, figures: HuntFigures, *, is_new: bool, params: HuntParams = DEFAULT
) -> tuple[Reason, ...]:
    """What a look is worth, point by point: as something new, or for what it may find."""
    own = _novelty(prospect, figures) if is_new else _yield(figures, params)
    return (*own, *prospect.costs)


def room_of(record: HuntRecord, params: HuntParams = DEFAULT) -> int:
    """Pages that a host may still be asked for.  An error takes the room of several."""
    spent = (record.looks - record.errors) + params.error_cost * record.errors
    return max(0, math.floor(params.host_budget - spent))


def _novelty(prospect: Prospect, figures: HuntFigures) -> tuple[Reason, ...]:
    at_host = figures.at_host.looks + figures.waiting_at_host
    here = figures.here.looks + figures.waiting_here
    return (
        Reason("new_host", NEW_HOST / (1 + at_host), f"{at_host} looks at {prospect.host}"),
        Reason(
            "new_neighbourhood", NEW_NEIGHBOURHOOD / (1 + here), f"{here} looks at {prospect.neighbourhood}"
        ),
    )


def _yield(figures: HuntFigures, params: HuntParams) -> tuple[Reason, ...]:
    """100 points are a find with every look."""
    whole = _mean(figures.whole, params.prior_yield, params)
    seed = _mean(figures.of_seed, whole, params)
    host = _mean(figures.at_host, seed, params)
    mean = _mean(figures.here, host, params)
    known = figures.here.looks + figures.waiting_here + params.prior_looks
    unsure = params.daring * math.sqrt(mean * (1.0 - mean) / known)
    return (
        Reason("yield", 100.0 * whole, f"{figures.whole.looks} looks in all"),
        Reason("yield_of_seed", 100.0 * (seed - whole), f"{figures.of_seed.looks} looks"),
        Reason("yield_of_host", 100.0 * (host - seed), f"{figures.at_host.looks} looks"),
        Reason("yield_of_neighbourhood", 100.0 * (mean - host), f"{figures.here.looks} looks"),
        Reason("unsure", 100.0 * unsure),
        Reason("from_find", 100.0 * _followed(figures, mean, params), f"{figures.linked.looks} looks"),
        Reason(
            "words_of_link",
            100.0 * said_by(figures.words, whole, params),
            _told(figures.words, whole, params),
        ),
    )


def _followed(figures: HuntFigures, mean: float, params: HuntParams) -> float:
    """What a page that a find links to is worth beyond its neighbourhood: as much as such pages gave so far."""
    if not figures.pull:
        return 0.0
    gave = _mean(figures.linked, max(params.prior_yield, 0.5 * figures.pull), params)
    return params.follow * max(0.0, gave - mean)


def said_by(words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams) -> float:
    """What the words of a link promise beyond the mean of everything, from what looks by such links gave before.

    Each word multiplies the odds by its own yield over that of everything, drawn towards 1 while looks are few.
    """
    sums = math.fsum(lift for _, lift in _lifts(words, whole, params))
    lift = math.exp(max(-params.most_lift, min(params.most_lift, params.trust * sums)))
    odds = lift * whole / (1.0 - whole) if whole < 1.0 else math.inf
    return (odds / (1.0 + odds) if odds < math.inf else 1.0) - whole


def _lifts(
    words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams
) -> list[tuple[str, float]]:
    least = max(whole, 1e-6)
    return [
        (word, math.log((one.found + params.word_looks * least) / ((one.looks + params.word_looks) * least)))
        for word, one in words
    ]


def _told(words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams) -> str:
    """The words that say most."""
    best = sorted(_lifts(words, whole, params), key=lambda one: (-abs(one[1]), one[0]))[:3]
    return ", ".join(f"{word} {lift:+.1f}" for word, lift in best)


class _Search:
    """One call of `choose`: queues by neighbourhood, and two heaps over them that are put right when read.

    Every value only falls while looks are chosen, so an entry that is still right at the top is the best.
    """

    def __init__(
        self, prospects: Iterable[Prospect], yields: Yields, waiting: Mapping[str, int], params: HuntParams
    ) -> None:
        self._yields, self._params = yields, params
        self._queues, ties = self._queued(prospects)
        self._hosts = {place: queue[0].host for place, queue in self._queues.items()}
        self._waiting: Counter[str] = Counter(waiting)
        self._room = {host: self._room_at(host) for host in self._hosts.values()}
        self._heaps: dict[bool, list[tuple[float, float, str]]] = {}
        for is_new in (True, False):
            heap = [(-_sum(self._weighed(place, is_new)[1]), ties[place], place) for place in self._queues]
            heapq.heapify(heap)
            self._heaps[is_new] = heap

    def take(self, *, is_new: bool) -> Chosen | None:
        heap = self._heaps[is_new]
        while heap:
            worst, tie, place = heap[0]
            if self._is_done(place, is_new):
                heapq.heappop(heap)
                continue
            figures, reasons = self._weighed(place, is_new)
            value = _sum(reasons)
            if value < -worst:
                heapq.heapreplace(heap, (-value, tie, place))
                continue
            host = self._hosts[place]
            self._room[host] -= 1
            self._waiting.update((host, place))
            return Chosen(self._queues[place].pop(), is_new, figures, reasons)
        return None

    def _is_done(self, place: str, is_new: bool) -> bool:
        """Nothing of this place can be chosen any more."""
        if not self._queues[place] or self._room[self._hosts[place]] < 1:
            return True
        looks = self._yields.neighbourhoods.get(place, NOTHING).looks + self._waiting[place]
        return is_new and looks >= self._params.known_after

    def _weighed(self, place: str, is_new: bool) -> tuple[HuntFigures, tuple[Reason, ...]]:
        host, yields, prospect = self._hosts[place], self._yields, self._queues[place][-1]
        figures = HuntFigures(
            yields.whole,
            yields.hosts.get(host, NOTHING),
            yields.neighbourhoods.get(place, NOTHING),
            self._waiting[host],
            self._waiting[place],
            yields.seeds.get(prospect.seed, NOTHING),
            yields.linked,
            prospect.pull,
            yields.of_words(prospect.words),
        )
        return figures, weigh(prospect, figures, is_new=is_new, params=self._params)

    def _queued(self, prospects: Iterable[Prospect]) -> tuple[dict[str, list[Prospect]], dict[str, float]]:
        """Prospects by neighbourhood, the best last: what finds link to, words, plain paths, chance; a tie-break."""
        unique = list({prospect.url: prospect for prospect in prospects}.values())
        ids = np.fromiter((watch_id(one.url) for one in unique), np.int64, len(unique))
        chance = chances(self._params.seed, ids, np.zeros(len(unique), np.int64)).tolist()
        queues: dict[str, list[tuple[float, float, int]]] = {}
        for at, one in enumerate(unique):
            queues.setdefault(one.neighbourhood, []).append((self._own_worth(one), chance[at], at))
        ordered = {place: sorted(queue) for place, queue in queues.items()}
        ties = {place: queue[-1][1] for place, queue in ordered.items()}
        return {place: [unique[at] for _, _, at in queue] for place, queue in ordered.items()}, ties

    def _own_worth(self, one: Prospect) -> float:
        """What it is worth beside others of its neighbourhood."""
        yields, params = self._yields, self._params
        whole = _mean(yields.whole, params.prior_yield, params)
        said = said_by(yields.of_words(one.words), whole, params) if one.words else 0.0
        return 100.0 * (one.pull + said) + _sum(one.costs)

    def _room_at(self, host: str) -> int:
        left = room_of(self._yields.hosts.get(host, NOTHING), self._params)
        return min(left, self._params.at_host) - self._waiting[host]


def _mean(record: HuntRecord, larger: float, params: HuntParams) -> float:
    """What a look at this place is expected to find; `larger` is the same of the place that holds it."""
    return (record.found + params.prior_looks * larger) / (record.looks + params.prior_looks)


def _sum(reasons: Iterable[Reason]) -> float:
    return math.fsum(reason.points for reason in reasons)


def _with(record: HuntRecord, found: float | None) -> HuntRecord:
    return HuntRecord(record.looks + 1, record.found + (found or 0.0), record.errors + (found is None))
