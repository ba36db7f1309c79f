"""Which archive file a visit goes to, and how long a file is kept.

One segment is one file of one retention class and one UTC day, so that retention drops whole files.  Where several
workers write, each has a series of files of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from vedette.contracts.watch import Segment

_NAME = re.compile(
    r"(?P<retention>[a-z][a-z0-9_-]{0,31})-(?P<day>[0-9]{8})-(?P<number>[0-9]{4,9})(?:-(?P<worker>[a-z][a-z0-9]{0,15}))?"
)
_WORKER = re.compile(r"[a-z][a-z0-9]{0,15}")
_RETENTION = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """Sorts in the order in which segments of a series were written."""

    retention: str
    day: date
    number: int
    worker: str = ""  # who writes it; empty: the one engine of an embedded store

    def __str__(self) -> str:
        end = f"-{self.worker}" if self.worker else ""
        return f"{self.retention}-{self.day:%Y%m%d}-{self.number:04d}{end}"

    @property
    def series(self) -> tuple[str, str]:
        """Class and worker: segments of one series stand on each other."""
        return self.retention, self.worker

    @classmethod
    def parse(cls, text: str) -> SegmentName | None:
        """None for anything that we would not have written, so a name is always a safe file name."""
        found = _NAME.fullmatch(text)
        if found is None:
            return None
        try:
            day = date.fromisoformat(found["day"])
        except ValueError:
            return None
        name = cls(found["retention"], day, int(found["number"]), found["worker"] or "")
        return name if str(name) == text else None


def order(segment: Segment) -> tuple[str, str, str, int]:
    """Sorts segments as they were written, series by series.  A name that is not ours sorts first."""
    name = SegmentName.parse(segment.name)
    return ("", "", segment.name, 0) if name is None else (*name.series, name.day.isoformat(), name.number)


def worker_of(name: str) -> str | None:
    """Who writes the segment of this name; empty: the one engine of an embedded store; None: it is no name."""
    found = SegmentName.parse(name)
    return None if found is None else found.worker


def is_worker(text: str) -> bool:
    """True of an id of a worker.  It becomes part of file names; the empty one does not."""
    return not text or _WORKER.fullmatch(text) is not None


def is_retention(text: str) -> bool:
    """True of a name for a retention class.  It becomes part of file names."""
    return _RETENTION.fullmatch(text) is not None


def next_name(retention: str, day: date, newest: SegmentName | None, worker: str = "") -> SegmentName:
    """The segment after `newest`.  Days never run backwards: a late visit goes where we write now."""
    if not is_retention(retention):
        raise ValueError(f"retention class {retention!r}: use a-z, 0-9, _ and -, at most 32, a letter first")
    if newest is None or newest.day < day:
        return SegmentName(retention, day, 1, worker)
    return SegmentName(retention, newest.day, newest.number + 1, worker)


def is_full(name: SegmentName, size: int, *, day: date, limit: int) -> bool:
    """True where a visit of `day` must go to a new segment."""
    return day > name.day or size >= limit


def day_is_over(segments: Iterable[Segment], now: datetime) -> list[Segment]:
    """The segments as they are once those of days that are over have been closed."""
    today = now.astimezone(UTC).date().isoformat()
    return [
        replace(segment, state="closed") if segment.state == "open" and segment.day < today else segment
        for segment in segments
    ]


def expired(segments: Iterable[Segment], policy: Mapping[str, timedelta], now: datetime) -> list[Segment]:
    """The closed segments whose time is over, oldest first.  A class that `policy` does not name stays."""
    over = [
        segment
        for segment in segments
        if segment.state == "closed"
        and segment.retention in policy
        and kept_until(segment.day, policy[segment.retention]) <= now
    ]
    return sorted(over, key=lambda segment: (segment.day, segment.name))


def kept_until(day: str, keep: timedelta) -> datetime:
    """A segment is kept for `keep` after the end of its day, so its last visit is kept in full."""
    end = datetime.combine(date.fromisoformat(day), time(), UTC) + timedelta(days=1)
    try:
        return end + keep
    except OverflowError:  # "for ever" written as a very long time
        return datetime.max.replace(tzinfo=UTC)
