"""How often did the operator ask for a look, and what is stronger?  Every policy passes through this rule last.

`every` is the interval itself.  `ceiling` (`scrape_frequency`) only shortens what the policy chose.  Both hold below
the floors of the policies, because somebody said so; neither holds below `SHORTEST`.  A target that is gone or refused
waits its long interval all the same: asking for it more often would show nothing else.

Politeness is not decided here.  A look that is due waits for its lane and its budget; `strongest` only says what the
waiting will come to.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.lane import LanePolicy
from vedette.contracts.schedule import Asked
from vedette.contracts.source import Source
from vedette.contracts.words import Outcome
from vedette.core.lanes.lane import starts_per_day
from vedette.core.lanes.outcomes import MEANING, rests

SHORTEST = timedelta(minutes=1)  # a `scrape_frequency` of 0 (EVERY_RUN) must not become a busy loop
SHORTEST_HOURS = SHORTEST / timedelta(hours=1)
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_ZERO = timedelta(0)


@dataclass(frozen=True, slots=True)
class AskedStep:
    """From the interval of a policy to the one that was asked for."""

    code: str
    hours: float
    note: str


def asked_of(
    source: Source, *, is_own: bool, is_listing: bool, outcome: Outcome, before: Outcome | None = None
) -> Asked:
    """What holds for a watch of this source after a look that ended so, and the one before it.

    `every` is about the address that was added; `scrape_frequency` also about the listings that it led to.
    """
    is_worth_it = MEANING[outcome].retry or not rests(outcome, before)
    return Asked(
        every=source.every if is_own and is_worth_it else None,
        ceiling=source.scrape_frequency if is_own or is_listing else None,
    )


def step(hours: float, asked: Asked, *, is_parked: bool, sooner: float = 0.0) -> AskedStep | None:
    """None: the policy's interval stands.  `sooner`: a share of jitter, which a ceiling only allows to shorten it."""
    if asked.every is not None:
        wanted = max(SHORTEST_HOURS, asked.every / _HOUR)
        return AskedStep("every", wanted, f"asked for every {wanted:.4g} h")
    if asked.ceiling is None or is_parked:
        return None
    ceiling = asked.ceiling / _HOUR
    most = max(SHORTEST_HOURS, ceiling * (1 - sooner))
    return AskedStep("scrape_frequency", most, f"at most {ceiling:g} h") if hours > most else None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedLimits:
    """What a host and the operator's budgets allow one watch."""

    lane: LanePolicy
    crawl_delay: timedelta | None = None
    host_budget: float | None = None  # looks a day at one host
    budget: float | None = None  # looks a day in all
    beside: float = 0.0  # looks a day that the other watches of the lane ask for


@dataclass(frozen=True, slots=True)
class Stronger:
    """What makes the interval longer than was asked for."""

    code: str
    interval: timedelta
    words: str


def strongest(asked: timedelta, limits: AskedLimits) -> Stronger | None:
    """What will be obeyed instead of `asked`; None: `asked` will be."""
    lane = limits.lane
    gap = (lane.gap_min + max(lane.gap_min, lane.gap_max)) / 2
    delay = limits.crawl_delay or _ZERO
    rate = timedelta(minutes=1 / lane.per_minute) if lane.per_minute > 0 else _ZERO
    rows = (
        Stronger("floor", SHORTEST, "the floor of 1 min"),
        Stronger("crawl_delay", delay, f"robots.txt Crawl-delay {delay.total_seconds():g} s"),
        Stronger("lane_gap", gap, f"the gap of {gap.total_seconds():g} s between two requests to its host"),
        Stronger("lane_bucket", rate, f"{lane.per_minute:g} requests a minute at its host"),
        *_budgets(limits),
        *_crowd(asked, limits),
    )
    found = max(rows, key=lambda row: row.interval)
    return found if found.interval > asked else None


def _budgets(limits: AskedLimits) -> list[Stronger]:
    rows = (
        ("host_budget", limits.host_budget, "looks a day at one host"),
        ("budget", limits.budget, "looks a day in all"),
    )
    return [
        Stronger(code, min(_DAY / most, timedelta(days=3650)), f"the budget of {most:g} {words}")
        for code, most, words in rows
        if most is not None and most > 0
    ]


def _crowd(asked: timedelta, limits: AskedLimits) -> list[Stronger]:
    """More is asked of the lane than it lets through: all who wait there are late alike."""
    room = starts_per_day(limits.lane, limits.crawl_delay)
    interval = max(asked, SHORTEST)
    wanted = limits.beside + _DAY / interval
    if not limits.beside or wanted <= room:
        return []
    words = f"{wanted:,.0f} looks a day are asked of its host, which takes {room:,.0f}"
    return [Stronger("lane_crowded", interval * (wanted / room), words)]
