"""The rows of a hunt: read on the settler's own connection, written with its group."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.hunt import HuntRecord, HuntRows, HuntState, Open, Waiting
from vedette.contracts.words import Risk, SourceId, WatchId
from vedette.store import statements as sql
from vedette.store.columns import HUNT_COLUMNS, reader
from vedette.store.connection import in_parts, marks
from vedette.store.rows import opt_at, opt_ms, to_ms

Row = tuple[Any, ...]
_read_state = reader(HuntState, HUNT_COLUMNS, number="number", empty_at=("empty_at", opt_at), after="after")


class HuntReader:
    """What a hunt reads.  Implements the `HuntSide` of the engine."""

    def __init__(self, db: sqlite3.Connection, pick: str = "") -> None:
        """`pick`: SQL about the watch `w`, of a run that looks at a part only."""
        self._db = db
        self._open, self._waiting = sql.open_and_waiting(pick)

    def state(self) -> HuntState:
        row = self._db.execute(sql.HUNT).fetchone()
        return HuntState() if row is None else _read_state(row)

    def records(self, places: Sequence[str]) -> dict[str, HuntRecord]:
        """Of those that were ever looked at."""
        return {place: HuntRecord(*rest) for place, *rest in in_parts(self._db, sql.YIELDS_BY_PLACE, places)}

    def prospects(self, watches: Sequence[WatchId]) -> set[WatchId]:
        """Which of these a hunt found and has not seen."""
        return {WatchId(watch) for (watch,) in in_parts(self._db, sql.PROSPECTS_BY_ID, watches)}

    def open(self, after: int, most: int) -> list[Open]:
        """What may be chosen, with ids above `after`, in order."""
        rows = self._db.execute(self._open, (after, most))
        return [Open(WatchId(i), url, Risk(risk)) for i, url, risk in rows]

    def waiting(self, *, now: datetime) -> list[Waiting]:
        """What was chosen and not looked at yet."""
        at = to_ms(now)
        rows = self._db.execute(self._waiting, (at, at))
        return [Waiting(WatchId(i), url, bool(shut)) for i, url, shut in rows]

    def hosts(self, most: int) -> list[tuple[str, HuntRecord]]:
        """Hosts that were looked at, those that gave most first."""
        rows = self._db.execute(sql.BEST_HOSTS, (most,))
        return [(place, HuntRecord(*rest)) for place, *rest in rows]

    def counts(self) -> tuple[int, int]:
        """How many are open, and how many were chosen and wait."""
        is_open, waiting = self._db.execute(sql.COUNT_PROSPECTS).fetchone()
        return is_open or 0, waiting

    def texts(self, keys: Sequence[int]) -> set[int]:
        """Which of these texts some page has shown already."""
        return {key for (key,) in in_parts(self._db, sql.TEXT_KEYS, keys)}


def release(db: sqlite3.Connection, hunting: Sequence[SourceId], *, now: datetime) -> int:
    """What other sources left open, because they do not hunt any more, is due.  Gives how many."""
    due = db.execute(sql.RELEASE.format(marks=marks(hunting)), (to_ms(now), *hunting)).rowcount
    db.execute(sql.END_RELEASED.format(marks=marks(hunting)), hunting)
    return due


def hunt_statements(rows: HuntRows) -> list[tuple[str, list[Row]]]:
    """After the watches of the group were written and moved."""
    state = rows.state
    return [
        (sql.NEW_PROSPECT, [(watch,) for watch in rows.opened]),
        (sql.END_PROSPECT, [(watch,) for watch in rows.ended]),
        (sql.CHOOSE_PROSPECT, [(to_ms(one.at), one.watch) for one in rows.chosen]),
        (sql.CHOOSE_WATCH, [(to_ms(one.at), one.watch) for one in rows.chosen]),
        (sql.SAVE_YIELD, [(place, *record) for place, record in rows.yields]),
        (sql.SAVE_HUNT, [] if state is None else [(1, state.number, opt_ms(state.empty_at), state.after)]),
    ]
