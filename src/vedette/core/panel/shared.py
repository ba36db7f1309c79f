"""What another run says about a provider, and how much of it is believed.

Words are 003's (`cb:{provider}`): a circuit that is open lets nothing through.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from vedette.contracts.panel_run import Circuit, Told
from vedette.core.lanes import lane

# core.lane.condition -> 003's word.  A key that is refused says nothing about the provider: no row.
WORDS: Mapping[str, Circuit] = {
    lane.CLOSED: Circuit.CLOSED,
    lane.HELD: Circuit.CLOSED,
    lane.HALF_OPEN: Circuit.HALF_OPEN,
    lane.OPEN: Circuit.OPEN,
}
FRESH = timedelta(minutes=1)  # an answer of our own that is younger says more than what others tell
PROBING = timedelta(seconds=1)  # another run's probe is under way: look again after that
LONGEST = timedelta(minutes=2)  # nobody holds us up for longer than that by one word
AHEAD = 0.1  # seconds of starts that are taken from the shared bucket at once: one, but for very fast keys
MOST_AHEAD = 50
LATE = 0.25  # of the interval between starts


def hold_for(told: Told, answered_at: datetime | None, now: datetime) -> timedelta | None:
    """How long others' trouble keeps us from asking; None: it does not, for we were answered ourselves just now."""
    if told.circuit is Circuit.CLOSED or (answered_at is not None and now - answered_at < FRESH):
        return None
    left = told.left if told.circuit is Circuit.OPEN else PROBING
    return min(left, LONGEST) if left > timedelta(0) else None


def slots_at_once(per_minute: float) -> int:
    """How many starts are taken from the shared bucket with one word."""
    return max(1, min(MOST_AHEAD, round(per_minute / 60 * AHEAD)))


def is_late(slot: datetime, now: datetime, per_minute: float) -> bool:
    """A start that was not used in its time is given up: used late, it would crowd those that others were given."""
    return now - slot > timedelta(seconds=60 / per_minute) * LATE
