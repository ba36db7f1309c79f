"""What the operator changes by hand.  Small transactions of their own, beside an engine that may be running.

Every word that a running engine must hear is also a row of `orders`: it reads them once a second.
"""

from __future__ import annotations

import fcntl
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError
from vedette.contracts.source import ListerKind, Source
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import Watch
from vedette.contracts.words import LaneKey, NodeType, Outcome, SourceId, WatchId
from vedette.core.health.remedies import FILTERS, READING, changed_settings, healed_by
from vedette.core.schedule.asked import SHORTEST
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.core.urls.classify import Classification, classify_url
from vedette.store import statements as sql
from vedette.store.connection import marks
from vedette.store.connection import operating as operating
from vedette.store.corrections import heal, refilter, reread
from vedette.store.operator_orders import LOOK, own_watch
from vedette.store.operator_orders import lane_state as lane_state
from vedette.store.operator_orders import order as order
from vedette.store.operator_orders import save_lane as save_lane
from vedette.store.row_columns import SOURCE_COLUMNS
from vedette.store.rows import from_ms, opt_at, read_source, source_row, to_ms, watch_row
from vedette.store.seal_rows import seal

if TYPE_CHECKING:
    from vedette.contracts.jobs import SentinelOrder

LOCK = "lock"  # beside the database; the engine holds it while it runs
Classify = Callable[[str], Classification]
_MS = timedelta(milliseconds=1)
_AT_ONCE = 1000  # watches in one question
# What a new word about a source leaves alone: its identity and what the engine learned of it.
_KEPT = set("id created_at failures last_error last_success_at closed_until tally paused_at".split())
_CHANGED = [name for name in SOURCE_COLUMNS if name not in _KEPT]
_NEW_SOURCE = sql.insert("sources", SOURCE_COLUMNS)
_MOVED = ", ".join(f'"{name}" = ?' for name in _CHANGED)
_MOVE_SOURCE = f"UPDATE sources SET {_MOVED} WHERE id = ?"


def save_sources(
    db: SqlConnection, sources: Sequence[Source], *, now: datetime, classify: Classify = classify_url
) -> None:
    """As `save_source` for each of them.  Where all are as they were, it costs few questions and writes nothing.

    A worker that starts holds up all others that write meanwhile.
    """
    kept = {row[0]: dict(zip(SOURCE_COLUMNS, row, strict=True)) for row in db.execute(sql.SOURCES).fetchall()}
    owned = _first_watches(db, [watch_id(one.url) for one in sources])
    for source in sources:
        if not _is_as_it_was(source, kept.get(source.id), owned.get(watch_id(source.url)), now=now):
            save_source(db, source, now=now, classify=classify)


def _first_watches(db: SqlConnection, ids: Sequence[WatchId]) -> dict[WatchId, tuple[Any, ...]]:
    """Of these watches: whose they are, their risk and their lister."""
    found: dict[WatchId, tuple[Any, ...]] = {}
    for first in range(0, len(ids), _AT_ONCE):
        part = ids[first : first + _AT_ONCE]
        query = f"SELECT id, source_id, risk, lister FROM watches WHERE id IN ({marks(part)})"
        found |= {row[0]: tuple(row[1:]) for row in db.execute(query, tuple(part)).fetchall()}
    return found


def _is_as_it_was(
    source: Source, row: dict[str, Any] | None, owned: tuple[Any, ...] | None, *, now: datetime
) -> bool:
    """True where `save_source` would change neither the source nor its first watch."""
    if row is None or owned is None or row["paused_at"] is not None:
        return False
    words = source_row(_with_words_of(source, _read(row)), now=now)
    if any(row[name] != word for name, word in zip(SOURCE_COLUMNS, words, strict=True) if name in _CHANGED):
        return False
    watch = first_watch(source, now)
    lister = owned[2] if watch.lister is None else watch.lister.value
    risk = owned[1] if source.risk is None else int(source.risk)
    return owned == (source.id, risk, lister)


