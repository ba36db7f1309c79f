"""What became of a model's answers between two batches: agreement of its repeats, and whose change a difference is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from vedette.contracts.words import Reason
from vedette.core.panel.agreement import ALIKE, agreement, at_least, similarity, words

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
    pairs = [key for key in now if key in before and now[key] and before[key]]
    differs = {key: _differs(now[key], before[key]) for key in pairs}
    watched = [key for key in pairs if key[1] in canaries]
    others = [key for key in pairs if key[1] not in canaries]
    seen = CanarySeen(
        canaries=len(watched),
        canaries_differ=sum(differs[key] for key in watched),
        answers=len(others),
        answers_differ=sum(differs[key] for key in others),
        noise=_noise(now),
    )
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
