"""The three promises in numbers, what needs somebody now, and what each host was asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.config.pace_policies import lane_policies
from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey
from vedette.core.lanes.lane import CLOSED, condition
from vedette.operations.freshness import Freshness
from vedette.operations.installation import Installation
from vedette.report.lanes import lane_words
from vedette.store.promise_rows import Receipt, TimeSlice, receipts, time_slices, totals

DAY = timedelta(days=1)
PARTS = 24  # of the time that is shown
MARGIN = timedelta(milliseconds=50)  # the moment of a look is kept to a millisecond, and jitters


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneReceipt:
    """What a host was asked, held against what its lane allows."""

    lane: LaneKey
    state: LaneState
    floor: timedelta  # the least time between two looks that is allowed
    asked: Receipt | None  # None: not in this time

    @property
    def least_gap(self) -> timedelta | None:
        gap = None if self.asked is None else self.asked.least_gap_ms
        return None if gap is None else timedelta(milliseconds=gap)

    @property
    def is_kept(self) -> bool:
        return self.least_gap is None or self.least_gap + MARGIN >= self.floor


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    at: datetime
    totals: Mapping[str, int]
    slices: tuple[TimeSlice, ...]  # of the last day, oldest first
    hosts: int  # that were asked in the last day
    polite: int  # of them, those whose lane was kept
    shut: int  # lanes that let nothing through now

    @property
    def looks(self) -> int:
        return sum(one.looks for one in self.slices)

    @property
    def throttled(self) -> int:
        return sum(one.throttled for one in self.slices)


def overview(installation: Installation) -> Overview:
    """How it stands, and how the last day was."""
    now = installation.now()
    asked = [one for one in politeness(installation) if one.asked is not None]
    with installation.reading() as db:
        counted = totals(db, now=now)
        slices = time_slices(db, since=now - DAY, until=now, parts=PARTS)
    with installation.queries() as queries:
        shut = sum(condition(view.state, now) != CLOSED for view in queries.lanes())
    return Overview(
        at=now,
        totals=counted,
        slices=tuple(slices),
        hosts=len(asked),
        polite=sum(one.is_kept for one in asked),
        shut=shut,
    )


def has_watches(installation: Installation) -> bool:
    with installation.reading() as db:
        return db.execute("SELECT 1 FROM watches LIMIT 1").fetchone() is not None


def politeness(installation: Installation, *, within: timedelta = DAY) -> list[LaneReceipt]:
    """Of every host: what we asked in this time, when, and what its lane and its robots.txt allow."""
    now, policies = installation.now(), lane_policies(installation.loaded.config)
    with installation.reading() as db:
        asked = {one.lane: one for one in receipts(db, since=now - within)}
    with installation.queries() as queries:
        lanes = queries.lanes()
    found = []
    for view in lanes:
        floor = max(policies.of(view.key).gap_min, view.state.crawl_delay or timedelta(0))
        one = LaneReceipt(lane=view.key, state=view.state, floor=floor, asked=asked.get(view.key))
        found.append(one)
    return sorted(found, key=lambda one: (-(one.asked.looks if one.asked else 0), one.lane))


def receipt_json(one: LaneReceipt, now: datetime) -> dict[str, object]:
    asked = one.asked
    return {
        "lane": one.lane,
        "condition": condition(one.state, now),
        "words": lane_words(one.state, now),
        "floor": one.floor,
        "least_gap": one.least_gap,
        "kept": one.is_kept,
        "looks": asked.looks if asked else 0,
        "throttled": asked.throttled if asked else 0,
        "robots_refused": asked.refused if asked else 0,
        "bytes": asked.received if asked else 0,
        "last_at": asked.last_at if asked else None,
        "crawl_delay": one.state.crawl_delay,
    }


def overview_json(found: Overview, promise: Freshness | None) -> dict[str, object]:
    return {
        "at": found.at,
        "totals": dict(found.totals),
        "freshness": None if promise is None else {"holds": promise.holds()},
        "politeness": {
            "hosts": found.hosts,
            "kept": found.polite,
            "looks": found.looks,
            "throttled": found.throttled,
            "shut": found.shut,
        },
        "evidence": {"pieces": found.totals["evidence"]},
        "slices": [
            {"at": one.at, "looks": one.looks, "seen": one.seen, "kept": one.kept, "changes": one.changes}
            for one in found.slices
        ],
    }
