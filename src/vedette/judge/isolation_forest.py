"""Grows an isolation forest over what hunts saw.  By scikit-learn, the extra `ml`, which is loaded only here."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.oddness import Forest
from vedette.core.oddness.isolation import LEAF, ForestNode, forest_of

MISSING = "scikit-learn, which grows the forest, is not installed: pip install 'vedette[ml]'"
SEED = 4  # of what is drawn: the same pages give the same forest
TREES, SAMPLES = 100, 256  # as in the paper of Liu, Ting and Zhou (2008)


def grow_forest(rows: Sequence[Sequence[float]]) -> Forest:
    """`rows`: for each page the values of the features that a forest asks for, in their order."""
    ensemble, library = _library()
    given = np.array(rows, np.float32)
    samples = min(SAMPLES, len(given))
    model = ensemble.IsolationForest(n_estimators=TREES, max_samples=samples, random_state=SEED, n_jobs=1)
    model.fit(given)
    roots: list[int] = []
    nodes: list[ForestNode] = []
    for tree in model.estimators_:
        roots.append(len(nodes))
        nodes += _nodes(tree.tree_, len(nodes))
    return forest_of(roots, nodes, given, usual=average_length(samples), by=f"scikit-learn {library}")


def average_length(pages: int) -> float:
    """Questions that tell one of so many pages from all others, on average."""
    if pages <= 2:
        return float(max(0, pages - 1))
    return float(2.0 * (np.log(pages - 1.0) + np.euler_gamma) - 2.0 * (pages - 1.0) / pages)


def _nodes(tree: Any, first: int) -> Iterator[ForestNode]:
    """Of one tree, as they stand in the table from `first` on."""
    depth = [0] * tree.node_count
    for at in range(tree.node_count):
        left, right = int(tree.children_left[at]), int(tree.children_right[at])
        if left == right:  # a leaf
            yield ForestNode(LEAF, 0.0, 0, 0, depth[at] + average_length(int(tree.n_node_samples[at])))
            continue
        depth[left] = depth[right] = depth[at] + 1
        yield ForestNode(int(tree.feature[at]), float(tree.threshold[at]), first + left, first + right, 0.0)


def _library() -> tuple[Any, str]:
    try:
        return importlib.import_module("sklearn.ensemble"), str(
            importlib.import_module("sklearn").__version__
        )
    except ImportError:
        raise InputError(MISSING) from None
