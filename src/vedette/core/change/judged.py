"""What a look means for the change life of its watch, as rows: which change is new, which moves on, what is seen now.

Cheap layers first: equal bytes and equal keys need no text.  What needs the text comes as a `Step` of `life.py`.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from vedette.contracts.change import Change, ChangeKind, ChangeState, Comparison, Layer
from vedette.contracts.copies import replace
from vedette.contracts.fetch import Extraction
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import ChangeMove, Judged, Seen, Watch
from vedette.contracts.words import ChangeId, ContentClass, EvidenceId, Outcome, Reason, VisitId
from vedette.core.change.layers import text_keys
from vedette.core.change.life import (
    Confirm,
    LookState,
    Nothing,
    Observe,
    Past,
    Pending,
    Reject,
    Step,
    advance,
)

# What is new in a feed or sitemap is reported as found, not as a change of the listing.
MACHINE_LISTERS = frozenset({ListerKind.FEED, ListerKind.SITEMAP})
# These read sitemaps and feeds, and acts too: an act that changes is news.
IN_XML = frozenset({ListerKind.NN, ListerKind.EURLEX})
REMOVAL_LOOK = timedelta(minutes=1)  # a page that is gone for a moment is not gone


class Mark(NamedTuple):
    """This visit."""

    visit: VisitId
    at: datetime
    digest: bytes  # sha256 of the decoded body


def judged_by_keys(watch: Watch, extraction: Extraction, mark: Mark) -> Judged | None:
    """A body with content came, as far as it can be told without looking into the text.  None: it cannot."""
    new, before = new_state(extraction, mark), watch.seen
    if before is None:
        return _quiet(watch, new, False, Reason("first_look"))
    if only_lists(watch, new.content_class):
        note = "what is new in it is reported as found"
        return _quiet(watch, new, True, Reason("listing_differs", note=note))
    has_text = new.text_chars > 0  # two files without text are not alike for that
    is_settled = watch.pending is None and not watch.is_gone
    if has_text and is_settled and new.text_key == before.text_key:
        return _quiet(watch, new, False, Reason("equal_text", note=Layer.TEXT))
    return None


def judged_equal(watch: Watch, seen: Seen) -> Judged | None:
    """The same bytes as before, or the server's word for it.  None: a change that waits has to be looked into."""
    if watch.pending is not None or watch.is_gone:
        return None
    return _quiet(watch, seen, False, Reason("equal_bytes", note=Layer.BYTES))


def judged_gone(watch: Watch, mark: Mark, pending: Change | None) -> Judged:
    """The page says that it is gone.  Believed after a second look."""
    seen = watch.seen
    if seen is None:
        return Judged(changed=None, seen=None, noise=watch.noise, reasons=(Reason("never_seen"),))
    kind = Pending(kind=pending.kind) if pending is not None else None
    past = Past(before_at=seen.at, risk=watch.risk, noise=watch.noise, pending=kind, is_removed=watch.is_gone)
    step = advance(LookState(outcome=Outcome.GONE, at=mark.at), past)
    judged = judged_step(watch, step, seen, mark, pending)
    return judged if judged.look_again_at is None else replace(judged, look_again_at=mark.at + REMOVAL_LOOK)


def only_lists(watch: Watch, kind: ContentClass) -> bool:
    """Is the body a feed or a sitemap, which says nothing but what it lists?"""
    return watch.lister in MACHINE_LISTERS or (watch.lister in IN_XML and kind is ContentClass.XML)


def new_state(extraction: Extraction, mark: Mark) -> Seen:
    keys = text_keys(extraction)
    return Seen(
        visit=mark.visit,
        evidence=EvidenceId(mark.visit),
        at=mark.at,
        digest=mark.digest,
        text_key=keys.text_key,
        simhash=keys.simhash,
        text_chars=len(extraction.text),
        content_class=extraction.content_class,
    )


def _quiet(watch: Watch, seen: Seen, changed: bool, reason: Reason) -> Judged:
    return Judged(changed=changed, seen=seen, noise=watch.noise, reasons=(reason,))


