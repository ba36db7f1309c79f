"""From features to an oddness score and an action.  Families have to agree: none can give more than its cap.

In a family evidence saturates (a noisy or): two signs of the same kind are hardly more than one.  Over families points
add up, so a page is a find only if several independent kinds of signs speak for it; a page that has one kind in excess
(an old template, a list of part numbers, a foreign language) is not.  Every point belongs to a feature and its version.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace

from vedette.contracts.errors import InputError
from vedette.contracts.oddness import (
    Action,
    Contribution,
    Family,
    FeatureSet,
    FeatureValue,
    OddWeights,
    ScoreDecision,
    Triage,
)
from vedette.core.oddness.features import FEATURES, ISOLATED
from vedette.core.oddness.isolation import isolated, read_forest, without_forest

_SURE = 0.98  # evidence of one feature stays below 1, so that shares of it can be told
CAPS: Mapping[Family, float] = {
    Family.MARKUP: 8.0,
    Family.AGE: 7.0,
    Family.FORM: 11.0,
    Family.WORDS: 10.0,
    Family.PHRASES: 30.0,
    Family.PLACE: 9.0,
    Family.LINKS: 25.0,
}
# What is not named counts 0.6.  Addresses count nothing: an ordinary page at a strange address is ordinary.
DEFAULT_WEIGHT = 0.6
WEIGHTS: Mapping[str, float] = {
    "strange_phrases": 0.8,
    "no_stock_phrases": 0.8,
    "from_findings": 0.8,
    "reciprocal": 0.7,
    "unseen_words": 0.3,
    "hand_made": 0.3,
    "bare": 0.3,
    "old_markup": 0.4,
    "hidden_notes": 0.4,
    "rare_markup": 0.4,
    "small_places": 0.3,
    "few_links": 0.1,
    "digits": 0.3,
    "packed": 0.1,
    "sentences": 0.1,
    "vocabulary": 0.1,
    "word_length": 0.1,
    "deep_path": 0.0,
    "personal_path": 0.0,
}
PERSIST_AT, LLM_AT = 37.0, 53.0
LOWER, HIGHER = 6.0, 0.0  # how far the crawl may move it
EARNED_AT = 15.0  # points of a page's own families from which on its links count whole
LARGEST_CAP = 30.0  # of a family, whatever marks say
DEFAULT = OddWeights(
    version="default-4",
    caps=CAPS,
    weights={one.name: WEIGHTS.get(one.name, DEFAULT_WEIGHT) for one in FEATURES},
    persist_at=PERSIST_AT,
    llm_at=LLM_AT,
    earned_at=EARNED_AT,
    lower=LOWER,
    higher=HIGHER,
)


# Defaults of older releases: what was decided by them is decided again by them.
_OLD_WEIGHTS = {
    "strange_phrases": 0.9, "unheard_turns": 0.7, "no_stock_phrases": 0.8, "reciprocal": 0.7, "from_findings": 0.8,
    "packed": 0.2, "sentences": 0.2, "vocabulary": 0.2, "word_length": 0.2, "digits": 0.4, "unseen_words": 0.4,
    "few_links": 0.2, "hidden_notes": 0.4, "deep_path": 0.0, "personal_path": 0.0,
}  # fmt: skip
_OLD_CAPS = (12.0, 10.0, 15.0, 17.0, 22.0, 10.0, 14.0)
_CAPS_3 = {**CAPS, Family.WORDS: 20.0, Family.PHRASES: 23.0, Family.LINKS: 22.0}
_DEFAULT_3 = replace(
    DEFAULT,
    version="default-3",
    caps=_CAPS_3,
    weights={**DEFAULT.weights, "rare_words": 0.4, "unseen_words": 0.2},
    persist_at=36.0,
    llm_at=52.0,
)
# What was decided by these with a family switched off is decided again as it was.
_UNBOUNDED = frozenset({"default-1", "default-2", "default-3"})
RELEASED: Mapping[str, OddWeights] = {
    DEFAULT.version: DEFAULT,
    "default-3": _DEFAULT_3,
    "default-2": replace(
        _DEFAULT_3, version="default-2", caps={**_CAPS_3, Family.PHRASES: 26.0, Family.LINKS: 19.0}
    ),
    "default-1": OddWeights(
        version="default-1",
        caps=dict(zip(CAPS, _OLD_CAPS, strict=True)),
        weights={one.name: _OLD_WEIGHTS.get(one.name, DEFAULT_WEIGHT) for one in FEATURES},
        persist_at=42.0,
        llm_at=60.0,
    ),
}


def decide(
    features: FeatureSet, weights: OddWeights, *, twin: int = 0, level: float | None = None
) -> ScoreDecision:
    """The score of a page and what is done with it.  `twin`: a watch that shows nearly the same text; 0: none."""
    if weights.forest is None:
        return decided(features.features, weights, twin=twin, level=level)
    own = tuple(one for one in features.features if one.name != ISOLATED)
    added = isolated(own, weights.forest)
    return replace(decided((*own, *added), weights, twin=twin, level=level), added=added)


def decided(
    features: Iterable[FeatureValue], weights: OddWeights, *, twin: int = 0, level: float | None = None
) -> ScoreDecision:
    """`level`: the score from which on this crawl keeps a page; None: as the weights say."""
    least = weights.persist_at if level is None else level
    reasons = contributions(features, weights)
    score = math.fsum(one.points for one in reasons)
    hit = tuple(
        name
        for name, from_on in (("persist", least), ("llm", max(least, weights.llm_at)))
        if score >= from_on
    )
    action = Action(hit[-1]) if hit and not twin else Action.SKIP
    return ScoreDecision(
        score=score,
        reasons=reasons,
        thresholds_hit=hit,
        action=action,
        weights=weights.version,
        twin=twin,
        level=level,
    )


def contributions(features: Iterable[FeatureValue], weights: OddWeights) -> tuple[Contribution, ...]:
    """Points of each feature that has any, in the order of the table."""
    return _earned(_points(features, weights), weights.earned_at)


def _earned(found: tuple[Contribution, ...], earned_at: float) -> tuple[Contribution, ...]:
    """Links count as far as the page itself is odd: an ordinary page among odd ones is ordinary."""
    own = math.fsum(one.points for one in found if one.family is not Family.LINKS)
    if own >= earned_at:
        return found
    share = own / earned_at
    return tuple(
        replace(one, points=one.points * share) if one.family is Family.LINKS else one for one in found
    )


def _points(features: Iterable[FeatureValue], weights: OddWeights) -> tuple[Contribution, ...]:
    signs = [(one, min(_SURE, weights.weights.get(one.name, 0.0) * one.evidence)) for one in features]
    logs = [(one, -math.log1p(-sign)) for one, sign in signs if sign > 0.0]
    sums: dict[Family, float] = {}
    for one, log in logs:
        sums[one.family] = sums.get(one.family, 0.0) + log
    return tuple(
        Contribution(
            feature=one.name,
            version=one.version,
            family=one.family,
            points=weights.caps.get(one.family, 0.0)
            * -math.expm1(-sums[one.family])
            * log
            / sums[one.family],
        )
        for one, log in logs
    )


def family_evidence(features: Iterable[FeatureValue], weights: OddWeights) -> dict[Family, float]:
    """What each family says, from 0 to 1."""
    left = dict.fromkeys(Family, 1.0)
    for one in features:
        left[one.family] *= 1.0 - min(_SURE, weights.weights.get(one.name, 0.0) * one.evidence)
    return {family: 1.0 - rest for family, rest in left.items()}


def configured(weights: OddWeights, triage: Triage) -> OddWeights:
    """With what the operator set.  The points of a family that is switched off go to the others."""
    weights = weights if triage.has_forest or weights.forest is None else base_weights(weights)
    off = {_family(name) for name in triage.without}
    left = {family: cap for family, cap in weights.caps.items() if family not in off}
    total = math.fsum(left.values())
    if not total:
        raise InputError("hunt.without switches off every family of features: nothing would be odd")
    is_old = without_forest(weights).version in _UNBOUNDED
    grown = {family: cap * 100.0 / total for family, cap in left.items()} if is_old else bounded(left)
    least = weights.persist_at if triage.persist_at is None else triage.persist_at
    return replace(
        weights,
        caps=grown if off else weights.caps,
        persist_at=least,
        lower=weights.lower if triage.persist_at is None else 0.0,  # what the operator set stands
        higher=weights.higher if triage.persist_at is None else 0.0,
        llm_at=max(least, weights.llm_at if triage.llm_at is None else triage.llm_at),
    )


def bounded(points: Mapping[Family, float]) -> dict[Family, float]:
    """Grown to 100 in all, where no family may have more than the largest cap: none makes a finding alone."""
    left, caps = {family: value for family, value in points.items() if value}, dict.fromkeys(points, 0.0)
    while left:
        each = (100.0 - math.fsum(caps.values())) / math.fsum(left.values())
        over = [family for family, value in left.items() if value * each > LARGEST_CAP]
        caps |= dict.fromkeys(over, LARGEST_CAP) if over else {one: left[one] * each for one in left}
        left = {one: value for one, value in left.items() if one not in over} if over else {}
    return caps


def base_weights(weights: OddWeights) -> OddWeights:
    """Without a forest: those that marks gave, or those of this release, whichever release the forest is from."""
    plain = without_forest(weights)
    return DEFAULT if plain.version in RELEASED else plain


def written_weights(weights: OddWeights) -> str:
    """As a store keeps them."""
    return json.dumps(asdict(weights), sort_keys=True)


def read_weights(text: str) -> OddWeights:
    given = json.loads(text)
    caps = {Family(name): cap for name, cap in given["caps"].items()}
    return OddWeights(**{**given, "caps": caps, "forest": read_forest(given.get("forest"))})


def _family(name: str) -> Family:
    try:
        return Family(name)
    except ValueError:
        words = ", ".join(Family)
        raise InputError(f"hunt.without: {name!r} is no family of features; there are {words}") from None
