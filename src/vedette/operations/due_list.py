"""What is looked at next, and why then: what is due, each with its last decision and what holds its lane."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey, Reason
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.operations.installation import Installation
from vedette.operations.list_pages import WatchPage, watch_page
from vedette.report.lanes import lane_words
from vedette.report.rate_band import rate_words
from vedette.store.queries import Queries
from vedette.store.rows import opt_iso
from vedette.store.views import WatchFilter, WatchLine

SCHEDULES = ("schedule", "replan")  # decisions that set a due time
TOLD = 3  # reasons
# Codes of the learned policy, for people.
WORDS = {
    "value": "learned",
    "floor": "limit",
    "objective": "promised",
    "acquaint": "new",
    "failed": "it failed",
}
# What the policy notes of a rate; a price of 1 says nothing: no host is short of room.
RATE = re.compile(r"(?P<rate>[0-9.e+-]+) changes a day(?:; a look costs 1$)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class DueLine:
    watch: WatchLine
    lane: LaneState | None  # None: not used yet
    reasons: tuple[Reason, ...]  # of the decision that set the time, the weightiest first

    @property
    def why(self) -> str:
        """In words, as far as the ledger has them."""
        said = (
            f"{WORDS.get(one.code, one.code.replace('_', ' '))}{f': {_short(one.note)}' if one.note else ''}"
            for one in self.reasons[:TOLD]
        )
        return "; ".join(said) or "its first look"


@dataclass(frozen=True, slots=True, kw_only=True)
class DueList:
    lines: tuple[DueLine, ...]
    total: int
    after: str | None


def due_list(installation: Installation, ahead: timedelta, limit: int, cursor: str | None = None) -> DueList:
    """What is due now or within that time, most overdue first."""
    which = WatchFilter(due_before=installation.now() + ahead, by_due=True)
    part: WatchPage = watch_page(installation, which, limit, cursor)
    watches = part.found.watches
    with installation.queries() as queries:
        lanes: Mapping[LaneKey, LaneState | None] = {
            key: queries.lane(key) for key in {lane_of(one.url) for one in watches}
        }
        lines = tuple(
            DueLine(watch=one, lane=lanes[lane_of(one.url)], reasons=_reasons(queries, one))
            for one in watches
        )
    return DueList(lines=lines, total=part.found.total, after=part.after)


def due_json(installation: Installation, found: DueList) -> list[dict[str, object]]:
    now = installation.now()
    return [
        {
            "url": one.watch.url,
            "title": one.watch.title,
            "risk": one.watch.risk.name,
            "due_at": opt_iso(one.watch.due_ms),
            "interval": float(one.watch.interval_s),
            "lane": None if one.lane is None else lane_words(one.lane, now),
            "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in one.reasons],
            "why": one.why,
        }
        for one in found.lines
    ]


def _short(note: str) -> str:
    return RATE.sub(lambda found: rate_words(float(found["rate"])), note)


def _reasons(queries: Queries, watch: WatchLine) -> tuple[Reason, ...]:
    for row in queries.ledger(watch_id(watch.url), most=3):
        for one in row.decisions:
            if one.action in SCHEDULES and one.reasons:
                return tuple(sorted(one.reasons, key=lambda reason: -abs(reason.points)))
    return ()
