"""A lane and what holds it, and the interval that was asked for, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.lane import LaneState
from vedette.contracts.schedule import Asked
from vedette.core.lanes.lane import BLOCKED, CLOSED, HALF_OPEN, HELD, OPEN, condition
from vedette.core.schedule.asked import Stronger
from vedette.report.plain import count, span, when

SOON = timedelta(minutes=1)  # a shorter wait is the usual gap between two requests

# What `condition` means, in words.
_CONDITIONS = {
    CLOSED: "nothing holds it",
    HELD: "held",
    HALF_OPEN: "breaker half-open, one probe at a time",
    OPEN: "breaker open",
    BLOCKED: "blocked",
}


def lane_json(key: str, state: LaneState, now: datetime) -> dict[str, object]:
    return {
        "lane": key,
        "condition": condition(state, now),
        "failures": state.failures,
        "closed_until": state.closed_until,
        "held_until": state.held_until,
        "next_start_at": state.next_start_at,
        "blocked_by": state.blocked_by or None,
        "crawl_delay": state.crawl_delay,
    }


def lane_words(state: LaneState, now: datetime) -> str:
    """One phrase: what holds it and until when."""
    word = condition(state, now)
    until = {OPEN: state.closed_until, HELD: state.held_until}.get(word)
    parts = [_CONDITIONS[word] if until is None else f"{_CONDITIONS[word]} until {when(until, now)}"]
    if word == CLOSED and (next_at := late_start(state, now)) is not None:
        parts = [f"its next turn is {when(next_at, now)}"]
    if state.blocked_by:
        parts = [f"blocked: {state.blocked_by}"]
    if state.failures:
        parts.append(f"{count(state.failures, 'failure')} in a row")
    if state.crawl_delay is not None:
        parts.append(f"Crawl-delay {span(state.crawl_delay)}")
    return ", ".join(parts)


def late_start(state: LaneState, now: datetime) -> datetime | None:
    """When its next request may start, where a gap as long as a Crawl-delay is what one waits for."""
    at = state.next_start_at
    return at if at is not None and at > now + SOON else None


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
