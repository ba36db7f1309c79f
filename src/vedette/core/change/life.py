"""The life of a change: observed, gated, confirmed, reported.  Unknown is never unchanged, and never removed.

The first difference on a target that was never looked at twice, and every CRITICAL one, gets a second
look.  What differs between the looks and goes on differing is noise; what is left between before and after is
the change.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise

from vedette.contracts.changing import Block, ChangeKind, Comparison, Layer, Mask, MaskRegion
from vedette.contracts.words import Outcome, Reason, Risk
from vedette.core.change.history import flip_flop, learn_clock, learn_from_history
from vedette.core.change.kinds import QUIET
from vedette.core.change.layers import compare
from vedette.core.change.mask import Learned, carry, learn, redrawn, relaxed, widen

SECOND_LOOK = timedelta(seconds=5)  # long enough for a new draw of noise, short enough for no new edit
WIDE = 0.6  # one odd answer teaches no mask that covers more of the page
STAYED = 4  # looks: what stayed so long after it differed was edited; one of three texts does so once in 27
MAX_LOOKS = 8  # then what differs is told as it is
LOOKED = MaskRegion("#", kind=QUIET)  # in a mask: this target has been looked at twice
CONTENT = frozenset((Outcome.OK, Outcome.NOT_MODIFIED))

Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What this look showed.  `is_equal`: the keys already say "unchanged", so no blocks are needed."""

    outcome: Outcome
    at: datetime
    blocks: Blocks = ()
    is_equal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An observed change that waits for its second look."""

    kind: ChangeKind
    looks: tuple[Blocks, ...] = ()  # what the looks since then showed, oldest first; none for a removal


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known of the target."""

    before: Blocks = ()  # the last state with content
    before_at: datetime
    risk: Risk = Risk.MEDIUM
    mask: Mask = ()
    pending: Pending | None = None
    is_removed: bool = False  # a removal was confirmed and nothing came back yet
    history: tuple[Blocks, ...] = ()  # states before `before`, oldest first; optional, at most a handful


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """Nothing to report.  `is_known` is False when the look says nothing about the content."""

    mask: Mask
    reasons: tuple[Reason, ...]
    comparison: Comparison | None = None
    is_known: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Look again after `again_in`.  A pending change of another kind is dropped."""

    kind: ChangeKind
    mask: Mask
    reasons: tuple[Reason, ...]
    comparison: Comparison
    again_in: timedelta = SECOND_LOOK
    drops_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    kind: ChangeKind
    mask: Mask
    reasons: tuple[Reason, ...]
    comparison: Comparison
    drops_pending: bool = False
    then: Comparison | None = None  # a further change, from what the first look showed to what this one shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """The pending change was noise, or went away.  `mask` is what was learned."""

    mask: Mask
    reasons: tuple[Reason, ...]


Step = Nothing | Observe | Confirm | Reject


def advance(look: Look, past: Past) -> Step:
    """The next step in the life of a change."""
    if look.outcome is Outcome.GONE:
        return _gone(past)
    if look.outcome not in CONTENT:
        return Nothing(mask=past.mask, reasons=(Reason("unknown", note=look.outcome),), is_known=False)
    if past.is_removed:
        return _restored(look, past)
    pending = past.pending if past.pending and past.pending.kind is not ChangeKind.REMOVED else None
    came_back = past.pending is not None and pending is None
    if pending is not None:
        return _looked_again(look, past, pending)
    return _looked_first(look, past, came_back=came_back)


def is_established(mask: Mask) -> bool:
    """Has a second look ever told us what is noise on this target?"""
    return any(region.kind == LOOKED.kind for region in mask)


def _gone(past: Past) -> Step:
    if past.is_removed:
        return Nothing(mask=past.mask, reasons=(Reason("still_gone"),))
    comparison = Comparison(has_changed=True, layer=Layer.CONTENT, similarity=0.0, summary="the page is gone")
    if past.pending is not None and past.pending.kind is ChangeKind.REMOVED:
        reasons = (Reason("gone_twice"),)
        return Confirm(kind=ChangeKind.REMOVED, mask=past.mask, reasons=reasons, comparison=comparison)
    return Observe(
        kind=ChangeKind.REMOVED,
        mask=past.mask,
        reasons=(Reason("gone_once"),),
        comparison=comparison,
        drops_pending=past.pending is not None,
    )


def _restored(look: Look, past: Past) -> Step:
    found = _compared(look, past, past.mask)
    comparison = Comparison(
        has_changed=True,
        layer=found.layer,
        similarity=found.similarity,
        summary=f"the page is back, {'with changes: ' + found.summary if found.has_changed else 'unchanged'}"[
            :200
        ],
        diff=found.diff,
        reasons=found.reasons,
    )
    reasons = (Reason("back_again"),)
    return Confirm(kind=ChangeKind.RESTORED, mask=past.mask, reasons=reasons, comparison=comparison)


def _looked_first(look: Look, past: Past, *, came_back: bool) -> Step:
    comparison, mask = _compared(look, past, past.mask), past.mask
    if comparison.has_changed:
        wider, why = _from_time(look, past)
        explained = _compared(look, past, wider) if wider != mask else comparison
        if not explained.has_changed:
            return _quiet(wider, (why, *explained.reasons), explained, came_back=came_back)
    if not comparison.has_changed:
        return _quiet(mask, comparison.reasons, comparison, came_back=came_back)
    doubt = _doubt(look, past)
    if doubt is not None:
        reasons = (doubt, *comparison.reasons)
        return Observe(
            kind=ChangeKind.CHANGED,
            mask=mask,
            reasons=reasons,
            comparison=comparison,
            drops_pending=came_back,
        )
    return Confirm(
        kind=ChangeKind.CHANGED,
        mask=carry(mask, past.before, look.blocks),
        reasons=(Reason("noise_is_known"), *comparison.reasons),
        comparison=comparison,
        drops_pending=came_back,
    )


def _doubt(look: Look, past: Past) -> Reason | None:
    """Why a difference needs a second look before it is reported."""
    if not is_established(past.mask):
        return Reason("first_difference")
    if past.risk is Risk.CRITICAL:
        return Reason("critical")
    if not _compared(look, past, relaxed(past.mask)).has_changed:
        return Reason("noise_of_another_kind", note="only places known as noise differ")
    if returned := flip_flop((*past.history, past.before, look.blocks)):
        return Reason(
            "returned", len(returned), "a text came back for the second time: drawn from a few, or edited"
        )
    if not is_established(carry(past.mask, past.before, look.blocks)):
        return Reason("noise_moved", note="where the known noise is now cannot be told from one look")
    return None


def _quiet(mask: Mask, reasons: tuple[Reason, ...], comparison: Comparison, *, came_back: bool) -> Step:
    if came_back:
        return Reject(mask=mask, reasons=(Reason("came_back"), *reasons))
    return Nothing(mask=mask, reasons=reasons, comparison=comparison)


def _looked_again(look: Look, past: Past, pending: Pending) -> Step:
    """An edit settles; noise is drawn anew.  Two looks that differ leave both open, so a third tells."""
    looks = (*pending.looks, look.blocks)
    if look.is_equal:
        learned = _unless_wide(learn(pending.looks[-1], past.before, past.mask), past.mask)
        return Reject(mask=_settled(learned.mask), reasons=(Reason("went_away"), *learned.reasons))
    here = carry(past.mask, past.before, look.blocks)
    if len(looks) == 2 and not compare(*looks, here).has_changed:
        return _decided(look, past, Learned(here), Reason("seen_twice"))
    edited_at, learned = _edit_among(looks, here)
    if edited_at and len(looks) < min(edited_at + STAYED, MAX_LOOKS):
        reason = Reason("edit_or_noise", len(looks), "it differed between two looks; the next one tells")
        return Observe(
            kind=ChangeKind.CHANGED,
            mask=past.mask,
            reasons=(reason,),
            comparison=_compared(look, past, past.mask),
        )
    learned = replace(learned, mask=widen(learned.mask, past.before))
    step = _decided(look, past, learned, Reason("noise_learned", len(learned.mask)))
    return _edited_since(step, looks, past) if edited_at and isinstance(step, Confirm) else step


def _edit_among(looks: tuple[Blocks, ...], mask: Mask) -> tuple[int, Learned]:
    """The last look that brought what neither the looks before it nor those after it draw anew; 0: all is noise.

    And what is noise then: all that differs elsewhere.
    """
    for at in range(len(looks) - 1, 0, -1):
        learned = _learn_all(looks[at:], _learn_all(looks[:at], Learned(mask)))
        if compare(looks[at - 1], looks[at], relaxed(learned.mask)).has_changed:
            return at, learned
    return 0, _learn_all(looks, Learned(mask))


def _edited_since(step: Confirm, looks: tuple[Blocks, ...], past: Past) -> Confirm:
    """The page was edited after the first look: that look may show a change of its own, and this one another."""
    first = compare(past.before, looks[0], step.mask)
    if not first.has_changed:
        return replace(step, drops_pending=True)
    return replace(step, comparison=first, then=compare(looks[0], looks[-1], step.mask))


def _learn_all(looks: tuple[Blocks, ...], learned: Learned) -> Learned:
    """What differs between any look and the next, beside what is known."""
    for one, other in pairwise(looks):
        found = learn(one, other, learned.mask)
        learned = Learned(found.mask, max(learned.share, found.share), (*learned.reasons, *found.reasons))
    return learned


def _unless_wide(learned: Learned, mask: Mask) -> Learned:
    """One odd answer in place of the page must not teach us that the page is noise."""
    return (
        learned
        if learned.share <= WIDE
        else Learned(mask, learned.share, (Reason("mask_refused", learned.share),))
    )


def _decided(look: Look, past: Past, learned: Learned, why: Reason) -> Step:
    """Before against after, under all the noise that is known now.

    What was learned names places of the new state.  They are those of the old one too, unless content came
    or went above them; then the old mask says where they were.
    """
    ways = (
        compare(past.before, look.blocks, learned.mask, learned.mask),
        compare(past.before, look.blocks, past.mask, learned.mask),
    )
    comparison = min(ways, key=lambda way: (way.has_changed, len(way.diff)))
    reasons = (why, *learned.reasons, *comparison.reasons)
    if not comparison.has_changed:
        return Reject(mask=_settled(learned.mask), reasons=reasons)
    wider = redrawn(learned.mask, past.before, look.blocks)
    if wider != learned.mask and not _compared(look, past, wider).has_changed:
        return Reject(
            mask=_settled(wider),
            reasons=(Reason("redrawn", note="a noisy block drew another text"), *reasons),
        )
    return Confirm(
        kind=ChangeKind.CHANGED, mask=_settled(learned.mask), reasons=reasons, comparison=comparison
    )


def _compared(look: Look, past: Past, mask: Mask) -> Comparison:
    if look.is_equal:
        return Comparison(has_changed=False, layer=Layer.TEXT, reasons=(Reason("equal_text"),))
    return compare(past.before, look.blocks, mask)


def _from_time(look: Look, past: Past) -> tuple[Mask, Reason]:
    """Noise that only the clock, or earlier visits, can show."""
    states = (*past.history, past.before, look.blocks)
    found = learn_clock(past.before, past.before_at, look.blocks, look.at)
    why = Reason("shows_the_time", len(found))
    if not found:
        found = learn_from_history(states)
        why = Reason("noise_by_history", len(found))
    kept = tuple(region for region in past.mask if region.path not in {new.path for new in found})
    return (kept + found if found else past.mask), why


def _settled(mask: Mask) -> Mask:
    return mask if is_established(mask) else (LOOKED, *mask)
