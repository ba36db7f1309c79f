"""Which findings belong together: by links between them, by their places, by what they say.

Findings are nodes of a weighted graph, and communities of it are found by moving nodes to where they gain most
modularity (Louvain), always in the same order: the same findings give the same clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

LINK, BACK, SAME_PLACE, PLACES = (
    1.0,
    0.5,
    1.0,
    0.4,
)  # a link, one that is answered, one place, places that link
NEAR, ALIKE = 0.55, 1.0  # cosine from which texts count as near, and what equal ones are worth
NEIGHBOURS = 8  # nearest texts of each that count
RESOLUTION = 1.0
_ROUNDS = 20
Weights = list[dict[int, float]]  # of each node, by neighbour; both ways


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClusterInput:
    """Findings by position, and what holds them together."""

    places: Sequence[str]
    links: Sequence[tuple[int, int]]  # between findings
    place_links: frozenset[tuple[str, str]]  # between their places
    vectors: np.ndarray  # one row each, of length 1 or 0


def clusters_of(given: ClusterInput) -> list[tuple[int, ...]]:
    """Groups of at least two, the largest first.  A finding that nothing holds to another is in none."""
    labels = communities(affinities(given))
    groups: dict[int, list[int]] = {}
    for node, label in enumerate(labels):
        groups.setdefault(label, []).append(node)
    found = [tuple(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group))


def affinities(given: ClusterInput) -> Weights:
    """How strongly each pair of findings belongs together."""
    weights: Weights = [{} for _ in given.places]
    seen: set[tuple[int, int]] = set()
    for one, other in given.links:
        if one != other and (one, other) not in seen:
            seen.add((one, other))
            _add(weights, one, other, BACK if (other, one) in seen else LINK)
    _add_places(weights, given)
    _add_alike(weights, given.vectors)
    return weights


def communities(weights: Weights) -> list[int]:
    """A label for each node: the first node of its community."""
    groups = [[node] for node in range(len(weights))]
    level = [dict(row) for row in weights]
    own = [0.0] * len(level)  # weight inside a merged node, counted at both ends
    while True:
        labels, has_moved = _moved(level, own)
        if not has_moved:
            break
        names = sorted(set(labels))
        at = {name: n for n, name in enumerate(names)}
        groups, level, own = _merged([at[label] for label in labels], len(names), groups, (level, own))
    found = [0] * len(weights)
    for group in groups:
        for node in group:
            found[node] = min(group)
    return found


def shared_words(texts: Sequence[frozenset[str]], group: Sequence[int], *, most: int = 6) -> tuple[str, ...]:
    """Words that most of a group have and few others do, the most telling first."""
    inside, outside = [texts[n] for n in group], len(texts) - len(group)
    counts: dict[str, int] = {}
    for words in inside:
        for word in words:
            counts[word] = counts.get(word, 0) + 1
    least = max(2, -(-2 * len(group) // 5))
    common = [word for word, count in counts.items() if count >= least]
    members = set(group)
    others = [words for n, words in enumerate(texts) if n not in members]
    scored = (
        (counts[word] / len(inside) - sum(word in words for words in others) / max(1, outside), word)
        for word in common
    )
    ranked = sorted((-score, word) for score, word in scored if score > 0.2)
    return tuple(word for _, word in ranked[:most])


def _add(weights: Weights, one: int, other: int, weight: float) -> None:
    weights[one][other] = weights[one].get(other, 0.0) + weight
    weights[other][one] = weights[other].get(one, 0.0) + weight


def _add_places(weights: Weights, given: ClusterInput) -> None:
    """Pages of one place, and of places that link to each other; of many pages each counts less."""
    by_place: dict[str, list[int]] = {}
    for node, place in enumerate(given.places):
        by_place.setdefault(place, []).append(node)
    for nodes in by_place.values():
        for n, one in enumerate(nodes):
            for other in nodes[n + 1 :]:
                _add(weights, one, other, SAME_PLACE)
    for one_place, other_place in sorted(given.place_links):
        if one_place >= other_place or one_place not in by_place or other_place not in by_place:
            continue  # only where it is answered, and once
        if (other_place, one_place) in given.place_links:
            for one in by_place[one_place]:
                for other in by_place[other_place]:
                    _add(weights, one, other, PLACES)


def _add_alike(weights: Weights, vectors: np.ndarray) -> None:
    """Texts that share wording: the nearest of each, where they are near."""
    if len(vectors) < 2:
        return
    cosines = np.einsum("ik,jk->ij", vectors, vectors)  # no BLAS: the same bits on every machine
    np.fill_diagonal(cosines, -1.0)
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :NEIGHBOURS]
    pairs = {(min(n, m), max(n, m)) for n, row in enumerate(order.tolist()) for m in row}
    for one, other in sorted(pairs):
        cosine = float(cosines[one, other])
        if cosine > NEAR:
            _add(weights, one, other, ALIKE * (cosine - NEAR) / (1.0 - NEAR))


def _moved(level: Weights, own: Sequence[float]) -> tuple[list[int], bool]:
    """Each node goes to the neighbouring community that it gains most by."""
    degrees = [sum(row.values()) + inside for row, inside in zip(level, own, strict=True)]
    total = sum(degrees)
    labels, sums = list(range(len(level))), list(degrees)
    if not total:
        return labels, False
    has_moved = False
    for _ in range(_ROUNDS):
        is_still = True
        for node, row in enumerate(level):
            before = labels[node]
            sums[before] -= degrees[node]
            best = _best(labels, sums, (row, degrees[node] / total, before))
            sums[best] += degrees[node]
            if best != before:
                labels[node], is_still, has_moved = best, False, True
        if is_still:
            break
    return labels, has_moved


def _best(labels: Sequence[int], sums: Sequence[float], node: tuple[Mapping[int, float], float, int]) -> int:
    row, share, before = node
    pulls: dict[int, float] = {before: 0.0}
    for other, weight in row.items():
        pulls[labels[other]] = pulls.get(labels[other], 0.0) + weight
    gains = {label: pull - RESOLUTION * sums[label] * share for label, pull in pulls.items()}
    best, stays = max(gains.values()), gains[before]
    if best <= stays + 1e-12:
        return before
    return min(label for label, gain in gains.items() if gain >= best - 1e-12)


def _merged(
    labels: Sequence[int], many: int, groups: Sequence[list[int]], given: tuple[Weights, Sequence[float]]
) -> tuple[list[list[int]], Weights, list[float]]:
    """Communities become the nodes of the next level."""
    level, own = given
    joined: list[list[int]] = [[] for _ in range(many)]
    fresh: Weights = [{} for _ in range(many)]
    inside = [0.0] * many
    for node, row in enumerate(level):
        label = labels[node]
        joined[label] += groups[node]
        inside[label] += own[node]
        for other, weight in row.items():
            there = labels[other]
            if there == label:
                inside[label] += weight
            else:
                fresh[label][there] = fresh[label].get(there, 0.0) + weight
    return joined, fresh, inside
