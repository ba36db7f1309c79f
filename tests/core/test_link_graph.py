"""Links as arrays: the figures of each node are those of networkx, and what was kept comes back byte by byte."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from networkx.algorithms.link_analysis.pagerank_alg import _pagerank_python

from vedette.core.findings.link_graph import (
    DamagedGraphError,
    components,
    link_graph,
    metrics_of,
    overall_reciprocity,
    pack_graph,
    unpack_graph,
)

Links = list[tuple[int, int]]


def both(many: int, links: Links) -> tuple[nx.DiGraph, object]:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(many))
    graph.add_edges_from((one, other) for one, other in links if one != other)
    return graph, link_graph(np.arange(many), np.array(links, np.int64).reshape(-1, 2))


def check(many: int, links: Links) -> None:
    theirs, ours = both(many, links)
    metrics = metrics_of(ours)
    ranks = _pagerank_python(theirs, tol=1e-13, max_iter=1000) if many else {}
    answered = nx.reciprocity(theirs, theirs.nodes)
    for node in range(many):
        assert metrics.rank[node] == pytest.approx(ranks[node], abs=1e-6)
        assert metrics.reciprocity[node] == pytest.approx(answered[node] or 0.0, abs=1e-6)
        assert metrics.links_in[node] == theirs.in_degree(node)
    for group in nx.weakly_connected_components(theirs):
        assert {int(metrics.component[node]) for node in group} == {min(group)}
    if theirs.number_of_edges():
        assert overall_reciprocity(ours) == pytest.approx(nx.overall_reciprocity(theirs), abs=1e-6)


@pytest.mark.parametrize("seed", [1])
def test_five_thousand_random_nodes_have_the_figures_of_networkx(seed):
    draw = np.random.default_rng(seed)
    links = np.stack((draw.integers(0, 5000, 15_000), draw.zipf(1.4, 15_000) * 31 % 5000), axis=1)
    links = links[(links[:, 0] % 5 != 0) & (links[:, 1] % 9 != 0)]  # some without links, some alone
    back = links[draw.random(len(links)) < 0.2][:, ::-1]
    check(5000, [(int(one), int(other)) for one, other in np.concatenate((links, back))])


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40))
def test_any_small_graph_has_the_figures_of_networkx(many, links):
    check(many, [(one % many, other % many) for one, other in links])


def test_a_long_chain_is_one_component_in_whatever_order_it_was_found():
    order = np.random.default_rng(3).permutation(20_000)
    chain = np.stack((order[:-1], order[1:]), axis=1)
    assert set(components(link_graph(np.arange(20_000), chain)).tolist()) == {0}


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=30), st.randoms())
def test_the_same_links_in_any_order_are_the_same_bytes_and_come_back(links, chance):
    nodes = np.arange(-5, 6)
    mixed = links * 2
    chance.shuffle(mixed)
    packed = []
    for some in (links, mixed):
        graph = link_graph(nodes, np.array(some, np.int64).reshape(-1, 2))
        packed.append(pack_graph(graph, metrics_of(graph), {"pages": 11}))
    assert packed[0] == packed[1]
    graph, metrics, made_of = unpack_graph(packed[0])
    assert made_of == {"pages": 11}
    assert pack_graph(graph, metrics, made_of) == packed[0]


def test_any_flipped_or_missing_byte_is_noticed():
    graph = link_graph(np.arange(4), np.array([(0, 1), (1, 0), (2, 3)]))
    packed = pack_graph(graph, metrics_of(graph), {})
    for at in range(len(packed)):
        bent = packed[:at] + bytes([packed[at] ^ 1]) + packed[at + 1 :]
        with pytest.raises(DamagedGraphError):
            unpack_graph(bent)
    for size in range(len(packed)):
        with pytest.raises(DamagedGraphError):
            unpack_graph(packed[:size])


def test_a_graph_of_nothing_has_no_figures():
    empty = link_graph(np.zeros(0, np.int64), np.zeros((0, 2), np.int64))
    assert len(metrics_of(empty).rank) == 0
    assert overall_reciprocity(empty) == 0.0
