"""Which cells of a batch have no row, and why?  A batch is complete only when there are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from vedette.contracts.panel_run import BatchShape, Dropped
from vedette.core.panel.shape import cells_per_tier

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
