"""What a look has to tell the scheduler, which decides for a whole group (engine/settle/scheduler.py)."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from vedette.contracts.schedule import Lesson
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import Watch
from vedette.contracts.words import Outcome
from vedette.core.lanes.outcomes import MEANING
from vedette.engine.crawl.look_record import LookRecord
from vedette.engine.crawl.source_runtime import SourceRuntime

LISTINGS = frozenset(ListerKind) - {ListerKind.PAGE, ListerKind.CRAWL}
GOOD = (Outcome.OK, Outcome.NOT_MODIFIED)


def good_look(record: LookRecord, watch: Watch, runtime: SourceRuntime, audit_share: float) -> Lesson:
    """A look that needs no retry: it showed the page, or says why there is none."""
    judged, meaning = record.judged, MEANING[record.outcome]
    again = None if judged is None else judged.look_again_at
    is_closed = runtime.closed_until is not None and watch.lister is not None and watch.depth == 0
    is_listing = record.outcome in GOOD and record.watch.lister in LISTINGS
    return Lesson(
        now=record.now,
        changed=what_changed(record),
        modified_at=_modified_at(record),
        host_ok=meaning.lane_verdict,
        has_due=again is not None,
        is_parked=not meaning.keeps_schedule,
        asked=runtime.asked(watch, record.outcome),
        not_before=runtime.closed_until if is_closed else None,
        audit_share=audit_share,
        is_listing=is_listing,
        is_dated=is_listing and record.findings is not None and record.findings.is_dated,
    )


def what_changed(record: LookRecord) -> bool | None:
    """None: the look failed, or a second one has to tell.  A first look shows no change."""
    if record.outcome not in GOOD:
        return None
    changed = record.judged.changed if record.judged is not None else False
    return False if record.watch.seen is None and changed is not None else changed


def _modified_at(record: LookRecord) -> datetime | None:
    """Last-Modified, else what a listing said; never a time that is yet to come."""
    said = _http_date(record.fetched.last_modified) or record.watch.modified_at
    return said if said is not None and said <= record.now else None


def _http_date(text: str | None) -> datetime | None:
    """RFC 9110 section 5.6.7.  What is no date is none."""
    if not text:
        return None
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
