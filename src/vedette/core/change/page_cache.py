"""Whether a cache keeps the page, so that looks seconds apart show one and the same drawing of what varies.

Then every visit seems to show an edit.  So a page that was edited at visit after visit is tried: what was confirmed
is looked at once more, a minute later; where that shows the same, eleven minutes later the next time.  What such a look
finds is told as an edit like any other, so that trying loses nothing.  Only where the lines that had just come were
replaced again, try after try, a cache is known: from then on further looks wait for a new answer, and what varies
between them is noise.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from vedette.contracts.change import Noise

SECOND_LOOK = timedelta(seconds=5)  # long enough for a new draw of noise, short enough for no new edit
# Just over a minute and ten minutes, as pages are kept.
WAITS = (SECOND_LOOK, timedelta(seconds=65), timedelta(minutes=11))
# Tries that must all differ.  A page that is edited every hour differs in one of 55 and in one of 6:
# that happens once in 170,000 and in 7,500 such pages.
PROOF = (0, 3, 5)
SUSPECT = 2  # edits at visits in a row before a page is tried
SHARE = 8  # nobody waits for more than an eighth of the time since the visit before


def wait_for_next(noise: Noise, since: timedelta) -> timedelta:
    """The time to the next look at a difference, `since` the visit before."""
    return max(wait for wait in WAITS[: noise.cache.known + 1] if _may_wait(wait, since))


def wait_to_try(noise: Noise, age: int, since: timedelta) -> timedelta | None:
    """How long after a confirmed edit the page is looked at once more; None: not at all.  `age`: as in `weigh`."""
    cache = noise.cache
    wanted = cache.tried + 1
    if wanted >= len(WAITS) or cache.known >= wanted or edits_in_row(noise, age) < SUSPECT:
        return None
    return WAITS[wanted] if _may_wait(WAITS[wanted], since) else None


def edits_in_row(noise: Noise, age: int) -> int:
    """Visits in a row at which an edit was confirmed; each one without takes one away."""
    return max(0, noise.cache.edits - max(0, age - noise.edited_at))


def confirmed(noise: Noise, before: Noise, age: int) -> Noise:
    """An edit was confirmed.  A page that had rested before is tried from the beginning."""
    row = edits_in_row(before, age)
    cache = replace(noise.cache, edits=row + 1)
    return replace(noise, cache=cache if row else replace(cache, tried=0, differed=0))


def stayed(noise: Noise) -> Noise:
    """After this wait the page was still the same: a longer one is tried next time."""
    return replace(noise, cache=replace(noise.cache, tried=noise.cache.tried + 1, differed=0))


def differed(noise: Noise) -> Noise:
    """After this wait the lines that had just come were replaced again."""
    cache = noise.cache
    times, level = cache.differed + 1, cache.tried + 1
    known = level if times >= PROOF[level] else cache.known
    return replace(noise, cache=replace(cache, differed=times, known=known))


def _may_wait(wait: timedelta, since: timedelta) -> bool:
    return wait == SECOND_LOOK or SHARE * wait <= since
