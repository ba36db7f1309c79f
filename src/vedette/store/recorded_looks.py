"""The looks on record as a History, with the names of its hosts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from vedette.contracts.words import LaneKey
from vedette.core.schedule.asked import SHORTEST_HOURS
from vedette.core.schedule.protocol import to_hours
from vedette.core.urls.canonical import watch_id
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
    table = _table(queries.targets())
    names: dict[int, int] = {}  # of lanes, by the id in the store
    host = [names.setdefault(lane, len(names)) for lane in table[:, 1].tolist()]
    asked = {watch_id(url): source.every for url, source in queries.asking().items() if source.every}
    hours = {watch: max(interval / _HOUR, SHORTEST_HOURS) for watch, interval in asked.items()}
    every = [hours.get(watch, np.nan) for watch in table[:, 0].tolist()] if hours else np.nan
    count, first, last = queries.requests(since)
    return Recorded(
        History(
            targets=Targets(risk=table[:, 2], host=np.array(host, np.int64), since=_hours(table[:, 3])),
            **_columns(_table(queries.looks(since)), table[:, 0]),
            start=to_hours(first or now) - 1e-6,
            end=to_hours(last or now),
            requests=count,
        ),
        _hosts(queries, names),
        np.full(len(table), every, np.float64),
    )


def _columns(looks: np.ndarray, watches: np.ndarray) -> dict[str, np.ndarray]:
    """`watches`: their ids in order.  Looks come by watch and time; those at others are left out."""
    row = np.searchsorted(watches, looks[:, 0])
    is_known = row < len(watches)
    is_known[is_known] = watches[row[is_known]] == looks[is_known, 0]
    row, looks = row[is_known], looks[is_known]
    audit = np.where(looks[:, 2] < 0, np.nan, looks[:, 2] / 3600.0)
    is_first = np.r_[True, row[1:] != row[:-1]] if len(row) else np.zeros(0, bool)
    return {
        "row": row,
        "at": _hours(looks[:, 1]),
        "audit": audit,
        "changed": (looks[:, 3] != 0) & ~is_first,
    }


def _table(rows: list[tuple[int, int, int, int]]) -> np.ndarray:
    return np.array(rows, np.int64).reshape(-1, 4)


def _hosts(queries: Queries, names: dict[int, int]) -> tuple[tuple[str, timedelta | None], ...]:
    delays = {lane.key: lane.state.crawl_delay for lane in queries.lanes()}
    hosts = queries.hosts()
    return tuple((hosts[lane], delays.get(LaneKey(f"host:{hosts[lane]}"))) for lane in names)


def _hours(ms: np.ndarray) -> np.ndarray:
    return ms / _MS_PER_HOUR + _EPOCH
