"""Hours of the schedule layer: float since Monday 1970-01-05 00:00 UTC; t mod 168 is the hour of the week."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 5, tzinfo=UTC)
_HOUR = timedelta(hours=1)


def to_hours(at: datetime) -> float:
    """Hours of an aware time."""
    return (at - EPOCH) / _HOUR


def from_hours(t: float) -> datetime:
    """The aware UTC time of hours, to the microsecond."""
    return EPOCH + timedelta(hours=t)
