"""Does this body differ from what was seen before, and what follows from it?

`core/change` decides; here the states to compare are brought together: the new one from the fetch, the old ones
from the archive.  Blocks are made only when the compared text differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import xxhash

from vedette.contracts.changing import (
    Block,
    Change,
    ChangeKind,
    ChangeState,
    Comparison,
    Layer,
    Mask,
    MaskRegion,
)
from vedette.contracts.fetching import Extraction, Fetched
from vedette.contracts.source import ListerKind
from vedette.contracts.watch import ChangeMove, Seen, Watch
from vedette.contracts.words import ChangeId, ContentClass, EvidenceId, Reason, Risk, VisitId
from vedette.core.change.layers import compare
from vedette.core.change.mask import learn, masked_key
from vedette.core.change.simhash import simhash
from vedette.extract import blocks

Mark = tuple[VisitId, datetime, bytes]  # this visit, when, sha256 of its body
Blocks = tuple[Block, ...]
MACHINE_LISTERS = frozenset({ListerKind.FEED, ListerKind.SITEMAP})  # what is new in them is reported as found
NO_TEXT = frozenset(
    {ContentClass.PDF_TEXT, ContentClass.PDF_SCANNED, ContentClass.DOC, ContentClass.DOCX}
    | {ContentClass.XLS, ContentClass.XLSX, ContentClass.OTHER}
)
BYTES_ARE_NOISE = MaskRegion(path="bytes", kind="any")
REMOVAL_LOOK_AFTER = timedelta(minutes=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What a look means for the change life of its watch."""

    changed: bool | None  # None: not known before the second look
    seen: Seen | None
    mask: Mask | None
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
        return "unchanged" if not self.changed else "changed"


@dataclass(frozen=True, slots=True)
class _New:
    """The state that this look found."""

    watch: Watch
    seen: Seen
    now: datetime
    blocks: Callable[[], Blocks]
    has_text: bool


