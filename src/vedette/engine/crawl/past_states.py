"""Kept states, read back from store and archive and decoded as they were when they came."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from vedette.contracts.change import Change
from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Located
from vedette.contracts.fetch import MIB
from vedette.contracts.watch import Watch
from vedette.contracts.words import ChangeId, EvidenceId, WatchId
from vedette.evidence.read_records import read_payload
from vedette.fetch.decode import DecodeLimits, codings_of, make_decoder
from vedette.fetch.faults import Fault

# What was decoded once within its limits may be decoded again, whatever the limits were.
KEPT_LIMITS = DecodeLimits(body=256 * MIB, ratio=1_000_000, layers=8)


class Rows(Protocol):
    """What is asked of the store."""

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str] | None: ...
    def change(self, change: ChangeId) -> Change | None: ...
    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]: ...


class PastStates:
    """What was seen before: rows from the store, bodies from the archive."""

    def __init__(self, rows: Rows, directory: Path) -> None:
        self._rows = rows
        self._directory = directory
        self.change = rows.change
        self.looks_since = rows.looks_since

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        """Body, content type and URL of a kept state; None when it expired or cannot be read."""
        return _body_at(self._directory, self._rows.located(evidence))

    def snapshot(self, watch: Watch) -> Snapshot:
        """All that a comparison of this watch may ask for, to be asked in another process."""
        rows, seen = self._rows, watch.seen
        change = rows.change(watch.pending) if watch.pending is not None else None
        looks = rows.looks_since(watch.id, change.observed_at) if change is not None else []
        named = [*(evidence for evidence, _ in looks), *([seen.evidence] if seen else [])]
        if change is not None and change.after_evidence is not None:
            named.append(change.after_evidence)
        places = {evidence: rows.located(evidence) for evidence in dict.fromkeys(named)}
        return Snapshot(self._directory, change, tuple(looks), places)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one watch, read beforehand; bodies are read from the archive when they are asked for."""

    directory: Path
    pending: Change | None
    looks: tuple[tuple[EvidenceId, datetime], ...]
    places: Mapping[EvidenceId, tuple[Located, str, str] | None]

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        return _body_at(self.directory, self.places.get(evidence))

    def bodies(self) -> Iterator[tuple[bytes, str, str]]:
        """Every state that the comparison may ask for and that is still there."""
        yield from (body for body in map(self.body, self.places) if body is not None)

    def change(self, change: ChangeId) -> Change | None:
        return self.pending

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return list(self.looks)


def _body_at(directory: Path, place: tuple[Located, str, str] | None) -> tuple[bytes, str, str] | None:
    if place is None:
        return None
    located, content_type, url = place
    body = read_body(directory, located)
    return None if body is None else (body, content_type, url)


def read_body(directory: Path, located: Located) -> bytes | None:
    """The decoded body at this place.  None: expired, damaged, or not decodable any more."""
    try:
        payload = read_payload(directory, located)
    except StoreError:
        return None
    decoder = make_decoder(codings_of((payload.content_encoding,)), KEPT_LIMITS)
    if decoder is None:
        return payload.wire
    if isinstance(decoder, Fault) or decoder.feed(payload.wire) or decoder.finish():
        return None
    return decoder.body()
