"""Do the shadow rows and the legacy rows agree materially?

A pair of rows diverges when one side is missing, when one is usable and the other is not, or when they do not say the
same (core/panel/sameness.py).  Equal texts never diverge, and flags decide only where both sides have one.

The rows are told to differ when so many diverging pairs would be seen with a chance below 1 % if the true share were no
more than what is tolerated (exact binomial, one side).  They are told to agree only when the cohort is large enough to
have found the share that matters (2 %) with 95 % certainty; else the answer is "too few", with the number needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from vedette.core.panel.agreement import at_least, interval
from vedette.core.panel.quality import is_refusal
from vedette.core.panel.sameness import ALIKE, Subjects, difference, subjects

Key = tuple[str, str, str]  # domain, model, prompt_type


class Match(StrEnum):
    AGREE = "agree"
    DIFFER = "differ"
    TOO_FEW = "too_few"


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareParams:
    tolerated: float = 0.005  # share of diverging pairs that a second run of the same pipeline may have
    matters: float = 0.02  # a share that must be found
    sure: float = 0.01  # chance of a false alarm
    power: float = 0.95  # chance of finding what matters
    alike: float = ALIKE


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """What is compared of a stored answer."""

    text: str
    is_flagged_usable: bool | None = None  # None: it has no flag


@dataclass(frozen=True, slots=True, kw_only=True)
class Cohort:
    """What one shadow batch asked, by its plan: whether its rows came or not."""

    domains: Mapping[str, str]  # id -> name
    models: frozenset[str]
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    key: Key
    why: str  # only_shadow | only_legacy | usable | about | length | cut | number | negation | words
    likeness: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelComparison:
    match: Match
    pairs: int
    diverging: int
    share: float
    low: float  # 95 % interval of the true share
    high: float
    chance: float  # of seeing this much if the true share were the tolerated one
    needed: int  # pairs that a sure answer needs
    by_model: Mapping[str, tuple[int, int]]  # diverging, pairs
    examples: tuple[Divergence, ...]


def compare(
    shadow: Mapping[Key, AnswerRow],
    legacy: Mapping[Key, AnswerRow],
    params: CompareParams | None = None,
    *,
    names: Mapping[str, str] | None = None,
    shown: int = 20,
) -> PanelComparison:
    """Over one cohort.  `names`: the domain of each id."""
    rule = params or CompareParams()
    keys = sorted(shadow.keys() | legacy.keys())
    pairs = _Pairs(shadow, legacy, names or {}, rule.alike)
    found = [d for key in keys if (d := pairs.divergence(key))]
    chance = at_least(len(found), len(keys), rule.tolerated)
    needed = pairs_needed(rule)
    match = Match.DIFFER if chance < rule.sure else Match.AGREE if len(keys) >= needed else Match.TOO_FEW
    low, high = interval(len(found), len(keys))
    return PanelComparison(
        match=match,
        pairs=len(keys),
        diverging=len(found),
        share=len(found) / len(keys) if keys else 0.0,
        low=low,
        high=high,
        chance=chance,
        needed=needed,
        by_model=_by_model(keys, found),
        examples=tuple(found[:shown]),
    )


def cohort(
    shadow: Mapping[Key, AnswerRow], legacy: Mapping[Key, AnswerRow], asked: Sequence[Cohort] = ()
) -> dict[Key, AnswerRow]:
    """The legacy rows that the shadow run had to match: those of the domains, models and prompt types that it planned
    to ask.  Where no plan is known, those it has rows of.  Older rows that name no prompt type are of the only one.
    """
    seen = _as_seen(shadow)
    found: dict[Key, AnswerRow] = {}
    for plan in asked or (seen,):
        only = next((next(iter(kinds)) for kinds in (plan.kinds, seen.kinds) if len(kinds) == 1), "")
        for (domain, model, kind), row in legacy.items():
            key = domain, model, kind or only
            is_asked = domain in plan.domains and model in plan.models and key[2] in plan.kinds
            if is_asked and (kind or key not in legacy):
                found[key] = row
    return found


def _as_seen(shadow: Mapping[Key, AnswerRow]) -> Cohort:
    return Cohort(
        domains={domain: "" for domain, _, _ in shadow},
        models=frozenset(model for _, model, _ in shadow),
        kinds=frozenset(kind for _, _, kind in shadow),
    )


def pairs_needed(rule: CompareParams) -> int:
    """A cohort in which the share that matters is found with the asked certainty, rounded up by at most 2 %."""
    low, high = 1, 64
    while not _finds(high, rule):
        low, high = high, high * 2
        if high > 1 << 24:
            return high
    step = max(1, (high - low) // 64)
    while high - step > 0 and _finds(high - step, rule):
        high -= step
    return high


def _finds(pairs: int, rule: CompareParams) -> bool:
    hits = _alarm_at(pairs, rule)
    return at_least(hits, pairs, rule.matters) >= rule.power


def _alarm_at(pairs: int, rule: CompareParams) -> int:
    """The smallest number of diverging pairs that is an alarm."""
    low, high = 0, pairs + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (
            (low, middle) if at_least(middle, pairs, rule.tolerated) < rule.sure else (middle + 1, high)
        )
    return low


@dataclass(frozen=True, slots=True)
class _Pairs:
    shadow: Mapping[Key, AnswerRow]
    legacy: Mapping[Key, AnswerRow]
    names: Mapping[str, str]
    alike: float
    known: Subjects = field(init=False)

    def __post_init__(self) -> None:
        texts = [row.text for side in (self.shadow, self.legacy) for row in side.values()]
        object.__setattr__(self, "known", subjects(filter(None, self.names.values()), texts))

    def divergence(self, key: Key) -> Divergence | None:
        ours, theirs = self.shadow.get(key), self.legacy.get(key)
        if ours is None or theirs is None:
            return Divergence(key=key, why="only_legacy" if ours is None else "only_shadow")
        if ours.text == theirs.text:
            return None
        if _is_usable(ours, theirs) != _is_usable(theirs, ours):
            return Divergence(key=key, why="usable")
        domain = self.names.get(key[0], "")
        why, likeness = difference(ours.text, theirs.text, domain=domain, known=self.known, alike=self.alike)
        return Divergence(key=key, why=why, likeness=likeness) if why else None


def _is_usable(row: AnswerRow, other: AnswerRow) -> bool:
    """By its flag where both have one, else by its words."""
    if row.is_flagged_usable is not None and other.is_flagged_usable is not None:
        return row.is_flagged_usable
    return bool(row.text.strip()) and not is_refusal(row.text)


def _by_model(keys: Iterable[Key], found: Iterable[Divergence]) -> dict[str, tuple[int, int]]:
    count: dict[str, list[int]] = {}
    for _, model, _ in keys:
        count.setdefault(model, [0, 0])[1] += 1
    for divergence in found:
        count[divergence.key[1]][0] += 1
    return {model: (bad, whole) for model, (bad, whole) in sorted(count.items())}
