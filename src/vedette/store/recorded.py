"""The looks on record as a History, with the names of its hosts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from vedette.contracts.words import LaneKey
from vedette.core.schedule.asked import SHORTEST_HOURS
from vedette.core.schedule.hours import to_hours
from vedette.core.urls import host_of
from vedette.core.whatif.history import History, Targets
from vedette.store.queries import Queries
from vedette.store.rows import from_ms

_HOUR = timedelta(hours=1)
_MS_PER_HOUR = 3_600_000.0
_EPOCH = to_hours(from_ms(0))  # the store counts from 1970-01-01, the schedule layer from the Monday after


@dataclass(frozen=True, slots=True)
class Recorded:
    """What the store knows, as columns."""

    history: History
    hosts: tuple[tuple[str, timedelta | None], ...]  # by number: name, Crawl-delay
    every: np.ndarray  # by target: hours between two looks that the operator asked for; NaN: none

    @property
    def requests_per_day(self) -> float:
        return self.history.requests / self.history.days


def recorded(queries: Queries, *, since: datetime | None = None, now: datetime) -> Recorded:
    """Every watch, and every look from `since` on that said something about the content."""
    rows: dict[int, int] = {}
    names: dict[str, int] = {}
    targets: list[tuple[int, int, int]] = []
    asked = {url: source.every for url, source in queries.asking().items() if source.every is not None}
    every: list[float] = []
    for number, (watch, url, risk, created) in enumerate(queries.targets()):
        rows[watch] = number
        host = names.setdefault(host_of(url), len(names))
        targets.append((risk, host, created))
        every.append(max(asked[url] / _HOUR, SHORTEST_HOURS) if url in asked else np.nan)
    count, first, last = queries.requests(since)
    looks = [
        (rows[watch], at, audit, shown) for watch, at, audit, shown in queries.looks(since) if watch in rows
    ]
    table = np.array(targets, np.int64).reshape(-1, 3)
    return Recorded(
        History(
            targets=Targets(risk=table[:, 0], host=table[:, 1], since=_hours(table[:, 2])),
            **_columns(looks),
            start=to_hours(first or now) - 1e-6,
            end=to_hours(last or now),
            requests=count,
        ),
        _hosts(queries, names),
        np.array(every, np.float64),
    )


def _columns(looks: list[tuple[int, int, int | None, bool]]) -> dict[str, np.ndarray]:
    row = np.array([one[0] for one in looks], np.int64)
    order = np.argsort(
        row, kind="stable"
    )  # they came by watch and time: within a row the time stays in order
    row = row[order]
    at = _hours(np.array([one[1] for one in looks], np.int64))[order]
    audit = np.array([np.nan if one[2] is None else one[2] / 3600.0 for one in looks], np.float64)[order]
    shown = np.array([one[3] for one in looks], bool)[order]
    is_first = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, bool)
    return {"row": row, "at": at, "audit": audit, "changed": shown & ~is_first}


def _hosts(queries: Queries, names: dict[str, int]) -> tuple[tuple[str, timedelta | None], ...]:
    delays = {lane.key: lane.state.crawl_delay for lane in queries.lanes()}
    return tuple((host, delays.get(LaneKey(f"host:{host}"))) for host in names)


def _hours(ms: np.ndarray) -> np.ndarray:
    return ms / _MS_PER_HOUR + _EPOCH
