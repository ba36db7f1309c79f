"""The cold side of the store: questions that people ask, in the SQL of `dialect.py`, answered with frozen values.

Plain SQL: importing a query builder costs more than any answer (ADR-0033).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from operator import itemgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from vedette.contracts.errors import StoreError
from vedette.contracts.source import Source
from vedette.contracts.words import (
    ChangeId,
    EvidenceId,
    LaneKey,
    Outcome,
    VisitId,
    WatchId,
)
from vedette.core.lanes.outcomes import SEEN
from vedette.core.urls.canonical import host_of, lane_of, watch_id
from vedette.store import views
from vedette.store.connection import StorePlace, connect_named, in_parts, marks, tables_of, unusable
from vedette.store.query_terms import (
    BY_TIME,
    BY_URL,
    MARKS,
    ROW_BY_ROW,
    QueryTerms,
    change_terms,
    ledger_terms,
    limit,
    reading_order,
    watch_terms,
)
from vedette.store.row_columns import (
    LANE_COLUMNS,
    ROBOTS_COLUMNS,
    SEGMENT_COLUMNS,
    SOURCE_COLUMNS,
    WATCH_COLUMNS,
)
from vedette.store.rows import (
    MUTED,
    from_ms,
    lane_id,
    opt_at,
    read_lane,
    read_robots,
    read_segment,
    read_source,
    read_watch,
    to_ms,
)
from vedette.store.schedule_rows import read_published
from vedette.store.statements import (
    LAST_PUBLISHED,
    PUBLISHED,
    RUNNING,
)

if TYPE_CHECKING:
    from vedette.contracts.change import Change
    from vedette.contracts.fetch import RobotsRules
    from vedette.contracts.lane import LaneState
    from vedette.contracts.schedule import PublishedRow
    from vedette.contracts.watch import Parked, Segment, Visit, Watch

_T = TypeVar("_T")
_TELLING = (Outcome.OK, Outcome.NOT_MODIFIED, Outcome.GONE)  # looks that say whether the content changed


def _select(table: str, columns: Sequence[str]) -> str:
    names = ", ".join(f'"{name}"' for name in columns)
    return f"SELECT {names} FROM {table}"


_WATCH = _select("watches", WATCH_COLUMNS)
_LINE = _select("watches", views.LINE_COLUMNS)
_SOURCE = _select("sources", SOURCE_COLUMNS)
_LANE = _select("lanes", LANE_COLUMNS)
_CHANGE = (
    "SELECT changes.*, coalesce(watches.url, '') AS watch_url, coalesce(watches.title, '') AS watch_title, "
    "coalesce(watches.risk, 1) AS watch_risk, coalesce(watches.source_id, '') AS watch_source, "
    "coalesce((SELECT word FROM change_marks WHERE change_id = changes.id), '') AS mark "
    "FROM changes LEFT JOIN watches ON watches.id = changes.watch_id"
)
_EVIDENCE = (
    "SELECT evidence.*, visits.outcome AS visit_outcome, visits.status AS visit_status "
    "FROM evidence LEFT JOIN visits ON visits.id = evidence.id"
)
_SCREENSHOTS = (
    'SELECT s.*, v.at, v.segment, v."offset", v.length FROM screenshots s JOIN visits v ON v.id = s.visit_id '
    'WHERE s.evidence_id IN ({marks}) AND v."offset" IS NOT NULL'
)
_SHOWN = (
    "EXISTS (SELECT 1 FROM changes WHERE changes.watch_id = visits.watch_id AND changes.after_visit = visits.id "
    "AND changes.state <> 'rejected')"
)


class Queries:
    """Sees what is committed.  Close it, or use it in a `with`."""

    def __init__(self, path: StorePlace) -> None:
        self._path = path
        self._db = connect_named(path)

    def __enter__(self) -> Queries:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._db.close()

    def watch(self, watch: WatchId) -> Watch | None:
        return self._one(f"{_WATCH} WHERE id = ?", read_watch, watch)

    def watches(self, which: views.WatchFilter, *, most: int = 0) -> Iterator[Watch]:
        terms = watch_terms(which)
        order = "due_at, id" if which.by_due else "url"
        query = f"{_WATCH}{terms.where} ORDER BY {order}{limit(most)}"
        return map(read_watch, self._rows(query, *terms.values))

    def watch_lines(self, which: views.WatchFilter, *, most: int = 0) -> list[views.WatchLine]:
        """What lists show of them, at a twentieth of the work of `watches`.  Only those are read whole."""
        terms = watch_terms(which)
        order = "due_at, id" if which.by_due else "url"
        chosen = f"SELECT id FROM watches{reading_order(which)}{terms.where} ORDER BY {order}{limit(most)}"
        where = f" WHERE id IN ({chosen})" if most else terms.where  # all of them need not be chosen first
        ordered = f" ORDER BY {order}" if most or which.by_due else ""
        rows = self._table(f"{_LINE}{where}{ordered}", *terms.values)
        if not ordered:
            rows.sort(key=itemgetter(0))  # by URL, at a third of what reading all rows along the index costs
        return [views.WatchLine._make(row) for row in rows]

    def count_watches(self, which: views.WatchFilter) -> int:
        terms = watch_terms(which)
        how = reading_order(which).replace(BY_URL, "")
        return int(self._scalar(f"SELECT count(*) FROM watches{how}{terms.where}", *terms.values))

    def sources(self) -> list[views.SourceView]:
        """All of them, highest tier first, with how many watches each has."""
        counts = dict(self._rows("SELECT source_id, count(*) FROM watches GROUP BY source_id"))
        rows = list(self._rows(f"{_SOURCE} ORDER BY tier DESC, id"))
        return [self._with_looks(views.source_view(row, counts.get(row[0], 0))) for row in rows]

    def shared_pages(self, listings: Sequence[Source]) -> dict[str, dict[str, int]]:
        """By source that lists: how many watches under its address belong to which other source."""
        by_lane: dict[int, list[tuple[str, str]]] = {}
        for source in listings:
            prefix = source.url.partition("?")[0]
            under = prefix[: prefix.rindex("/") + 1]
            by_lane.setdefault(lane_id(lane_of(source.url)), []).append((source.id, under))
        found: dict[str, dict[str, int]] = {source.id: {} for source in listings}
        kept = "SELECT lane_id, source_id, url FROM watches WHERE source_id IN (SELECT id FROM sources)"
        for lane, owner, url in self._in_parts(f"{kept} AND lane_id IN ({{marks}})", list(by_lane)):
            for name, under in by_lane[lane]:
                if owner != name and url.startswith(under):
                    found[name][owner] = found[name].get(owner, 0) + 1
        return found

    def tags(self) -> dict[str, tuple[str, ...]]:
        """By source: the words that its owner gave it."""
        rows = map(read_source, self._rows(f"{_SOURCE} ORDER BY id"))
        return {str(source.id): source.registered.tags for source, _ in rows}

    def source_ids(self) -> list[str]:
        return [row[0] for row in self._rows("SELECT id FROM sources ORDER BY id")]

    def source_lanes(self) -> list[str]:
        """The lanes of what was configured."""
        return sorted({lane_of(row[0]) for row in self._rows("SELECT url FROM sources")})

    def host_lanes(self) -> list[str]:
        """The lanes of hosts on which something is watched."""
        query = "SELECT key FROM lanes WHERE EXISTS (SELECT 1 FROM watches WHERE lane_id = lanes.id)"
        found = [row[0] for row in self._rows(query)]
        return sorted({*found, *self.source_lanes()})

    def has_pages(self, lane: LaneKey) -> bool:
        """Is anything watched in this lane?"""
        return self._first("SELECT 1 FROM watches WHERE lane_id = ? LIMIT 1", lane_id(lane)) is not None

    def source(self, source: str) -> views.SourceView | None:
        row = self._first(f"{_SOURCE} WHERE id = ?", source)
        if row is None:
            return None
        watches = self._scalar("SELECT count(*) FROM watches WHERE source_id = ?", source)
        return self._with_looks(views.source_view(row, int(watches)))

    def visit(self, visit: VisitId) -> Visit | None:
        return self._one("SELECT * FROM visits WHERE id = ?", views.read_visit, visit)

    def visits(self, watch: WatchId, *, most: int) -> list[Visit]:
        """Newest first."""
        query = f"SELECT * FROM visits WHERE watch_id = ? ORDER BY at DESC{limit(most)}"
        return [views.read_visit(row) for row in self._rows(query, watch)]

    def targets(self) -> list[tuple[int, int, int, int]]:
        """Id, lane, risk and creation (ms) of every watch that is looked at, by id; not of removed sources."""
        is_kept = "merged_into IS NULL AND source_id IN (SELECT id FROM sources)"
        return self._table(f"SELECT id, lane_id, risk, created_at FROM watches WHERE {is_kept} ORDER BY id")

    def hosts(self) -> dict[int, str]:
        """By the id of its lane: the host of every watch.  One address of a lane is enough to tell."""
        one_each = "SELECT min(id) FROM watches GROUP BY lane_id"
        query = f"SELECT lane_id, url FROM watches WHERE id IN ({one_each})"
        return {lane: host_of(url) for lane, url in self._table(query)}

    def looks(self, since: datetime | None = None) -> list[tuple[int, int, int, int]]:
        """Watch, time (ms), audit interval (s; -1: no audit) and "showed a change" (0 or 1) of every look that saw
        content, or that it was gone.  By watch, then by time."""
        terms = QueryTerms()
        terms.any_of("outcome", [one.value for one in _TELLING])
        if since is not None:
            terms.add("at >= ?", to_ms(since))
        values = f"watch_id, at, coalesce(audit_s, -1), {_SHOWN}"
        return self._table(f"SELECT {values} FROM visits{terms.where} ORDER BY watch_id, at", *terms.values)

    def requests(self, since: datetime | None = None) -> tuple[int, datetime | None, datetime | None]:
        """How many looks there were of any outcome, the first and the last."""
        terms = QueryTerms()
        if since is not None:
            terms.add("at >= ?", to_ms(since))
        row = self._first(f"SELECT count(*), min(at), max(at) FROM visits{terms.where}", *terms.values)
        return (0, None, None) if row is None else (int(row[0]), opt_at(row[1]), opt_at(row[2]))

    def ledger(self, watch: WatchId, *, most: int) -> list[views.LedgerView]:
        """Newest first."""
        query = f"SELECT * FROM ledger WHERE watch_id = ? ORDER BY at DESC, id DESC{limit(most)}"
        return [views.read_ledger(row) for row in self._rows(query, watch)]

    def decisions(self, which: views.LedgerFilter) -> Iterator[views.LedgerView]:
        """All that was decided, oldest first."""
        terms = ledger_terms(which)
        return map(
            views.read_ledger, self._rows(f"SELECT * FROM ledger{terms.where} ORDER BY id", *terms.values)
        )

    def count_decisions(self, which: views.LedgerFilter) -> int:
        """Rows of the ledger."""
        terms = ledger_terms(which)
        return int(self._scalar(f"SELECT count(*) FROM ledger{terms.where}", *terms.values))

    def changes(self, which: views.ChangeFilter, *, most: int = 0) -> Iterator[views.ChangeView]:
        """Newest first."""
        terms = change_terms(which)
        order = "changes.observed_at DESC, changes.id"
        # Diffs are long: of most rows only the order is read.
        is_narrow = which.watch or which.source or which.sources or which.mark in MARKS
        how = "" if is_narrow else ROW_BY_ROW if which.text else BY_TIME
        joined = " LEFT JOIN watches ON watches.id = changes.watch_id" if which.risk is not None else ""
        chosen = f"SELECT changes.id FROM changes{how}{joined}{terms.where} ORDER BY {order}{limit(most)}"
        query = f"{_CHANGE} WHERE changes.id IN ({chosen}) ORDER BY {order}"
        return map(views.read_change, self._rows(query, *terms.values))

    def change(self, change: ChangeId) -> views.ChangeView | None:
        return self._one(f"{_CHANGE} WHERE changes.id = ?", views.read_change, change)

    def change_numbers(self, changes: Sequence[ChangeId]) -> dict[ChangeId, int]:
        """What people call them by.  Given when a change is stored; no change is ever deleted."""
        query = "SELECT change_id, number FROM change_numbers WHERE change_id IN ({marks})"
        return {ChangeId(change): number for change, number in self._in_parts(query, changes)}

    def change_of_number(self, number: int) -> views.ChangeView | None:
        """The change that `change_numbers` gives this number."""
        query = "SELECT change_id FROM change_numbers WHERE number = ?"
        found = self._scalar(query, number) if 0 < number < 2**63 else None
        return None if found is None else self.change(ChangeId(found))

    def newer_change(self, one: Change, states: Sequence[str]) -> ChangeId | None:
        """The one before it in a list that has the newest first."""
        after = "observed_at >= ? AND (observed_at > ? OR id < ?)"
        how = f"FROM changes{BY_TIME} WHERE {after} AND +state IN ({marks(states)}) ORDER BY observed_at, id DESC"
        at = to_ms(one.observed_at)
        found = self._scalar(f"SELECT id {how} LIMIT 1", at, at, one.id, *states)
        return None if found is None else ChangeId(found)

    def lanes(self) -> list[views.LaneView]:
        rows = self._rows(f"{_LANE} ORDER BY key")
        return [views.LaneView(key=key, state=state) for key, state in map(read_lane, rows)]

    def lane(self, key: LaneKey) -> LaneState | None:
        found = self._one(f"{_LANE} WHERE id = ?", read_lane, lane_id(key))
        return None if found is None else found[1]

    def looks_asked_of(self, key: LaneKey, *, beside: WatchId) -> float:
        """Looks a day that the watches of this lane are planned for, that one left out."""
        wait = "coalesce(audit_s, interval_s)"
        terms = f"lane_id = ? AND due_at IS NOT NULL AND id <> ? AND {wait} >= 60"
        query = f"SELECT sum(86400.0 / {wait}) FROM watches WHERE {terms}"
        return float(self._scalar(query, lane_id(key), beside) or 0.0)

    def asking(self) -> dict[str, Source]:
        """By URL: the sources that ask for an interval."""
        asks = """scrape_frequency_s IS NOT NULL OR options LIKE '%"every":%'"""
        return {source.url: source for source, _ in map(read_source, self._rows(f"{_SOURCE} WHERE {asks}"))}

    def resting(self) -> dict[str, Source]:
        """By id: the sources that are paused or muted."""
        rests = f"""NOT is_active OR paused_at IS NOT NULL OR options LIKE '%"{MUTED}":%'"""
        return {str(one.id): one for one, _ in map(read_source, self._rows(f"{_SOURCE} WHERE {rests}"))}

    def looked_at(self, watches: Sequence[WatchId], *, since: datetime) -> list[Watch]:
        """Those of these that were looked at since then."""
        return [
            read_watch(row)
            for row in self._in_parts(
                f"{_WATCH} WHERE id IN ({{marks}}) AND last_visit_at >= ?", watches, to_ms(since)
            )
        ]

    def not_due(self, watches: Sequence[WatchId], at: datetime, *, since: datetime) -> list[WatchId]:
        """Those of these that are due later than that, or never, and were not looked at since."""
        later = "(due_at IS NULL OR due_at > ?) AND (last_visit_at IS NULL OR last_visit_at < ?)"
        return [
            WatchId(row[0])
            for row in self._in_parts(
                f"SELECT id FROM watches WHERE id IN ({{marks}}) AND {later}",
                watches,
                to_ms(at),
                to_ms(since),
            )
        ]

    def count_found(self, parent: WatchId, *, since: datetime) -> int:
        """Watches that this one listed first since then."""
        query = "SELECT count(*) FROM watches WHERE parent_id = ? AND created_at >= ?"
        return int(self._scalar(query, parent, to_ms(since)))

    def lease(self, watch: WatchId) -> views.LeaseView | None:
        return self._one("SELECT * FROM leases WHERE watch_id = ?", views.read_lease, watch)

    def is_open(self, watch: WatchId) -> bool:
        """Does it wait to be chosen by a hunt?"""
        query = (
            "SELECT 1 FROM prospects JOIN watches ON watches.id = prospects.watch_id "
            "WHERE prospects.watch_id = ? AND prospects.chosen_at IS NULL AND watches.due_at IS NULL"
        )
        return self._first(query, watch) is not None

    def refusal(self, watch: WatchId) -> views.RefusalView | None:
        return self._one("SELECT * FROM refusals WHERE id = ?", views.read_refusal, watch)

    def parked(self, watch: WatchId | None = None, *, most: int = 0) -> list[Parked]:
        """Newest first."""
        terms = QueryTerms()
        if watch is not None:
            terms.add("watch_id = ?", watch)
        query = f"SELECT * FROM parked{terms.where} ORDER BY at DESC{limit(most)}"
        return [views.read_parked(row) for row in self._rows(query, *terms.values)]

    def robots(self, origin: str) -> RobotsRules | None:
        return self._one(f"{_select('robots', ROBOTS_COLUMNS)} WHERE origin = ?", read_robots, origin)

    def odd_weights(self, version: str) -> str | None:
        """Weights of a hunt that marks gave."""
        row = next(iter(self._rows("SELECT body FROM odd_weights WHERE version = ?", version)), None)
        return None if row is None else str(row[0])

    def evidence(self, watch: WatchId, *, most: int = 0) -> list[views.EvidenceView]:
        """Newest first."""
        query = f"{_EVIDENCE} WHERE evidence.watch_id = ? ORDER BY evidence.at DESC{limit(most)}"
        return [views.read_evidence(row) for row in self._rows(query, watch)]

    def evidence_by_id(self, evidence: EvidenceId) -> views.EvidenceView | None:
        return self._one(f"{_EVIDENCE} WHERE evidence.id = ?", views.read_evidence, evidence)

    def artifacts(self, evidence: list[EvidenceId]) -> dict[EvidenceId, list[views.ArtifactView]]:
        """What text was made of these pieces of evidence."""
        found: dict[EvidenceId, list[views.ArtifactView]] = {}
        for row in self._in_parts(
            "SELECT * FROM artifacts WHERE evidence_id IN ({marks}) ORDER BY kind", evidence
        ):
            one = views.read_artifact(row)
            found.setdefault(one.evidence, []).append(one)
        return found

    def screenshots(self, evidence: list[EvidenceId]) -> dict[EvidenceId, views.ScreenshotView]:
        """The pictures of these pieces of evidence; of each the first."""
        found = map(views.read_screenshot, self._in_parts(_SCREENSHOTS, evidence))
        return {one.evidence: one for one in sorted(found, key=lambda one: one.visit, reverse=True)}

    def evidence_by_digest(self, digest: bytes) -> list[views.EvidenceView]:
        query = f"{_EVIDENCE} WHERE evidence.digest = ? ORDER BY evidence.at"
        return [views.read_evidence(row) for row in self._rows(query, digest)]

    def digests(self, prefix: str, *, most: int) -> list[bytes]:
        """Contents whose sha256 begins with these hexadecimal digits."""
        low, high = bytes.fromhex(prefix.ljust(64, "0")), bytes.fromhex(prefix.ljust(64, "f"))
        query = (
            f"SELECT DISTINCT digest FROM evidence WHERE digest BETWEEN ? AND ? ORDER BY digest{limit(most)}"
        )
        return [row[0] for row in self._rows(query, low, high)]

    def segments(self) -> list[Segment]:
        query = f"{_select('segments', SEGMENT_COLUMNS)} ORDER BY name"
        return [read_segment(row) for row in self._rows(query)]

    def runs(self, *, most: int) -> list[views.RunView]:
        query = f"SELECT * FROM runs ORDER BY started_at DESC{limit(most)}"
        return [views.read_run(row) for row in self._rows(query)]

    def published(self, version: int | None = None) -> PublishedRow | None:
        """What the scheduler published, in that version or last."""
        if version is None:
            return self._one(LAST_PUBLISHED, read_published)
        return self._one(f"{PUBLISHED} WHERE version = ?", read_published, version)

    def clock(self, number: int) -> bytes | None:
        """A clock of a host that was published."""
        found: bytes | None = self._scalar("SELECT data FROM clocks WHERE id = ?", number)
        return found

    def running(self) -> str:
        """The sums of the scheduler, as JSON; empty: it has none yet."""
        return str(self._scalar(RUNNING) or "")

    def counts(self) -> dict[str, int]:
        """Rows by table."""
        names = [row[0] for row in self._rows(tables_of(self._path))]
        return {name: int(self._scalar(f'SELECT count(*) FROM "{name}"')) for name in names}

    def _with_looks(self, view: views.SourceView) -> views.SourceView:
        """How the looks at its own address ended; where that was merged, at the one that is looked at instead."""
        own = watch_id(view.source.url)
        row = self._first("SELECT merged_into, lister FROM watches WHERE id = ?", own)
        if row is None:
            return view
        if row["merged_into"] is not None:
            own = WatchId(row["merged_into"])
        terms = QueryTerms()
        terms.add("watch_id = ?", own)
        last = self._last_look(terms)
        good = last
        if last is not None and Outcome(last["outcome"]) not in SEEN:
            terms.any_of("outcome", [outcome.value for outcome in SEEN])
            good = self._last_look(terms)
        times = [at for at in (good and from_ms(good["at"]), view.state.last_success_at) if at]
        return replace(
            view,
            last_success_at=max(times, default=None),
            last_outcome=Outcome(last["outcome"]) if last else None,
            read_as=views.read_as(row["lister"]),
            last_detail=last["detail"] if last else "",
        )

    def _last_look(self, terms: QueryTerms) -> Any:
        query = f"SELECT at, outcome, detail FROM visits{terms.where} ORDER BY at DESC LIMIT 1"
        return self._first(query, *terms.values)

    def _rows(self, query: str, *values: Any) -> Iterator[Any]:
        try:
            yield from self._db.execute(query, values)
        except sqlite3.Error as error:
            raise StoreError(unusable(self._path, error)) from None

    def _in_parts(self, query: str, keys: Sequence[Any], *more: Any) -> Iterator[Any]:
        try:
            yield from in_parts(self._db, query, keys, *more)
        except sqlite3.Error as error:
            raise StoreError(unusable(self._path, error)) from None

    def _table(self, query: str, *values: Any) -> list[Any]:
        """Many rows at once, as plain tuples."""
        try:
            if not isinstance(self._db, sqlite3.Connection):
                return self._db.execute(query, values).fetchall()
            cursor = self._db.cursor()
            cursor.row_factory = None
            return cursor.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise StoreError(unusable(self._path, error)) from None

    def _first(self, query: str, *values: Any) -> Any:
        return next(self._rows(query, *values), None)

    def _one(self, query: str, read: Callable[[Any], _T], *values: Any) -> _T | None:
        row = self._first(query, *values)
        return None if row is None else read(row)

    def _scalar(self, query: str, *values: Any) -> Any:
        row = self._first(query, *values)
        return None if row is None else row[0]
