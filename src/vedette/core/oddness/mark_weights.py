"""Weights from what the operator marked: a logistic regression over what families say, held near the defaults.

Marks move how much each family counts, not what a feature is.  No family gets more than its largest cap, so a page
still needs several kinds of signs.  The same marks give the same weights, and their version is a digest of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.oddness import Family, FeatureSet, OddWeights
from vedette.core.oddness.odd_score import LARGEST_CAP, family_evidence

LEAST = 5  # marks of each word
STRENGTH = 2.0  # of the defaults against the marks
STEPS = 50
SCALE = 0.1  # of a point, as a log-odds


def fitted(marks: Sequence[tuple[FeatureSet, bool]], weights: OddWeights) -> OddWeights:
    """`marks`: features of a page, and whether it is odd."""
    odd = sum(is_odd for _, is_odd in marks)
    if min(odd, len(marks) - odd) < LEAST:
        raise InputError(
            f"{odd} pages are marked odd and {len(marks) - odd} plain; weights need {LEAST} of each (vedette hunt mark)"
        )
    families = tuple(Family)
    said = np.array(
        [[family_evidence(one.features, weights)[family] for family in families] for one, _ in marks]
    )
    is_odd = np.array([float(odd) for _, odd in marks])
    prior = np.array([SCALE * weights.caps.get(family, 0.0) for family in families])
    found = _regression(said, is_odd, prior)
    caps = _caps(dict(zip(families, found.tolist(), strict=True)))
    return replace(weights, version=_version(marks, caps), caps=caps)


def _regression(said: np.ndarray, is_odd: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Newton's steps; the last column is the constant, which has no prior."""
    columns = np.hstack((said, np.ones((len(said), 1))))
    towards = np.append(prior, 0.0)
    strength = np.diag(np.append(np.full(len(prior), STRENGTH), 1e-3))
    beta = np.append(prior, -float((said @ prior).mean()))
    for _ in range(STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(columns @ beta, -30.0, 30.0)))
        slope = columns.T @ (is_odd - chance) - strength @ (beta - towards)
        curve = (columns * (chance * (1.0 - chance))[:, None]).T @ columns + strength
        step = np.linalg.solve(curve, slope)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-10:
            break
    found: np.ndarray = beta[:-1]
    return found


def _caps(found: dict[Family, float]) -> dict[Family, float]:
    """Points that add up to 100, none above the largest cap."""
    left = {family: max(0.02, value) for family, value in found.items()}
    caps: dict[Family, float] = {}
    while left:
        room = 100.0 - math.fsum(caps.values())
        total = math.fsum(left.values())
        over = [family for family, value in left.items() if value * room / total > LARGEST_CAP]
        if not over:
            caps |= {family: round(value * room / total, 6) for family, value in left.items()}
            break
        caps |= dict.fromkeys(over, LARGEST_CAP)
        left = {family: value for family, value in left.items() if family not in over}
    return {family: caps[family] for family in Family}


def _version(marks: Sequence[tuple[FeatureSet, bool]], caps: dict[Family, float]) -> str:
    text = json.dumps([sorted((one.provenance.page, odd) for one, odd in marks), sorted(caps.items())])
    return f"fitted-{hashlib.sha256(text.encode()).hexdigest()[:10]}"