@dataclass(slots=True)
class Comparer:
    """Brings the states together.  `recall` reads a kept state from the archive, None when it is not there."""

    recall: Callable[[EvidenceId], tuple[bytes, str, str] | None]  # body, content type, url
    change_of: Callable[[ChangeId], Change | None]
    scope: str
    confirm_after: timedelta

    def judge(self, watch: Watch, fetched: Fetched, extraction: Extraction, mark: Mark) -> Judged:
        """A body with content came that is not byte for byte the one before."""
        new = self._new(watch, fetched, extraction, mark)
        before = watch.seen
        if before is None:
            return _plain(new, False, Reason("first_look"))
        if watch.is_gone:
            return self._restored(new, before)
        if watch.lister in MACHINE_LISTERS:
            return _plain(new, True, Reason("listing_differs", note="what is new in it is reported as found"))
        if watch.pending is not None:
            return self._second_look(new, before, watch.pending)
        if new.has_text and new.seen.text_key == before.text_key:
            return _plain(new, False, Reason("same_text", note=Layer.TEXT))
        if BYTES_ARE_NOISE in (watch.mask or ()):
            return _plain(new, False, Reason("bytes_are_noise", note="they differ on every look"))
        return self._first_look(new, before)

    def judge_same(self, watch: Watch, seen: Seen, now: datetime) -> Judged:
        """The same bytes as before, while a change waits for its second look: it went away."""
        if watch.pending is None:
            return Judged(
                changed=False, seen=seen, mask=watch.mask, reasons=(Reason("same_bytes", note=Layer.BYTES),)
            )
        reasons = (Reason("went_away", note="the second look shows the state from before"),)
        move = ChangeMove(id=watch.pending, state=ChangeState.REJECTED, at=now, reasons=reasons)
        return Judged(changed=False, seen=seen, mask=watch.mask or (), moves=(move,), reasons=reasons)

    def judge_gone(self, watch: Watch, mark: Mark, change_id: ChangeId) -> Judged:
        """The page says that it is gone.  Believed after a second look; unknown is never removed."""
        visit, at, _ = mark
        seen = watch.seen
        if seen is None or watch.is_gone:
            return Judged(changed=None, seen=seen, mask=watch.mask, is_gone=watch.is_gone)
        pending = self.change_of(watch.pending) if watch.pending is not None else None
        if pending is not None and pending.kind is ChangeKind.REMOVED:
            reasons = (Reason("gone_twice", note="two looks say so"),)
            move = ChangeMove(id=pending.id, state=ChangeState.REPORTED, at=at, reasons=reasons)
            return Judged(
                changed=True,
                seen=seen,
                mask=watch.mask,
                is_gone=True,
                moves=(move,),
                reports=(pending,),
                reasons=reasons,
            )
        comparison = Comparison(
            has_changed=True, layer=Layer.CONTENT, similarity=0.0, summary="the page is gone"
        )
        change = _change(change_id, ChangeKind.REMOVED, watch, seen, visit, at, comparison)
        moves = (_superseded(pending, at),) if pending is not None else ()
        return Judged(
            changed=None,
            seen=seen,
            mask=watch.mask,
            pending=change.id,
            change=replace(change, state=ChangeState.OBSERVED),
            moves=moves,
            reasons=(Reason("gone_once", note="a second look decides"),),
            look_again_at=at + REMOVAL_LOOK_AFTER,
        )

    def _first_look(self, new: _New, before: Seen) -> Judged:
        watch, mask = new.watch, new.watch.mask or ()
        if new.has_text:
            key = masked_key(new.blocks(), mask)
            if before.masked_key and key == before.masked_key:
                return _plain(_keyed(new, key), False, Reason("same_masked", note=Layer.MASK))
            comparison = self._compared(before, new, mask)
            new = _keyed(new, key)
        else:
            comparison = _bytes_differ(new)
        if not comparison.has_changed:
            return _plain(new, False, *comparison.reasons, Reason("no_change", note=comparison.layer))
        change = _change(
            ChangeId(new.seen.visit),
            ChangeKind.CHANGED,
            watch,
            before,
            new.seen.visit,
            new.seen.at,
            comparison,
        )
        why = _second_look_reason(watch)
        if why is None:
            return Judged(
                changed=True,
                seen=new.seen,
                mask=mask,
                change=replace(change, state=ChangeState.REPORTED),
                reports=(change,),
                reasons=(*comparison.reasons, Reason("confirmed", note="its noise is known")),
            )
        return Judged(
            changed=None,
            seen=before,
            mask=watch.mask,
            pending=change.id,
            change=replace(change, state=ChangeState.OBSERVED),
            reasons=(*comparison.reasons, why),
            look_again_at=new.now + self.confirm_after,
        )

    def _second_look(self, new: _New, before: Seen, pending: ChangeId) -> Judged:
        """Three states: before, the one observed, and this one.  What the last two differ in is noise."""
        observed = self.change_of(pending)
        if observed is None or observed.kind is ChangeKind.REMOVED:
            moves = (_superseded(observed, new.now),) if observed is not None else ()
            return replace(self._first_look(new, before), moves=moves)
        if not new.has_text:
            return self._second_bytes(new, observed)
        middle = self._blocks_of(observed.after_evidence)
        mask = (
            learn(middle, new.blocks(), new.watch.mask or ()) if middle is not None else new.watch.mask or ()
        )
        comparison = self._compared(before, new, mask)
        new = _keyed(new, masked_key(new.blocks(), mask))
        noise = (
            Reason("noise_learned", len(mask), f"{len(mask)} regions are masked")
            if mask
            else Reason("no_noise")
        )
        state = ChangeState.REPORTED if comparison.has_changed else ChangeState.REJECTED
        reasons = (*comparison.reasons, noise)
        return Judged(
            changed=comparison.has_changed,
            seen=new.seen,
            mask=mask,
            moves=(ChangeMove(id=pending, state=state, at=new.now, reasons=reasons),),
            reports=(replace(observed, comparison=comparison),) if comparison.has_changed else (),
            reasons=reasons,
        )

    def _second_bytes(self, new: _New, observed: Change) -> Judged:
        """A document without text: two looks that differ mean that it is made anew on every request."""
        kept = self.recall(observed.after_evidence) if observed.after_evidence is not None else None
        import hashlib

        is_same = kept is not None and hashlib.sha256(kept[0]).digest() == new.seen.digest
        mask: Mask = () if is_same else (BYTES_ARE_NOISE,)
        reasons = (Reason("same_twice" if is_same else "bytes_are_noise"),)
        state = ChangeState.REPORTED if is_same else ChangeState.REJECTED
        return Judged(
            changed=is_same,
            seen=new.seen,
            mask=mask,
            moves=(ChangeMove(id=observed.id, state=state, at=new.now, reasons=reasons),),
            reports=(observed,) if is_same else (),
            reasons=reasons,
        )

    def _restored(self, new: _New, before: Seen) -> Judged:
        comparison = Comparison(has_changed=True, layer=Layer.CONTENT, summary="the page is back")
        seen = new.seen
        change = _change(
            ChangeId(seen.visit), ChangeKind.RESTORED, new.watch, before, seen.visit, seen.at, comparison
        )
        return Judged(
            changed=True,
            seen=seen,
            mask=new.watch.mask,
            change=replace(change, state=ChangeState.REPORTED),
            reports=(change,),
            reasons=(Reason("restored"),),
        )

    def _new(self, watch: Watch, fetched: Fetched, extraction: Extraction, mark: Mark) -> _New:
        visit, at, digest = mark
        text = extraction.text
        raw = text.encode()
        seen = Seen(
            visit=visit,
            evidence=EvidenceId(visit),
            at=at,
            digest=digest,
            text_key=xxhash.xxh3_64_intdigest(raw) >> 1,
            simhash=simhash(text),
            text_chars=len(text),
            content_class=extraction.content_class,
        )
        made: list[Blocks] = []

        def make() -> Blocks:
            if not made:
                made.append(
                    blocks(fetched.body, url=fetched.url, content_type=fetched.content_type, scope=self.scope)
                )
            return made[0]

        return _New(watch, seen, at, make, extraction.content_class not in NO_TEXT)

    def _compared(self, before: Seen, new: _New, mask: Mask) -> Comparison:
        old = self._blocks_of(before.evidence)
        if old is None:
            summary = "differs from a state that is no longer kept"
            return Comparison(has_changed=True, layer=Layer.TEXT, similarity=0.0, summary=summary)
        return compare(old, new.blocks(), mask)

    def _blocks_of(self, evidence: EvidenceId | None) -> Blocks | None:
        kept = self.recall(evidence) if evidence is not None else None
        if kept is None:
            return None
        body, content_type, url = kept
        return blocks(body, url=url, content_type=content_type, scope=self.scope)


