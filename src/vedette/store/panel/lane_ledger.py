"""Lanes and decisions of the panel, in our own store, whichever database holds the answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from vedette.contracts.panel_run import Batch, PanelGroup, PanelNote
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import Decision, LedgerNote
from vedette.contracts.words import RunId
from vedette.core.panel.models import ModelRow
from vedette.store.dialect import Sql
from vedette.store.group import note_row
from vedette.store.rows import lane_row, opt_at, opt_ms, to_ms
from vedette.store.seal_rows import seal
from vedette.store.statements import END_RUN, NEW_LEDGER, NEW_RUN, SAVE_LANE


class PanelLedger:
    """Lanes and decisions, in our own store, whichever database holds the answers."""

    def __init__(self, db: Sql, next_id: Callable[[datetime], int]) -> None:
        self.db = db
        self._next_id = next_id

    def write(self, group: PanelGroup) -> None:
        """Within the caller's transaction."""
        if group.lanes:
            self.db.many(SAVE_LANE, [lane_row(key, state) for key, state in group.lanes])
        if group.notes:
            run = RunId(group.batch)
            rows = [note_row(self._note(note), run) for note in group.notes]
            self.db.many(NEW_LEDGER, rows)
            seal(self.db.connection, {"ledger": [row[0] for row in rows]})

    def write_alone(self, group: PanelGroup) -> None:
        if group.lanes or group.notes:
            with self.db.transaction():
                self.write(group)

    def run_ended(self, batch: Batch, *, now: datetime, by: str, tally: str) -> None:
        """The run, among all runs.  Written when it is over: a batch that died is told by `crawl_batches`."""
        run = f"{batch.id}@{to_ms(now)}"
        with self.db.transaction():
            self.db.run(NEW_RUN, (run, to_ms(batch.started_at), "panel", "", "{}"))
            self.db.run(END_RUN, (to_ms(now), by, tally, run))

    def close(self) -> None:
        self.db.close()

    def _note(self, note: PanelNote) -> LedgerNote:
        decision = Decision(action=note.action, reasons=(note.reason,), inputs={"subject": note.subject})
        return LedgerNote(id=self._next_id(note.at), at=note.at, kind="panel", decision=decision)


# The registry of models, kept.  Small transactions of their own.

COLUMNS = (
    "name provider wire_name aliases first_seen_at last_seen_at retired_at successor answered failed".split()
)
_LEARNED = ("answered", "failed")  # counted by runs, never written over by a refresh
_MOVES = ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name not in ("name", *_LEARNED))
READ = f"SELECT {', '.join(COLUMNS)} FROM panel_models ORDER BY name"
SAVE = (
    f"INSERT INTO panel_models ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    f"ON CONFLICT (name) DO UPDATE SET {_MOVES}"
)
COUNT = "UPDATE panel_models SET answered = answered + ?, failed = failed + ? WHERE name = ?"


def read_models(db: SqlConnection) -> tuple[ModelRow, ...]:
    """By name."""
    return tuple(_read(dict(zip(COLUMNS, row, strict=True))) for row in db.execute(READ).fetchall())


def save_models(db: SqlConnection, rows: Iterable[ModelRow]) -> None:
    """Insert or move.  What runs have counted stays."""
    db.executemany(SAVE, [_row(row) for row in rows])


def count_calls(db: SqlConnection, counted: Mapping[str, tuple[int, int]]) -> None:
    """By canonical name: calls answered, calls failed."""
    db.executemany(COUNT, [(answered, failed, name) for name, (answered, failed) in counted.items()])


def _row(row: ModelRow) -> tuple[object, ...]:
    times = map(opt_ms, (row.first_seen_at, row.last_seen_at, row.retired_at))
    aliases = json.dumps(row.aliases)
    named = (row.name, row.provider, row.wire_name, aliases)
    return (*named, *times, row.successor, row.answered, row.failed)


def _read(row: dict[str, Any]) -> ModelRow:
    for name in ("first_seen_at", "last_seen_at", "retired_at"):
        row[name] = opt_at(row[name])
    row["aliases"] = tuple(json.loads(row["aliases"]))
    return ModelRow(**row)
