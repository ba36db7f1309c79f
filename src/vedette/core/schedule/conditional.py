"""Is a look made without conditions, though the far end gave validators?  From time to time, every one.

A server that answers 304 for ever would otherwise hide every change.  At most eight looks in a row, and where looks are
rare at most a fortnight (but two looks), rely on its word.
"""

from __future__ import annotations

from datetime import timedelta

from vedette.contracts.words import WatchId

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
