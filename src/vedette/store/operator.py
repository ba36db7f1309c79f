"""What the operator changes by hand.  Small transactions of their own, beside an engine that may be running.

Every word that a running engine must hear is also a row of `orders`: it reads them once a second.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, NodeType, SourceId, WatchId
from vedette.core.classify import Classification, classify_url
from vedette.core.urls import lane_of, watch_id
from vedette.store import statements as sql
from vedette.store.rows import lane_id, lane_row, read_lane, read_source, source_row, to_ms, watch_row
from vedette.store.sqlite import connect

LOCK = "lock"  # beside the database; the engine holds it while it runs
Classify = Callable[[str], Classification]
# What a new word about a source leaves alone: its identity and what the engine learned of it.
_KEPT = set("id created_at failures last_error last_success_at closed_until tally".split())
_CHANGED = [name for name in sql.SOURCE_COLUMNS if name not in _KEPT]
_NEW_SOURCE = sql.insert("sources", sql.SOURCE_COLUMNS)
_MOVE_SOURCE = f"UPDATE sources SET {', '.join(f'{name} = ?' for name in _CHANGED)} WHERE id = ?"
_SAVE_LANE = sql.upsert("lanes", sql.LANE_COLUMNS, "id")
_SOURCE = f"SELECT {', '.join(sql.SOURCE_COLUMNS)} FROM sources"


@contextmanager
def operating(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction of the operator: all of it, or nothing."""
    db = connect(path)
    try:
        db.execute("BEGIN IMMEDIATE")
        yield db
        db.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"cannot write to {path}: {error}; nothing was changed") from error
    finally:
        db.close()  # rolls back what was not committed


def save_source(
    db: sqlite3.Connection, source: Source, *, now: datetime, classify: Classify = classify_url
) -> bool:
    """Insert or update a source by its id, and see to its first watch.  True: the source is new.

    Said twice it changes nothing: what the engine learned of the source, and the schedule of its watches, stay.
    """
    row = dict(zip(sql.SOURCE_COLUMNS, source_row(source, now=now), strict=True))
    before = source_by_id(db, source.id)
    if before is None:
        db.execute(_NEW_SOURCE, tuple(row.values()))
    elif before != source:
        db.execute(_MOVE_SOURCE, (*(row[name] for name in _CHANGED), source.id))
    is_new_watch = _save_first_watch(db, source, first_watch(source, now, classify=classify))
    if before != source:
        order(db, "source", source.id, now=now)
    if is_new_watch:
        order(db, "due", lane_of(source.url), now=now)
    return before is None


def first_watch(source: Source, now: datetime, *, classify: Classify = classify_url) -> Watch:
    """The watch a source begins with: its own URL, due now.  A listing is a HUB watch like any other."""
    said = classify(source.url)
    lister = None if source.lister is ListerKind.PAGE else source.lister
    is_hub = lister is not None and lister is not ListerKind.AUTO
    return Watch(
        id=watch_id(source.url),
        url=source.url,
        lane=lane_of(source.url),
        source=source.id,
        lister=lister,
        node_type=NodeType.HUB if is_hub else said.node_type,
        node_role=said.node_role,
        risk=said.risk if source.risk is None else source.risk,
        due_at=now if source.is_active else None,
        created_at=now,
    )


def make_due(db: sqlite3.Connection, watch: WatchId, *, now: datetime) -> bool:
    """Look at it as soon as its lane allows.  False: there is no such watch, or it was merged into another."""
    row = db.execute("SELECT url FROM watches WHERE id = ? AND merged_into IS NULL", (watch,)).fetchone()
    if row is None:
        return False
    db.execute(
        "UPDATE watches SET due_at = ?, audit_s = NULL WHERE id = ? AND (due_at IS NULL OR due_at > ?)",
        (to_ms(now), watch, to_ms(now)),
    )
    order(db, "due", lane_of(row[0]), now=now)
    return True


