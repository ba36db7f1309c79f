"""Who links to whom, as arrays, with figures of each node: PageRank, component, reciprocity.

Links are rows of a sparse matrix (CSR): `targets[starts[n]:starts[n + 1]]` is what node n links to.  The order of nodes
is that of their ids, so the same links give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

VERSION = "link-graph-1"
DAMPING = 0.85
TOLERANCE = 1e-10  # of the sum of all changes in a round
ROUNDS = 200
_DIGEST = 32
_LAYOUT = (  # arrays of a packed graph, in order
    ("ids", "<i8"), ("starts", "<i8"), ("targets", "<i4"), ("rank", "<f8"), ("component", "<i4"),
    ("reciprocity", "<f8"), ("links_in", "<i4"),
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LinkGraph:
    ids: np.ndarray  # 64 bits, in order
    starts: np.ndarray
    targets: (
        np.ndarray
    )  # by position in `ids`, in order; no node links to itself, and each link is there once

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def sources(self) -> np.ndarray:
        """The node that each link comes from."""
        return np.repeat(np.arange(len(self.ids), dtype=np.int32), np.diff(self.starts))


@dataclass(frozen=True, slots=True, eq=False)
class NodeMetrics:
    """Of each node, by position."""

    rank: np.ndarray  # PageRank; adds up to 1
    component: np.ndarray  # the first node that it hangs together with, whichever way links go
    reciprocity: np.ndarray  # the share of links at this node that go both ways, 0 to 1
    links_in: np.ndarray


class DamagedGraphError(ValueError):
    """What was kept is not a whole graph of this version."""


def link_graph(nodes: np.ndarray, links: np.ndarray) -> LinkGraph:
    """`nodes`: ids.  `links`: rows of two ids; those that lead out of the nodes are left out."""
    ids = np.unique(nodes.astype(np.int64))
    pairs = links.astype(np.int64).reshape(-1, 2)
    if not len(ids) or not len(pairs):
        return LinkGraph(ids, np.zeros(len(ids) + 1, np.int64), np.zeros(0, np.int32))
    at = np.minimum(np.searchsorted(ids, pairs), len(ids) - 1)
    is_inside = (ids[at] == pairs).all(axis=1) & (at[:, 0] != at[:, 1])
    keys = np.sort(at[is_inside, 0] * len(ids) + at[is_inside, 1])
    keys = keys[np.diff(keys, prepend=-1) != 0]  # `np.unique` hashes, which takes ten times as long
    counts = np.bincount(keys // len(ids), minlength=len(ids))
    starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
    return LinkGraph(ids, starts, (keys % len(ids)).astype(np.int32))


def metrics_of(graph: LinkGraph) -> NodeMetrics:
    return NodeMetrics(
        rank=page_rank(graph),
        component=components(graph),
        reciprocity=reciprocity(graph),
        links_in=np.bincount(graph.targets, minlength=len(graph)).astype(np.int32),
    )


def page_rank(graph: LinkGraph, *, damping: float = DAMPING) -> np.ndarray:
    """Where a reader is who follows links, and now and then begins anywhere.  A node without links leads anywhere."""
    many = len(graph)
    if not many:
        return np.zeros(0)
    sources, out = graph.sources, np.diff(graph.starts)
    share = np.divide(1.0, out, out=np.zeros(many), where=out > 0)
    is_end = out == 0
    rank = np.full(many, 1.0 / many)
    for _ in range(ROUNDS):
        passed = np.bincount(graph.targets, weights=(rank * share)[sources], minlength=many)
        fresh = damping * (passed + rank[is_end].sum() / many) + (1.0 - damping) / many
        moved = float(np.abs(fresh - rank).sum())
        rank = fresh
        if moved < TOLERANCE:
            break
    return np.asarray(rank / rank.sum())


def components(graph: LinkGraph) -> np.ndarray:
    """For each node the first one that it hangs together with: labels are halved towards the smallest."""
    label = np.arange(len(graph), dtype=np.int32)
    one, other = graph.sources, graph.targets
    while len(one):
        first, second = label[one], label[other]
        apart = first != second
        if not apart.any():
            break
        one, other, first, second = one[apart], other[apart], first[apart], second[apart]
        np.minimum.at(label, np.maximum(first, second), np.minimum(first, second))
        while (shorter := label[label]).tobytes() != label.tobytes():
            label = shorter
    return label


def reciprocity(graph: LinkGraph) -> np.ndarray:
    """Of each node: links that go both ways, counted at both ends, among all at this node.  Without links: 0."""
    many = len(graph)
    is_both = _both_ways(graph)
    both = np.bincount(graph.sources[is_both], minlength=many)
    total = np.diff(graph.starts) + np.bincount(graph.targets, minlength=many)
    return np.asarray(np.divide(2.0 * both, total, out=np.zeros(many), where=total > 0))


def overall_reciprocity(graph: LinkGraph) -> float:
    """The share of all links that are answered."""
    return float(_both_ways(graph).mean()) if len(graph.targets) else 0.0


def pack_graph(graph: LinkGraph, metrics: NodeMetrics, made_of: Mapping[str, int]) -> bytes:
    """With a digest at its end.  `made_of`: what tells whether the graph is still that of the store."""
    arrays = {name: getattr(graph if hasattr(graph, name) else metrics, name) for name, _ in _LAYOUT}
    head = {"version": VERSION, "made_of": dict(made_of), "sizes": [len(arrays[name]) for name, _ in _LAYOUT]}
    parts = [json.dumps(head, sort_keys=True).encode() + b"\n"]
    parts += [np.ascontiguousarray(arrays[name], dtype=kind).tobytes() for name, kind in _LAYOUT]
    body = b"".join(parts)
    return body + hashlib.sha256(body).digest()


def unpack_graph(data: bytes) -> tuple[LinkGraph, NodeMetrics, dict[str, int]]:
    """DamagedGraphError: a byte is wrong or missing, or another version wrote it."""
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        raise DamagedGraphError("its digest does not match its bytes")
    line, _, rest = body.partition(b"\n")
    head = json.loads(line)
    if head["version"] != VERSION:
        raise DamagedGraphError(f"it is of version {head['version']}")
    arrays, at = {}, 0
    for (name, kind), size in zip(_LAYOUT, head["sizes"], strict=True):
        arrays[name] = np.frombuffer(rest, kind, size, at)
        at += arrays[name].nbytes
    graph = LinkGraph(arrays["ids"], arrays["starts"], arrays["targets"])
    measured = NodeMetrics(*(arrays[name] for name in ("rank", "component", "reciprocity", "links_in")))
    return graph, measured, head["made_of"]


def _both_ways(graph: LinkGraph) -> np.ndarray:
    """Of each link whether there is one back."""
    keys = graph.sources.astype(np.int64) * len(graph) + graph.targets
    back = graph.targets.astype(np.int64) * len(graph) + graph.sources
    if not len(keys):
        return np.zeros(0, bool)
    at = np.minimum(np.searchsorted(keys, back), len(keys) - 1)
    return np.asarray(keys[at] == back)
