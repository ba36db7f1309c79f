"""Which looks are audits: made at a random moment that depends on nothing the policy believes.

After a look that taught something, a lot is drawn by the watch and the count of its looks.  With chance `share` the
next look comes at a uniform moment of the interval that the policy chose, instead of at its end.  Whether such a
look finds an unseen change says, without bias, how stale our copies are: a moment of an interval of I hours is
taken with density share / I, so weighing each audit by its I gives every hour of the schedule the same say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from vedette.contracts.words import Reason, WatchId
from vedette.core.schedule.due import Due

SEED = 0x617564  # its own stream: an audit must not go with the jitter of the same look
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Lot:
    """What decides whether the next look is an audit; recorded with the decision."""

    watch: int
    n: int  # looks of this watch that taught something
    share: float  # of looks that are audits


def place(lot: Lot) -> float | None:
    """Where in the interval the audit falls, in [0, 1); None: no audit."""
    drawn = chance(SEED, lot.watch, lot.n)
    return drawn / lot.share if drawn < lot.share else None


def audited(due: Due, lot: Lot) -> Due:
    """The decision with the audit in it; the same object where there is none."""
    where = place(lot)
    if where is None:
        return due
    wait = due.interval * where
    cut = (wait - due.interval).total_seconds() / 3600
    note = f"at a random moment of {due.interval.total_seconds() / 3600:.3g} h"
    return replace(
        due,
        due_at=due.due_at - due.interval + wait,
        interval=wait,
        reasons=(*due.reasons, Reason("audit", cut, note)),
    )


def chance(seed: int, watch: int, n: int) -> float:
    """`chances` of core/schedule/chance.py for one pair: the same number, without numpy."""
    mixed = _stir((watch + _stir((seed * _GOLDEN + _GOLDEN) & _MASK)) & _MASK)
    mixed = _stir((mixed + n * _GOLDEN) & _MASK)
    return (mixed >> 11) * 2.0**-53


def _stir(mixed: int) -> int:
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


# Is a look made without conditions, though the far end gave validators?  From time to time, every one.
#
# A server that answers 304 for ever would otherwise hide every change.  At most eight looks in a row, and where looks
# are rare at most a fortnight (but two looks), rely on its word.

MOST_LOOKS = 8
LEAST_LOOKS = 2
LONGEST = timedelta(days=14)
_SHORTEST = timedelta(minutes=1)


def asks_anew(watch: WatchId, scan_count: int, interval: timedelta) -> bool:
    """One look in so many.  Which one differs between watches: not all bodies of a host are asked for at once.

    Not the second: the first has just brought the body.
    """
    return scan_count > 1 and (scan_count + int(watch)) % looks_between(interval) == 0


def looks_between(interval: timedelta) -> int:
    return max(LEAST_LOOKS, min(MOST_LOOKS, int(LONGEST / max(interval, _SHORTEST))))
