"""Retention drops whole files and leaves a tombstone, so that `verify` says expired and not missing.

Which segments are over is decided in `core.segments.expired`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from vedette.contracts.errors import StoreError
from vedette.contracts.evidence import Segment
from vedette.core import chain
from vedette.evidence.files import Files
from vedette.evidence.heads import Event, Heads
from vedette.evidence.reading import segment_path


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What stays of a dropped file: the state to commit, and the facts that HEADS chains."""

    segment: Segment  # state "expired"; size, count and head as they were
    at: datetime
    facts: bytes


def expire(
    directory: Path, segment: Segment, *, heads: Heads, now: datetime, files: Files | None = None
) -> Tombstone:
    """Drops the file of a closed segment.  Commit the state afterwards; done twice, it does no harm.

    The tombstone is lasting before the file goes: whatever stops in between, the gap explains itself.
    """
    if segment.state == "open":
        raise ValueError(f"{segment.name} is still written to; only a closed segment expires")
    files = files or Files()
    line = heads.latest.get(segment.name)
    if line is None or line.event is not Event.EXPIRED:
        heads.note([(Event.EXPIRED, segment)], now)
    else:
        now = line.at
    path = segment_path(directory, segment.name)
    try:
        if files.size(path) is not None:
            files.unlink(path)
            files.fsync_directory(directory)
    except OSError as error:
        raise StoreError(f"cannot delete {path}: {error}; check the disk and run gc again") from error
    return Tombstone(replace(segment, state="expired"), now, chain.tombstone(segment, now))
