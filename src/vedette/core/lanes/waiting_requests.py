"""How long a request that nobody answers may hold up the others: one rule for silent, dead and slow hosts.

The width (`all`, `run.at_once`) is for hosts that answer:
- a host is doubtful while it was never reached, or when its last request failed; doubtful hosts share half of the
  width, and while others wait too they start one request in ten; where a budget is what is scarce, they go by value;
- among the doubtful those that failed more often come later, and equal ones in no order that anybody chose;
- a request that has not ended after a moment gives its place in the width back and goes on in the waiting room;
- while the waiting room is full, no request to a doubtful host starts;
- while most of the doubtful fail, they start no more often than the width in a second: a request that fails at once
  leaves its place at once, and thousands of them would take all the time of the loop and of the store instead;
- a first contact that says nothing is cut early while the room is half full, any other while it is full: that look
  ends as `timeout` and is tried again like any other.  A host that was cut once gets the whole time at its next try,
  unless the room is full then.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum

from vedette.contracts.lane import LanePolicy, LaneState

DOUBTFUL_SHARE = 2  # one part in so many of the width, and of the leases
ROOM = 8  # requests in the waiting room, for each in the width
MOMENT_S = 2.0  # a host that answers takes no longer to answer, as a rule
DOUBTFUL_MOMENT_S = 0.25
CUT_S = 3.0
TURNS = 9  # requests to hosts that answer for each to one that may not, while both wait
AT_ONCE = 16  # lanes of doubtful hosts in one claim: a claim that takes long holds up the next one
_COUNTED = 3
LATELY = 100  # requests to doubtful hosts by which it is told whether they fail
MOST_FAIL, FEW_FAIL = 0.7, 0.4  # from here on they are paced, and no more
AGAIN_S = 0.5  # who could not step aside asks again after this


class WaitStep(StrEnum):
    STAY = "stay"
    ASIDE = "aside"  # into the waiting room
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingRequest:
    """One request that has not ended."""

    waited_s: float
    is_heard: bool  # the head of the answer is there
    is_doubtful: bool
    is_new: bool  # the host was never reached
    is_aside: bool


def is_doubtful(state: LaneState, *, is_new: bool) -> bool:
    """True while it is open whether this host answers at all."""
    return is_new or state.failures > 0


def next_step(one: WaitingRequest, *, crowd: int, room: int) -> WaitStep:
    """What a request that is still under way does now.  `crowd`: how many are in the waiting room of that size."""
    moment = DOUBTFUL_MOMENT_S if one.is_doubtful else MOMENT_S
    if not one.is_aside and one.waited_s >= moment and crowd < room:
        return WaitStep.ASIDE
    if one.is_heard or one.waited_s < CUT_S:
        return WaitStep.STAY
    is_cut = 2 * crowd >= room if one.is_new else crowd >= room and not one.is_aside
    return WaitStep.CUT if is_cut else WaitStep.STAY


def asks_again_after(waited_s: float, *, is_doubtful: bool) -> float:
    """When `next_step` is asked for the first time, then for the next."""
    if waited_s == 0:
        return DOUBTFUL_MOMENT_S if is_doubtful else MOMENT_S
    return AGAIN_S


def doubtful_value(value: float, failures: int) -> float:
    """What a look at a host that failed so often is worth beside others that may fail."""
    return value / (1 << 3 * min(failures, _COUNTED))


def doubtful_order(host: str) -> int:
    """For hosts of equal value: a name or an address that sorts first is no better than another."""
    return zlib.crc32(host.encode())


def doubtful_width(width: LanePolicy, *, is_paced: bool = False) -> LanePolicy:
    policy = _plain(max(1, width.at_once // DOUBTFUL_SHARE))
    gap = timedelta(seconds=1 / width.at_once)
    return replace(policy, gap_min=gap, gap_max=gap) if is_paced else policy


def failing(share: float, *, has_failed: bool) -> float:
    """The share of doubtful requests that failed of late, after one more."""
    return share + (has_failed - share) / LATELY


def is_paced(share: float, *, was_paced: bool) -> bool:
    return share > (FEW_FAIL if was_paced else MOST_FAIL)


def waiting_room(width: LanePolicy) -> LanePolicy:
    return _plain(width.at_once * ROOM)


def _plain(at_once: int) -> LanePolicy:
    """Nothing but a width."""
    nothing = LanePolicy().gap_min * 0
    return LanePolicy(gap_min=nothing, gap_max=nothing, per_minute=0, at_once=at_once, trips_after=1_000_000)
