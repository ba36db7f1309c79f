"""The life of a change: observed, gated, confirmed, reported.  Unknown is never unchanged, and never removed.

A difference is looked at again within seconds: an edit settles, noise is drawn anew.  How many looks it takes, and what
is noise, `weigh` decides line by line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from vedette.contracts.change import Block, ChangeKind, Comparison, Layer, Noise
from vedette.contracts.words import Outcome, Reason, Risk
from vedette.core.change import page_cache
from vedette.core.change.layers import compare
from vedette.core.change.page_cache import SECOND_LOOK
from vedette.core.change.state import Looks, State
from vedette.core.change.weigh import Weighed, weigh

CLOSE = timedelta(minutes=2)  # what differs between looks further apart may be edited
TRUSTED = 3  # differences of a target that were all confirmed: then the first look is believed
CONTENT = frozenset((Outcome.OK, Outcome.NOT_MODIFIED))

Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookState:
    """What this look showed.  `is_equal`: the keys already say "unchanged", so no blocks are needed."""

    outcome: Outcome
    at: datetime
    blocks: Blocks = ()
    is_equal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pending:
    """An observed change that waits for another look."""

    kind: ChangeKind
    looks: tuple[Blocks, ...] = ()  # what the looks since then showed, oldest first; none for a removal
    ats: tuple[datetime, ...] = ()  # when


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is known of the target."""

    before: Blocks = ()  # the last state with content
    before_at: datetime
    risk: Risk = Risk.MEDIUM
    noise: Noise = Noise()
    pending: Pending | None = None
    is_removed: bool = False  # a removal was confirmed and nothing came back yet
    age: int = 1  # visits that showed content so far
    close_within: timedelta = CLOSE


@dataclass(frozen=True, slots=True, kw_only=True)
class Nothing:
    """Nothing to report.  `is_known` is False when the look says nothing about the content."""

    noise: Noise
    reasons: tuple[Reason, ...]
    comparison: Comparison | None = None
    is_known: bool = True
    keeps_before: bool = False  # the state before stays the one to compare with


@dataclass(frozen=True, slots=True, kw_only=True)
class Observe:
    """Look again after `again_in`.  A pending change of another kind is dropped."""

    kind: ChangeKind
    noise: Noise
    reasons: tuple[Reason, ...]
    comparison: Comparison
    again_in: timedelta = SECOND_LOOK
    drops_pending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    kind: ChangeKind
    noise: Noise
    reasons: tuple[Reason, ...]
    comparison: Comparison
    drops_pending: bool = False
    then: Comparison | None = None  # a further change, from what the first look showed to what this one shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Reject:
    """The pending change was noise, went away, or is not told."""

    noise: Noise
    reasons: tuple[Reason, ...]
    keeps_before: bool = False


Step = Nothing | Observe | Confirm | Reject


def advance(look: LookState, past: Past) -> Step:
    """The next step in the life of a change."""
    if look.outcome is Outcome.GONE:
        return _gone(past)
    if look.outcome not in CONTENT:
        return Nothing(noise=past.noise, reasons=(Reason("unknown", note=look.outcome),), is_known=False)
    if past.is_removed:
        return _restored(look, past)
    pending = past.pending if past.pending and past.pending.kind is not ChangeKind.REMOVED else None
    came_back = past.pending is not None and pending is None
    if pending is not None:
        return _looked_again(look, past, pending)
    return _looked_first(look, past, came_back=came_back)


def _gone(past: Past) -> Step:
    if past.is_removed:
        return Nothing(noise=past.noise, reasons=(Reason("still_gone"),))
    comparison = Comparison(has_changed=True, layer=Layer.CONTENT, similarity=0.0, summary="the page is gone")
    if past.pending is not None and past.pending.kind is ChangeKind.REMOVED:
        reasons = (Reason("gone_twice"),)
        return Confirm(kind=ChangeKind.REMOVED, noise=past.noise, reasons=reasons, comparison=comparison)
    return Observe(
        kind=ChangeKind.REMOVED,
        noise=past.noise,
        reasons=(Reason("gone_once"),),
        comparison=comparison,
        drops_pending=past.pending is not None,
    )


