"""What is believed about targets: arrays, one entry per target, and 28 bytes each in a watch row.

The rate of a target is Gamma(events + prior shape, hours + prior hours) per clock hour.  Beside it stand the chance
that the target never sleeps, and the chance that it sleeps now: many pages are edited for some weeks and then left
alone, and counting the quiet weeks as evidence of a low rate would be slow to believe both.

The same bytes decide the same on every machine.  What a belief is read with (`Surroundings`) comes from the row of its
host, from what its hub last told, and from what the scheduler published.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.copies import quick
from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.settings import AWAKE, STEADY, WEIGHT, Published

Floats = NDArray[np.float64]
NEVER_LOOKED = (
    1.0  # `listed_change_p` of a target that was never looked at: what we hold is stale for certain
)
MOST_LAG = 60_000.0  # hours; float16 ends at 65,504, and a change so long ago is as good as none
KINDS: dict[str, Any] = {
    "events": "<f4", "hours": "<f4", "steady": "<f2", "asleep": "<f2", "last": "<f8", "lag": "<f2",
    "listed_change_p": "<f2", "listed_change_lag": "<f2",
}  # fmt: skip
_LAYOUT = np.dtype([*KINDS.items(), ("hub_contribution", "<f2")])
BELIEF_BYTES = _LAYOUT.itemsize
_CLOCK = np.dtype(("<f4", (2, 25)))
CLOCK_BYTES = _CLOCK.itemsize
_REMEMBERED = 5.0  # looks that an EWMA of weight 0.3 (core/schedule/velocity) still knows of
_SURE = 0.95  # an EWMA never says that every look finds a change


@dataclass(slots=True)
class Beliefs:
    events: Floats  # changes that the rate explains (a change that followed a change counts in part)
    hours: Floats  # clock hours under watch while awake
    steady: Floats  # chance that it never sleeps
    asleep: Floats  # chance that it sleeps now
    last: Floats  # time of the last good look; of a new target the time that it was added
    lag: Floats  # hours from the last known change to the last look; inf: none known
    listed_change_p: (
        Floats  # chance that a listing told true of a change after the last look, or NEVER_LOOKED
    )
    listed_change_lag: Floats  # hours from the last look to that change, as far as one can tell

    def take(self, where: Any) -> Beliefs:
        return Beliefs(*(getattr(self, field.name)[where] for field in fields(self)))

    def __len__(self) -> int:
        return len(self.last)


@dataclass(slots=True)
class BeliefContext:
    """What beliefs are read with: the host's clock, the hub's listing, and what all targets taught."""

    published: Published
    clocks: Clocks
    host: NDArray[Any]  # number of the host in `clocks`
    weight: Floats
    listed_at: Floats  # last complete listing by the hub of the target; -inf: none
    listed_every: Floats  # hours between these listings
    recall: Floats  # share of changes that the listing names
    hub_value: Floats  # of a hub: weighted changes per hour that a look at its listing would tell of
    price_factor: Floats  # how many times the price a look costs: more where the room of a host is short
    host_activity: Floats  # how many times as likely as elsewhere a target of its host is to change at all

    @property
    def prior(self) -> tuple[Floats, float]:
        """Shape and hours of the Gamma that stands for a target before anything was seen of it."""
        shape, hours = self.published.prior
        return shape * self.host_activity, hours

    @property
    def price(self) -> Floats:
        price: Floats = self.published.price * self.price_factor
        return price

    def take(self, where: Any) -> BeliefContext:
        return BeliefContext(
            self.published, self.clocks, self.host[where], self.weight[where],
            self.listed_at[where], self.listed_every[where], self.recall[where], self.hub_value[where],
            self.price_factor[where], self.host_activity[where],
        )  # fmt: skip


# One watch, from its rows


@dataclass(frozen=True, slots=True)
class HubListing:
    """What the hub of a watch last told: when, how often it does, and the share of changes that it names."""

    listed_at: float
    listed_every: float
    recall: float


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What the belief of one watch is read with, as the ledger records it."""

    risk: Risk
    host_clock: bytes = b""  # `pack_clock` of its host; empty: flat
    hub: HubListing | None = None
    hub_value: float = 0.0  # of a hub itself; 0: it is none
    price_factor: float = 1.0
    host_activity: float = 1.0


_NOTHING_TOLD = HubListing(listed_at=-math.inf, listed_every=math.inf, recall=0.0)


def context_of(places: Sequence[Surroundings], published: Published) -> BeliefContext:
    """What the beliefs of watches in these surroundings are read with."""
    numbers: dict[bytes, int] = {}
    host = [numbers.setdefault(one.host_clock, len(numbers)) for one in places]
    clocks = Clocks()
    clocks.grow(len(numbers))
    for row, number in numbers.items():
        if row:
            clocks.upto[number] = unpack_clock(row)
    told = [one.hub or _NOTHING_TOLD for one in places]
    return BeliefContext(
        published,
        clocks,
        np.array(host, np.int64),
        WEIGHT[np.array([one.risk for one in places], np.int64)],
        *_columns(told, "listed_at", "listed_every", "recall"),
        *_columns(places, "hub_value", "price_factor", "host_activity"),
    )


def new_belief(now: float) -> bytes:
    """The belief about a watch that was never looked at."""
    return _at(_NEW_BELIEF, now)


