"""The map of a hunt: its hosts, who links to whom, where findings are and which belong together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vedette.contracts.errors import InputError
from vedette.contracts.findings import HostMap, MapPlace, OddCard
from vedette.operations.finding_cards import found_together
from vedette.operations.hunt_graph import PLACES, GraphNode, hunt_graph
from vedette.operations.installation import Installation
from vedette.report.host_map import host_map_svg
from vedette.report.map_page import map_page
from vedette.report.map_picture import host_map_png

MOST_HOSTS, MOST_LINKS = 300, 3_000
_TEXTS = {".svg": host_map_svg, ".html": map_page}
_FORMS = (*_TEXTS, ".png")


def hunt_map(installation: Installation, *, hosts: int = MOST_HOSTS) -> HostMap:
    """Hosts with findings first, then those that most links lead to."""
    found = found_together(installation)
    graph = hunt_graph(installation, PLACES)
    cards: dict[str, list[OddCard]] = {}
    for card in found.cards:
        cards.setdefault(card.finding.place, []).append(card)
    wide = {one.number for one in found.clusters if len(one.places) > 1}
    nodes = sorted(graph.nodes(), key=lambda one: (-_best(cards.get(one.name, ())), -one.rank, one.name))
    places = tuple(_place(one, cards.get(one.name, ()), len(nodes), wide) for one in nodes[:hosts])
    at = {one.name: n for n, one in enumerate(places)}
    links = [(at[one], at[other]) for one, other in graph.links() if one in at and other in at]
    return HostMap(
        places=places,
        links=tuple(_most_telling(links, places)),
        clusters=found.clusters,
        left_out=max(0, len(nodes) - hosts),
    )


def map_file(shown: HostMap, name: str) -> bytes:
    """The map as a file of that name: .svg and .png stand still, .html can be asked."""
    form = check_map_name(name)
    return _TEXTS[form](shown).encode() if form in _TEXTS else host_map_png(shown)


def check_map_name(name: str) -> str:
    """Its ending; InputError where no map is written like that."""
    found = next((ending for ending in _FORMS if name.lower().endswith(ending)), "")
    if not found:
        raise InputError(f"{name}: a map is written as {', '.join(_FORMS[:-1])} or {_FORMS[-1]}")
    return found


def _best(cards: Sequence[OddCard]) -> float:
    return max((card.finding.score for card in cards), default=0.0)


def _place(node: GraphNode, cards: Sequence[OddCard], many: int, wide: set[int]) -> MapPlace:
    """`wide`: clusters of more than one host; the others are a dot like any other."""
    numbers = Counter(card.cluster for card in cards if card.cluster in wide)
    return MapPlace(
        name=node.name,
        rank=node.rank * many,
        score=_best(cards),
        cluster=min(numbers, key=lambda n: (-numbers[n], n)) if numbers else 0,
        cards=tuple(cards),
        links_in=node.links_in,
        links_out=node.links_out,
    )


def _most_telling(links: list[tuple[int, int]], places: Sequence[MapPlace]) -> list[tuple[int, int]]:
    """Of too many links those between findings, then those at one."""
    if len(links) <= MOST_LINKS:
        return sorted(links)

    def worth(link: tuple[int, int]) -> tuple[int, int, int]:
        ends = [places[link[0]], places[link[1]]]
        return -sum(one.score > 0 for one in ends), link[0] + link[1], link[0]

    return sorted(sorted(links, key=worth)[:MOST_LINKS])
