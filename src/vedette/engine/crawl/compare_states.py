"""Brings the states together that `core/change` compares: the new one from the fetch, the old ones from the archive.

Blocks are made only when the compared text differs; a page whose noise is known needs no archive either.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from vedette.contracts.change import Block, Change, ChangeKind, ChangeState, Comparison, Layer, Noise
from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import ChangeMove, Seen, Watch
from vedette.contracts.words import (
    DOCUMENTS,
    ChangeId,
    ContentClass,
    EvidenceId,
    Outcome,
    Reason,
    VisitId,
    WatchId,
)
from vedette.core.change.diff import with_headings
from vedette.core.change.layers import text_keys
from vedette.core.change.life import (
    CLOSE,
    SECOND_LOOK,
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
from vedette.core.text.parse_cost import is_irregular
from vedette.evidence.text_cache import TextCache
from vedette.extract import blocks, content_class
from vedette.extract.documents import read_document
from vedette.extract.outline import CELLS, common_scope, row_headings
from vedette.extract.scope import MAIN

Blocks = tuple[Block, ...]
Body = tuple[bytes, str, str]  # bytes, content type, url
# What is new in a feed or sitemap is reported as found, not as a change of the listing.
MACHINE_LISTERS = frozenset({ListerKind.FEED, ListerKind.SITEMAP})
# These read sitemaps and feeds, and acts too: an act that changes is news.
IN_XML = frozenset({ListerKind.NN, ListerKind.EURLEX})
REMOVAL_LOOK = timedelta(minutes=1)  # a page that is gone for a moment is not gone
MOST_WORK = (
    2_000  # blocks of all states together, long ones counted more; above that a worker compares, not the loop
)
LONG_BLOCK = 500  # characters that cost as much as a block


@dataclass(frozen=True, slots=True)
class Mark:
    """This visit."""

    visit: VisitId
    at: datetime
    digest: bytes  # sha256 of the decoded body


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a look means for the change life of its watch."""

    changed: bool | None  # None: not known before the second look
    seen: Seen | None
    noise: Noise
    pending: ChangeId | None = None
    is_gone: bool = False
    change: Change | None = None
    moves: tuple[ChangeMove, ...] = ()
    reports: tuple[Change, ...] = ()
    reasons: tuple[Reason, ...] = ()
    look_again_at: datetime | None = None

    @property
    def words(self) -> str:
        if self.look_again_at is not None:
            return "observed"
        return "changed" if self.changed else "unchanged"


class StateReader(Protocol):
    """What was seen before, as the store and the archive have it."""

    def body(self, evidence: EvidenceId) -> Body | None: ...
    def change(self, change: ChangeId) -> Change | None: ...
    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]: ...


@runtime_checkable
class ArchiveReader(StateReader, Protocol):
    """A memory that can be taken along into another process."""

    def snapshot(self, watch: Watch) -> StateReader: ...