def judged_step(watch: Watch, step: Step, new: Seen, mark: Mark, known: Change | None) -> Judged:
    """A step of the change life as rows: which change is new, which moves on, what is seen from now on."""
    match step:
        case Nothing():
            changed = False if step.is_known and not watch.is_gone else None
            return Judged(
                changed=changed,
                seen=new if step.is_known and not step.keeps_before else watch.seen,
                noise=step.noise,
                pending=None if step.is_known else watch.pending,
                is_gone=watch.is_gone,
                reasons=step.reasons,
            )
        case Reject():
            moves = _moved(watch, ChangeState.REJECTED, mark, step.reasons)
            seen = watch.seen if step.keeps_before else new
            return Judged(changed=False, seen=seen, noise=step.noise, moves=moves, reasons=step.reasons)
        case Observe():
            return _observed(watch, step, mark)
        case Confirm():
            return _confirmed(watch, step, new, mark, known)


def _observed(watch: Watch, step: Observe, mark: Mark) -> Judged:
    """Wait for another look.  The state from before stays the one to compare with."""
    is_going_on = watch.pending is not None and not step.drops_pending
    change = None if is_going_on else _change(watch, step.kind, step.comparison, mark, ChangeState.OBSERVED)
    return Judged(
        changed=None,
        seen=watch.seen,
        noise=step.noise,
        pending=watch.pending if change is None else change.id,
        change=change,
        moves=_moved(watch, ChangeState.REJECTED, mark, (Reason("superseded"),))
        if step.drops_pending
        else (),
        reasons=step.reasons,
        look_again_at=mark.at + step.again_in,
    )


def _confirmed(watch: Watch, step: Confirm, new: Seen, mark: Mark, known: Change | None) -> Judged:
    is_pending = watch.pending is not None and not step.drops_pending
    reported = _change(watch, step.kind, step.comparison, mark, ChangeState.REPORTED)
    moves: tuple[ChangeMove, ...] = ()
    if is_pending and watch.pending is not None:
        # Told as it is kept: with the look that showed it first.
        original = known or replace(reported, id=watch.pending)
        reported = replace(original, state=ChangeState.REPORTED, comparison=step.comparison)
        moves = (
            ChangeMove(
                id=watch.pending,
                state=ChangeState.REPORTED,
                at=mark.at,
                reasons=step.reasons,
                change=reported,
            ),
        )
    elif step.drops_pending:
        moves = _moved(watch, ChangeState.REJECTED, mark, (Reason("superseded"),))
    is_removal = step.kind is ChangeKind.REMOVED
    change = None if is_pending else reported
    reports: tuple[Change, ...] = (reported,)
    if known is not None and step.then is not None:
        change = _following(known, step.then, mark)
        reports = (reported, change)
    return Judged(
        changed=True,
        seen=watch.seen if is_removal else new,
        noise=step.noise,
        is_gone=is_removal,
        change=change,
        moves=moves,
        reports=reports,
        reasons=step.reasons,
    )


def _following(known: Change, comparison: Comparison, mark: Mark) -> Change:
    """A second change, right after one that waited for its second look."""
    return replace(
        known,
        id=ChangeId(mark.visit),
        state=ChangeState.REPORTED,
        before_visit=known.after_visit,
        after_visit=mark.visit,
        before_evidence=known.after_evidence,
        after_evidence=EvidenceId(mark.visit),
        observed_at=mark.at,
        comparison=comparison,
    )


def _moved(
    watch: Watch, state: ChangeState, mark: Mark, reasons: tuple[Reason, ...]
) -> tuple[ChangeMove, ...]:
    if watch.pending is None:
        return ()
    return (ChangeMove(id=watch.pending, state=state, at=mark.at, reasons=reasons),)


def _change(watch: Watch, kind: ChangeKind, comparison: Comparison, mark: Mark, state: ChangeState) -> Change:
    before = watch.seen
    return Change(
        id=ChangeId(mark.visit),
        watch=watch.id,
        kind=kind,
        state=state,
        before_visit=before.visit if before else mark.visit,
        after_visit=mark.visit,
        before_evidence=before.evidence if before else None,
        after_evidence=EvidenceId(mark.visit) if kind is not ChangeKind.REMOVED else None,
        observed_at=mark.at,
        comparison=comparison,
    )
