"""Which cells were asked: a file of numbers beside the store, written as each question goes out.

It is not synced, so it costs nothing and survives the kill of the process, not of the machine.  With it a resume
knows what was under way when the run died; without it, only what was leased.
"""

from __future__ import annotations

import hashlib
import os
import struct
from pathlib import Path

from vedette.contracts.panel_run import BatchId, CellNumber

_NUMBER = struct.Struct("<q")


def asked_path(data: Path, batch: BatchId) -> Path:
    """Of one batch.  The id may come from another machine: its digest is a safe name."""
    return data / f"panel-asked-{hashlib.sha256(batch.encode()).hexdigest()[:16]}"


def asked_cells(path: Path) -> frozenset[int] | None:
    """What the last run asked; None: no run of this machine died over the batch."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    whole = len(data) - len(data) % _NUMBER.size
    return frozenset(number for (number,) in _NUMBER.iter_unpack(data[:whole]))


class AskedJournal:
    """Open while a run goes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

    def note(self, cell: CellNumber) -> None:
        os.write(self._file, _NUMBER.pack(cell))

    def close(self, *, is_clean: bool) -> None:
        """After a clean end nothing was under way."""
        os.close(self._file)
        if is_clean:
            self._path.unlink(missing_ok=True)