def save_source(
    db: SqlConnection, source: Source, *, now: datetime, classify: Classify = classify_url
) -> bool:
    """Insert or update a source by its id, and see to its first watch.  True: the source is new.

    Said twice it changes nothing: what the engine learned of the source, and the schedule of its watches, stay.  A
    source that was paused by hand stays paused.  Another lister or filter reads its listings anew, and looks that
    another setting could heal are due.
    """
    before = _source_row(db, source.id)
    source = source if before is None else _with_words_of(source, _read(before))
    row = dict(zip(SOURCE_COLUMNS, source_row(source, now=now), strict=True))
    is_changed = before is None or any(before[name] != row[name] for name in _CHANGED)
    if before is None:
        db.execute(_NEW_SOURCE, tuple(row.values()))
    elif is_changed:
        db.execute(_MOVE_SOURCE, (*(row[name] for name in _CHANGED), source.id))
    changed = frozenset() if before is None or not is_changed else changed_settings(_read(before), _read(row))
    if is_changed:
        seal(db, {"sources": [source.id]})
    is_paused = before is not None and before["paused_at"] is not None
    source = replace(source, is_active=source.is_active and not is_paused)
    is_new_watch = _save_first_watch(db, source, first_watch(source, now, classify=classify))
    if is_changed:
        _hasten(db, source, now=now)
        order(db, "source", source.id, now=now)
    _follow(db, source, changed, now=now)
    if is_new_watch:
        order(db, "due", lane_of(source.url), now=now)
    if before is not None and not is_paused and before["is_active"] != source.is_active:
        (_wake if source.is_active else _lay_to_rest)(db, source.id, now=now)
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


def save_watches(db: SqlConnection, watches: Iterable[Watch]) -> int:
    """Those that are not known yet.  Gives how many were new."""
    return db.executemany(sql.NEW_WATCH, [watch_row(watch) for watch in watches]).rowcount


def make_due(db: SqlConnection, watch: WatchId, *, now: datetime) -> bool:
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


def order_looks(db: SqlConnection, watches: Iterable[WatchId], *, now: datetime) -> int:
    """Look at these as soon as their lanes allow.  Gives the order after which theirs come; `Pick` takes it."""
    last = int(db.execute("SELECT COALESCE(MAX(id), 0) FROM orders").fetchone()[0])
    for watch in watches:
        if make_due(db, watch, now=now):
            order(db, LOOK, str(watch), now=now)
    return last


def pause_source(db: SqlConnection, source: SourceId, *, now: datetime) -> int:
    """None of its watches is looked at until `resume_source`, whatever the configuration says.  Gives how many were
    scheduled."""
    _known(db, source)
    db.execute("UPDATE sources SET paused_at = COALESCE(paused_at, ?) WHERE id = ?", (to_ms(now), source))
    count = _lay_to_rest(db, source, now=now)
    order(db, "source", source, now=now)
    return count


def resume_source(db: SqlConnection, source: SourceId, *, now: datetime) -> int:
    """Its watches are due again: at their last look plus their interval, at once where that has passed."""
    _known(db, source)
    db.execute("UPDATE sources SET is_active = ?, paused_at = NULL WHERE id = ?", (True, source))
    count = _wake(db, source, now=now)
    order(db, "source", source, now=now)
    return count


def mute_source(db: SqlConnection, source: SourceId, *, now: datetime, until: datetime | None = None) -> None:
    """Until then its changes are told to nobody; None: they are told again."""
    _move(db, replace(_known(db, source), muted_until=until), now=now)


def is_muted(db: SqlConnection, source: SourceId, *, now: datetime) -> bool:
    until = _known(db, source).muted_until
    return until is not None and until > now


def note_source(db: SqlConnection, source: SourceId, *, now: datetime, words: str) -> None:
    """Words of the operator about it, in place of those that were there."""
    known = _known(db, source)
    _move(db, replace(known, registered=replace(known.registered, note=words)), now=now)


def group_source(db: SqlConnection, source: SourceId, *, now: datetime, tags: tuple[str, ...]) -> None:
    """The groups that it is in, in place of those that it was in."""
    known = _known(db, source)
    _move(db, replace(known, registered=replace(known.registered, tags=tags)), now=now)


def _move(db: SqlConnection, source: Source, *, now: datetime) -> None:
    """A source that is there, with another word about it; its looks stay as they are."""
    options = dict(zip(SOURCE_COLUMNS, source_row(source, now=now), strict=True))["options"]
    db.execute("UPDATE sources SET options = ? WHERE id = ?", (options, source.id))
    seal(db, {"sources": [source.id]})
    order(db, "source", source.id, now=now)


def _with_words_of(source: Source, before: Source) -> Source:
    """What only the operator says of a source stays whatever a configuration says of it."""
    note = source.registered.note or before.registered.note
    return replace(
        source,
        registered=replace(source.registered, note=note),
        muted_until=source.muted_until or before.muted_until,
    )


