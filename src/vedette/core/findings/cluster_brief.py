"""A cluster of findings in two or three sentences, from its figures alone: no model is asked."""

from __future__ import annotations

from collections.abc import Sequence

from vedette.contracts.oddness import OddFinding
from vedette.core.oddness.features import WORDS

MOST_PLACES = 3
Figures = tuple[Sequence[tuple[str, float]], int, int]  # features with mean points, links, answered links


def brief_of(
    findings: Sequence[OddFinding], places: Sequence[str], words: Sequence[str], figures: Figures
) -> str:
    """How many, where, how they hang together, what they share, and what makes them odd."""
    reasons, links, answered = figures
    named = ", ".join(places[:MOST_PLACES])
    more = f" and {len(places) - MOST_PLACES} more" if len(places) > MOST_PLACES else ""
    at = f"on {places[0]}" if len(places) == 1 else f"on {len(places)} places ({named}{more})"
    held = f", {links} links between them" if links > 1 else ", 1 link between them" if links else ""
    held += f", {answered} of these answered" if answered else ""
    best = max((one.score for one in findings), default=0.0)
    parts = [f"{len(findings)} findings {at}{held}; the oddest has {best:.0f} points."]
    if words:
        parts.append(f"They share the words {', '.join(words)}.")
    said = "; ".join(WORDS.get(name, name) for name, _ in reasons[:3])
    if said:
        parts.append(f"What makes them odd: {said}.")
    return " ".join(parts)
