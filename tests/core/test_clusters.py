"""Findings that belong together: planted groups are found, and the order in which findings come does not matter."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_kit import adjusted_rand, labels

from vedette.core.findings.clusters import ClusterInput, clusters_of, communities, shared_words


def planted(seed: int) -> tuple[ClusterInput, list[object]]:
    """Rings of eight pages on three hosts, one page in five alone, and now and then a link across."""
    draw = Random(seed)
    truth: list[object] = [n // 8 for n in range(64)] + [f"alone {n}" for n in range(16)]
    places = [f"h{n // 8}-{n % 3}.example" if n < 64 else f"solo{n}.example" for n in range(80)]
    links = [
        (n, m) for n in range(64) for m in range(64) if n != m and n // 8 == m // 8 and draw.random() < 0.25
    ]
    links += [(draw.randrange(80), draw.randrange(80)) for _ in range(10)]
    vectors = np.random.default_rng(seed).normal(size=(80, 64))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return ClusterInput(places=places, links=links, place_links=frozenset(), vectors=vectors), truth


@pytest.mark.parametrize("seed", range(5))
def test_planted_rings_are_found(seed):
    given, truth = planted(seed)
    assert adjusted_rand(truth, labels(clusters_of(given), 80)) >= 0.75


def test_texts_that_say_the_same_belong_together_without_any_link():
    one, other = np.eye(8)[0], np.eye(8)[1]
    given = ClusterInput(
        places=[f"h{n}.example" for n in range(6)], links=[], place_links=frozenset(),
        vectors=np.stack([one, one, one, other, other, np.eye(8)[2]]),
    )  # fmt: skip
    assert clusters_of(given) == [(0, 1, 2), (3, 4)]


def test_what_nothing_holds_together_is_no_cluster():
    given = ClusterInput(places=["a", "b"], links=[], place_links=frozenset(), vectors=np.eye(2))
    assert clusters_of(given) == []
    assert (
        clusters_of(ClusterInput(places=[], links=[], place_links=frozenset(), vectors=np.zeros((0, 1))))
        == []
    )


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.floats(0.1, 3)), max_size=30))
def test_every_node_has_one_community_named_by_its_first_and_links_reach_into_it(pairs):
    weights: list[dict[int, float]] = [{} for _ in range(10)]
    for one, other, weight in pairs:
        if one != other:
            weights[one][other] = weights[other][one] = weight
    found = communities(weights)
    assert found == communities([dict(row) for row in weights])
    for node, label in enumerate(found):
        assert found[label] == label <= node
        assert label == node or any(found[other] == label for other in weights[node])


def test_shared_words_are_those_that_others_do_not_have():
    texts = [frozenset("moth radio the".split())] * 3 + [frozenset("rent the".split())] * 5
    assert shared_words(texts, [0, 1, 2]) == ("moth", "radio")
