"""From which score on a crawl keeps a page: so that what it keeps stands out from what it has anyway.

Scores of ordinary pages fall off evenly.  How fast is seen in the middle of all scores, where odd pages are few; drawn
on, that says how many ordinary pages reach a score.  The level is the least score at which these are at most half of
the pages that reach it, less one standard deviation.  Where nothing is odd no score is like that, and the level is the
highest that is allowed.  A page that was not kept is kept when the level falls below its score.
"""

from __future__ import annotations

import math

import numpy as np

from vedette.contracts.oddness import OddWeights
from vedette.core.oddness.background import Background

LEAST_SEEN = 200  # pages before a crawl has a level of its own
FALSE_SHARE = 0.5  # of what reaches the level, as far as the middle of the scores tells
LEAST_SPREAD = 2.0  # points between the median and the upper quartile, at least


def kept_from(background: Background, weights: OddWeights) -> float | None:
    """The level of the crawl so far, around `persist_at`; None: as the weights say."""
    if background.seen < LEAST_SEEN or not (weights.lower or weights.higher):
        return None
    reached = np.cumsum(background.scores[::-1], dtype=np.int64)[
        ::-1
    ]  # pages with at least so many half points
    median, quartile = _score_of(reached, 0.5), _score_of(reached, 0.25)
    fall = math.log(2.0) / max(LEAST_SPREAD, quartile - median)  # of the logarithm, for each point
    first = math.ceil(2.0 * (weights.persist_at - weights.lower))
    last = math.floor(2.0 * (weights.persist_at + weights.higher))
    for half in range(first, last):
        expected = 0.25 * background.seen * math.exp(-fall * (half / 2.0 - quartile))
        many = float(reached[half])
        if expected <= FALSE_SHARE * (many - math.sqrt(many)):
            return half / 2.0
    return last / 2.0


def risen(background: Background, level: float | None) -> list[int]:
    """Watches that were not kept and are by this level, in the order of their looks.  They are forgotten here."""
    if level is None or not background.nearly:
        return []
    found = [watch for watch, score in background.nearly.items() if score >= level]
    for watch in found:
        del background.nearly[watch]
    return found


def _score_of(reached: np.ndarray, share: float) -> float:
    """The score that this share of the pages reaches; between two half points by the pages between them."""
    wanted = share * float(reached[0])
    at = int(np.searchsorted(-reached, -wanted, side="right")) - 1  # the last that so many reach
    above = float(reached[at + 1]) if at + 1 < len(reached) else 0.0
    inside = (float(reached[at]) - wanted) / max(1.0, float(reached[at]) - above)
    return (at + inside) / 2.0
