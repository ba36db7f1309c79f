"""Which archive file a visit goes to, and how long a file is kept.

One segment is one file of one retention class and one UTC day, so that retention drops whole files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from vedette.contracts.watch import Segment

_NAME = re.compile(r"(?P<retention>[a-z][a-z0-9_-]{0,31})-(?P<day>[0-9]{8})-(?P<number>[0-9]{4,9})")
_RETENTION = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True, order=True)
class SegmentName:
    """Sorts in the order in which segments of a class were written."""

    retention: str
    day: date
    number: int

    def __str__(self) -> str:
        return f"{self.retention}-{self.day:%Y%m%d}-{self.number:04d}"

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
        name = cls(found["retention"], day, int(found["number"]))
        return name if str(name) == text else None


def order(segment: Segment) -> tuple[str, str, int]:
    """Sorts segments as they were written, class by class.  A name that is not ours sorts first."""
    name = SegmentName.parse(segment.name)
    return ("", segment.name, 0) if name is None else (name.retention, name.day.isoformat(), name.number)


def is_retention(text: str) -> bool:
    """True of a name for a retention class.  It becomes part of file names."""
    return _RETENTION.fullmatch(text) is not None


def next_name(retention: str, day: date, newest: SegmentName | None) -> SegmentName:
    """The segment after `newest`.  Days never run backwards: a late visit goes where we write now."""
    if not is_retention(retention):
        raise ValueError(f"retention class {retention!r}: use a-z, 0-9, _ and -, at most 32, a letter first")
    if newest is None or newest.day < day:
        return SegmentName(retention, day, 1)
    return SegmentName(retention, newest.day, newest.number + 1)


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