def _restored(look: LookState, past: Past) -> Step:
    before, after = State(past.before), _state(look, past)
    weighed = _weighed((before, after), (past.before_at, look.at), past)
    found = compare(before, after, None if weighed.is_open else weighed)
    words = f"with changes: {found.summary}" if found.has_changed else "unchanged"
    comparison = replace(found, has_changed=True, summary=f"the page is back, {words}"[:200])
    reasons = (Reason("back_again"),)
    return Confirm(kind=ChangeKind.RESTORED, noise=weighed.noise, reasons=reasons, comparison=comparison)


def _looked_first(look: LookState, past: Past, *, came_back: bool) -> Step:
    before, after = State(past.before), _state(look, past)
    weighed = _weighed((before, after), (past.before_at, look.at), past)
    if weighed.is_open:
        comparison = compare(before, after)
        if comparison.has_changed:
            reasons = (_doubt(past), *comparison.reasons)
            return Observe(
                kind=ChangeKind.CHANGED,
                noise=past.noise,
                reasons=reasons,
                comparison=comparison,
                again_in=page_cache.wait_for_next(past.noise, look.at - past.before_at),
                drops_pending=came_back,
            )
    comparison = compare(before, after, weighed)
    if comparison.has_changed:
        why = "lasts" if not (weighed.gone or weighed.is_moved) and past.noise.is_restless else "is_trusted"
        step = Confirm(
            kind=ChangeKind.CHANGED,
            noise=weighed.noise,
            reasons=(Reason(why), *comparison.reasons),
            comparison=comparison,
            drops_pending=came_back,
        )
        return _tried_later(step, past, look.at)
    reasons = (*weighed.reasons, *comparison.reasons)
    if came_back:
        return Reject(noise=weighed.noise, reasons=(Reason("came_back"), *reasons))
    return Nothing(noise=weighed.noise, reasons=reasons, comparison=comparison)


def _looked_again(look: LookState, past: Past, pending: Pending) -> Step:
    """All looks since the difference, together."""
    states = _states(past.before, *pending.looks, past.before if look.is_equal else look.blocks)
    ats = (past.before_at, *pending.ats, look.at)
    if pending.looks and _wait_to_try(past, ats[1]) is not None:
        earlier = _told(states[:-1], ats[:-1], past)
        if isinstance(earlier, Confirm):
            return _tried(earlier, states, ats, past)
    step = _told(states, ats, past)
    return _tried_later(step, past, ats[1]) if isinstance(step, Confirm) else step


def _told(states: tuple[State, ...], ats: tuple[datetime, ...], past: Past) -> Observe | Confirm | Reject:
    """What all looks since the difference tell."""
    wait = page_cache.wait_for_next(past.noise, ats[1] - ats[0])
    past = replace(past, close_within=max(past.close_within, 2 * wait))
    weighed = _weighed(states, ats, past)
    looks = len(states) - 1
    if weighed.is_open:
        reason = Reason("edit_or_noise", looks, "some lines differ between the looks; the next one tells")
        return Observe(
            kind=ChangeKind.CHANGED,
            noise=past.noise,
            reasons=(reason,),
            comparison=compare(states[0], states[-1]),
            again_in=wait,
        )
    comparison = compare(states[0], states[-1], weighed)
    if not comparison.has_changed:
        why = Reason("went_away") if states[0].keys == states[-1].keys else Reason("noise_learned", looks)
        return Reject(noise=weighed.noise, reasons=(why, *weighed.reasons, *comparison.reasons))
    why = Reason("seen_twice") if looks == 2 else Reason("seen_again", looks, "looks showed it")
    step = Confirm(
        kind=ChangeKind.CHANGED,
        noise=weighed.noise,
        reasons=(why, *weighed.reasons, *comparison.reasons),
        comparison=comparison,
    )
    return _in_two(step, states, weighed)


def _in_two(step: Confirm, states: tuple[State, ...], weighed: Weighed) -> Confirm:
    """The page was edited again after the first look: that look shows a change of its own, and this one another."""
    seen = states[1].index.keys()
    new, gone = weighed.new & seen, weighed.gone - seen
    is_one = new == weighed.new and gone == weighed.gone
    passing = (
        seen - states[0].index.keys() - states[-1].index.keys()
    )  # lines of the first look that are not told
    if not weighed.between and (is_one or passing):
        return step
    earlier = replace(weighed, new=new | weighed.between, gone=gone, lost=())
    later = replace(weighed, new=weighed.new - seen, gone=(weighed.gone & seen) | weighed.between)
    first, then = compare(states[0], states[1], earlier), compare(states[1], states[-1], later)
    return replace(step, comparison=first, then=then) if first.has_changed and then.has_changed else step