def _second_look_reason(watch: Watch) -> Reason | None:
    """Why a difference is looked at again before it is reported (DESIGN section 5)."""
    if watch.mask is None:
        return Reason("second_look", note="the first difference here: what is noise is not known yet")
    if watch.risk is Risk.CRITICAL:
        return Reason("second_look", note="CRITICAL is confirmed before it is reported")
    return None


def _plain(new: _New, changed: bool, *reasons: Reason) -> Judged:
    return Judged(changed=changed, seen=new.seen, mask=new.watch.mask, reasons=reasons)


def _keyed(new: _New, key: int) -> _New:
    return replace(new, seen=replace(new.seen, masked_key=key))


def _bytes_differ(new: _New) -> Comparison:
    summary = f"the {new.seen.content_class} document was replaced"
    return Comparison(has_changed=True, layer=Layer.BYTES, similarity=0.0, summary=summary)


def _superseded(change: Change, at: datetime) -> ChangeMove:
    return ChangeMove(id=change.id, state=ChangeState.REJECTED, at=at, reasons=(Reason("superseded"),))


def _change(
    change: ChangeId,
    kind: ChangeKind,
    watch: Watch,
    before: Seen,
    after: VisitId,
    at: datetime,
    comparison: Comparison,
) -> Change:
    return Change(
        id=change,
        watch=watch.id,
        kind=kind,
        state=ChangeState.CONFIRMED,
        before_visit=before.visit,
        after_visit=after,
        before_evidence=before.evidence,
        after_evidence=EvidenceId(after) if kind is not ChangeKind.REMOVED else None,
        observed_at=at,
        comparison=comparison,
    )
