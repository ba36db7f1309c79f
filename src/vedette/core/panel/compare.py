"""Do the shadow rows and the legacy rows agree materially?

A pair of rows diverges when one side is missing, when one is usable and the other is not, or when their words are
not alike.  The rows are told to differ when so many diverging pairs would be seen with a chance below 1 % if the
true share were no more than what is tolerated (exact binomial, one side).  They are told to agree only when the
cohort is large enough to have found the share that matters (2 %) with 95 % certainty; else the answer is "too
few", with the number needed.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from vedette.core.panel.agreement import similarity, words
from vedette.core.panel.exact import at_least, interval

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
    alike: float = 0.35  # words in common; two samples of one model about one domain share more


@dataclass(frozen=True, slots=True)
class Row:
    """What is compared of a stored answer."""

    text: str
    is_usable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Divergence:
    key: Key
    why: str  # only_shadow | only_legacy | usable | words
    likeness: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
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
    shadow: Mapping[Key, Row],
    legacy: Mapping[Key, Row],
    params: CompareParams | None = None,
    *,
    shown: int = 20,
) -> Comparison:
    """Over one cohort."""
    rule = params or CompareParams()
    keys = sorted(shadow.keys() | legacy.keys())
    found = [d for key in keys if (d := _divergence(key, shadow.get(key), legacy.get(key), rule.alike))]
    chance = at_least(len(found), len(keys), rule.tolerated)
    needed = pairs_needed(rule)
    match = Match.DIFFER if chance < rule.sure else Match.AGREE if len(keys) >= needed else Match.TOO_FEW
    low, high = interval(len(found), len(keys))
    return Comparison(
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
    shadow: Mapping[Key, Row], legacy: Mapping[Key, Row], asked: Container[str] = ()
) -> dict[Key, Row]:
    """The legacy rows that the shadow run had to match: its domains (`asked`, or those it has rows of), its models
    and its prompt types.  Older rows that name no prompt type are of the only one there is.
    """
    domains = asked or {domain for domain, _, _ in shadow}
    models = {model for _, model, _ in shadow}
    kinds = {kind for _, _, kind in shadow}
    only = next(iter(kinds)) if len(kinds) == 1 else ""
    found: dict[Key, Row] = {}
    for (domain, model, kind), row in legacy.items():
        key = domain, model, kind or only
        if domain in domains and model in models and key[2] in kinds and (kind or key not in legacy):
            found[key] = row
    return found


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


def _divergence(key: Key, ours: Row | None, theirs: Row | None, alike: float) -> Divergence | None:
    if ours is None or theirs is None:
        return Divergence(key=key, why="only_legacy" if ours is None else "only_shadow")
    if ours.is_usable != theirs.is_usable:
        return Divergence(key=key, why="usable")
    if ours.text == theirs.text:
        return None
    likeness = similarity(words(ours.text), words(theirs.text))
    return Divergence(key=key, why="words", likeness=likeness) if likeness < alike else None


def _by_model(keys: Iterable[Key], found: Iterable[Divergence]) -> dict[str, tuple[int, int]]:
    count: dict[str, list[int]] = {}
    for _, model, _ in keys:
        count.setdefault(model, [0, 0])[1] += 1
    for divergence in found:
        count[divergence.key[1]][0] += 1
    return {model: (bad, whole) for model, (bad, whole) in sorted(count.items())}
