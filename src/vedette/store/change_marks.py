"""What people say of changes: useful, noise.  Functions of a transaction that the caller owns."""

from __future__ import annotations

from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import LedgerNote
from vedette.contracts.words import ChangeId, RunId
from vedette.store import statements as sql
from vedette.store.group import note_row
from vedette.store.rows import to_ms
from vedette.store.seal_rows import seal

OPERATOR_RUN = RunId("operator")  # of ledger rows about what people say of changes
_COLUMNS = "change_id word who at".split()


def save_mark(db: SqlConnection, change: ChangeId, word: str, who: str, *, now: datetime) -> None:
    """In place of what was said before; no word: nothing is said of it any more."""
    if word:
        db.execute(sql.upsert("change_marks", _COLUMNS, "change_id"), (change, word, who, to_ms(now)))
    else:
        db.execute("DELETE FROM change_marks WHERE change_id = ?", (change,))


def note_word(db: SqlConnection, note: LedgerNote) -> None:
    """A row of the ledger, sealed as every other."""
    db.execute(sql.NEW_LEDGER, note_row(note, OPERATOR_RUN))
    seal(db, {"ledger": [note.id]})