def reset_source(db: SqlConnection, source: SourceId, *, now: datetime) -> None:
    """Forget its failures, its trap budgets and its refusals; its listings are read now, whatever the far end says."""
    found = _known(db, source)
    db.execute(
        "UPDATE sources SET failures = 0, last_error = NULL, closed_until = NULL, tally = '{}' WHERE id = ?",
        (source,),
    )
    for lane in reread(db, source, now=now) - {lane_of(found.url)}:
        order(db, "due", lane, now=now)
    make_due(db, watch_id(found.url), now=now)


def remove_source(db: SqlConnection, source: SourceId, *, now: datetime) -> int:
    """The source and the schedule of its watches go; visits, changes and evidence stay.  Gives the watches left."""
    count = pause_source(db, source, now=now)
    db.execute("DELETE FROM sources WHERE id = ?", (source,))
    seal(db, {"sources": [source]})
    return count


def retry_parked(db: SqlConnection, watch: WatchId, *, now: datetime) -> bool:
    """No longer parked, attempts forgotten, due now.  False: it was not parked."""
    if not drop_parked(db, watch):
        return False
    db.execute("UPDATE watches SET attempt = 0 WHERE id = ?", (watch,))
    make_due(db, watch, now=now)
    return True


def parked_for_tools(db: SqlConnection) -> list[tuple[WatchId, str]]:
    """What waits for a tool to be installed, each with what is said to be missing."""
    waiting = (Outcome.TOOL_MISSING.value, Outcome.NO_BROWSER.value)
    rows = db.execute("SELECT watch_id, detail FROM parked WHERE outcome IN (?, ?)", waiting)
    return [(WatchId(watch), detail) for watch, detail in rows]


def retry_for_tools(db: SqlConnection, missing: frozenset[str], *, now: datetime) -> int:
    """Makes due what waits for a tool that is not missing any more; how many."""
    waiting = [watch for watch, detail in parked_for_tools(db) if detail not in missing]
    return sum(retry_parked(db, watch, now=now) for watch in waiting)


def drop_parked(db: SqlConnection, watch: WatchId) -> bool:
    """No longer parked; the watch keeps its long interval."""
    return db.execute(sql.UNPARK, (watch,)).rowcount > 0


def source_of_url(db: SqlConnection, url: str) -> Source | None:
    """The source that was configured with this URL, in any spelling."""
    number = watch_id(url)
    query = f"{sql.SOURCES} WHERE id = (SELECT source_id FROM watches WHERE id = ?)"
    row = db.execute(query, (number,)).fetchone()
    source = read_source(row)[0] if row else None
    return source if source is not None and watch_id(source.url) == number else None


def source_ids(db: SqlConnection) -> frozenset[str]:
    return frozenset(row[0] for row in db.execute("SELECT id FROM sources"))


def source_by_id(db: SqlConnection, source: str) -> Source | None:
    row = _source_row(db, source)
    return read_source(tuple(row.values()))[0] if row else None


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


def _save_first_watch(db: SqlConnection, source: Source, watch: Watch) -> bool:
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


def _follow(db: SqlConnection, source: Source, changed: frozenset[str], *, now: datetime) -> None:
    """What follows from settings of a known source that are not as they were."""
    if "lister" in changed:
        lister = None if source.lister is ListerKind.PAGE else source.lister.value
        db.execute("UPDATE watches SET lister = ? WHERE id = ?", (lister, watch_id(source.url)))
    heal(db, source.id, healed_by(changed), now=now)
    if FILTERS in changed:
        refilter(db, source.id, now=now)
    if changed & READING:
        for lane in reread(db, source.id, now=now):
            order(db, "due", lane, now=now)


def _read(row: dict[str, Any]) -> Source:
    return read_source(tuple(row.values()))[0]


