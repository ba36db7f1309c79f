"""Ids that sort by time: 41 bits of milliseconds, 10 of worker, 12 of sequence.  Assigned by us, never asked for."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)
_WORKER_BITS, _SEQUENCE_BITS = 10, 12
# Numbers of those who write beside runs.  An embedded run has 0; workers that share a store have 1 to 999.
PANEL, OPERATOR = 1022, 1021


class Ids:
    """Unique within one worker number, and rising even when the clock does not.  The settler's thread takes some too.

    `after` is the highest id that the store has, of whatever worker: a clock that was set back must not give it out
    again, nor any other of its millisecond.
    """

    def __init__(self, worker: int = 0, *, after: int = 0) -> None:
        self._worker = worker << _SEQUENCE_BITS
        self._last_ms = after >> (_WORKER_BITS + _SEQUENCE_BITS)
        self._sequence = (1 << _SEQUENCE_BITS) - 1  # as if that millisecond were used up
        self._lock = threading.Lock()

    def next(self, now: datetime) -> int:
        with self._lock:
            return self._next(now)

    def _next(self, now: datetime) -> int:
        ms = max((now - _EPOCH) // _MS, self._last_ms)
        self._sequence = self._sequence + 1 if ms == self._last_ms else 0
        if self._sequence >> _SEQUENCE_BITS:
            ms, self._sequence = ms + 1, 0
        self._last_ms = ms
        return ms << (_WORKER_BITS + _SEQUENCE_BITS) | self._worker | self._sequence
