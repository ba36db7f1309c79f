"""What the operator changes by hand.  Small transactions of their own, beside an engine that may be running.

Every word that a running engine must hear is also a row of `orders`: it reads them once a second.
"""

from __future__ import annotations

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.lane import LaneState
from vedette.contracts.source import ListerKind, ListerOptions, ListSelectors, Source
from vedette.contracts.watch import SourceState, Watch
from vedette.contracts.words import LaneKey, NodeType, Risk, SourceId, WatchId
from vedette.core.classify import classify_url
from vedette.core.packs import DEFAULT_PACKS, RolePattern
from vedette.core.urls import lane_of, watch_id
from vedette.store import statements as sql
from vedette.store.rows import dump_json, lane_id, lane_row, opt_at, read_lane, read_watch, to_ms, watch_row
from vedette.store.sqlite import connect

LOCK = "vedette.lock"  # beside the database; the engine holds it while it runs
SOURCE_COLUMNS = (
    "id name url lister options risk tier is_active scrape_frequency_s retention fetch origin created_at "
    "failures last_error last_success_at closed_until tally"
).split()
_KEPT = {"id", "created_at", "failures", "last_error", "last_success_at", "closed_until", "tally"}
_CHANGED = [name for name in SOURCE_COLUMNS if name not in _KEPT]
_DEFAULTS = ListerOptions()
_SOURCE = f"SELECT {', '.join(SOURCE_COLUMNS)} FROM sources"


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


def save_source(db: sqlite3.Connection, source: Source, *, now: datetime) -> bool:
    """Insert or update by id; what the engine learned of it stays.  True: it is new."""
    values = source_row(source)
    known = db.execute("SELECT 1 FROM sources WHERE id = ?", (source.id,)).fetchone()
    if known:
        names = ", ".join(f'"{name}" = ?' for name in _CHANGED)
        db.execute(f"UPDATE sources SET {names} WHERE id = ?", (*values[1:], source.id))
    else:
        columns = ["id", *_CHANGED, "created_at"]
        db.execute(sql.insert("sources", columns), (*values, to_ms(now)))
    order(db, "source", source.id, now=now)
    return not known


def first_watch(
    source: Source,
    now: datetime,
    *,
    packs: tuple[str, ...] = DEFAULT_PACKS,
    rows: tuple[RolePattern, ...] = (),
) -> Watch:
    """The watch a source begins with: its own URL, due now.  A listing is a HUB watch like any other."""
    said = classify_url(source.url, packs=packs, rows=rows)
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
        due_at=now,
        created_at=now,
    )


def save_first_watch(
    db: sqlite3.Connection, source: Source, watch: Watch, *, now: datetime, asked: bool
) -> bool:
    """Make the watch, or hand a known one to its source.  `asked`: the operator wants a look now.  True: new."""
    new = db.execute(sql.NEW_WATCH, watch_row(watch)).rowcount > 0
    if not new:
        risk = None if source.risk is None else int(source.risk)
        lister = watch.lister.value if watch.lister else None
        db.execute(
            "UPDATE watches SET source_id = ?, risk = COALESCE(?, risk), lister = COALESCE(?, lister) WHERE id = ?",
            (source.id, risk, lister, watch.id),
        )
    if new or asked:
        make_due(db, watch.id, now=now)
    return new


def make_due(db: sqlite3.Connection, watch: WatchId, *, now: datetime) -> bool:
    """Look at it as soon as its lane allows.  False: there is no such watch, or it was merged into another."""
    row = db.execute("SELECT url FROM watches WHERE id = ? AND merged_into IS NULL", (watch,)).fetchone()
    if row is None:
        return False
    db.execute(
        "UPDATE watches SET due_at = ? WHERE id = ? AND (due_at IS NULL OR due_at > ?)",
        (to_ms(now), watch, to_ms(now)),
    )
    order(db, "due", lane_of(row[0]), now=now)
    return True


