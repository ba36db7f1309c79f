"""Point reads of a store on a server: what is asked for one after the other is one trip, or came with a claim."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from vedette.contracts.change import Change
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.source import Source
from vedette.contracts.watch import Located, SourceState
from vedette.contracts.words import ChangeId, EvidenceId, SourceId, WatchId
from vedette.core.urls.canonical import watch_id
from vedette.store import statements as sql
from vedette.store.connection import Order, StorePlace, at_once
from vedette.store.row_columns import CHANGE_COLUMNS, ROBOTS_COLUMNS
from vedette.store.rows import from_ms, read_change, read_robots, read_source, to_ms
from vedette.store.sqlite import Reader

_CHANGES = f"SELECT {', '.join(f'c.{name}' for name in CHANGE_COLUMNS)} FROM changes c WHERE c.id IN"
_SHOWN = (
    "FROM changes c JOIN visits v ON v.watch_id = c.watch_id AND v.at >= c.observed_at WHERE c.id IN ({which}) "
    "AND v.evidence_id IS NOT NULL AND v.outcome IN ('ok', 'not_modified')"
)
_LOOKS = f"SELECT c.id, v.evidence_id, v.at {_SHOWN} ORDER BY c.id, v.at"
PLACE, PLACE_SIZE = 'e.id, e.segment, e."offset", e.length, e.content_type, e.url', 6
_SEEN = "SELECT w.seen_evidence FROM changes c JOIN watches w ON w.id = c.watch_id WHERE c.id IN ({which})"
_PLACES = f"SELECT {PLACE} FROM evidence e WHERE e.id IN (SELECT v.evidence_id {_SHOWN} UNION {_SEEN})"
# Of the watches of these lanes that are due and wait for their second look.
_PENDING = (
    "SELECT w.pending_change FROM unnest(CAST(? AS BIGINT[])) AS a(lane) "
    "JOIN watches w ON w.lane_id = a.lane AND w.pending_change IS NOT NULL AND w.due_at <= ?"
)
_MERGED = "SELECT w.id, w.merged_into FROM sources s JOIN watches w ON w.url = s.url WHERE s.id = ?"
_ROBOTS = (
    f"SELECT {', '.join(f'r.{name}' for name in ROBOTS_COLUMNS)} FROM sources s "
    "JOIN robots r ON r.origin = substring(s.url from '^[a-z]+://[^/]+') WHERE s.id = ?"
)
MOST = 5_000  # of each kind that is kept for a look
Looks = list[tuple[EvidenceId, datetime]]
_Place = tuple[Located, str, str]


class ReadAhead:
    """What looks will read of changes and evidence, as it came with the claim that handed out their watches.

    A watch that was handed out is this worker's until it is written: nothing of this changes meanwhile.  The settler's
    thread puts, the loop takes.
    """

    def __init__(self) -> None:
        self.changes: dict[ChangeId, tuple[Change, Looks]] = {}
        self.places: dict[EvidenceId, _Place] = {}

    def questions(self, lanes: Sequence[int], by: datetime) -> list[Order]:
        """Second looks that are due in these lanes.  Three answers."""
        values = (list(lanes), to_ms(by))
        queries = (f"{_CHANGES} ({_PENDING})", _LOOKS.format(which=_PENDING), _PLACES.format(which=_PENDING))
        return [(query, values * query.count(_PENDING)) for query in queries]

    def read(self, told: Iterator[list[Any]]) -> None:
        for kept in (self.changes, self.places):
            if len(kept) > MOST:
                kept.clear()
        changes, looks, places = next(told), next(told), next(told)
        for row in changes:
            found = read_change(row)
            self.changes[found.id] = (found, [])
        for change, evidence, at in looks:
            if change in self.changes:
                self.changes[change][1].append((EvidenceId(evidence), from_ms(at)))
        for row in places:
            self.put(row)

    def put(self, row: Sequence[Any]) -> None:
        """Where a payload is, in the order of `PLACE`."""
        number, segment, offset, length, kind, url = row
        self.places[EvidenceId(number)] = (Located(segment=segment, offset=offset, length=length), kind, url)


class ServerReader(Reader):
    """A change that waits for its second look comes with the looks since, and with the places of what they showed.

    A source comes with what robots.txt of its host said, and with where its own address is looked at.
    """

    def __init__(self, path: StorePlace, ahead: ReadAhead | None = None) -> None:
        super().__init__(path)
        self._ahead = ahead or ReadAhead()
        self._looks: tuple[WatchId, datetime, Looks] | None = None  # of the change that was asked for last
        self._places: dict[EvidenceId, _Place] = {}
        self._owns: dict[WatchId, WatchId] = {}
        self._robots: dict[str, RobotsRules] = {}

    def change(self, change: ChangeId) -> Change | None:
        known = self._ahead.changes.pop(change, None)
        if known is None:
            query = (f"{_CHANGES} (?)", _LOOKS.format(which="?"), _PLACES.format(which="?"))
            told = at_once(self._db, [(one, (change,) * one.count("?")) for one in query])
            asked = ReadAhead()
            asked.read(iter(told))
            self._places, known = asked.places, asked.changes.get(change)
        if known is None:
            return None
        found, looks = known
        self._looks = (found.watch, found.observed_at, looks)
        return found

    def looks_since(self, watch: WatchId, at: datetime) -> Looks:
        known, self._looks = self._looks, None  # once: there is another look by the next time
        return known[2] if known is not None and known[:2] == (watch, at) else super().looks_since(watch, at)

    def located(self, evidence: EvidenceId) -> _Place | None:
        known = self._places.get(evidence) or self._ahead.places.get(evidence)
        return known or super().located(evidence)

    def source(self, source: SourceId) -> tuple[Source, SourceState] | None:
        rows, merged, robots = at_once(
            self._db, [(sql.SOURCE, (source,)), (_MERGED, (source,)), (_ROBOTS, (source,))]
        )
        self._robots.update((one.origin, one) for one in map(read_robots, robots))
        if not rows:
            return None
        found = read_source(rows[0])
        own = watch_id(found[0].url)
        self._owns[own] = next((WatchId(into) for watch, into in merged if watch == own and into), own)
        return found

    def own_watch(self, source: Source) -> WatchId:
        known = self._owns.pop(watch_id(source.url), None)
        return super().own_watch(source) if known is None else known

    def robots(self, origin: str) -> RobotsRules | None:
        return self._robots.pop(origin, None) or super().robots(origin)
