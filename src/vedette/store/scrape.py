"""Figures of now for a scrape.  Each is a walk over an index, so the caller asks rarely."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import Risk
from vedette.core.lanes.lane import CONDITIONS, condition
from vedette.store.alerts import open_counts
from vedette.store.outbox import depths
from vedette.store.row_columns import LANE_COLUMNS
from vedette.store.rows import read_lane, to_ms

_DUE = "SELECT risk, COUNT(*), MIN(due_at) FROM watches WHERE due_at <= ? GROUP BY risk"
_LANES = f"SELECT {', '.join(LANE_COLUMNS)} FROM lanes"
_JOBS = "SELECT queue, COUNT(*) FROM jobs WHERE state = 'waiting' GROUP BY queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScrapeFigures:
    due: dict[Risk, tuple[int, float]]  # how many, and how long the oldest waits in seconds
    lanes: dict[str, int]
    alerts: dict[str, int]
    outbox: dict[tuple[str, str], int]
    queues: dict[str, int]
    evidence: int


def figures(db: SqlConnection, *, now: datetime) -> ScrapeFigures:
    at = to_ms(now)
    due = {Risk(risk): (int(n), (at - first) / 1000) for risk, n, first in db.execute(_DUE, (at,))}
    lanes = Counter(condition(read_lane(row)[1], now) for row in db.execute(_LANES))
    size = db.execute("SELECT COALESCE(SUM(size), 0) FROM segments WHERE state <> 'expired'").fetchone()[0]
    return ScrapeFigures(
        due={risk: due.get(risk, (0, 0.0)) for risk in Risk},
        lanes={word: lanes.get(word, 0) for word in CONDITIONS},
        alerts=dict(open_counts(db)),
        outbox={(channel, state): count for channel, state, count in depths(db)},
        queues={queue: int(count) for queue, count in db.execute(_JOBS)},
        evidence=int(size),
    )
