"""The policy at settle: belief before, look, belief after and the hours to the next one.  One watch or many.

Everything comes from rows that can be stored and shared: the belief of a watch (28 bytes in its row), the row of its
host, what the hub of the watch last told, and what one scheduler published.  Equal rows give equal decisions on every
machine.  Writing what a look teaches about the host is the scheduler's (policy.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule.learned.belief import NEW_MARK, Around, Beliefs
from vedette.core.schedule.learned.clock import Clocks
from vedette.core.schedule.learned.learn import Looks, learn
from vedette.core.schedule.learned.objective import hours_left
from vedette.core.schedule.learned.settings import AWAKE, STEADY, WEIGHT, Published
from vedette.core.schedule.learned.telling import Subject, explain
from vedette.core.schedule.learned.worth import least_hours, plan
from vedette.core.schedule.protocol import Explanation

Floats = NDArray[np.float64]
_FIELDS = ("events", "hours", "steady", "asleep", "last", "lag", "mark", "mark_lag")
_LAYOUT = np.dtype(
    [(name, {"last": "<f8", "events": "<f4", "hours": "<f4"}.get(name, "<f2")) for name in _FIELDS]
)
BELIEF_BYTES = _LAYOUT.itemsize
_CLOCK = np.dtype(("<f4", (2, 25)))
HOST_BYTES = _CLOCK.itemsize
_MOST_LAG = 60_000.0  # float16 ends at 65,504


@dataclass(frozen=True, slots=True, kw_only=True)
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


@dataclass(frozen=True, slots=True)
class Settled:
    beliefs: Sequence[bytes]
    hours: Floats  # from the look to the next one
    due: Floats


def new_belief(now: float) -> bytes:
    """The belief about a watch that was never looked at."""
    one = np.ones(1)
    asleep = (1 - STEADY) * (1 - AWAKE)
    return pack_beliefs(
        Beliefs(
            0 * one, 0 * one, STEADY * one, asleep * one, now * one, np.inf * one, NEW_MARK * one, 0 * one
        )
    )[0]


def pack_beliefs(b: Beliefs) -> list[bytes]:
    """28 bytes for each watch row."""
    rows = np.empty(len(b), _LAYOUT)
    for name in _FIELDS:
        rows[name] = getattr(b, name)
    rows["lag"] = np.where(b.lag > _MOST_LAG, np.inf, b.lag)
    data = rows.tobytes()
    return [data[start : start + BELIEF_BYTES] for start in range(0, len(data), BELIEF_BYTES)]


def unpack_beliefs(rows: Sequence[bytes]) -> Beliefs:
    if any(len(row) != BELIEF_BYTES for row in rows):
        raise InputError(f"a belief has {BELIEF_BYTES} bytes; this is of another version, or cut short")
    table = np.frombuffer(b"".join(rows), _LAYOUT)
    return Beliefs(*(table[name].astype(np.float64) for name in _FIELDS))


def pack_clock(clocks: Clocks, host: int) -> bytes:
    """The clock of a host as its row keeps it."""
    return bytes(clocks.upto[host].astype("<f4").tobytes())


def pack_published(published: Published) -> bytes:
    return json.dumps(asdict(published)).encode()


def unpack_published(data: bytes) -> Published:
    return Published.of(json.loads(data))


def surroundings(places: Sequence[Place], published: Published) -> Around:
    """What the beliefs of watches at these places are read with."""
    clocks, numbers = (
        Clocks(),
        {row: n for n, row in enumerate(dict.fromkeys(one.host_clock for one in places))},
    )
    clocks.grow(len(numbers))
    for row, number in numbers.items():
        if row:
            clocks.upto[number] = np.frombuffer(row, _CLOCK)[0]
    none = HubTold(listed_at=-np.inf, listed_every=np.inf, recall=0.0)
    told = [one.hub or none for one in places]
    return Around(
        published,
        clocks,
        np.array([numbers[one.host_clock] for one in places], np.int64),
        WEIGHT[np.array([one.risk for one in places], np.int64)],
        *_columns(told, "listed_at", "listed_every", "recall"),
        *_columns(places, "pull"),
    )


def settle(
    beliefs: Sequence[bytes],
    places: Sequence[Place],
    published: Published,
    looks: Looks,
    objectives: dict[str, tuple[float, float]] | None = None,
) -> Settled:
    """Good looks.  A failed look teaches nothing: keep the belief and wait (policy `_put_off`)."""
    around = surroundings(places, published)
    after, _ = learn(unpack_beliefs(beliefs), around, looks)
    rows = pack_beliefs(after)
    stored = unpack_beliefs(rows)  # decide from what is stored: a restart must not see other digits
    risk = np.array([one.risk for one in places], np.int8)
    hours = plan(stored, around, least_hours(risk, around))
    for name, (within, _) in (objectives or {}).items():
        mine = np.flatnonzero(risk == Risk[name])
        least = published.objective_price[Risk[name]]
        if len(mine) and np.isfinite(least):
            asked = hours_left(stored.take(mine), around.take(mine), within, least)
            hours[mine] = np.minimum(hours[mine], asked)
    return Settled(rows, hours, looks.at + hours)


def tell(
    belief: bytes,
    place: Place,
    published: Published,
    at: tuple[float, float],
    objectives: dict[str, tuple[float, float]],
) -> Explanation:
    """Why the watch is due when it is; `at`: (now, due time as stored)."""
    now, due = at
    subject = Subject(
        id=0, risk=place.risk, beliefs=unpack_beliefs([belief]), around=surroundings([place], published),
        due_at=due, failures=0,
    )  # fmt: skip
    return explain(subject, now, objectives)


def _columns(values: Sequence[Any], *names: str) -> list[Floats]:
    return [np.array([getattr(one, name) for one in values], np.float64) for name in names]
