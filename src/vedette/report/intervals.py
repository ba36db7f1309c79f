"""How often a watch was asked for, and what is stronger, in words."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.schedule import Asked
from vedette.core.schedule.asked import Stronger
from vedette.report.plain import span


@dataclass(frozen=True, slots=True)
class AskedInterval:
    """What the operator asked for; `stronger` None: it is obeyed."""

    asked: Asked
    stronger: Stronger | None = None


def interval_words(one: AskedInterval) -> str:
    """`asked every 10 min; robots.txt Crawl-delay 900 s is stronger: every 15 min`."""
    asked = one.asked
    words = f"every {span(asked.every)}" if asked.every is not None else ""
    if asked.every is None and asked.ceiling is not None:
        words = f"at least every {span(asked.ceiling)}" if asked.ceiling else "at every run"
    if one.stronger is None:
        return f"asked {words}"
    return f"asked {words}; {one.stronger.words} is stronger: every {span(one.stronger.interval)}"


def interval_json(one: AskedInterval) -> dict[str, object]:
    stronger = one.stronger
    return {
        "every": one.asked.every,
        "scrape_frequency": one.asked.ceiling,
        "stronger": None
        if stronger is None
        else {"code": stronger.code, "interval": stronger.interval, "words": stronger.words},
        "words": interval_words(one),
    }
