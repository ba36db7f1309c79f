"""What hunts found, seen together: the graph of links, clusters, the map."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.operations.finding_cards import cluster_json, found_together
from vedette.operations.hunt_graph import PAGES, PLACES, HuntGraph, hunt_graph, hunt_graph_json
from vedette.operations.hunt_map import check_map_name, hunt_map, map_file
from vedette.report.plain import count
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, verb

MEMBER = ("SCORE", "URL")
MEMBERS = 8  # findings of a cluster that are listed
NODES = ("RANK", "NAME", "LINKS IN", "OUT", "ANSWERED", "COMPONENT")
MEMBERS = 8  # findings of a cluster that are listed
TopOption = Annotated[int, typer.Option("--top", min=1, metavar="N", help="Rows that are listed.")]


def register(app: typer.Typer) -> None:
    verb(app, "map", example="vedette hunt map --out map.html")(map_)
    verb(app, "clusters", example="vedette hunt clusters")(clusters)
    verb(app, "graph", example="vedette hunt graph --pages --top 20")(graph)


def graph(
    session: Session,
    pages: Annotated[bool, typer.Option("--pages", help="Links between pages, not places.")] = False,
    top: TopOption = 10,
) -> None:
    """Who links to whom: PageRank, links, what hangs together.

    The graph is kept beside the store and made again when hunts have looked further, or when its file is damaged.
    """
    found = hunt_graph(session.installation, PAGES if pages else PLACES)
    if session.given.as_json:
        session.out.document(hunt_graph_json(found, top=top))
        return
    _say_graph(session, found, top)


def clusters(session: Session, limit: LimitOption = 20) -> None:
    """Findings that belong together, each cluster with a brief.

    By links between them, by their places, and by words that they share.  Nothing is fetched and no model is asked.
    """
    found = found_together(session.installation)
    shown = found.clusters[: limit or None]
    if session.given.as_json:
        session.out.document([cluster_json(one) for one in shown])
        return
    alone = len(found.findings) - sum(len(one.findings) for one in found.clusters)
    if found.clusters:
        session.out.say(f"{count(len(found.clusters), 'cluster')}, {count(alone, 'finding')} beside them")
    for one in shown:
        rows = [(f"{finding.score:.0f}", finding.url) for finding in one.findings[:MEMBERS]]
        more = len(one.findings) - len(rows)
        session.out.say(f"{one.number}. {one.brief}")
        session.out.table(MEMBER, [*rows, ("", f"and {more} more")] if more else rows, empty="")
    if not found.clusters:
        session.out.say("no findings belong together yet; `vedette hunt findings` lists what was found")


def map_(
    session: Session,
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="FILE.svg or .png, or FILE.html to ask it.")
    ],
    hosts: Annotated[
        int, typer.Option("--hosts", min=1, max=300, metavar="N", help="At most so many.")
    ] = 300,
) -> None:
    """Draw a map of the hosts that hunts looked at: findings, neighbourhoods, links.

    An SVG or PNG stands still; an HTML file shows the cards of a host that is chosen.  Both ask nobody for anything.
    """
    check_map_name(out.name)
    shown = hunt_map(session.installation, hosts=hosts)
    if not shown.places:
        raise InputError("nothing was hunted yet, so there is no map; type: vedette hunt seed URL")
    content = map_file(shown, out.name)
    out.write_bytes(content)
    many = sum(one.score > 0 for one in shown.places)
    body = {
        "file": str(out), "bytes": len(content), "hosts": len(shown.places), "with_findings": many,
        "links": len(shown.links), "left_out": shown.left_out,
    }  # fmt: skip
    session.out.answer(
        f"{out}: {count(len(shown.places), 'host')}, {many} with findings, {count(len(shown.links), 'link')}",
        body,
    )


def _say_graph(session: Session, found: HuntGraph, top: int) -> None:
    many = len(found.graph)
    if many:
        session.out.say(
            f"{many:,} {found.kind}, {count(len(found.graph.targets), 'link')}, {found.reciprocity:.0%} of them "
            f"answered; {count(found.components, 'component')}"
        )
    rows = [
        (f"{one.rank * many:.1f}", one.name, str(one.links_in), str(one.links_out), f"{one.reciprocity:.0%}",
         f"{one.component:,}")
        for one in islice(found.nodes(), top)
    ]  # fmt: skip
    session.out.table(NODES, rows, empty="nothing was hunted yet; type: vedette hunt seed URL")
