"""The map of a hunt as one page that can be asked: a host chosen shows its cards.  It asks nobody for anything.

Script and style stand in the page and are named by their digests in its policy, so nothing else runs.  Whatever comes
from the web is data: the script writes it as text.
"""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import Any

from vedette.contracts.findings import FindingCluster, HostMap, MapPlace, OddCard
from vedette.report.host_map import STYLE, Drawn, drawn, hue_of, map_body
from vedette.report.plain import plain

MOST_CARDS = 6  # of one host


def map_page(shown: HostMap) -> str:
    """One file, for a browser."""
    style, script = STYLE + _asset("map.css"), _asset("map.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    given = drawn(shown)
    data = json.dumps(_data(given), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    finds = sum(one.score > 0 for one in shown.places)
    lead = f"{len(shown.places)} hosts, {finds} with findings, {len(shown.links):,} links."
    left = f" {shown.left_out:,} more hosts are not shown." if shown.left_out else ""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Map of a hunt</title>
<style>{style}</style>
</head>
<body>
<header><h1>Map of a hunt</h1>
<p>{lead}{left} Drag to move, scroll or pinch to come nearer, choose a dot to read.</p></header>
<div id="chart">{map_body(given, is_asked=True)}
<div class="tools"><button id="nearer" aria-label="Nearer">+</button>
<button id="farther" aria-label="Farther">&minus;</button><button id="whole">All</button></div>
<p id="tip" hidden></p></div>
<aside id="side" aria-live="polite">{_side(shown)}</aside>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def _side(shown: HostMap) -> str:
    """What stands beside the map before anything is chosen; all there is without a script."""
    if not any(one.score for one in shown.places):
        return "<h2>Nothing odd was found</h2><p>The hunt has looked, and nothing was odd enough to keep.</p>"
    best = sorted(
        ((n, one) for n, one in enumerate(shown.places) if one.score),
        key=lambda item: (-item[1].score, item[0]),
    )
    rows = "".join(
        f'<li><button data-n="{n}"><span class="dot c{hue_of(one.cluster)}"></span>'
        f"<span>{escape(plain(one.name, 60))}</span><b>{one.score:.0f}</b></button></li>"
        for n, one in best[:40]
    )
    groups = "".join(f"<li>{_group(one)}</li>" for one in shown.clusters if len(one.places) > 1)
    near = f'<h2>Neighbourhoods</h2><ol class="groups">{groups}</ol>' if groups else ""
    return f'<h2>Oddest hosts</h2><ol class="hosts">{rows}</ol>{near}'


def _group(one: FindingCluster) -> str:
    return f'<span class="dot c{hue_of(one.number)}"></span><p>{escape(plain(one.brief, 600))}</p>'


def _data(given: Drawn) -> dict[str, Any]:
    return {
        "places": [_place(one) for one in given.shown.places],
        "spots": [list(spot) for spot in given.spots],
        "links": [list(link) for link in given.shown.links],
    }


def _place(one: MapPlace) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": plain(one.name, 120), "in": one.links_in, "out": one.links_out}
    if one.cards:
        shown |= {
            "score": round(one.score),
            "hue": hue_of(one.cluster),
            "cards": [_card(card) for card in one.cards[:MOST_CARDS]],
            "more": max(0, len(one.cards) - MOST_CARDS),
        }
    return shown


def _card(card: OddCard) -> dict[str, Any]:
    finding, said = card.finding, card.report
    return {
        "url": finding.url,
        "title": plain(card.title or finding.url, 120),
        "score": round(finding.score, 1),
        "by": plain(said.author, 60),
        "summary": plain(said.summary, 400),
        "danger": plain(said.danger, 200),
        "why": [
            [plain(one.words, 200), plain(one.quote.text, 240), round(one.points, 1)] for one in said.why
        ],
    }


def _asset(name: str) -> str:
    return (files("vedette.report") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """As a content security policy names what stands inline."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
