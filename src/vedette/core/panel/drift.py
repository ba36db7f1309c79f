"""What became of a model's answers between two batches: agreement of its repeats, and whose change a difference is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from vedette.contracts.words import Reason
from vedette.core.panel.agreement import ALIKE, agreement, similarity, words
from vedette.core.panel.canary import NOISE, CanarySeen, CanaryVerdict, judge

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
