"""When a batch drops a tier, and when it stops.

At the soft cut (60 minutes by default) the lowest tier goes.  If what is left would still not end before the
hard stop, the next tier goes too, and so on; it is looked at again every minute.  The first tier stays: it is what
the batch is for.  At the hard stop nothing starts; what is under way ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from types import MappingProxyType

from vedette.contracts.panel_run import BatchShape, Dropped
from vedette.contracts.words import Reason
from vedette.core.limits.budget import RunLimits
from vedette.core.panel.plan import cells_per_tier

AGAIN = timedelta(minutes=1)
FIRST_TIER = 1


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


def drops(
    limits: RunLimits, loads: Sequence[Load], now: datetime, *, is_first_look: bool
) -> tuple[Drop, ...]:
    """Which tiers go now, lowest first.  At the first look after the cut the lowest goes whatever the forecast says."""
    soft, hard = limits.soft_deadline, limits.deadline
    if soft is None or hard is None or now < soft:
        return ()
    kept = sorted({tier for load in loads for tier, count in load.waiting.items() if count})
    room = max(0.0, (hard - now).total_seconds())
    gone: list[Drop] = []
    while kept and kept[-1] > FIRST_TIER:
        needs = max(load.seconds(kept) for load in loads)
        if needs <= room and (gone or not is_first_look):
            break
        gone.append(Drop(kept.pop(), _why(soft, needs, room)))
    return tuple(gone)


def eta(loads: Sequence[Load], now: datetime) -> datetime:
    """When the slowest provider ends, as far as is known now."""
    return now + timedelta(seconds=max((load.seconds(tuple(load.waiting)) for load in loads), default=0.0))


def _why(soft: datetime, needs: float, room: float) -> Reason:
    if needs <= room:
        return Reason("soft_cut", 0.0, f"target {soft:%H:%M:%S} is over: the lowest tier goes")
    return Reason("soft_cut", needs - room, f"{needs:.0f} s of work, {room:.0f} s to the hard stop")


# The cells of a batch that have no row, and why.  A batch is complete only when there are none.

COMPLETE, INCOMPLETE, RUNNING = "complete", "incomplete", "running"
SOFT_CUT = "soft_cut"
STOPPED = "stopped"  # how a provider stands that answers nothing but one error
# What a provider that is asked no more has to say for itself: its breaker -> why its cells have no row.
WHY_SHUT: Mapping[str, str] = MappingProxyType({"blocked": "no_key", STOPPED: "same_error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStanding:
    """How far a batch is: rows by model and tier, tiers that were cut, how each provider does."""

    shape: BatchShape
    done: Mapping[tuple[str, int], int]
    cut: int | None = None  # tiers from this one on are asked no more
    breakers: Mapping[str, str] = field(default_factory=dict)  # by model
    notes: Mapping[str, str] = field(default_factory=dict)  # by model: how it did


def status_of(by: str, dropped: tuple[Dropped, ...]) -> str:
    """The word that a batch ends by.  One with cells that were never asked is not complete."""
    return INCOMPLETE if by == COMPLETE and dropped else by


def left_over(standing: BatchStanding, by: str) -> tuple[Dropped, ...]:
    """Cells without a row, by model and tier.  While it runs: those that nobody will ask any more."""
    return tuple(_left_over(standing, by))


def _left_over(standing: BatchStanding, by: str) -> Iterator[Dropped]:
    whole = cells_per_tier(standing.shape)
    for model in standing.shape.models:
        shut = WHY_SHUT.get(standing.breakers.get(model, ""))
        for tier, cells in whole.items():
            left = cells - standing.done.get((model, tier), 0)
            is_cut = standing.cut is not None and tier >= standing.cut
            why = SOFT_CUT if is_cut else shut or _by(by)
            if left > 0 and why:
                note = standing.notes.get(model, "never asked")
                yield Dropped(model=model, tier=tier, cells=left, reason=why, note=note)


def _by(by: str) -> str:
    """Nothing while it runs; where nothing stopped the batch, what is left has no row for a reason of its own."""
    if by == RUNNING:
        return ""
    return "no_row" if by in (COMPLETE, INCOMPLETE) else by
