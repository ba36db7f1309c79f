"""When does the turn of an ordered look come?  Told to people before they wait; the lane itself decides."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.lane import LanePolicy, LaneState, Wait
from vedette.contracts.words import Reason
from vedette.core.lanes.lane import ask, explain, starts_per_day

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class TurnForecast:
    """Of some looks in one lane."""

    start_at: datetime | None  # of the first; None: not before the operator opens the lane
    end_at: datetime | None  # when the last of them starts
    reason: Reason | None = None  # what the first waits for longest; None: nothing


def turn(policy: LanePolicy, state: LaneState, now: datetime, *, looks: int) -> TurnForecast:
    held = max(explain(policy, state, now), key=lambda reason: reason.points, default=None)
    if state.blocked_by:
        return TurnForecast(None, None, held)
    answer = ask(policy, state, now)
    start = answer.until if isinstance(answer, Wait) and answer.until is not None else now
    room = starts_per_day(policy, state.crawl_delay)
    each = _DAY / room if room < float("inf") else timedelta(0)
    return TurnForecast(start, start + (looks - 1) * each, held)