def pause_source(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> int:
    """None of its watches is looked at until `resume_source`.  Gives how many were scheduled."""
    _known(db, source)
    db.execute("UPDATE sources SET is_active = 0 WHERE id = ?", (source,))
    count = db.execute(
        "UPDATE watches SET due_at = NULL, audit_s = NULL WHERE source_id = ? AND due_at IS NOT NULL",
        (source,),
    ).rowcount
    order(db, "source", source, now=now)
    return count


def resume_source(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> int:
    """Its watches are due again: at their last look plus their interval, at once where that has passed."""
    _known(db, source)
    db.execute("UPDATE sources SET is_active = 1 WHERE id = ?", (source,))
    count = db.execute(
        "UPDATE watches SET due_at = MAX(?, COALESCE(last_visit_at, 0) + interval_s * 1000) "
        "WHERE source_id = ? AND due_at IS NULL AND merged_into IS NULL",
        (to_ms(now), source),
    ).rowcount
    order(db, "source", source, now=now)
    _order_lanes(db, source, now=now)
    return count


def reset_source(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> None:
    """Forget its failures and its trap budgets; its listing is read now."""
    found = _known(db, source)
    db.execute(
        "UPDATE sources SET failures = 0, last_error = NULL, closed_until = NULL, tally = '{}' WHERE id = ?",
        (source,),
    )
    order(db, "source", source, now=now)
    make_due(db, watch_id(found.url), now=now)


def remove_source(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> int:
    """The source and the schedule of its watches go; visits, changes and evidence stay.  Gives the watches left."""
    count = pause_source(db, source, now=now)
    db.execute("DELETE FROM sources WHERE id = ?", (source,))
    return count


def save_lane(db: sqlite3.Connection, key: LaneKey, state: LaneState, *, now: datetime) -> None:
    """The operator's word about a lane."""
    db.execute(_SAVE_LANE, lane_row(key, replace(state, under_way=0)))
    order(db, "lane", key, now=now)


def lane_state(db: sqlite3.Connection, key: LaneKey) -> LaneState | None:
    names = ", ".join(sql.LANE_COLUMNS)
    row = db.execute(f"SELECT {names} FROM lanes WHERE id = ?", (lane_id(key),)).fetchone()
    return read_lane(row)[1] if row else None


def retry_parked(db: sqlite3.Connection, watch: WatchId, *, now: datetime) -> bool:
    """Off the shelf, attempts forgotten, due now.  False: it was not parked."""
    if not drop_parked(db, watch):
        return False
    db.execute("UPDATE watches SET attempt = 0 WHERE id = ?", (watch,))
    make_due(db, watch, now=now)
    return True


def drop_parked(db: sqlite3.Connection, watch: WatchId) -> bool:
    """Off the shelf; the watch keeps its long interval."""
    return db.execute(sql.UNPARK, (watch,)).rowcount > 0


def order(db: sqlite3.Connection, action: str, subject: str, *, now: datetime) -> None:
    """Tell a running engine: action `due`, `lane` or `source`."""
    db.execute("INSERT INTO orders (at, action, subject) VALUES (?, ?, ?)", (to_ms(now), action, subject))


def source_of_url(db: sqlite3.Connection, url: str) -> Source | None:
    """The source that was configured with this URL, in any spelling."""
    number = watch_id(url)
    row = db.execute(
        f"{_SOURCE} WHERE id = (SELECT source_id FROM watches WHERE id = ?)", (number,)
    ).fetchone()
    source = read_source(row)[0] if row else None
    return source if source is not None and watch_id(source.url) == number else None


def source_by_id(db: sqlite3.Connection, source: str) -> Source | None:
    row = db.execute(f"{_SOURCE} WHERE id = ?", (source,)).fetchone()
    return read_source(row)[0] if row else None


def lock_holder(data: Path) -> str | None:
    """Who runs on this store now; None: nobody."""
    path = data / LOCK
    if not path.exists():
        return None
    with path.open("r") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return file.read().strip() or "another process"
    return None


def _save_first_watch(db: sqlite3.Connection, source: Source, watch: Watch) -> bool:
    """Make the watch, or hand a known one to its source.  True: it is new."""
    if db.execute(sql.NEW_WATCH, watch_row(watch)).rowcount > 0:
        return True
    risk = None if source.risk is None else int(source.risk)
    lister = watch.lister.value if watch.lister else None
    db.execute(
        "UPDATE watches SET source_id = ?, risk = COALESCE(?, risk), lister = COALESCE(?, lister) WHERE id = ?",
        (source.id, risk, lister, watch.id),
    )
    return False


def _known(db: sqlite3.Connection, source: SourceId) -> Source:
    found = source_by_id(db, source)
    if found is None:
        raise InputError(f"there is no source {source!r}; `vedette sources list` shows them")
    return found


def _order_lanes(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> None:
    """Wake the lanes in which this source has work: one order each."""
    query = "SELECT MIN(url) FROM watches WHERE source_id = ? AND due_at IS NOT NULL GROUP BY lane_id"
    for (url,) in db.execute(query, (source,)).fetchall():
        order(db, "due", lane_of(url), now=now)