@dataclass(slots=True)
class Comparer:
    memory: StateReader
    scope: str
    confirm_after: timedelta = SECOND_LOOK
    most_work: int | None = MOST_WORK  # None: any, for whoever has the time
    text_cache: TextCache | None = None  # the text of documents

    def packed(self, watch: Watch) -> Comparer:
        """The same for this watch alone, fit to be sent to another process."""
        memory = self.memory.snapshot(watch) if isinstance(self.memory, ArchiveReader) else self.memory
        return replace(self, memory=memory, most_work=None)

    def judge(self, watch: Watch, fetched: Fetched, extraction: Extraction, mark: Mark) -> Judged | None:
        """A body with content came that is not byte for byte the one before.  None: not here, it would take long."""
        quiet = self.judge_by_keys(watch, extraction, mark)
        if quiet is not None or watch.seen is None:
            return quiet
        new, before = _new(extraction, mark), watch.seen
        states = _States(self, (fetched.body, fetched.content_type, fetched.url), watch.noise)
        look = LookState(outcome=Outcome.OK, at=mark.at, blocks=states.after(before.evidence))
        known = self.memory.change(watch.pending) if watch.pending is not None else None
        past = self._past(watch, before, states, known)
        if states.is_long:
            return None
        return self._timed(_life(watch, states.headed(advance(look, past)), new, mark, known), mark)

    def judge_by_keys(self, watch: Watch, extraction: Extraction, mark: Mark) -> Judged | None:
        """The same, as far as it can be told without looking into the text.  None: it cannot."""
        new, before = _new(extraction, mark), watch.seen
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

    def judge_same(self, watch: Watch, seen: Seen, mark: Mark) -> Judged | None:
        """The same bytes as before, or the server's word for it.  None: not here, it would take long."""
        if watch.pending is None and not watch.is_gone:
            reasons = (Reason("equal_bytes", note=Layer.BYTES),)
            return Judged(changed=False, seen=seen, noise=watch.noise, reasons=reasons)
        states = _States(self, None, watch.noise)
        look = LookState(outcome=Outcome.NOT_MODIFIED, at=mark.at, is_equal=True)
        known = self.memory.change(watch.pending) if watch.pending is not None else None
        past = self._past(watch, seen, states, known)
        if states.is_long:
            return None
        return self._timed(_life(watch, states.headed(advance(look, past)), seen, mark, known), mark)

    def judge_gone(self, watch: Watch, mark: Mark) -> Judged:
        """The page says that it is gone.  Believed after a second look."""
        seen = watch.seen
        if seen is None:
            return Judged(changed=None, seen=None, noise=watch.noise, reasons=(Reason("never_seen"),))
        pending = self.memory.change(watch.pending) if watch.pending is not None else None
        kind = Pending(kind=pending.kind) if pending is not None else None
        past = Past(
            before_at=seen.at, risk=watch.risk, noise=watch.noise, pending=kind, is_removed=watch.is_gone
        )
        step = advance(LookState(outcome=Outcome.GONE, at=mark.at), past)
        judged = _life(watch, step, seen, mark, pending)
        return (
            judged if judged.look_again_at is None else replace(judged, look_again_at=mark.at + REMOVAL_LOOK)
        )

    def _timed(self, judged: Judged, mark: Mark) -> Judged:
        """The second look comes when the operator wants it."""
        again_at = None if judged.look_again_at is None else mark.at + self.confirm_after
        return replace(judged, look_again_at=again_at)

    def _past(self, watch: Watch, before: Seen, states: _States, change: Change | None) -> Past:
        pending: Pending | None = None
        if change is not None:
            looks = self.memory.looks_since(watch.id, change.observed_at)
            shown = [(b, at) for b, at in ((states.of(one), at) for one, at in looks) if b is not None]
            is_removal = change.kind is ChangeKind.REMOVED
            if shown or is_removal:
                blocks_of, ats = tuple(b for b, _ in shown), tuple(at for _, at in shown)
                pending = Pending(kind=change.kind, looks=blocks_of, ats=ats)
        return Past(
            before=states.of(before.evidence) or (),
            before_at=before.at,
            risk=watch.risk,
            noise=watch.noise,
            pending=pending,
            is_removed=watch.is_gone,
            age=max(1, watch.scan_count),
            close_within=max(CLOSE, 2 * self.confirm_after),
        )


