"""Lanes that a worker holds for a while, where several share a store."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneHold:
    """A lane that the store gave to this worker."""

    lane: LaneKey
    token: int  # rises with every holder of the lane
    state: LaneState | None  # as its last holder left it
    was_lost: bool  # the last holder never gave it back: what it asked at last is in no store
