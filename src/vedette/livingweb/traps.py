"""Sites without an end.  Each trap answers every target below its entry with more targets of its own.

A trap host is crawl-only: its front page links the real pages and the entry of the trap.
"""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from urllib.parse import parse_qsl, urlencode

from vedette.livingweb.chance import Chance

Links = list[tuple[str, str]]  # href, text
_COLOURS = ("crvena", "plava", "zelena", "žuta")
_FACETS = {
    "boja": _COLOURS,
    "velicina": ("s", "m", "l", "xl"),
    "sort": ("cijena", "naziv", "novo"),
    "str": "123456789",
}


def trap_links(trap: str, target: str, chance: Chance) -> Links | None:
    """The links behind this target, or None when the trap does not reach there."""
    entry, make = TRAPS[trap]
    return make(target, chance) if target.startswith(entry) else None


def trap_entry(trap: str) -> str:
    return TRAPS[trap][0]


def trap_body(target: str, links: Links) -> str:
    """The inside of a page of the trap."""
    rows = "".join(f'<li><a href="{escape(href)}">{escape(text)}</a></li>' for href, text in links)
    return f"<p>{escape(target)}</p><ul>{rows}</ul>"


def _calendar(target: str, chance: Chance) -> Links:
    """Months for ever, in both directions, and every day a page."""
    parts = [int(part) for part in target.split("/") if part.isdecimal()]
    year, month = (parts[0], parts[1]) if len(parts) >= 2 else (2026, 1)
    after, before = divmod(year * 12 + month, 12), divmod(year * 12 + month - 2, 12)
    links = [(f"/kalendar/{y}/{m + 1}", f"{m + 1}. {y}.") for y, m in (before, after)]
    return links + [(f"/kalendar/{year}/{month}/{day}", f"{day}. {month}. {year}.") for day in range(1, 29)]


def _facets(target: str, chance: Chance) -> Links:
    """Every filter can be set to every value, in the order in which it was clicked."""
    chosen = dict(parse_qsl(target.partition("?")[2]))
    links = []
    for name, values in _FACETS.items():
        rest = {key: value for key, value in chosen.items() if key != name}
        links += [(f"/katalog?{urlencode(rest | {name: value})}", f"{name}: {value}") for value in values]
    return links


def _session_path(target: str, chance: Chance) -> Links:
    """Every link carries a session id of its own, in the path."""
    return [(f"/s/{chance.text(32)}/stranica/{number}", f"Stranica {number}") for number in range(1, 9)]


def _session_query(target: str, chance: Chance) -> Links:
    """Every link carries a session id of its own, under a name that no list of trackers has."""
    return [(f"/trgovina/{number}?posjet={chance.text(24)}", f"Artikl {number}") for number in range(1, 9)]


def _nesting(target: str, chance: Chance) -> Links:
    """A relative link that lands one level deeper each time."""
    return [("dalje/", "dalje"), ("arhiva/", "arhiva"), ("../", "natrag")]


def _endless_pager(target: str, chance: Chance) -> Links:
    """There is always a next page, and it is always empty."""
    number = target.partition("page=")[2]
    return [(f"/pretraga?page={(int(number) if number.isdecimal() else 1) + 1}", "Sljedeća")]


TRAPS: dict[str, tuple[str, Callable[[str, Chance], Links]]] = {  # name -> entry, maker
    "calendar": ("/kalendar", _calendar),
    "facets": ("/katalog", _facets),
    "session_path": ("/s/", _session_path),
    "session_query": ("/trgovina", _session_query),
    "nesting": ("/mapa/", _nesting),
    "endless_pager": ("/pretraga", _endless_pager),
}
