"""What varies on a target by itself, for people: what is not reported, and why."""

from __future__ import annotations

from collections.abc import Iterator

from vedette.contracts.change import Noise, Presence, Template
from vedette.report.lines import Line, line, quoted

MOST = 12  # of each sort; a page may have hundreds


def noise_lines(noise: Noise) -> list[Line]:
    """One line for each thing that varies; the rest is counted."""
    told = [(f"{words:<22}", where, more) for words, where, more in _facts(noise)]
    return [
        line(
            ("dim", "  varies    "), words, quoted(where, limit=90), *(("  ", ("dim", more)) if more else ())
        )
        for words, where, more in told
    ]


def noise_json(noise: Noise) -> dict[str, object]:
    return {
        "lines": [
            {
                "place": x.place,
                "text": x.text or None,
                "share": _share(x.presence),
                "is_there": x.presence.is_there,
            }
            for x in noise.lines
        ],
        "templates": [
            {"place": x.place, "words": _words(x), "values": list(x.kinds)}
            for x in noise.templates
            if not x.rises
        ],
        "places": [{"path": x.path, "drawn": x.leaves, "stayed": x.stays} for x in noise.places],
        "orders": list(noise.orders),
        "not_compared": list(noise.wild),
        "confirmed": noise.agreed,
        "refuted": noise.refuted,
    }


def _facts(noise: Noise) -> Iterator[tuple[str, str, str]]:
    templates = [one for one in noise.templates if not one.rises]
    for template in templates[:MOST]:
        yield "values in a line", _words(template), ", ".join(template.kinds)
    recurring = [one for one in noise.lines if one.text]
    for one in recurring[:MOST]:
        yield "a line comes and goes", one.text, f"there in {_share(one.presence):.0%} of looks"
    for place in noise.places[:MOST]:
        yield "texts are drawn", place.path, f"{place.leaves} came and went"
    for path in noise.orders[:MOST]:
        yield "in any order", path or "the whole page", ""
    for path in noise.wild[:MOST]:
        yield "not compared", path, "too many texts are drawn there"
    left = sum(max(0, len(x) - MOST) for x in (templates, recurring, noise.places, noise.orders, noise.wild))
    if left:
        yield "and more", f"{left} others", "--json shows all"


def _words(template: Template) -> str:
    """The steady words as far as they are kept, with dots where values stand."""
    return " … ".join(head.strip() for head in template.heads).strip()


def _share(presence: Presence) -> float:
    there, away = presence.stays + presence.returns, presence.waits + presence.leaves
    return round(there / max(1, there + away), 3)
