"""Is it time to drop a tier, or to stop?

At the soft cut the lowest tier goes (003: "drop Tier-3 at 60m").  If what is left would still not end before the
hard stop, the next tier goes too, and so on; it is looked at again every minute.  The first tier stays: it is what
the batch is for.  At the hard stop nothing starts; what is under way ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.words import Reason

AGAIN = timedelta(minutes=1)
FIRST_TIER = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    target_at: datetime
    hard_at: datetime


@dataclass(frozen=True, slots=True)
class Load:
    """What one provider has still to ask, by tier, and what one cell takes it, as measured."""

    waiting: Mapping[int, int]
    seconds_per_cell: float

    def seconds(self, tiers: Sequence[int]) -> float:
        return sum(self.waiting.get(tier, 0) for tier in tiers) * self.seconds_per_cell


@dataclass(frozen=True, slots=True)
class Drop:
    """Tiers from this one on are asked no more."""

    tier: int
    reason: Reason


def stop(deadlines: Deadlines, now: datetime) -> Reason | None:
    """Why nothing starts any more, or None."""
    if now < deadlines.hard_at:
        return None
    late = (now - deadlines.hard_at).total_seconds()
    return Reason("hard_stop", late, f"hard stop {deadlines.hard_at:%H:%M:%S}")


def drops(
    deadlines: Deadlines, loads: Sequence[Load], now: datetime, *, is_first_look: bool
) -> tuple[Drop, ...]:
    """Which tiers go now, lowest first.  At the first look after the cut the lowest goes whatever the forecast says."""
    if now < deadlines.target_at:
        return ()
    kept = sorted({tier for load in loads for tier, count in load.waiting.items() if count})
    room = max(0.0, (deadlines.hard_at - now).total_seconds())
    gone: list[Drop] = []
    while kept and kept[-1] > FIRST_TIER:
        needs = max(load.seconds(kept) for load in loads)
        if needs <= room and (gone or not is_first_look):
            break
        gone.append(Drop(kept.pop(), _why(deadlines, needs, room)))
    return tuple(gone)


def eta(loads: Sequence[Load], now: datetime) -> datetime:
    """When the slowest provider ends, as far as is known now."""
    return now + timedelta(seconds=max((load.seconds(tuple(load.waiting)) for load in loads), default=0.0))


def _why(deadlines: Deadlines, needs: float, room: float) -> Reason:
    if needs <= room:
        return Reason("soft_cut", 0.0, f"target {deadlines.target_at:%H:%M:%S} is over: the lowest tier goes")
    return Reason("soft_cut", needs - room, f"{needs:.0f} s of work, {room:.0f} s to the hard stop")
