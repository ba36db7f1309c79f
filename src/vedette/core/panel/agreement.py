"""Do the repeats of one cell say the same?  And how sure may one be of it?

Two answers agree when they share enough words (0 to 1, Dice over word counts, case and punctuation aside).  Answers
that agree form a group; agreement is the mean over all pairs, and confidence the lower end of the 95 % Wilson
interval of the largest group's share: three equal answers of three give 0.44, ten of ten 0.72.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from vedette.core.panel.exact import wilson_low

ALIKE = 0.6  # repeats of one model at temperature 0.2 share more; answers about different things less
MOST_WORDS = 4000
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    repeats: int
    agreement: float  # mean over pairs; 1 for a single answer
    largest: int  # answers in the largest group
    spokesman: int  # which answer stands for it
    confidence: float


def agreement(texts: Sequence[str], alike: float = ALIKE) -> Agreement:
    """Over the answers that did arrive."""
    bags = [words(text) for text in texts]
    if not bags:
        return Agreement(repeats=0, agreement=0.0, largest=0, spokesman=-1, confidence=0.0)
    likeness = {(a, b): similarity(bags[a], bags[b]) for a, b in combinations(range(len(bags)), 2)}
    near = [_neighbours(n, likeness, alike) for n in range(len(bags))]
    spokesman = max(range(len(bags)), key=lambda n: (near[n], -n))
    return Agreement(
        repeats=len(bags),
        agreement=sum(likeness.values()) / len(likeness) if likeness else 1.0,
        largest=near[spokesman],
        spokesman=spokesman,
        confidence=wilson_low(near[spokesman], len(bags)),
    )


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.casefold())[:MOST_WORDS])


def similarity(a: Counter[str], b: Counter[str]) -> float:
    """Dice over word counts.  Two empty answers are the same."""
    whole = a.total() + b.total()
    return 2 * (a & b).total() / whole if whole else 1.0


def _neighbours(n: int, likeness: dict[tuple[int, int], float], alike: float) -> int:
    """The answer itself, and those that agree with it."""
    return 1 + sum(1 for pair, value in likeness.items() if n in pair and value >= alike)
