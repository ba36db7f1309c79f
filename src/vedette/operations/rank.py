"""Which URLs first: the score of spec 002 over rows of signals.  No store, no configuration, no network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from vedette.contracts.errors import InputError
from vedette.core.priority.score import ScoredUrl
from vedette.core.priority.score_columns import ScoredColumns, score_columns
from vedette.operations.formats.signals import Gathered

TOLD = 5  # bad rows named in words; all are counted


@dataclass(frozen=True, slots=True)
class Ranking:
    """The rows in their order, best first.  Each is made when it is asked for: there may be millions."""

    now: datetime
    gathered: Gathered
    scores: ScoredColumns
    order: NDArray[np.int64]

    def __iter__(self) -> Iterator[ScoredUrl]:
        return (self.scores.scored(int(row), self.gathered.urls[row]) for row in self.order)

    @property
    def repeated(self) -> int:
        """Rows that name a URL once more."""
        return len(self.gathered.urls) - len(set(self.gathered.urls))


@dataclass(frozen=True, slots=True, kw_only=True)
class RankQuestion:
    now: datetime
    top: int = 0  # 0: all
    min_score: int = 0
    skips_bad: bool = False  # False: one row that cannot be used, and nothing is ranked


def rank_urls(gathered: Gathered, asked: RankQuestion) -> Ranking:
    """Ranks what `read_signals` has read."""
    if gathered.bad and not asked.skips_bad:
        raise InputError(_bad_rows(gathered))
    scores = score_columns(gathered.rows.columns(), now=asked.now)
    order = scores.order(top=asked.top or None, min_score=asked.min_score)
    return Ranking(asked.now, gathered, scores, order)


def ranking_head(found: Ranking) -> dict[str, object]:
    """The document without its rows."""
    gathered = found.gathered
    return {
        "now": found.now,
        "rows": len(gathered.urls),
        "bad": gathered.bad,
        "problems": [{"line": line, "why": why} for line, why in gathered.problems],
        "not_used": list(gathered.not_used),
        "repeated": found.repeated,
    }


def bad_row_words(gathered: Gathered) -> str:
    words = "; ".join(f"line {line}: {why}" for line, why in gathered.problems[:TOLD])
    return words + (f"; and {gathered.bad - TOLD} more" if gathered.bad > TOLD else "")


def _bad_rows(gathered: Gathered) -> str:
    rows = gathered.bad + len(gathered.urls)
    return (
        f"{gathered.bad} of {rows} rows cannot be used, nothing was ranked (--skip-bad ranks the others): "
        f"{bad_row_words(gathered)}"
    )