def _hasten(db: SqlConnection, source: Source, *, now: datetime) -> None:
    """A shorter interval holds from the last look on, not only from the next."""
    interval = source.scrape_frequency if source.every is None else source.every
    if interval is None:
        return
    due = "CASE WHEN last_visit_at + :wait > :now THEN last_visit_at + :wait ELSE :now END"
    moved = db.execute(
        f"UPDATE watches SET due_at = {due}, audit_s = NULL WHERE id = :own AND due_at > {due}",
        {"now": to_ms(now), "wait": max(interval, SHORTEST) // _MS, "own": own_watch(db, source)},
    )
    if moved.rowcount:
        order(db, "due", lane_of(source.url), now=now)


def _source_row(db: SqlConnection, source: str) -> dict[str, Any] | None:
    row = db.execute(sql.SOURCE, (source,)).fetchone()
    return dict(zip(SOURCE_COLUMNS, row, strict=True)) if row else None


def _lay_to_rest(db: SqlConnection, source: SourceId, *, now: datetime) -> int:
    """None of its watches is scheduled any more.  Gives how many were."""
    rest = "UPDATE watches SET due_at = NULL, audit_s = NULL WHERE source_id = ? AND due_at IS NOT NULL"
    return db.execute(rest, (source,)).rowcount


def _wake(db: SqlConnection, source: SourceId, *, now: datetime) -> int:
    """Its watches are scheduled again.  Gives how many are."""
    usual, at = "COALESCE(last_visit_at, 0) + interval_s * 1000", to_ms(now)
    count = db.execute(
        f"UPDATE watches SET due_at = CASE WHEN {usual} > ? THEN {usual} ELSE ? END "
        "WHERE source_id = ? AND due_at IS NULL AND merged_into IS NULL "
        "AND id NOT IN (SELECT watch_id FROM prospects WHERE chosen_at IS NULL)",
        (at, at, source),
    ).rowcount
    _order_lanes(db, source, now=now)
    return count


def _known(db: SqlConnection, source: SourceId) -> Source:
    found = source_by_id(db, source)
    if found is None:
        raise InputError(f"there is no source {source!r}; `vedette sources list` shows them")
    return found


def _order_lanes(db: SqlConnection, source: SourceId, *, now: datetime) -> None:
    """Wake the lanes in which this source has work: one order each."""
    query = "SELECT MIN(url) FROM watches WHERE source_id = ? AND due_at IS NOT NULL GROUP BY lane_id"
    for (url,) in db.execute(query, (source,)).fetchall():
        order(db, "due", lane_of(url), now=now)


# What triggers need: when cron fired last, and which sources a sentinel job looks at.


@dataclass(frozen=True, slots=True)
class OwnAddress:
    """A source's own address, due now."""

    watch: WatchId
    source: SourceId
    name: str
    lane: LaneKey


def fired(db: SqlConnection) -> dict[str, datetime]:
    """When each entry of cron fired last."""
    return {name: from_ms(at) for name, at in db.execute("SELECT name, fired_at FROM cron_marks")}


def mark_fired(db: SqlConnection, name: str, at: datetime) -> None:
    db.execute(sql.upsert("cron_marks", ["name", "fired_at"], "name"), (name, to_ms(at)))


def order_sources(db: SqlConnection, order: SentinelOrder, *, now: datetime) -> list[OwnAddress]:
    """Makes the addresses of these sources due now, highest tier first, then the one not seen for longest.

    A source that failed too often rests (spec 001/6.1).  One with an interval of its own is left alone until it is
    time (spec 001/11.3), unless the order names it.
    """
    chosen = []
    for row in db.execute(sql.SOURCES).fetchall():
        source, state = read_source(row)
        watch = own_watch(db, source)
        seen_at = _last_visit(db, watch)
        is_closed = state.closed_until is not None and state.closed_until > now
        if not is_closed and _is_asked_for(source, order, seen_at, now):
            chosen.append((-source.tier, to_ms(seen_at) if seen_at else 0, source, watch))
    chosen.sort(key=lambda one: one[:2])
    return [
        OwnAddress(watch, source.id, source.name, lane_of(source.url))  # a merge stays on its host
        for _, _, source, watch in chosen
        if make_due(db, watch, now=now)
    ]


def _is_asked_for(source: Source, order: SentinelOrder, seen_at: datetime | None, now: datetime) -> bool:
    if not source.is_active:
        return False
    if order.source is not None:
        return source.id == order.source
    if order.tier is not None and source.tier is not order.tier:
        return False
    rests = source.scrape_frequency if source.every is None else source.every
    return rests is None or seen_at is None or seen_at + rests <= now


def _last_visit(db: SqlConnection, watch: WatchId) -> datetime | None:
    row = db.execute("SELECT last_visit_at FROM watches WHERE id = ?", (watch,)).fetchone()
    return None if row is None else opt_at(row[0])
