"""Decisions of a hunt as ledger rows, and decided again from them: where it looked, and what a page was held for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from vedette.contracts.errors import InputError
from vedette.contracts.hunt import HuntRecord
from vedette.contracts.oddness import Family, FeatureValue, OddPage, OddWeights, ScoreDecision, Triage
from vedette.contracts.watch import Decision
from vedette.contracts.words import Reason
from vedette.core.hunt import Chosen
from vedette.core.hunt_worth import HuntFigures, HuntParams, prospect_of, weigh
from vedette.core.oddness.odd_score import RELEASED, configured, decided, read_weights

Inputs = Mapping[str, Any]


class HuntInForce(Protocol):
    """What of the parameters in force a hunt decides by."""

    @property
    def hunt(self) -> HuntParams | None: ...
    @property
    def triage(self) -> Triage: ...
    @property
    def fitted(self) -> Callable[[str], str | None]: ...


def hunt_decision(chosen: Chosen) -> Decision:
    """Why a prospect was chosen."""
    figures = chosen.figures
    inputs: dict[str, object] = {
        "url": chosen.prospect.url,
        "is_new": chosen.is_new,
        "whole": list(figures.whole),
        "at_host": list(figures.at_host),
        "here": list(figures.here),
        "waiting": [figures.waiting_at_host, figures.waiting_here],
        "of_seed": list(figures.of_seed),
        "linked": list(figures.linked),
        "pull": figures.pull,
        "words": [[word, *record] for word, record in figures.words],
    }
    return Decision(action="hunt", reasons=chosen.reasons, inputs=inputs, output=_valued(chosen.reasons))


def oddness_decision(page: OddPage) -> Decision:
    """What a page was held for, by the evidence of its features."""
    decision = page.decision
    inputs: dict[str, object] = {
        "url": page.url,
        "number": page.number,
        "weights": decision.weights,
        "twin": decision.twin,
        "level": decision.level,
        "features": [
            [one.name, one.version, one.family.value, one.evidence]
            for one in page.all_features
            if one.evidence
        ],
    }
    reasons = tuple(
        Reason(one.feature, one.points, f"{one.family} {one.version}") for one in decision.reasons
    )
    return Decision(action="oddness", reasons=reasons, inputs=inputs, output=_scored(decision))


def weights_in_force(version: str, in_force: HuntInForce) -> OddWeights:
    """The weights that a row names, with what its run was configured with."""
    if version in RELEASED:
        return configured(RELEASED[version], in_force.triage)
    text = in_force.fitted(version)
    if text is None:
        raise InputError(f"the weights {version!r} are not on record")
    return configured(read_weights(text), in_force.triage)


def _hunt(given: Inputs, in_force: HuntInForce) -> object:
    params = in_force.hunt or HuntParams()
    whole, at_host, here = (HuntRecord(*given[name]) for name in ("whole", "at_host", "here"))
    of_seed, linked = (HuntRecord(*given.get(name, ())) for name in ("of_seed", "linked"))
    at_place, there = given["waiting"]
    words = tuple((word, HuntRecord(*record)) for word, *record in given.get("words", ()))
    pull = given.get("pull", 0.0)
    figures = HuntFigures(whole, at_host, here, at_place, there, of_seed, linked, pull, words)
    prospect = prospect_of(given["url"], params)
    return _valued(weigh(prospect, figures, is_new=given["is_new"], params=params))


def _oddness(given: Inputs, in_force: HuntInForce) -> object:
    features = [
        FeatureValue(
            name=name, version=version, family=Family(family), value=0.0, rarity=0.0, evidence=evidence
        )
        for name, version, family, evidence in given["features"]
    ]
    weights = weights_in_force(given["weights"], in_force)
    return _scored(decided(features, weights, twin=given["twin"], level=given.get("level")))


def _scored(decision: ScoreDecision) -> dict[str, object]:
    return {"value": round(decision.score, 6), "action": decision.action.value}


def _valued(reasons: Iterable[Reason]) -> dict[str, object]:
    return {"value": round(math.fsum(reason.points for reason in reasons), 6)}


HUNT_RULES: Mapping[str, Callable[[Inputs, HuntInForce], object]] = {"hunt": _hunt, "oddness": _oddness}