class _States:
    """Blocks of several states of one target, cut by one rule."""

    def __init__(self, comparer: Comparer, new: Body | None, noise: Noise) -> None:
        self._memory = comparer.memory
        self._scope = comparer.scope
        self._text_cache = comparer.text_cache
        self._new = new
        self._is_older = noise.is_older
        self._most = comparer.most_work
        self.is_long = False  # together they would take the loop too long
        self._work = 0  # so far
        self._made: dict[EvidenceId | None, Blocks | None] = {}
        self._pages: dict[int, Body] = {}  # that were cut, by identity

    def after(self, before: EvidenceId | None = None) -> Blocks:
        """The new state.  With `before`, both are narrowed when one of the two would be."""
        if before is not None and self._scope == MAIN:
            kept = self._kept(before)
            bodies = [body for body in (kept, self._new) if body is not None and _is_page(body)]
            pages = ((body, content_type) for body, content_type, _ in bodies)
            self._scope = common_scope(pages, is_older=self._is_older)
            self._made.clear()
        if None not in self._made:
            self._made[None] = self._cut(self._new) if self._new else ()
        return self._made[None] or ()

    def of(self, evidence: EvidenceId) -> Blocks | None:
        """A kept state; None when it is no longer there, or when a worker will have to read it."""
        if self.is_long:
            return None
        if evidence not in self._made:
            kept = self._kept(evidence)
            self._made[evidence] = None if kept is None else self._cut(kept)
        return self._made[evidence]

    def headed(self, step: Step) -> Step:
        """With the headings of the columns where rows of tables differ: for people, nothing is compared by them."""
        if not isinstance(step, Observe | Confirm):
            return step
        step = replace(step, comparison=self._headed(step.comparison))
        if isinstance(step, Confirm) and step.then is not None:
            return replace(step, then=self._headed(step.then))
        return step

    def _headed(self, comparison: Comparison) -> Comparison:
        if not any(
            CELLS in text for op in comparison.diff if op.op != "equal" for text in (*op.before, *op.after)
        ):
            return comparison
        headings: dict[str, tuple[str, ...]] = {}
        for body in filter(_is_page, self._pages.values()):
            headings |= row_headings(body[0], content_type=body[1])
        return replace(comparison, diff=with_headings(comparison.diff, headings))

    def _kept(self, evidence: EvidenceId) -> Body | None:
        kept = self._memory.body(evidence)
        if kept is None or self._most is None or not is_irregular(kept[0]):
            return kept
        self.is_long = True
        return None

    def _cut(self, body: Body) -> Blocks:
        data, content_type, url = body
        if content_class(data, url=url, content_type=content_type) in DOCUMENTS:
            return self._document(body)
        self._pages[id(data)] = body
        found = blocks(data, url=url, content_type=content_type, scope=self._scope, is_older=self._is_older)
        self._work += len(found) + sum(len(text) for _, text in found) // LONG_BLOCK
        self.is_long = self.is_long or (self._most is not None and self._work > self._most)
        return found or _as_one_line(data)

    def _document(self, body: Body) -> Blocks:
        """From the text cache, which has what OCR read; read anew when it is not there, but never on the loop."""
        if self._most is not None:
            self.is_long = True
            return ()
        data, content_type, url = body
        kept = self._text_cache.get(hashlib.sha256(data).digest()) if self._text_cache else None
        document = kept or read_document(data, url=url, content_type=content_type)
        return document.blocks or _as_one_line(data)


def _is_page(body: Body) -> bool:
    data, content_type, url = body
    return content_class(data, url=url, content_type=content_type) is ContentClass.HTML


def _as_one_line(data: bytes) -> Blocks:
    return (("document", f"{len(data)} bytes {hash_words(data)}"),)


def only_lists(watch: Watch, kind: ContentClass) -> bool:
    """Is the body a feed or a sitemap, which says nothing but what it lists?"""
    return watch.lister in MACHINE_LISTERS or (watch.lister in IN_XML and kind is ContentClass.XML)


def hash_words(data: bytes) -> str:
    """A document without text, as one line that differs when it differs."""
    return "sha256 " + hashlib.sha256(data).hexdigest()


def _new(extraction: Extraction, mark: Mark) -> Seen:
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


def _life(watch: Watch, step: Step, new: Seen, mark: Mark, known: Change | None) -> Judged:
    """A step of the change life as rows: which change is new, which moves on, what is seen from now on."""
    match step:
        case Nothing():
            changed = False if step.is_known and not watch.is_gone else None
            return Judged(
                changed=changed,
                seen=new if step.is_known else watch.seen,
                noise=step.noise,
                pending=None if step.is_known else watch.pending,
                is_gone=watch.is_gone,
                reasons=step.reasons,
            )
        case Reject():
            moves = _moved(watch, ChangeState.REJECTED, mark, step.reasons)
            return Judged(changed=False, seen=new, noise=step.noise, moves=moves, reasons=step.reasons)
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
        reported = replace(reported, id=watch.pending)
        original = known or reported
        refined = replace(original, state=ChangeState.REPORTED, comparison=step.comparison)
        moves = (
            ChangeMove(
                id=watch.pending, state=ChangeState.REPORTED, at=mark.at, reasons=step.reasons, change=refined
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
