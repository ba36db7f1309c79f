"""Did the model change, or the world?

A canary is a prompt whose answer the world cannot change.  Between two batches, canaries that differ more often
than noise allows mean that the model changed, and then a change in its other answers says nothing about the world.
Steady canaries and other answers that differ mean that the world changed.  The test is exact (binomial, one side).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from vedette.contracts.words import Reason
from vedette.core.panel.exact import at_least

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
