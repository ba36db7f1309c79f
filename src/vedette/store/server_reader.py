"""Point reads of a store on a server: what is asked for one after the other is read in one trip."""

from __future__ import annotations

from datetime import datetime

from vedette.contracts.change import Change
from vedette.contracts.watch import Located
from vedette.contracts.words import ChangeId, EvidenceId, WatchId
from vedette.store.connection import StorePlace, at_once
from vedette.store.row_columns import CHANGE_COLUMNS
from vedette.store.rows import from_ms, read_change
from vedette.store.sqlite import Reader

_CHANGE = f"SELECT {', '.join(CHANGE_COLUMNS)} FROM changes WHERE id = ?"
_SHOWN = (
    "FROM changes c JOIN visits v ON v.watch_id = c.watch_id AND v.at >= c.observed_at WHERE c.id = ? "
    "AND v.evidence_id IS NOT NULL AND v.outcome IN ('ok', 'not_modified')"
)
_LOOKS = f"SELECT v.evidence_id, v.at {_SHOWN} ORDER BY v.at"
_PLACES = (
    'SELECT e.id, e.segment, e."offset", e.length, e.content_type, e.url FROM evidence e WHERE e.id IN '
    f"(SELECT v.evidence_id {_SHOWN} UNION SELECT w.seen_evidence FROM changes c JOIN watches w ON w.id = c.watch_id "
    "WHERE c.id = ?)"
)
Looks = list[tuple[EvidenceId, datetime]]


class ServerReader(Reader):
    """A change that waits for its second look comes with the looks since, and with the places of what they showed."""

    def __init__(self, path: StorePlace) -> None:
        super().__init__(path)
        self._looks: tuple[WatchId, datetime, Looks] | None = None  # of the change that was asked for last
        self._places: dict[EvidenceId, tuple[Located, str, str]] = {}

    def change(self, change: ChangeId) -> Change | None:
        asked = [(_CHANGE, (change,)), (_LOOKS, (change,)), (_PLACES, (change, change))]
        changes, looks, places = at_once(self._db, asked)
        if not changes:
            return None
        found = read_change(changes[0])
        shown = [(EvidenceId(evidence), from_ms(when)) for evidence, when in looks]
        self._looks = (found.watch, found.observed_at, shown)
        self._places = {
            EvidenceId(number): (Located(segment=segment, offset=offset, length=length), kind, url)
            for number, segment, offset, length, kind, url in places
        }
        return found

    def looks_since(self, watch: WatchId, at: datetime) -> Looks:
        known, self._looks = self._looks, None  # once: there is another look by the next time
        return known[2] if known is not None and known[:2] == (watch, at) else super().looks_since(watch, at)

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str] | None:
        return self._places.get(evidence) or super().located(evidence)
