"""SQLite: one writing connection for one thread, one reading connection for another.

WAL with synchronous=FULL: what `settle` committed survives a power cut.  Checkpoints run off the commit path.
"""

from __future__ import annotations

import fcntl
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any, TypeVar

from vedette.contracts.change import Change
from vedette.contracts.errors import RefusedError, StoreError
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.contracts.watch import (
    Ask,
    Group,
    Located,
    Payload,
    Questions,
    Segment,
    SourceState,
    Standing,
    Watch,
)
from vedette.contracts.words import ChangeId, EvidenceId, LaneKey, Risk, RunId, SourceId, WatchId
from vedette.core.urls.canonical import lane_of
from vedette.store import statements as sql
from vedette.store.clock_repair import Ahead, PolicyOf, has_signs, heal
from vedette.store.connection import BEGIN, StorePlace, answers, in_parts, make_file, told
from vedette.store.connection import connect as connect  # where most look for it
from vedette.store.group import GroupRows, rows_of
from vedette.store.operator_orders import LOOK, own_watch
from vedette.store.row_columns import (
    CHANGE_COLUMNS,
    PAYLOAD_COLUMNS,
    ROBOTS_COLUMNS,
    Row,
    StoredWords,
    reader,
)
from vedette.store.rows import (
    RISKS,
    from_ms,
    lane_id,
    opt_at,
    read_change,
    read_lane,
    read_robots,
    read_segment,
    read_source,
    read_watch,
    to_ms,
)
from vedette.store.seal_rows import seal

_T = TypeVar("_T")
Heads = list[tuple[WatchId, Risk, datetime, int]]  # id, risk, due_at, interval in seconds


