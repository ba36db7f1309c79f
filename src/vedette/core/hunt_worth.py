"""What a look of a hunt is worth: for being new, or for what it may find, point by point (spec 004).

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

Pure: `Yields.note` counts, everything else changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from vedette.contracts.errors import InputError
from vedette.contracts.hunt import HuntRecord
from vedette.contracts.words import Reason
from vedette.core.urls.canonical import host_of
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
    whole = mean_of(figures.whole, params.prior_yield, params)
    seed = mean_of(figures.of_seed, whole, params)
    host = mean_of(figures.at_host, seed, params)
    mean = mean_of(figures.here, host, params)
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
    gave = mean_of(figures.linked, max(params.prior_yield, 0.5 * figures.pull), params)
    return params.follow * max(0.0, gave - mean)


def said_by(words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams) -> float:
    """What the words of a link promise beyond the mean of everything, from what looks by such links gave before.

    Each word multiplies the odds by its own yield over that of everything, drawn towards 1 while looks are few.
    """
    return promised_by(math.fsum(lift for _, lift in lifts_of(words, whole, params)), whole, params)


def promised_by(sums: float, whole: float, params: HuntParams) -> float:
    lift = math.exp(max(-params.most_lift, min(params.most_lift, params.trust * sums)))
    odds = lift * whole / (1.0 - whole) if whole < 1.0 else math.inf
    return (odds / (1.0 + odds) if odds < math.inf else 1.0) - whole


def lifts_of(
    words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams
) -> list[tuple[str, float]]:
    least = max(whole, 1e-6)
    return [
        (word, math.log((one.found + params.word_looks * least) / ((one.looks + params.word_looks) * least)))
        for word, one in words
    ]


def _told(words: Iterable[tuple[str, HuntRecord]], whole: float, params: HuntParams) -> str:
    """The words that say most."""
    best = sorted(lifts_of(words, whole, params), key=lambda one: (-abs(one[1]), one[0]))[:3]
    return ", ".join(f"{word} {lift:+.1f}" for word, lift in best)


def mean_of(record: HuntRecord, larger: float, params: HuntParams) -> float:
    """What a look at this place is expected to find; `larger` is the same of the place that holds it."""
    return (record.found + params.prior_looks * larger) / (record.looks + params.prior_looks)


def sum_of(reasons: Iterable[Reason]) -> float:
    return math.fsum(reason.points for reason in reasons)


def _with(record: HuntRecord, found: float | None) -> HuntRecord:
    return HuntRecord(record.looks + 1, record.found + (found or 0.0), record.errors + (found is None))
