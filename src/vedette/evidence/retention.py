"""Retention drops whole files and leaves a tombstone, so that `verify` says expired and not missing.

Which segments are over is decided in `core.segments.expired`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime

from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Segment
from vedette.core.evidence import chain
from vedette.evidence.heads import HeadEvent, Heads
from vedette.evidence.read_records import segment_path


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of a dropped file: the state to commit, and the facts that HEADS chains."""

    segment: Segment  # state "expired"; size, count and head as they were
    at: datetime
    facts: bytes


def expire(
    segment: Segment, *, heads: Heads, now: datetime, commit: Callable[[Segment], None] = lambda state: None
) -> Tombstone:
    """Drops the file of a closed segment.  Done twice, it does no harm.

    First the tombstone, lasting, so that the gap explains itself; then `commit` of the state, so that nothing refers
    to the file any more; then the file.
    """
    if segment.state == "open":
        raise ValueError(f"{segment.name} is still written to; only a closed segment expires")
    line = heads.latest.get(segment.name)
    if line is None or line.event is not HeadEvent.EXPIRED:
        heads.note([(HeadEvent.EXPIRED, segment)], now)
    else:
        now = line.at
    state = replace(segment, state="expired")
    commit(state)
    path = segment_path(heads.directory, segment.name)
    try:
        if heads.files.size(path) is not None:
            heads.files.unlink(path)
            heads.files.fsync_directory(heads.directory)
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {error}; check the disk and run gc again") from error
    return Tombstone(state, now, chain.tombstone(segment, now))
