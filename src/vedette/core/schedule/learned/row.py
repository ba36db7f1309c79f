"""Beliefs, clocks and what is published, as rows keep them: the same bytes decide the same on every machine.

The belief of a watch lies in its row, 28 bytes; what it is read with comes from the row of its host, from what its
hub last told, and from what one scheduler published.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.learned.belief import NEW_MARK, BeliefContext, Beliefs
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.settings import AWAKE, STEADY, WEIGHT, Published

Floats = NDArray[np.float64]
_FIELDS = ("events", "hours", "steady", "asleep", "last", "lag", "mark", "mark_lag")
_KINDS = {"last": "<f8", "events": "<f4", "hours": "<f4"}
_LAYOUT = np.dtype([(name, _KINDS.get(name, "<f2")) for name in (*_FIELDS, "share")])
BELIEF_BYTES = _LAYOUT.itemsize
_CLOCK = np.dtype(("<f4", (2, 25)))
CLOCK_BYTES = _CLOCK.itemsize
_MOST_LAG = 60_000.0  # float16 ends at 65,504
_REMEMBERED = 5.0  # looks that an EWMA of weight 0.3 (spec 000/3) still knows of
_SURE = 0.95  # an EWMA never says that every look finds a change


@dataclass(frozen=True, slots=True)
class HubTold:
    """What the hub of a watch last told: when, how often it does, and the share of changes that it names."""

    listed_at: float
    listed_every: float
    recall: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a watch stands."""

    risk: Risk
    host_clock: bytes = b""  # `pack_clock` of its host; empty: flat
    hub: HubTold | None = None
    pull: float = 0.0  # of a hub itself (Hubs.pull); 0: it is none
    dear: float = 1.0
    lively: float = 1.0  # of its host (Hosts.lively)


_NOTHING_TOLD = HubTold(listed_at=-math.inf, listed_every=math.inf, recall=0.0)


def new_belief(now: float) -> bytes:
    """The belief about a watch that was never looked at."""
    return _at(_NEVER_LOOKED_AT, now)


def looked_once(now: float) -> bytes:
    """The belief after a first look, which shows no change."""
    return _at(_LOOKED_ONCE, now)


def is_whole(belief: bytes | None) -> TypeGuard[bytes]:
    """Is there a belief, of this version?  Anything else in a row is as good as none."""
    return belief is not None and len(belief) == BELIEF_BYTES


def is_new(belief: bytes) -> bool:
    """Was the watch never looked at?"""
    return belief[_MARK : _MARK + 2] == _NEW


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


def pack_beliefs(b: Beliefs, share: Floats | None = None) -> list[bytes]:
    """28 bytes for each watch row.  `share`: what the watch adds to the pull of its hub."""
    rows = np.zeros(len(b), _LAYOUT)
    for name in _FIELDS:
        rows[name] = getattr(b, name)
    rows["lag"] = np.where(b.lag > _MOST_LAG, np.inf, b.lag)
    rows["share"] = 0.0 if share is None else share
    data = rows.tobytes()
    return [data[start : start + BELIEF_BYTES] for start in range(0, len(data), BELIEF_BYTES)]


def unpack_beliefs(rows: Sequence[bytes]) -> Beliefs:
    table = _table(rows)
    return Beliefs(*(table[name].astype(np.float64) for name in _FIELDS))


def unpack_shares(rows: Sequence[bytes]) -> Floats:
    shares: Floats = _table(rows)["share"].astype(np.float64)
    return shares


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


def surroundings(places: Sequence[Place], published: Published) -> BeliefContext:
    """What the beliefs of watches at these places are read with."""
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
        *_columns(places, "pull", "dear", "lively"),
    )


def _single(
    *, last: float, events: float = 0.0, hours: float = 0.0, lag: float = math.inf, mark: float = 0.0
) -> bytes:
    asleep = (1 - STEADY) * (1 - AWAKE)
    values = (events, hours, STEADY, asleep, last, lag, mark, 0.0)
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


_LAST, _MARK = (_offset(name) for name in ("last", "mark"))
_LOOKED_ONCE = _single(last=0.0)
_NEVER_LOOKED_AT = _single(last=0.0, mark=NEW_MARK)
_NEW = struct.pack("<e", NEW_MARK)
