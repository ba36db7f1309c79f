"""What a correction of the configuration sets going again: looks that it could heal, listings that it reads anew.

Functions of a transaction that the caller owns.  A running engine hears of everything by `orders`.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, Outcome, SourceId
from vedette.core.health.remedies import ALL_SETTINGS, healed_by
from vedette.core.lanes.outcomes import MEANING
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.operator_orders import lane_state, order, save_lane
from vedette.store.rows import read_source, to_ms
from vedette.store.text_columns import dump_json

SETTINGS = "settings"  # the key in `runs.rules`: what the run was configured with, by digests
FETCH_ONLY = "fetch_only"  # not a setting that heals: such a run leaves links unread
ADMISSION = "admission"  # the form of the rules by which listings are read; another one reads them anew
_LAST_RULES = "SELECT rules FROM runs ORDER BY started_at DESC, id DESC LIMIT 1"
_PAGES = "(lister IS NULL OR lister = 'crawl')"
_LISTS = "lister IS NOT NULL AND lister <> 'page'"
# The next look asks without validators, and equal bytes are read all the same.
_UNREAD = "UPDATE watches SET etag = NULL, last_modified = NULL, seen_digest = ? WHERE source_id = ? AND "
# A listing that was seen and not read: its digest is empty.
_DUE_UNREAD = f"UPDATE watches SET due_at = ? WHERE {_LISTS} AND LENGTH(seen_digest) = 0 AND due_at > ?"
_LATER = "due_at > ? AND merged_into IS NULL"
_DUE = "UPDATE watches SET due_at = ?, audit_s = NULL WHERE source_id = ? AND "


def take_effect(db: SqlConnection, settings: Mapping[str, str], *, now: datetime) -> int:
    """At the start of a run: makes due what a setting that changed since the last run could heal; how many.

    A last run that says nothing of its settings is of an older version: anything may have changed since.
    """
    row = db.execute(_LAST_RULES).fetchone()
    if row is None:
        return 0
    free = _try_settings(db, now=now)
    before = json.loads(row[0]).get(SETTINGS)
    names = {*settings, *(before or ())}
    changed = {name for name in names if before is None or before.get(name) != settings.get(name)}
    if FETCH_ONLY in changed and not settings.get(FETCH_ONLY):
        db.execute(_DUE_UNREAD, (to_ms(now), to_ms(now)))
    is_read_anew = ADMISSION in changed
    changed &= ALL_SETTINGS
    if not changed and not is_read_anew:
        return free
    sources = [read_source(one)[0] for one in db.execute(sql.SOURCES).fetchall()]
    for source in sources if is_read_anew else ():
        if source.options.include or source.options.url_pattern:
            reread(db, source.id, now=now)
    return free + sum(
        heal(db, source.id, healed_by(changed - ({*dict(source.fetch)} - _EVERYWHERE)), now=now)
        for source in sources
    )


def _try_settings(db: SqlConnection, *, now: datetime) -> int:
    """Sources that name a variable and could not use their settings are tried at every start: it may be set now.

    It costs the far end nothing, and no digest tells of the variables that sources of the store name.
    """
    outcome = Outcome.BAD_SETTINGS
    query = "SELECT DISTINCT s.id FROM parked p JOIN watches w ON w.id = p.watch_id JOIN sources s"
    query += " ON s.id = w.source_id WHERE p.outcome = ? AND s.fetch LIKE '%env:%'"
    rows = db.execute(query, (outcome.value,)).fetchall()
    return sum(heal(db, SourceId(one), (outcome,), now=now) for (one,) in rows)


_EVERYWHERE = {"headers", "ca_file"}  # their digests cover what the sources set for themselves


def heal(db: SqlConnection, source: SourceId, outcomes: Collection[Outcome], *, now: datetime) -> int:
    """Looks of this source that ended so are due now, as if they had never failed; how many.

    A lane that they closed lets one of them through; the far end's own Retry-After stays.
    """
    if not outcomes:
        return 0
    words = sorted(outcome.value for outcome in outcomes)
    marks = ", ".join("?" * len(words))
    query = f"SELECT id, url, last_outcome FROM watches WHERE source_id = ? AND last_outcome IN ({marks})"
    query += " AND due_at IS NOT NULL AND merged_into IS NULL"
    rows = db.execute(query, (source, *words)).fetchall()
    ids = [(row[0],) for row in rows]
    db.executemany("DELETE FROM parked WHERE watch_id = ?", ids)
    sooner = "CASE WHEN due_at < ? THEN due_at ELSE ? END"
    due = f"UPDATE watches SET due_at = {sooner}, attempt = 0, audit_s = NULL WHERE id = ?"
    db.executemany(due, [(to_ms(now), to_ms(now), *one) for one in ids])
    if rows:
        db.execute("UPDATE sources SET failures = 0, closed_until = NULL WHERE id = ?", (source,))
    for lane in {lane_of(url) for _, url, _ in rows}:
        order(db, "due", lane, now=now)
    for lane in {lane_of(url) for _, url, word in rows if MEANING[Outcome(word)].counts_against_lane}:
        _try_once(db, lane, now)
    return len(rows)


def reread(db: SqlConnection, source: SourceId, *, now: datetime) -> set[LaneKey]:
    """Its listings are read anew now, whatever the far end says of their validators, and by the rules of now.

    Gives the lanes in which they are due.  What the old rules refused is forgotten: the new ones judge it again.
    """
    db.execute(_UNREAD + f"{_LISTS} AND seen_digest IS NOT NULL", (b"", source))
    looked_at = (
        f"{_LISTS} AND last_visit_at IS NOT NULL AND {_LATER}"  # what waits for its first look still does
    )
    db.execute(_DUE + looked_at, (to_ms(now), source, to_ms(now)))
    db.execute("DELETE FROM refusals WHERE source_id = ?", (source,))
    row = db.execute("SELECT tally FROM sources WHERE id = ?", (source,)).fetchone()
    tally = {name: value for name, value in json.loads(row[0]).items() if name != "capped"}
    db.execute(
        "UPDATE sources SET failures = 0, closed_until = NULL, tally = ? WHERE id = ?",
        (dump_json(tally), source),
    )
    order(db, "source", source, now=now)
    lanes = f"SELECT MIN(url) FROM watches WHERE source_id = ? AND {_LISTS} AND due_at <= ? GROUP BY lane_id"
    return {lane_of(url) for (url,) in db.execute(lanes, (source, to_ms(now))).fetchall()}


def refilter(db: SqlConnection, source: SourceId, *, now: datetime) -> None:
    """Its pages are read at their next look, whatever the far end says of their validators: the filters are others.

    The state before is read by the new filters too, so that nothing of it seems to have changed.
    """
    db.execute(_UNREAD + f"{_PAGES} AND seen_digest IS NOT NULL", (b"", source))
    order(db, "source", source, now=now)


def _try_once(db: SqlConnection, lane: LaneKey, now: datetime) -> None:
    """The breaker's time is over: one probe passes, and says whether the correction helped."""
    state = lane_state(db, lane)
    if state is not None and state.closed_until is not None and state.closed_until > now:
        save_lane(db, lane, replace(state, closed_until=now), now=now)
