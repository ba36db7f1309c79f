"""Kept states, read back from store and archive and decoded as they were when they came."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Protocol

from vedette.contracts.changing import Change
from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Located
from vedette.contracts.fetching import MIB
from vedette.contracts.words import ChangeId, EvidenceId, WatchId
from vedette.evidence.reading import read_payload
from vedette.fetch.decode import DecodeLimits, codings_of, make_decoder
from vedette.fetch.faults import Fault

# What was decoded once within its limits may be decoded again, whatever the limits were.
KEPT_LIMITS = DecodeLimits(body=256 * MIB, ratio=1_000_000, layers=8)


class Rows(Protocol):
    """What is asked of the store."""

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str] | None: ...
    def change(self, change: ChangeId) -> Change | None: ...
    def looks_since(self, watch: WatchId, at: datetime) -> list[EvidenceId]: ...
    def states_before(self, watch: WatchId, at: datetime, most: int) -> list[EvidenceId]: ...


class Memory:
    """What was seen before: rows from the store, bodies from the archive."""

    def __init__(self, rows: Rows, directory: Path) -> None:
        self._rows = rows
        self._directory = directory
        self.change = rows.change
        self.looks_since = rows.looks_since
        self.states_before = rows.states_before

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        """Body, content type and URL of a kept state; None when it expired or cannot be read."""
        place = self._rows.located(evidence)
        if place is None:
            return None
        located, content_type, url = place
        body = read_body(self._directory, located)
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