def pause_source(db: sqlite3.Connection, source: SourceId, *, now: datetime) -> int:
    """None of its watches is looked at until `resume_source`.  Gives how many were scheduled."""
    _known(db, source)
    db.execute("UPDATE sources SET is_active = 0 WHERE id = ?", (source,))
    count = db.execute(
        "UPDATE watches SET due_at = NULL WHERE source_id = ? AND due_at IS NOT NULL", (source,)
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
    db.execute(sql.SAVE_LANE, lane_row(key, replace(state, under_way=0)))
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
    named = db.execute(
        f"{_SOURCE} WHERE id = (SELECT source_id FROM watches WHERE id = ?)", (number,)
    ).fetchall()
    found = (read_source(row) for row in named)
    return next((source for source in found if watch_id(source.url) == number), None)


def source_by_id(db: sqlite3.Connection, source: str) -> Source | None:
    row = db.execute(f"{_SOURCE} WHERE id = ?", (source,)).fetchone()
    return read_source(row) if row else None


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


def source_row(source: Source) -> tuple[Any, ...]:
    """id, then the columns that a new word about the source may change."""
    frequency = source.scrape_frequency
    return (
        source.id,
        source.name,
        source.url,
        source.lister.value,
        dump_json(_options_given(source.options)),
        None if source.risk is None else int(source.risk),
        int(source.tier),
        source.is_active,
        None if frequency is None else int(frequency.total_seconds()),
        source.retention,
        dump_json(dict(source.fetch)),
        source.origin,
    )


def read_source(row: Sequence[Any]) -> Source:
    """From the order of SOURCE_COLUMNS."""
    return Source(
        id=SourceId(row[0]),
        name=row[1],
        url=row[2],
        lister=ListerKind(row[3]),
        options=_read_options(json.loads(row[4])),
        risk=None if row[5] is None else Risk(row[5]),
        tier=Risk(row[6]),
        is_active=bool(row[7]),
        scrape_frequency=None if row[8] is None else timedelta(seconds=row[8]),
        retention=row[9],
        fetch=_read_fetch(json.loads(row[10])),
        origin=row[11],
    )


def read_source_state(row: Sequence[Any]) -> SourceState:
    """From the order of SOURCE_COLUMNS."""
    return SourceState(
        source=SourceId(row[0]),
        failures=row[13],
        last_error=row[14] or "",
        last_success_at=opt_at(row[15]),
        closed_until=opt_at(row[16]),
        tally=row[17],
    )


def watch_by_id(db: sqlite3.Connection, watch: WatchId) -> Watch | None:
    row = db.execute(sql.WATCHES_BY_ID.format(marks="?"), (watch,)).fetchone()
    return read_watch(row) if row else None


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


def _options_given(options: ListerOptions) -> dict[str, object]:
    """Only what differs from the defaults, so that better defaults reach old sources."""
    given = asdict(options)
    plain = asdict(_DEFAULTS)
    return {name: value for name, value in given.items() if value != plain[name]}


def _read_options(given: Mapping[str, Any]) -> ListerOptions:
    values: dict[str, Any] = {}
    for name in (field.name for field in fields(ListerOptions)):
        if name not in given:
            continue
        value = given[name]
        if name == "selectors":
            value = ListSelectors(**value) if value else None
        elif name in ("start_date", "end_date"):
            value = datetime.fromisoformat(value) if value else None
        elif isinstance(value, list):
            value = tuple(value)
        values[name] = value
    return ListerOptions(**values)


def _read_fetch(given: Mapping[str, Any]) -> tuple[tuple[str, object], ...]:
    """As FetchSettings has them: seconds become durations, lists tuples, headers pairs."""
    return tuple((name, _fetch_value(name, value)) for name, value in given.items())


def _fetch_value(name: str, value: Any) -> object:
    if name.endswith("_timeout") or name == "keep_alive":
        return timedelta(seconds=float(value))
    if name == "headers":
        return tuple((str(key), str(word)) for key, word in value)
    return tuple(value) if isinstance(value, list) else value
