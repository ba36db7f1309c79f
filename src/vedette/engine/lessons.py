"""What a look has to tell the scheduler, which decides for a whole group (engine/scheduler.py)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from vedette.contracts.schedule import Lesson
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Watch
from vedette.contracts.words import Outcome
from vedette.core.outcomes import MEANING
from vedette.engine.sheet import Sheet
from vedette.engine.sources import SourceDesk

LISTINGS = frozenset(ListerKind) - {ListerKind.PAGE, ListerKind.CRAWL}
GOOD = (Outcome.OK, Outcome.NOT_MODIFIED)


def good_look(sheet: Sheet, watch: Watch, desk: SourceDesk, audit_share: float) -> Lesson:
    """A look that needs no retry: it showed the page, or says why there is none."""
    judged, meaning = sheet.judged, MEANING[sheet.outcome]
    again = None if judged is None else judged.look_again_at
    is_closed = desk.closed_until is not None and watch.lister is not None and watch.depth == 0
    is_listing = sheet.outcome in GOOD and sheet.watch.lister in LISTINGS
    return Lesson(
        now=sheet.now,
        changed=what_changed(sheet),
        modified_at=_modified_at(sheet),
        host_ok=meaning.lane_verdict,
        has_due=again is not None,
        is_parked=not meaning.keeps_schedule,
        asked=desk.asked(watch, sheet.outcome),
        not_before=desk.closed_until if is_closed else None,
        audit_share=audit_share,
        is_listing=is_listing,
        is_dated=is_listing and sheet.findings is not None and sheet.findings.is_dated,
    )


def what_changed(sheet: Sheet) -> bool | None:
    """None: the look failed, or a second one has to tell.  A first look shows no change."""
    if sheet.outcome not in GOOD:
        return None
    changed = sheet.judged.changed if sheet.judged is not None else False
    return False if sheet.watch.seen is None and changed is not None else changed


def _modified_at(sheet: Sheet) -> datetime | None:
    """Last-Modified, else what a listing said; never a time that is yet to come."""
    said = _http_date(sheet.fetched.last_modified) or sheet.watch.modified_at
    return said if said is not None and said <= sheet.now else None


def _http_date(text: str | None) -> datetime | None:
    """RFC 9110 section 5.6.7.  What is no date is none."""
    if not text:
        return None
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
