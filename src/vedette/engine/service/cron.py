"""When an entry fires: wall-clock times of a zone, once a day also on the days when the clocks change.

A time that the clocks skip fires right after the gap; one that comes twice fires the first time (as Debian's cron).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from cronsim import CronSim, CronSimError

from vedette.contracts.errors import ConfigError

CATCH_UP = timedelta(hours=12)  # a fire that was missed for longer is not made up for


@dataclass(frozen=True, slots=True, kw_only=True)
class CronEntry:
    name: str
    expression: str
    zone: tzinfo

    def after(self, moment: datetime) -> datetime:
        """The first fire after that moment, in UTC."""
        found = next(CronSim(self.expression, moment.astimezone(self.zone)))
        return found.astimezone(UTC)


def entry(name: str, expression: str, zone: tzinfo, *, where: str) -> CronEntry | None:
    """None for an empty expression: never."""
    if not expression.strip():
        return None
    made = CronEntry(name=name, expression=expression, zone=zone)
    try:
        made.after(datetime(2026, 1, 1, tzinfo=UTC))
    except (CronSimError, StopIteration):
        words = f"`{where}`: {expression!r} is not a cron expression; write for example '0 6 * * *'"
        raise ConfigError(words) from None
    return made


def missed(entry: CronEntry, fired_at: datetime | None, now: datetime) -> datetime | None:
    """The newest fire since the last one that should have been and was not; None: there is none to make up for.

    A service that starts for the first time has missed nothing.
    """
    if fired_at is None:
        return None
    newest, at = None, entry.after(max(fired_at, now - CATCH_UP))
    while at <= now:
        newest, at = at, entry.after(at)
    return newest
