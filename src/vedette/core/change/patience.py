"""The time to the next look after a difference: noise is drawn anew in it, and hardly anybody edits.

Seconds, once a page is known.  But many servers keep a page for a minute or for ten: looks seconds apart then show one
and the same drawing, and every visit seems to show an edit.  So the first difference of a page is given a minute, and a
page that seems to be edited at every visit more.  What varies then is learned as noise, and the page keeps the longer
wait; what stays the same was edited, and the next looks are believed as soon as before.
"""

from __future__ import annotations

from datetime import timedelta

from vedette.contracts.change import Noise

SECOND_LOOK = timedelta(seconds=5)  # long enough for a new draw of noise, short enough for no new edit
WAITS = (
    SECOND_LOOK,
    timedelta(seconds=65),
    timedelta(minutes=11),
)  # just over a minute and ten, as pages are kept
TRY_AGAIN = 16  # edits in a row: a page that began to vary is found out after so many
SHARE = 8  # a page that is looked at every hour is not kept waiting for more than an eighth of it


def patience(noise: Noise, age: int, since: timedelta) -> int:
    """Which of `WAITS`.  `age`: looks at the target before the difference; `since`: time since the last of them."""
    row = edits_in_row(noise, age) % TRY_AGAIN
    is_unknown = not (noise.agreed or noise.is_restless)  # no difference of it was ever told from noise
    wanted = max(noise.patience, row if row < len(WAITS) else 0, is_unknown)
    return max(n for n in range(wanted + 1) if n == 0 or SHARE * WAITS[n] <= since)


def edits_in_row(noise: Noise, age: int) -> int:
    """Visits in a row at which an edit was confirmed; each one without takes one away."""
    return max(0, noise.row - (age - noise.edited_at))


def knows_more(noise: Noise, before: Noise) -> bool:
    """True where something was found to vary."""
    return _varying(noise) > _varying(before)


def _varying(noise: Noise) -> int:
    values = sum(not template.rises for template in noise.templates)
    return values + len(noise.lines) + len(noise.places) + len(noise.orders) + len(noise.wild)
