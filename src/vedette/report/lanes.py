"""A lane and what holds it, for people and for programs."""

from __future__ import annotations

from datetime import datetime

from vedette.contracts.lane import LaneState
from vedette.core.lanes.lane import BLOCKED, CLOSED, HALF_OPEN, HELD, OPEN, condition
from vedette.report.plain import count, span, when

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
    if state.blocked_by:
        parts = [f"blocked: {state.blocked_by}"]
    if state.failures:
        parts.append(f"{count(state.failures, 'failure')} in a row")
    if state.crawl_delay is not None:
        parts.append(f"Crawl-delay {span(state.crawl_delay)}")
    return ", ".join(parts)
