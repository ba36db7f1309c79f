"""A map of hosts as SVG: findings glow, clusters are shores around them, ordinary hosts are small.  No script.

The same map gives the same bytes.  Light and dark are two sets of the same colours; whoever shows it decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from vedette.contracts.findings import HostMap, MapPlace
from vedette.core.findings.map_layout import (
    HEIGHT,
    WIDTH,
    Label,
    LabelWish,
    MapLinks,
    labels_for,
    layout,
    node_box,
)
from vedette.report.plain import plain

HUES = 8  # clusters have colours c1 to c8, then from the beginning
MOST_LABELS, LONGEST = 90, 30
_MONO, _SERIF = (
    0.615,
    0.56,
)  # width of a letter, of the size of the type: the widest of the fonts that are named
_SIZE, _TITLE = 10.5, 15.0
ARC = 12  # straight parts of a curve
Spot = tuple[float, float, float]  # x, y and radius
STYLE = (files("vedette.report") / "assets" / "svg.css").read_text(encoding="utf-8")


class Drawn(NamedTuple):
    """A map with everything in its place."""

    shown: HostMap
    spots: tuple[tuple[float, float, float], ...]  # x, y and radius of each host
    labels: tuple[Label, ...]


def drawn(shown: HostMap) -> Drawn:
    """Where everything stands."""
    radii = np.array([radius_of(one) for one in shown.places])
    pairs = np.array(sorted({(min(link), max(link)) for link in shown.links}), np.int64).reshape(-1, 2)
    links = MapLinks(pairs[:, 0], pairs[:, 1], len(shown.places))
    places = layout(links, [one.cluster for one in shown.places], radii)
    spots = tuple((x, y, r) for (x, y), r in zip(places.tolist(), radii.tolist(), strict=True))
    boxes = [node_box(x, y, r + 1) for x, y, r in spots]
    return Drawn(shown, spots, tuple(labels_for(list(_wishes(shown, spots)), boxes)))


def host_map_svg(shown: HostMap) -> str:
    """A picture that stands by itself."""
    body = map_body(drawn(shown))
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def map_body(given: Drawn, *, is_asked: bool = False) -> str:
    """The `svg` element.  `is_asked`: its hosts can be chosen, for a page with a script."""
    shown = given.shown
    many = sum(one.score > 0 for one in shown.places)
    title = f"Map of a hunt: {len(shown.places)} hosts, {many} with findings, {len(shown.links)} links"
    style = "" if is_asked else f"<style>{STYLE}</style>"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="hunt-map" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" '
        f'aria-label="{escape(title)}">{style}<title>{escape(title)}</title>',
        f'<rect class="sea" width="{WIDTH:g}" height="{HEIGHT:g}"/>',
        *_shores(given),
        *_links(given),
        *_hosts(given, is_asked=is_asked),
        *_names(given),
        "</svg>",
    ]
    return "\n".join(parts)


def radius_of(place: MapPlace) -> float:
    """Pixels: by the oddest finding; of a host without one by its links."""
    if place.score:
        return round(5.5 + 7.5 * max(0.0, min(1.0, (place.score - 35.0) / 45.0)), 1)
    return round(min(4.5, 1.6 + 0.7 * math.sqrt(place.rank)), 1)


def hue_of(cluster: int) -> int:
    return 1 + (cluster - 1) % HUES if cluster else 0


def _shores(given: Drawn) -> Iterable[str]:
    for cluster in given.shown.clusters:
        members = [
            spot
            for spot, place in zip(given.spots, given.shown.places, strict=True)
            if place.cluster == cluster.number
        ]
        if len(members) < 2:
            continue
        rings = "".join(f'<circle cx="{x:g}" cy="{y:g}" r="{r + 15:g}"/>' for x, y, r in members)
        ways = "".join(f"M{x:g} {y:g}L{u:g} {v:g}" for (x, y, _), (u, v, _) in tree(members))
        yield f'<g class="shore c{hue_of(cluster.number)}"><path d="{ways}"/>{rings}</g>'


def tree(members: Sequence[tuple[float, float, float]]) -> Iterable[tuple[tuple[float, float, float], ...]]:
    """Each member joined to the nearest one before it: a shore without holes."""
    for n, one in enumerate(members[1:], start=1):
        yield one, min(members[:n], key=lambda other: (other[0] - one[0]) ** 2 + (other[1] - one[1]) ** 2)


def _links(given: Drawn) -> Iterable[str]:
    for kind, ways in link_kinds(given).items():
        arcs = "".join(_arc(given.spots[one], given.spots[other]) for one, other in ways)
        yield f'<path class="{kind}" d="{arcs}"/>'


def link_kinds(given: Drawn) -> dict[str, list[tuple[int, int]]]:
    """Three weights: between members of a cluster, between findings, and all others; the faintest first."""
    places = given.shown.places
    ways: dict[str, list[tuple[int, int]]] = {}
    for one, other in sorted({(min(link), max(link)) for link in given.shown.links}):
        first, second = places[one], places[other]
        if first.cluster and first.cluster == second.cluster:
            kind = f"tie c{hue_of(first.cluster)}"
        else:
            kind = "thread" if first.score and second.score else "faint"
        ways.setdefault(kind, []).append((one, other))
    order = sorted(ways, key=lambda kind: (not kind.startswith("faint"), not kind.startswith("thread"), kind))
    return {kind: ways[kind] for kind in order}


def _bend(one: Spot, other: Spot) -> tuple[float, float]:
    (x, y, _), (u, v, _) = one, other
    return (x + u) / 2 + (v - y) * 0.08, (y + v) / 2 - (u - x) * 0.08


def _arc(one: Spot, other: Spot) -> str:
    (x, y, _), (u, v, _), (bend_x, bend_y) = one, other, _bend(one, other)
    return f"M{x:.0f} {y:.0f}Q{bend_x:.0f} {bend_y:.0f} {u:.0f} {v:.0f}"


def arc_points(one: Spot, other: Spot) -> list[tuple[float, float]]:
    """The same curve as a few points."""
    (x, y, _), (u, v, _), (p, q) = one, other, _bend(one, other)
    steps = [step / ARC for step in range(ARC + 1)]
    return [
        (
            (1 - t) ** 2 * x + 2 * t * (1 - t) * p + t * t * u,
            (1 - t) ** 2 * y + 2 * t * (1 - t) * q + t * t * v,
        )
        for t in steps
    ]


def _hosts(given: Drawn, *, is_asked: bool) -> Iterable[str]:
    order = sorted(range(len(given.spots)), key=lambda n: (given.shown.places[n].score, n))
    for n in order:
        (x, y, r), place = given.spots[n], given.shown.places[n]
        words = escape(host_words(place))
        asked = (
            f' data-n="{n}" tabindex="0" role="button" aria-label="{words}"'
            if is_asked and place.score
            else ""
        )
        asked = asked or (f' data-n="{n}"' if is_asked else "")
        hue = f"c{hue_of(place.cluster)}"
        glow = f'<circle class="glow {hue}" cx="{x:g}" cy="{y:g}" r="{r * 1.7:.1f}"/>' if place.score else ""
        kind = f"find {hue}" if place.score else "dust"
        tip = "" if is_asked else f"<title>{words}</title>"
        yield f'{glow}<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="{r:g}"{asked}>{tip}</circle>'


def host_words(place: MapPlace) -> str:
    """One line about a host."""
    if not place.cards:
        return f"{plain(place.name, 80)}: nothing odd was found"
    many = f"{len(place.cards)} findings" if len(place.cards) > 1 else "1 finding"
    return f"{plain(place.name, 80)}: {many}, the oddest has {place.score:.0f} points"


def _wishes(shown: HostMap, spots: Sequence[tuple[float, float, float]]) -> Iterable[LabelWish]:
    """Names of clusters first, then hosts with findings, then those that most links lead to."""
    for cluster in shown.clusters:
        members = [spots[n] for n, one in enumerate(shown.places) if one.cluster == cluster.number]
        name = cluster_name(cluster.words)
        if len(members) >= 2 and name:
            top = min(members, key=lambda spot: spot[1])
            middle = sum(spot[0] for spot in members) / len(members)
            yield LabelWish(-cluster.number, middle, top[1], 22.0, len(name) * _TITLE * _SERIF, _TITLE * 1.25)
    ranked = sorted(range(len(spots)), key=lambda n: (-shown.places[n].score, -shown.places[n].rank, n))
    for n in ranked[:MOST_LABELS]:
        x, y, r = spots[n]
        width = len(short_name(shown.places[n].name)) * _SIZE * _MONO
        yield LabelWish(n, x, y, r, width, _SIZE * 1.3)


def _names(given: Drawn) -> Iterable[str]:
    words = {cluster.number: cluster_name(cluster.words) for cluster in given.shown.clusters}
    for node, x, y in given.labels:
        if node < 0:
            yield f'<text class="name c{hue_of(-node)}" x="{x:g}" y="{y:g}">{escape(words[-node])}</text>'
        else:
            place = given.shown.places[node]
            kind = "" if place.score else ' class="quiet"'
            yield f'<text{kind} x="{x:g}" y="{y:g}">{escape(short_name(place.name))}</text>'


def cluster_name(words: Sequence[str]) -> str:
    return plain(" · ".join(words[:3]), 44)


def short_name(name: str) -> str:
    return plain(name, LONGEST)
