"""Rows about findings beside those of the hunt itself: links between pages, and reports of analysts.

A graph is made of the links and kept in a file beside the database.  The rows are the truth: a file that is damaged or
out of date is made again.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from vedette.contracts.findings import Claim, KeptReport, PageReport, Quote
from vedette.contracts.lane import LaneState
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, SourceId, WatchId
from vedette.core.oddness.figure_bytes import unpack_figures
from vedette.store.connection import in_parts
from vedette.store.rows import from_ms, lane_row, to_ms
from vedette.store.statements import SAVE_LANE, upsert

GRAPHS = "hunt-graphs"  # folder beside the database
_PAGES = "SELECT watch_id, url, place, score, action FROM odd_pages ORDER BY number"
_BODIES = "SELECT watch_id, digest, figures FROM odd_pages WHERE watch_id IN ({marks})"
_REPORT_COLUMNS = "watch_id author body digest calls usd at".split()
_REPORTS = f"SELECT {', '.join(_REPORT_COLUMNS)} FROM page_reports"
_LOOKS_OF_RUNS = (
    "SELECT v.run_id, COUNT(*), COALESCE(SUM(v.wire_bytes), 0), MAX(r.tally) FROM visits v "
    "JOIN watches w ON w.id = v.watch_id LEFT JOIN runs r ON r.id = v.run_id "
    "WHERE w.source_id IN ({marks}) AND v.at BETWEEN ? AND ? GROUP BY v.run_id"
)
_SPENT_ON_REPORTS = (
    "SELECT COALESCE(SUM(calls), 0), COALESCE(SUM(usd), 0) FROM page_reports WHERE at BETWEEN ? AND ?"
)
_COUNT = "SELECT COUNT(*), COALESCE(MAX(number), 0) FROM odd_pages"


class LinkedPage(NamedTuple):
    """A page that a hunt looked at, as a node."""

    watch: WatchId
    url: str
    place: str
    score: float
    action: str


def packed_ids(ids: Iterable[int]) -> bytes:
    found = sorted(ids)
    return struct.pack(f"<{len(found)}q", *found)


def linked_pages(db: SqlConnection) -> list[LinkedPage]:
    """All that hunts looked at, in the order of the looks."""
    return [LinkedPage(WatchId(watch), *rest) for watch, *rest in db.execute(_PAGES)]


def page_links(db: SqlConnection) -> Iterator[tuple[WatchId, bytes]]:
    """What each page links to: packed ids of watches."""
    return ((WatchId(watch), targets) for watch, targets in db.execute("SELECT * FROM page_links"))


def page_vectors(db: SqlConnection) -> Iterator[tuple[WatchId, bytes]]:
    """The vector of the text of each page that hunts looked at, in the order of the looks."""
    rows = db.execute("SELECT watch_id, figures FROM odd_pages ORDER BY number")
    return ((WatchId(watch), unpack_figures(figures).vector) for watch, figures in rows)


def place_links(db: SqlConnection) -> Iterator[tuple[str, bytes]]:
    """The place of each page, and its packed figures, which name the places that it links to."""
    yield from db.execute("SELECT place, figures FROM odd_pages ORDER BY number")


def looked_at(db: SqlConnection) -> dict[str, int]:
    """What tells whether a graph is still that of the store."""
    pages, newest = db.execute(_COUNT).fetchone()
    return {"pages": pages, "newest": newest}


class GraphFiles:
    """Graphs that were made of the rows, by name.  Losing one costs the time to make it again."""

    def __init__(self, data: Path) -> None:
        self._folder = data / GRAPHS

    def path(self, name: str) -> Path:
        return self._folder / f"{name}.graph"

    def read(self, name: str) -> bytes | None:
        try:
            return self.path(name).read_bytes()
        except OSError:
            return None

    def write(self, name: str, data: bytes) -> str:
        """Whole or not at all.  Gives why it was not written, or nothing."""
        path = self.path(name)
        fresh = path.with_suffix(f".{os.getpid()}.tmp")
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "wb") as file:
                file.write(data)
            fresh.replace(path)
        except OSError as error:
            with suppress(OSError):
                fresh.unlink(missing_ok=True)
            return str(error.strerror or error)
        return ""


def judged_bodies(db: SqlConnection, watches: Sequence[WatchId]) -> dict[WatchId, tuple[bytes, bytes]]:
    """Of pages that were judged: the digest of the body, and the packed figures."""
    rows = in_parts(db, _BODIES, watches)
    return {WatchId(watch): (digest, figures) for watch, digest, figures in rows}


class SpentOnHunts(NamedTuple):
    """Of looks at some sources, and of analysts, in a stretch of time."""

    looks: int
    wire_bytes: int
    cpu_seconds: float
    measured_looks: int
    calls: int
    usd: float


def spent_on_hunts(
    db: SqlConnection, sources: Sequence[SourceId], since: datetime, until: datetime
) -> SpentOnHunts:
    """A run's CPU is shared out by its looks."""
    time = (to_ms(since), to_ms(until))
    rows = list(in_parts(db, _LOOKS_OF_RUNS, sources, *time))
    cpu, measured = 0.0, 0
    for _, looks, _, tally in rows:
        said = json.loads(tally or "{}")
        if said.get("visits") and "cpu_seconds" in said:
            cpu += said["cpu_seconds"] * min(1.0, looks / said["visits"])
            measured += looks
    calls, usd = db.execute(_SPENT_ON_REPORTS, time).fetchone()
    return SpentOnHunts(
        looks=sum(row[1] for row in rows),
        wire_bytes=sum(int(row[2]) for row in rows),
        cpu_seconds=cpu,
        measured_looks=measured,
        calls=int(calls),
        usd=float(usd),
    )


def judged_between(db: SqlConnection, since: datetime, until: datetime) -> int:
    """How many pages hunts judged in that time."""
    query = "SELECT COUNT(*) FROM odd_pages WHERE at BETWEEN ? AND ?"
    return int(db.execute(query, (to_ms(since), to_ms(until))).fetchone()[0])


def kept_reports(db: SqlConnection) -> dict[WatchId, KeptReport]:
    """What analysts said, by finding."""
    return {WatchId(row[0]): _read_report(row) for row in db.execute(_REPORTS)}


def save_lanes(db: SqlConnection, states: Iterable[tuple[LaneKey, LaneState]]) -> None:
    """What calls of an analyst taught about the lanes of providers."""
    db.executemany(SAVE_LANE, [lane_row(key, state) for key, state in states])


def save_report(db: SqlConnection, kept: KeptReport) -> None:
    said = kept.report
    body = {
        **asdict(said),
        "why": [[one.words, one.quote.text, one.quote.at, one.points] for one in said.why],
    }
    values = (
        kept.watch, said.author, json.dumps(body, ensure_ascii=False, sort_keys=True), kept.digest, kept.calls,
        kept.usd, to_ms(kept.at),
    )  # fmt: skip
    db.execute(upsert("page_reports", _REPORT_COLUMNS, "watch_id"), values)


def _read_report(row: tuple[Any, ...]) -> KeptReport:
    watch, _, text, digest, calls, usd, at = row
    body = json.loads(text)
    why = tuple(Claim(words, Quote(quote, place), points) for words, quote, place, points in body.pop("why"))
    report = PageReport(**{**body, "tags": tuple(body["tags"]), "why": why})
    return KeptReport(
        watch=WatchId(watch), report=report, digest=digest, calls=calls, usd=usd, at=from_ms(at)
    )
