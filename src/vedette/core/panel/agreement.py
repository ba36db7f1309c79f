"""How far answers agree: the repeats of one cell, and the answers of one model in two batches.

Two answers agree when they share enough words (0 to 1, Dice over word counts, case and punctuation aside).  Answers
that agree form a group; agreement is the mean over all pairs, and confidence the lower end of the 95 % Wilson
interval of the largest group's share: three equal answers of three give 0.44, ten of ten 0.72.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import fmean

from vedette.contracts.words import Reason

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


# Exact binomial probabilities.  No approximation: the cohorts are small and the rates near zero.

_Z95 = 1.959963984540054  # two-sided 95 %


def at_least(hits: int, trials: int, rate: float) -> float:
    """P(X >= hits) for X ~ Binomial(trials, rate)."""
    if hits <= 0:
        return 1.0
    if hits > trials or rate <= 0:
        return 0.0
    if rate >= 1:
        return 1.0
    if hits <= trials * rate:  # the shorter sum is the other side
        return max(0.0, 1.0 - math.fsum(_terms(range(hits), trials, rate)))
    return min(1.0, math.fsum(_terms(range(hits, trials + 1), trials, rate)))


def interval(hits: int, trials: int, alpha: float = 0.05) -> tuple[float, float]:
    """Clopper-Pearson: the rates that `hits` of `trials` do not contradict at `alpha`, both sides together."""
    if trials <= 0:
        return 0.0, 1.0
    low = 0.0 if hits == 0 else _solve(lambda rate: at_least(hits, trials, rate) < alpha / 2)
    high = 1.0 if hits == trials else _solve(lambda rate: at_least(hits + 1, trials, rate) < 1 - alpha / 2)
    return low, high


def wilson_low(hits: int, trials: int, z: float = _Z95) -> float:
    """Lower end of the Wilson interval: a share that few trials cannot push to one."""
    if trials <= 0:
        return 0.0
    share, extra = hits / trials, z * z / trials
    middle = share + extra / 2
    spread = z * math.sqrt((share * (1 - share) + extra / 4) / trials)
    return max(0.0, (middle - spread) / (1 + extra))


def _terms(counts: range, trials: int, rate: float) -> list[float]:
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    whole = math.lgamma(trials + 1)
    terms = []
    for k in counts:
        ways = whole - math.lgamma(k + 1) - math.lgamma(trials - k + 1)
        term = math.exp(ways + k * log_rate + (trials - k) * log_rest)
        terms.append(term)
        if term < 1e-18 and k > trials * rate:
            break
    return terms


def _solve(holds: Callable[[float], bool]) -> float:
    """The rate at which the claim stops to hold; it holds from zero on."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return high


# Drift: a model's answers in two batches, and whether the model or the world changed.

Question = tuple[str, str]  # domain, prompt_type
Answers = Mapping[Question, Sequence[str]]  # the repeats of each
FEWEST = 20  # pairs of repeats from which on the noise is measured and not assumed


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """One model.  Agreement and confidence are means over the questions that were asked more than once."""

    model: str
    questions: int
    agreement: float | None
    confidence: float | None
    seen: CanarySeen
    verdict: CanaryVerdict
    reason: Reason


def drift(model: str, now: Answers, before: Answers, canaries: frozenset[str]) -> Drift:
    """`canaries`: the prompt types whose answers the world cannot change."""
    repeated = [agreement(texts) for texts in now.values() if len(texts) > 1]
    seen = _seen(now, before, canaries)
    verdict, reason = judge(seen)
    return Drift(
        model=model,
        questions=len(now),
        agreement=fmean(one.agreement for one in repeated) if repeated else None,
        confidence=fmean(one.confidence for one in repeated) if repeated else None,
        seen=seen,
        verdict=verdict,
        reason=reason,
    )


def _seen(now: Answers, before: Answers, canaries: frozenset[str]) -> CanarySeen:
    """Questions that both batches answered: how many, and how many answers differ."""
    differs = {key: _differs(now[key], before[key]) for key in now if before.get(key) and now[key]}
    watched = [is_other for key, is_other in differs.items() if key[1] in canaries]
    others = [is_other for key, is_other in differs.items() if key[1] not in canaries]
    return CanarySeen(
        canaries=len(watched),
        canaries_differ=sum(watched),
        answers=len(others),
        answers_differ=sum(others),
        noise=_noise(now),
    )


def _differs(now: Sequence[str], before: Sequence[str]) -> bool:
    """The answer that stands for the largest group, then and now."""
    a, b = now[agreement(now).spokesman], before[agreement(before).spokesman]
    return a != b and similarity(words(a), words(b)) < ALIKE


def _noise(now: Answers) -> float:
    """How often an unchanged model differs from itself: by its own repeats, when there are enough of them."""
    pairs = [(texts[n - 1], texts[n]) for texts in now.values() for n in range(1, len(texts))]
    if len(pairs) < FEWEST:
        return NOISE
    differ = sum(a != b and similarity(words(a), words(b)) < ALIKE for a, b in pairs)
    return max(NOISE, (differ + 1) / (len(pairs) + 2))


# Did the model change, or the world?
#
# A canary is a prompt whose answer the world cannot change.  Between two batches, canaries that differ more often
# than noise allows mean that the model changed, and then a change in its other answers says nothing about the world.
# Steady canaries and other answers that differ mean that the world changed.  The test is exact (binomial, one side).

NOISE = (
    0.02  # share of equal questions that an unchanged model answers differently; measured by repeats if any
)
SURE = 0.01


class CanaryVerdict(StrEnum):
    STEADY = "steady"
    MODEL_CHANGED = "model_changed"
    WORLD_CHANGED = "world_changed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanarySeen:
    """Pairs of answers of one model to the same question, before and now, and how many of them differ."""

    canaries: int
    canaries_differ: int
    answers: int
    answers_differ: int
    noise: float = NOISE


def judge(seen: CanarySeen, sure: float = SURE) -> tuple[CanaryVerdict, Reason]:
    """What the differences mean."""
    noise = min(max(seen.noise, 1e-6), 0.5)
    p_model = at_least(seen.canaries_differ, seen.canaries, noise)
    p_world = at_least(seen.answers_differ, seen.answers, noise)
    told = f"{seen.canaries_differ} of {seen.canaries} canaries"
    if seen.canaries and p_model < sure:
        return CanaryVerdict.MODEL_CHANGED, Reason("canary", p_model, f"{told} differ")
    if not seen.answers or p_world >= sure:
        return CanaryVerdict.STEADY, Reason(
            "noise", p_world, f"{seen.answers_differ} of {seen.answers} differ"
        )
    if at_least(seen.canaries, seen.canaries, noise) >= sure:
        return CanaryVerdict.UNKNOWN, Reason(
            "too_few_canaries", seen.canaries, f"{told}: even all could be noise"
        )
    return CanaryVerdict.WORLD_CHANGED, Reason("answers", p_world, f"{told} differ, answers do")