class StoreLock:
    """One engine per store.  The lock dies with the process, however it ends."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None

    def take(self, note: str, *, shared: bool = False) -> str:
        """`shared`: beside others that share it, and while nobody has it alone.

        Gives the note of a holder that did not release it: a process that is gone.  Empty: there is none.
        """
        try:
            make_file(self._path)
            file = self._path.open("a+b", buffering=0)
        except OSError as error:
            raise StoreError(f"cannot use {self._path.parent} for data: {error.strerror}") from None
        try:
            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().decode("utf-8", "replace").strip() or "another process"
            file.close()
            raise RefusedError(
                f"the store {self._path.parent} is in use by {holder}; stop it first, or use another --data"
            ) from None
        file.seek(0)
        dead = file.read().decode("utf-8", "replace").strip()
        file.truncate(0)
        with suppress(OSError):  # a full disk takes no note; the lock holds without it
            file.write(note.encode())
        self._file = file
        return dead

    def release(self) -> None:
        if self._file is not None:
            self._file.truncate(0)
            self._file.close()
            self._file = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """Which watches a run takes.  All, unless it says otherwise."""

    tier: Risk | None = None
    source: str | None = None
    fetch_only: bool = False  # pages, no listings
    discover_only: bool = False  # listings only
    ordered_after: int | None = None  # only what was ordered by name since this order

    def clause(self) -> str:
        parts = []
        if self.tier is not None:
            parts.append(f"w.source_id IN (SELECT id FROM sources WHERE tier = {int(self.tier)})")
        if self.source is not None:
            quoted = self.source.replace("'", "''")
            parts.append(f"w.source_id = '{quoted}'")
        if self.fetch_only:
            parts.append("(w.lister IS NULL OR w.lister IN ('page', 'crawl'))")
        if self.discover_only:
            parts.append("w.lister IS NOT NULL AND w.lister <> 'page'")
        if self.ordered_after is not None:
            named = f"SELECT CAST(o.subject AS BIGINT) FROM orders o WHERE o.id > {int(self.ordered_after)}"
            is_open = (
                "(COALESCE(w.last_visit_at, -1) < o.at OR w.pending_change IS NOT NULL OR w.attempt > 0)"
            )
            parts.append(f"w.id IN ({named} AND o.action = '{LOOK}' AND {is_open})")
        return " AND ".join(parts)


class Writer:
    """The write side.  Owned by one thread; every method leaves the store whole."""

    def __init__(self, path: StorePlace, *, worker: str, pick: Pick | None = None) -> None:
        self._db = connect(path)
        self._path = path
        self._worker = worker
        self._pick = (pick or Pick()).clause()
        self._heads = sql.lane_heads(self._pick)
        self._taken: list[tuple[int, str, int, int]] = []  # leases that were handed out and are not committed

    @property
    def connection(self) -> SqlConnection:
        return self._db

    def take_lock(self, *, shared: bool = False) -> None:
        """One engine per store.  A file is in a folder whose lock the caller has; a server is asked.

        `shared`: any number of engines that each write archive files of their own.  On a server alone.
        """
        if isinstance(self._path, PostgresAddress):
            self._db.take_engine_lock(shared=shared)  # type: ignore[attr-defined]

    def take_series(self, number: int) -> bool:
        """The archive files of this number are ours, on whichever machine; False: they are another worker's."""
        return bool(self._db.take_series(number))  # type: ignore[attr-defined]

    def leave_series(self) -> None:
        self._db.leave_series()  # type: ignore[attr-defined]

    @contextmanager
    def transaction(self) -> Iterator[SqlConnection]:
        """For one-time work before the run starts: all of it, or nothing."""
        try:
            with self._telling():
                self._begin()
                yield self._db
                self._db.execute("COMMIT")
                self._taken.clear()
        finally:
            self._rollback()

    def ask_ahead(self, questions: Questions) -> None:
        """What will be asked for next.  A file answers each question when it is asked."""

    def claim(self, asks: Sequence[Ask], *, now: datetime, due_by: datetime) -> Mapping[LaneKey, Heads]:
        """The heads of every risk class of the asked lanes; the caller picks, then calls `take`."""
        at, by = to_ms(now), to_ms(due_by)
        found: dict[LaneKey, Heads] = {}
        with self._telling():
            values = [(lane_id(ask.lane), by, at, ask.most) * sql.HEADS for ask in asks]
            for ask, rows in zip(asks, answers(self._db, self._heads, values), strict=True):
                if ask.ordered:
                    query = sql.ordered_heads(self._pick, len(ask.ordered))
                    rows = [*self._db.execute(query, (*ask.ordered, by, at)), *rows]
                found[ask.lane] = [(i, RISKS[r], from_ms(d), s) for i, r, d, s in rows]
        return found

    def take(self, ids: Sequence[WatchId], *, now: datetime, until: datetime) -> list[Watch]:
        """Lease these and give them whole."""
        leases = [(int(i), self._worker, to_ms(now), to_ms(until)) for i in ids]
        with self._telling():
            try:
                self._begin()
                self._db.executemany(sql.TAKE_LEASE, leases)
            except sqlite3.Error:
                self._rollback()  # what was taken before is taken again with the next transaction
                raise
            self._taken += leases
            return list(map(read_watch, in_parts(self._db, sql.WATCHES_BY_ID, ids)))

    def next_dues(self, places: Sequence[tuple[LaneKey, Risk]], *, after: datetime) -> list[datetime | None]:
        """When the next watch of each of these lanes and classes becomes due after that moment."""
        values = [(lane_id(lane), int(risk), to_ms(after)) for lane, risk in places]
        with self._telling():
            return [opt_at(rows[0][0]) for rows in answers(self._db, sql.LANE_NEXT_DUE, values)]

    def payloads(self, digests: Sequence[bytes]) -> dict[bytes, list[Payload]]:
        """Where the archive already has these payloads."""
        found: dict[bytes, list[Payload]] = {}
        for digest, payload in self._payloads(sql.PAYLOADS, digests):
            found.setdefault(digest, []).append(payload)
        for several in found.values():
            several.sort(key=lambda payload: payload.evidence)
        return found

    def kept(self, evidence: Sequence[EvidenceId]) -> dict[EvidenceId, Payload]:
        """Where the archive has the payloads of these; what expired is not there."""
        return {payload.evidence: payload for _, payload in self._payloads(sql.PAYLOADS_BY_ID, evidence)}

    def screenshots(self, evidence: Sequence[EvidenceId]) -> set[EvidenceId]:
        """Those of them that have a picture."""
        return {EvidenceId(row[0]) for row in in_parts(self._db, sql.PICTURED, evidence)}

    def _payloads(self, query: str, keys: Sequence[Any]) -> Iterator[tuple[bytes, Payload]]:
        return map(read_payload, in_parts(self._db, query, keys))

    def settle(self, group: Group) -> Segment | None:
        """All of the group, or nothing of it: the next commit must not keep the half of one that failed.

        Gives how far the chain of seals has come; None: no row was written that is sealed.
        """
        rows = rows_of(group)
        with self.transaction():
            self._write(rows)
            return seal(self._db, rows.touched())

    def commit(self) -> None:
        """End a transaction that only took leases."""
        if self._taken:
            with self._telling():
                self._begin()  # a transaction that failed has lost them
        if self._db.in_transaction:
            with self._telling():
                self._db.execute("COMMIT")
            self._taken.clear()

    def heartbeat(self, *, until: datetime) -> None:
        with self._telling():
            self._begin()
            self._db.execute(sql.EXTEND_LEASES, (to_ms(until), self._worker))

    def return_leases(self) -> int:
        """Leases of processes that are gone: the store lock proves that there is no other."""
        return self._db.execute("DELETE FROM leases").rowcount

    def leased(self) -> list[LaneKey]:
        """The lanes of what is leased: after a kill, looks that may have begun and were never counted."""
        return [lane_of(url) for (url,) in self._db.execute(sql.LEASED_URLS)]

    def was_killed(self) -> bool:
        """A run never said how it ended.  Stays true until the next one has started."""
        return self._db.execute("SELECT 1 FROM runs WHERE ended_by IS NULL").fetchone() is not None

    def start_run(self, run: RunId, *, now: datetime, policy: str, digest: str, rules: str = "{}") -> None:
        """From here on a kill is known.  In one step: a kill during a start must not hide the one before it."""
        with self.transaction():
            self.return_leases()
            self._db.execute(sql.END_KILLED_RUNS)
            self._db.execute(sql.NEW_RUN, (run, to_ms(now), policy, digest, rules))

    def end_run(self, run: RunId, *, now: datetime, ended_by: str, tally: str) -> None:
        """The run ended as it says, and holds nothing any more."""
        with self.transaction():
            self._db.execute(sql.END_RUN, (to_ms(now), ended_by, tally, run))
            self.return_leases()

    def heal(self, *, now: datetime, policy_of: PolicyOf) -> Ahead:
        """Brings times back that lie further ahead than their rules allow.  Costs little when there are none."""
        with self._telling():
            if not has_signs(self._db, now=now):
                return Ahead()
        with self.transaction() as db:
            return heal(db, now=now, policy_of=policy_of)

    def lanes_due(self) -> list[tuple[LaneKey, Risk, datetime]]:
        return lanes_due(self._db)

    def segments(self) -> list[Segment]:
        return [read_segment(row) for row in self._db.execute(sql.SEGMENTS)]

    def checkpoint(self) -> None:
        """Move the WAL into the database when nobody waits for a commit.  Never waits for a reader."""
        self.commit()
        if isinstance(self._db, sqlite3.Connection):  # a server does it by itself
            with self._telling():
                self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def close(self) -> None:
        try:
            self.commit()
        finally:
            self._db.close()

    @contextmanager
    def _telling(self) -> Iterator[None]:
        """What SQLite cannot do, in words that say what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise told(error, self._path) from error

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute(BEGIN)
            if self._taken:
                self._db.executemany(sql.TAKE_LEASE, self._taken)

    def _rollback(self) -> None:
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def _write(self, rows: GroupRows) -> None:
        many = self._db.executemany
        for statement, values in rows.statements():
            if values:
                many(statement, values)


class Reader:
    """Point reads for the engine's own thread.  Sees what is committed."""

    def __init__(self, path: StorePlace) -> None:
        self._db = connect(path, read_only=True)

    def known(self, ids: Sequence[WatchId]) -> set[WatchId]:
        """Which of these are watches already."""
        return {WatchId(i) for (i,) in in_parts(self._db, sql.KNOWN_IDS, ids)}

    def watch(self, watch: WatchId) -> Watch | None:
        row = self._db.execute(sql.WATCHES_BY_ID.format(marks="?"), (watch,)).fetchone()
        return read_watch(row) if row else None

    def robots(self, origin: str) -> RobotsRules | None:
        names = ", ".join(ROBOTS_COLUMNS)
        row = self._db.execute(f"SELECT {names} FROM robots WHERE origin = ?", (origin,)).fetchone()
        return None if row is None else read_robots(row)

    def lane(self, key: LaneKey) -> LaneState | None:
        row = self._db.execute(sql.LANE, (lane_id(key),)).fetchone()
        return None if row is None else read_lane(row)[1]

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str] | None:
        """Where a payload is, its content type and its URL."""
        row = self._db.execute(
            'SELECT segment, "offset", length, content_type, url FROM evidence WHERE id = ?', (evidence,)
        ).fetchone()
        if row is None:
            return None
        segment, offset, length, content_type, url = row
        return Located(segment=segment, offset=offset, length=length), content_type, url

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        """What the looks since then showed and when, oldest first."""
        rows = self._db.execute(sql.LOOKS_SINCE, (watch, to_ms(at)))
        return [(EvidenceId(evidence), from_ms(when)) for evidence, when in rows]

    def change(self, change: ChangeId) -> Change | None:
        names = ", ".join(CHANGE_COLUMNS)
        row = self._db.execute(f"SELECT {names} FROM changes WHERE id = ?", (change,)).fetchone()
        return None if row is None else read_change(row)

    def lanes_due(self) -> Iterable[tuple[LaneKey, Risk, datetime]]:
        """Every lane and class with scheduled work, and when its first is due."""
        return lanes_due(self._db)

    def overdue(self, by: datetime, since: datetime, pick: Pick) -> list[tuple[str, SourceId, int]]:
        """What of the run was due by then and not looked at since, by lane and source: a URL, its source, how many."""
        rows = self._db.execute(sql.overdue(pick.clause()), (to_ms(by), to_ms(since)))
        return [(url, SourceId(source), count) for url, source, count in rows]

    def source(self, source: SourceId) -> tuple[Source, SourceState] | None:
        row = self._db.execute(sql.SOURCE, (source,)).fetchone()
        return None if row is None else read_source(row)

    def sources(self) -> list[Source]:
        return [read_source(row)[0] for row in self._db.execute(sql.SOURCES)]

    def own_watch(self, source: Source) -> WatchId:
        """Where the source's own address is looked at."""
        return own_watch(self._db, source)

    def last_id(self) -> int:
        """The highest of the ids that we give out."""
        return int(self._db.execute(sql.LAST_ID).fetchone()[0])

    def last_order(self) -> int:
        return int(self._db.execute("SELECT COALESCE(MAX(id), 0) FROM orders").fetchone()[0])

    def orders(self, after: int) -> list[tuple[int, str, str]]:
        """StoredWords of the operator since then: id, action, subject."""
        return self._db.execute(
            "SELECT id, action, subject FROM orders WHERE id > ? ORDER BY id", (after,)
        ).fetchall()

    def ordered_looks(self, *, after: int, since: datetime) -> list[tuple[WatchId, LaneKey]]:
        """What the operator wants to be looked at and nobody has looked at, oldest order first."""
        rows = self._db.execute(sql.ORDERED_LOOKS, (after, to_ms(since))).fetchall()
        return [(WatchId(number), lane_of(url)) for number, url in rows]

    def close(self) -> None:
        self._db.close()


def lanes_due(db: SqlConnection) -> list[tuple[LaneKey, Risk, datetime]]:
    """Every lane and class with scheduled work, and when its first is due."""
    rows = db.execute(sql.LANES_DUE).fetchall()
    return [
        (lane_of(url), risk, from_ms(due))
        for url, *dues in rows
        for risk, due in zip(Risk, dues, strict=True)
        if due is not None
    ]


_payload_of = reader(
    Payload,
    PAYLOAD_COLUMNS,
    evidence="id",
    watch="watch_id",
    stored_by="stored_by",
    url="url",
    at=("at", from_ms),
    segment="segment",
    offset="offset",
    length="length",
    standing=("standing", StoredWords(Standing)),
    same_as="same_as",
)
_digest_of = reader(lambda digest: bytes(digest), PAYLOAD_COLUMNS, digest="digest")


def read_payload(row: Row) -> tuple[bytes, Payload]:
    return _digest_of(row), _payload_of(row)