# A page that was edited at visit after visit may be one that a cache keeps (`page_cache.py`).


def _tried_later(step: Confirm, past: Past, first_at: datetime) -> Observe | Confirm:
    """The edit is told once the page was looked at again, where that is to be tried."""
    wait = _wait_to_try(past, first_at)
    if wait is None or step.then is not None:
        noise = page_cache.confirmed(step.noise, *_aged(past))
        is_drawn_anew = wait is not None  # it was edited twice within the looks: it did not take that long
        return replace(step, noise=page_cache.differed(noise) if is_drawn_anew else noise)
    note = "edited at visit after visit; a later look tells whether a cache keeps it"
    reason = Reason("may_be_cached", note=note)
    return Observe(
        kind=step.kind,
        noise=past.noise,
        reasons=(reason, *step.reasons),
        comparison=step.comparison,
        again_in=wait,
        drops_pending=step.drops_pending,
    )


def _tried(step: Confirm, states: tuple[State, ...], ats: tuple[datetime, ...], past: Past) -> Confirm:
    """The look after an edit that stood fast.  What it shows is a further edit, whatever it says of a cache."""
    past_noise, age = _aged(past)
    noise = page_cache.confirmed(step.noise, past_noise, age)
    before, after = states[-2:]
    looks = Looks(states=(before, after), ats=ats[-2:], close_within=past.close_within)
    weighed = weigh(looks, noise, age=age + len(states) - 2, is_trusted=True, is_last=True)
    noise = replace(weighed.noise, quick=weighed.noise.quick + 1)
    then = compare(before, after, weighed)
    if then.has_changed:
        is_drawn_anew = _is_again(weighed, states[0])
        return replace(step, noise=page_cache.differed(noise) if is_drawn_anew else noise, then=then)
    is_same = before.keys == after.keys
    return replace(step, noise=page_cache.stayed(noise) if is_same else noise)


def _is_again(weighed: Weighed, first: State) -> bool:
    """True where lines went that had just come, came back that had just gone, or moved once more."""
    went, came = weighed.gone - first.index.keys(), weighed.new & first.index.keys()
    return bool(went or came or weighed.is_moved)


def _wait_to_try(past: Past, first_at: datetime) -> timedelta | None:
    noise, age = _aged(past)
    return page_cache.wait_to_try(noise, age, first_at - past.before_at)


def _weighed(states: tuple[State, ...], ats: tuple[datetime, ...], past: Past) -> Weighed:
    looks = Looks(states=states, ats=ats, close_within=past.close_within)
    noise, age = _aged(past)
    is_steady = noise.agreed >= TRUSTED and not noise.is_restless and not noise.cache.known
    return weigh(looks, noise, age=age, is_trusted=is_steady and past.risk is not Risk.CRITICAL)


def _aged(past: Past) -> tuple[Noise, int]:
    """What varies, and the looks at the target since that is learned."""
    noise, age = past.noise, past.age + past.noise.quick
    if noise.begun_at < 0:
        noise = replace(noise, begun_at=age - 1)
    return noise, max(1, age - noise.begun_at)


def _states(*shown: Blocks) -> tuple[State, ...]:
    """Looks that showed the same are one state, which takes its memory once."""
    made: list[State] = []
    for blocks in shown:
        made.append(next((state for state in made if state.blocks == blocks), None) or State(blocks))
    return tuple(made)


def _state(look: LookState, past: Past) -> State:
    return State(past.before if look.is_equal else look.blocks)


def _doubt(past: Past) -> Reason:
    """Why a difference needs a second look before it is reported."""
    if past.risk is Risk.CRITICAL:
        return Reason("critical")
    if past.noise.is_restless:
        return Reason("restless_page", note="lines of this page vary by themselves")
    return Reason("first_difference") if not past.noise.agreed else Reason("second_look")
