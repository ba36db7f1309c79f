"""How soon a page is told from all others by questions drawn at random: an isolation forest, read and asked.

A forest is grown once, by `vedette hunt forest`, and kept with the weights; what it says of a page follows from the
values of its other features alone.  So a score is decided again from the same numbers, without the library that grew
the trees.  Links and addresses are left out: they count as far as the page itself is odd.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from vedette.contracts.oddness import Family, FeatureValue, Forest, OddWeights
from vedette.core.oddness.features import FEATURES, ISOLATED, RARE

VERSION, FAMILY = 1, Family.PLACE
WEIGHT = 0.6  # as features have that are not named in the table of weights
LOW, HIGH = 0.5, 0.7  # a page like any other has 0.5, one that stands alone comes near 1
ASKED = tuple(one.name for one in FEATURES if one.family is not Family.LINKS)
SHARES = 200  # steps in which the scores of the pages that it was grown on are kept
LEAF = -1
MARK = "+forest-"  # in the version of weights that have one
_NODE = np.dtype([("asks", "<i2"), ("at", "<f8"), ("left", "<u4"), ("right", "<u4"), ("length", "<f8")])


class ForestNode(NamedTuple):
    """A question, or where questions end."""

    asks: int  # the place of a feature in `ASKED`; LEAF: none
    at: float  # so much or less goes to the left
    left: int  # places in the table of all nodes
    right: int
    length: float  # of a leaf: questions up to here, and those that its pages would still need


def forest_of(
    roots: Sequence[int], nodes: Iterable[ForestNode], rows: np.ndarray, *, usual: float, by: str
) -> Forest:
    """A forest as it is kept.  `rows`: what it was grown on; `usual`: questions that a usual page needs."""
    table = np.array([tuple(one) for one in nodes], _NODE)
    packed = base64.b85encode(zlib.compress(table.tobytes(), 9)).decode()
    grown = Forest(
        asks=ASKED, roots=tuple(roots), nodes=packed, usual=usual, shares=(), pages=len(rows), by=by
    )
    scores = [_score(grown, row) for row in rows.tolist()]
    shares = np.quantile(scores, np.linspace(0.0, 1.0, SHARES + 1)).tolist()
    return replace(grown, shares=tuple(round(one, 9) for one in shares))


def forest_version(forest: Forest) -> str:
    """A digest of all that it says."""
    return hashlib.sha256(json.dumps(asdict(forest), sort_keys=True).encode()).hexdigest()[:10]


def read_forest(given: Mapping[str, Any] | None) -> Forest | None:
    if given is None:
        return None
    lists = {name: tuple(given[name]) for name in ("asks", "roots", "shares")}
    return Forest(**{**given, **lists})


def with_forest(weights: OddWeights, forest: Forest) -> OddWeights:
    """The same weights, and what the forest says beside them."""
    plain = without_forest(weights)
    return replace(
        plain,
        version=f"{plain.version}{MARK}{forest_version(forest)}",
        weights={**plain.weights, ISOLATED: WEIGHT},
        forest=forest,
    )


def without_forest(weights: OddWeights) -> OddWeights:
    """The weights that a forest was added to."""
    if weights.forest is None:
        return weights
    left = {name: weight for name, weight in weights.weights.items() if name != ISOLATED}
    return replace(weights, version=weights.version.partition(MARK)[0], weights=left, forest=None)


def isolated(features: Iterable[FeatureValue], forest: Forest | None) -> tuple[FeatureValue, ...]:
    """What the forest says of a page, as one more feature; nothing without a forest."""
    if forest is None:
        return ()
    known = {one.name: one.value for one in features}
    value = round(_score(forest, [known.get(name, 0.0) for name in forest.asks]), 9)
    rarity = round(_rarity(forest, value), 9)
    enough = min(1.0, max(0.0, (value - LOW) / (HIGH - LOW)))
    return (
        FeatureValue(
            name=ISOLATED, version=VERSION, family=FAMILY,
            value=value, rarity=rarity, evidence=round(enough * rarity, 9),
        ),
    )  # fmt: skip


def _score(forest: Forest, values: Sequence[float]) -> float:
    """As Liu, Ting and Zhou define it: 2 to the power of minus the mean length over the usual length."""
    nodes = _table(forest.nodes)
    row = np.array(values, np.float32).astype(np.float64)  # as the trees were grown
    at = np.array(forest.roots)
    while (inner := nodes["asks"][at] != LEAF).any():
        now = at[inner]
        goes_left = row[nodes["asks"][now]] <= nodes["at"][now]
        at[inner] = np.where(goes_left, nodes["left"][now], nodes["right"][now])
    return float(2.0 ** (-math.fsum(nodes["length"][at].tolist()) / len(at) / forest.usual))


def _rarity(forest: Forest, value: float) -> float:
    """1: hardly a page of the crawl has so much; 0: most have."""
    below = int(np.searchsorted(np.array(forest.shares), value, side="left"))
    share = max(1.0 - below / (SHARES + 1), 1.0 / (SHARES + 1))
    return min(1.0, max(0.0, -math.log10(share) / RARE))


@lru_cache(maxsize=4)
def _table(packed: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b85decode(packed)), _NODE)