def looked_once(now: float) -> bytes:
    """The belief after a first look, which shows no change."""
    return _at(_LOOKED_ONCE, now)


def is_whole(belief: bytes | None) -> TypeGuard[bytes]:
    """Is there a belief, of this version?  Anything else in a row is as good as none."""
    return belief is not None and len(belief) == BELIEF_BYTES


def is_new(belief: bytes) -> bool:
    """Was the watch never looked at?"""
    return belief[_LISTED : _LISTED + 2] == _NEVER


def last_look(belief: bytes) -> float:
    """Its time, in hours."""
    return float(struct.unpack_from("<d", belief, _LAST)[0])


def looked_by(belief: bytes, now: float) -> bytes:
    """The same belief with its last look at `now` at the latest: a clock that stood ahead may have made it."""
    return _at(belief, now) if last_look(belief) > now else belief


def remembered(velocity: float, looks: int, times: tuple[float, float, float | None]) -> bytes:
    """The belief about a watch that another policy kept so far.  `times`: first look, last look, last change.

    Its velocity is the share of looks that found a change, over the last few; its looks came at even distances.
    """
    first, last, changed = times
    gap = max(last - first, 1.0) / max(looks, 1)
    hours = gap * min(looks, _REMEMBERED)
    rate = -math.log1p(-min(max(velocity, 0.0), _SURE)) / gap
    lag = math.inf if changed is None else max(last - changed, 0.0)
    return _single(last=last, events=rate * hours, hours=hours, lag=lag)


# As bytes


def pack_beliefs(b: Beliefs, contribution: Floats | None = None) -> list[bytes]:
    """28 bytes for each watch row.  `contribution`: what the watch adds to the value of its hub."""
    rows = np.zeros(len(b), _LAYOUT)
    for name in KINDS:
        rows[name] = getattr(b, name)
    rows["lag"] = np.where(b.lag > MOST_LAG, np.inf, b.lag)
    rows["hub_contribution"] = 0.0 if contribution is None else contribution
    data = rows.tobytes()
    return [data[start : start + BELIEF_BYTES] for start in range(0, len(data), BELIEF_BYTES)]


def unpack_beliefs(rows: Sequence[bytes]) -> Beliefs:
    table = _table(rows)
    return Beliefs(*(table[name].astype(np.float64) for name in KINDS))


def unpack_contributions(rows: Sequence[bytes]) -> Floats:
    """What each watch adds to the value of its hub."""
    found: Floats = _table(rows)["hub_contribution"].astype(np.float64)
    return found


def as_stored(b: Beliefs) -> Beliefs:
    """The digits that a row keeps: decisions are made from these, so that a restart sees no others."""
    lag = np.where(b.lag > MOST_LAG, np.inf, b.lag)
    kept = {name: lag if name == "lag" else getattr(b, name) for name in KINDS}
    return Beliefs(*(kept[name].astype(kind).astype(np.float64) for name, kind in KINDS.items()))


def pack_clock(clocks: Clocks, host: int) -> bytes:
    """The clock of a host as its row keeps it."""
    return bytes(clocks.upto[host].astype("<f4").tobytes())


def unpack_clock(data: bytes) -> NDArray[np.float32]:
    if len(data) != CLOCK_BYTES:
        raise InputError(f"a clock has {CLOCK_BYTES} bytes; this is of another version, or cut short")
    clock: NDArray[np.float32] = np.frombuffer(data, _CLOCK)[0]
    return clock


def pack_published(published: Published) -> str:
    """Numbers are rounded: what is published must not hang on the order in which it was added up."""
    return json.dumps({key: _short(value) for key, value in asdict(published).items()})


def unpack_published(text: str) -> Published:
    return Published.of(json.loads(text))


def _single(
    *, last: float, events: float = 0.0, hours: float = 0.0, lag: float = math.inf, listed: float = 0.0
) -> bytes:
    asleep = (1 - STEADY) * (1 - AWAKE)
    values = (events, hours, STEADY, asleep, last, lag, listed, 0.0)
    return pack_beliefs(Beliefs(*(np.array([value]) for value in values)))[0]


def _at(belief: bytes, now: float) -> bytes:
    """The same belief with its last look at `now`.  Without numpy: once for every new page."""
    return belief[:_LAST] + struct.pack("<d", now) + belief[_LAST + 8 :]


def _offset(name: str) -> int:
    return int(_LAYOUT.fields[name][1]) if _LAYOUT.fields else 0


def _table(rows: Sequence[bytes]) -> NDArray[Any]:
    if any(len(row) != BELIEF_BYTES for row in rows):
        raise InputError(f"a belief has {BELIEF_BYTES} bytes; this is of another version, or cut short")
    return np.frombuffer(b"".join(rows), _LAYOUT)


def _short(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_short(one) for one in value]
    return float(f"{value:.7g}") if math.isfinite(value) else None  # JSON has no infinity


def _columns(values: Sequence[Any], *names: str) -> list[Floats]:
    return [np.array([getattr(one, name) for one in values], np.float64) for name in names]


_LAST, _LISTED = (_offset(name) for name in ("last", "listed_change_p"))
_LOOKED_ONCE = _single(last=0.0)
_NEW_BELIEF = _single(last=0.0, listed=NEVER_LOOKED)
_NEVER = struct.pack("<e", NEVER_LOOKED)
