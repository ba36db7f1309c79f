"""The links between what hunts looked at: pages or places, with PageRank, component and reciprocity of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vedette.contracts.errors import InputError
from vedette.contracts.sql_connection import SqlConnection
from vedette.core.findings.link_graph import (
    DamagedGraphError,
    LinkGraph,
    NodeMetrics,
    link_graph,
    metrics_of,
    overall_reciprocity,
    pack_graph,
    unpack_graph,
)
from vedette.core.oddness.figure_bytes import unpack_figures
from vedette.core.oddness.page_figures import place_key
from vedette.operations.installation import Installation
from vedette.store.finding_rows import GraphFiles, linked_pages, looked_at, page_links, place_links

PAGES, PLACES = "pages", "places"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GraphNode:
    name: str  # a URL, or a place
    rank: float  # PageRank; 1 in all
    links_in: int
    links_out: int
    reciprocity: float
    component: int  # nodes that hang together with it, itself included


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HuntGraph:
    kind: str  # pages or places
    graph: LinkGraph
    metrics: NodeMetrics
    names: dict[int, str]  # by id

    def nodes(self) -> Iterator[GraphNode]:
        """Those with the highest rank first."""
        out, sizes = np.diff(self.graph.starts), Counter(self.metrics.component.tolist())
        ids = self.graph.ids.tolist()
        for at in np.lexsort((self.graph.ids, -self.metrics.rank)).tolist():
            yield GraphNode(
                name=self.names.get(ids[at], ""),
                rank=float(self.metrics.rank[at]),
                links_in=int(self.metrics.links_in[at]),
                links_out=int(out[at]),
                reciprocity=float(self.metrics.reciprocity[at]),
                component=sizes[int(self.metrics.component[at])],
            )

    @property
    def components(self) -> int:
        return len(np.unique(self.metrics.component))

    @property
    def reciprocity(self) -> float:
        """The share of all links that are answered."""
        return overall_reciprocity(self.graph)

    def links(self) -> Iterator[tuple[str, str]]:
        """By name."""
        ids = self.graph.ids.tolist()
        for one, other in zip(self.graph.sources.tolist(), self.graph.targets.tolist(), strict=True):
            yield self.names[ids[one]], self.names[ids[other]]


def hunt_graph(installation: Installation, kind: str = PLACES) -> HuntGraph:
    """As it was kept; made again from the rows where it is out of date, damaged or not there."""
    if kind not in _MAKERS:
        raise InputError(f"a graph is of pages or of places, not of {kind}")
    with installation.reading() as db:
        made_of = looked_at(db)
        names = _names(db, kind)
        kept = _kept(installation, kind)
        if kept is not None and kept[2] == made_of:
            return HuntGraph(kind=kind, graph=kept[0], metrics=kept[1], names=names)
        graph = _MAKERS[kind](db, np.array(sorted(names), np.int64))
    metrics = metrics_of(graph)
    why = GraphFiles(installation.loaded.data).write(kind, pack_graph(graph, metrics, made_of))
    if why:
        installation.note(f"the graph was not kept ({why}); it is made again the next time")
    return HuntGraph(kind=kind, graph=graph, metrics=metrics, names=names)


def hunt_graph_json(found: HuntGraph, *, top: int) -> dict[str, object]:
    nodes = [node for _, node in zip(range(top), found.nodes(), strict=False)]
    return {
        "kind": found.kind,
        "nodes": len(found.graph),
        "links": len(found.graph.targets),
        "components": found.components,
        "reciprocity": found.reciprocity,
        "top": [
            {
                "name": one.name,
                "rank": one.rank,
                "links_in": one.links_in,
                "links_out": one.links_out,
                "reciprocity": one.reciprocity,
                "component": one.component,
            }
            for one in nodes
        ],
    }


def _kept(installation: Installation, kind: str) -> tuple[LinkGraph, NodeMetrics, dict[str, int]] | None:
    files = GraphFiles(installation.loaded.data)
    data = files.read(kind)
    if data is None:
        return None
    try:
        return unpack_graph(data)
    except DamagedGraphError as error:
        installation.note(
            f"{files.path(kind)} is damaged ({error}); the graph is made again from the database, nothing is lost"
        )
        return None


def _names(db: SqlConnection, kind: str) -> dict[int, str]:
    pages = linked_pages(db)
    if kind == PAGES:
        return {int(page.watch): page.url for page in pages}
    return {_place_id(place): place for place in sorted({page.place for page in pages})}


def _of_pages(db: SqlConnection, nodes: np.ndarray) -> LinkGraph:
    rows = [(watch, np.frombuffer(targets, "<i8")) for watch, targets in page_links(db)]
    return link_graph(nodes, _pairs(rows))


def _of_places(db: SqlConnection, nodes: np.ndarray) -> LinkGraph:
    rows = (
        (_place_id(place), np.frombuffer(unpack_figures(figures).out, np.uint64).view(np.int64))
        for place, figures in place_links(db)
    )
    return link_graph(nodes, _pairs([(place, targets) for place, targets in rows if len(targets)]))


_MAKERS: dict[str, Callable[[SqlConnection, np.ndarray], LinkGraph]] = {
    PAGES: _of_pages,
    PLACES: _of_places,
}


def _pairs(rows: Sequence[tuple[int, np.ndarray]]) -> np.ndarray:
    if not rows:
        return np.zeros((0, 2), np.int64)
    ones = np.repeat(np.array([one for one, _ in rows], np.int64), [len(targets) for _, targets in rows])
    return np.stack((ones, np.concatenate([targets for _, targets in rows])), axis=1)


def _place_id(place: str) -> int:
    """As 64 bits with a sign."""
    return int(np.uint64(place_key(place)).astype(np.int64))
