"""Lanes and decisions of the panel, in our own store, whichever database holds the answers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from vedette.contracts.panel_run import Batch, PanelGroup, PanelNote
from vedette.contracts.watch import Decision, LedgerNote
from vedette.contracts.words import RunId
from vedette.store.dialect import SqliteSql
from vedette.store.group import note_row
from vedette.store.rows import lane_row, to_ms
from vedette.store.seal_rows import seal
from vedette.store.statements import END_RUN, NEW_LEDGER, NEW_RUN, SAVE_LANE


class PanelLedger:
    """Lanes and decisions, in our own store, whichever database holds the answers."""

    def __init__(self, db: SqliteSql, next_id: Callable[[datetime], int]) -> None:
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
            seal(self.db.db, {"ledger": [row[0] for row in rows]})

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
