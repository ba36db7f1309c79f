"""The registry of models, kept.  Small transactions of their own."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from vedette.core.panel.models import ModelRow
from vedette.store.rows import opt_at, opt_ms

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


def read_models(db: sqlite3.Connection) -> tuple[ModelRow, ...]:
    """By name."""
    return tuple(_read(dict(zip(COLUMNS, row, strict=True))) for row in db.execute(READ).fetchall())


def save_models(db: sqlite3.Connection, rows: Iterable[ModelRow]) -> None:
    """Insert or move.  What runs have counted stays."""
    db.executemany(SAVE, [_row(row) for row in rows])


def count_calls(db: sqlite3.Connection, counted: Mapping[str, tuple[int, int]]) -> None:
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
