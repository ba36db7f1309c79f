"""Which differences of a source are told: by what appeared, by a number, by the kind and the size of the difference.

What a rule keeps back is still seen and kept as evidence.  Where too little differs the state before stays the one to
compare with, so that small steps add up; where the difference is not of interest the new state takes its place, so
that a text or a price that comes back is news again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from vedette.contracts.change import Block, ChangeKind, Comparison, DiffOp
from vedette.contracts.filters import NUMBERS, FilterKind, FilterStep, PageFilters
from vedette.contracts.words import Reason
from vedette.core.change.diff import summary
from vedette.core.change.fields import field_summary
from vedette.core.change.life import Confirm, Nothing, Observe, Reject, Step
from vedette.core.change.state import lines
from vedette.core.filters.filter_steps import amount_of, parts_told
from vedette.core.filters.line_steps import matcher, number_of
from vedette.core.filters.local_numbers import number_text, read_number

K = FilterKind
NOT_TOLD = "not_told"
ADDS_UP = frozenset({K.LEAST, K.CHANGED_BY})  # small steps add up
_ABOUT_TEXT = frozenset({K.APPEARS, K.DISAPPEARS, K.WHILE, K.UNLESS})
_PARTS = {"insert": "added", "delete": "removed", "replace": "changed"}


@dataclass(frozen=True, slots=True)
class States:
    """What the filters left of the two states."""

    before: Sequence[Block]
    after: Sequence[Block]


def told(step: Step, states: States, filters: PageFilters, *, is_pending: bool) -> Step:
    """The step with what may be told of it; one without a report where nothing may.

    `is_pending`: a change waits for this look.  That a page is gone or back is told whatever the rules say.
    """
    if not isinstance(step, Observe | Confirm) or step.kind is not ChangeKind.CHANGED or not filters.rules:
        return step
    step = _with_parts(step, filters)
    comparison = step.comparison
    failing = _failing(comparison, states, filters)
    if not failing:
        return replace(step, comparison=_with_numbers(comparison, states, filters))
    keeps_before = any(rule.kind in ADDS_UP for rule in failing)
    if isinstance(step, Observe) and not keeps_before:
        return step  # the second look tells whether it lasts
    reasons = (Reason(NOT_TOLD, note="; ".join(f"`{rule}`" for rule in failing)), *step.reasons)
    if is_pending:
        return Reject(noise=step.noise, reasons=reasons, keeps_before=keeps_before)
    return Nothing(noise=step.noise, reasons=reasons, comparison=step.comparison, keeps_before=keeps_before)


def rule_now(rule: FilterStep, blocks: Sequence[Block], filters: PageFilters) -> str:
    """What a rule sees on a page as it is, for whoever tries it."""
    if rule.kind in NUMBERS:
        number, limit = number_of(blocks, filters), read_number(rule.value, decimal=".")
        if rule.kind is K.CHANGED_BY or number is None or limit is None:
            return f"looks at {number_text(number)}"
        holds = number < limit if rule.kind is K.BELOW else number > limit
        return f"looks at {number_text(number)}, which is {'' if holds else 'not '}{rule.kind} {rule.value}"
    if rule.kind in _ABOUT_TEXT:
        is_there = any(map(matcher(rule.value), lines(blocks)))
        return "this text is there now" if is_there else "this text is not there now"
    return "decides which differences are told"


def _failing(comparison: Comparison, states: States, filters: PageFilters) -> list[FilterStep]:
    """The rules that keep this difference back; none: it is told."""
    asked = [rule for rule in filters.rules if rule.kind in _RULES]
    held = [_RULES[rule.kind](rule.value, _Difference(comparison, states, filters)) for rule in asked]
    failing = [rule for rule, holds in zip(asked, held, strict=True) if not holds]
    return [] if filters.value(K.RULES).lower() == "any" and len(failing) < len(asked) else failing


def _with_parts(step: Observe | Confirm, filters: PageFilters) -> Observe | Confirm:
    """Told of the kinds of lines that are asked for; a change of two steps may lose one of them."""
    if isinstance(step, Observe) or step.then is None:
        return replace(step, comparison=_narrowed(step.comparison, filters))
    both = [_narrowed(one, filters) for one in (step.comparison, step.then)]
    first, *then = [one for one in both if one.has_changed] or both[:1]
    return replace(step, comparison=first, then=then[0] if then else None)


def _narrowed(comparison: Comparison, filters: PageFilters) -> Comparison:
    """The kinds of lines that are told."""
    wanted = {part for rule in filters.rules if rule.kind is K.ONLY for part in parts_told(rule.value)}
    if not wanted:
        return comparison
    ops = tuple(op for op in comparison.diff if op.op == "equal" or _PARTS.get(op.op) in wanted)
    if len(ops) == len(comparison.diff):
        return comparison
    has_changed = any(op.op != "equal" for op in ops)
    words = field_summary(ops) if comparison.layer.value == "structure" else summary(ops)
    return replace(comparison, has_changed=has_changed, diff=ops, summary=words if has_changed else "")


def _with_numbers(comparison: Comparison, states: States, filters: PageFilters) -> Comparison:
    if not any(rule.kind in (K.BELOW, K.ABOVE, K.CHANGED_BY) for rule in filters.rules):
        return comparison
    words = " -> ".join(number_text(number_of(one, filters)) for one in (states.before, states.after))
    return replace(comparison, reasons=(*comparison.reasons, Reason("number", note=words)))


@dataclass(frozen=True, slots=True)
class _Difference:
    comparison: Comparison
    states: States
    filters: PageFilters

    def is_in(self, value: str) -> tuple[bool, bool]:
        """Whether the text is there, before and now."""
        holds = matcher(value)
        before, after = (any(map(holds, lines(blocks))) for blocks in (self.states.before, self.states.after))
        return before, after

    @property
    def numbers(self) -> tuple[float | None, float | None]:
        return number_of(self.states.before, self.filters), number_of(self.states.after, self.filters)


def _appears(value: str, found: _Difference) -> bool:
    return found.is_in(value) == (False, True)


def _disappears(value: str, found: _Difference) -> bool:
    return found.is_in(value) == (True, False)


def _is_there(value: str, found: _Difference) -> bool:
    return found.is_in(value)[1]


def _is_not_there(value: str, found: _Difference) -> bool:
    return not found.is_in(value)[1]


def _is_below(value: str, found: _Difference) -> bool:
    limit, (_, now) = read_number(value, decimal="."), found.numbers
    return limit is not None and now is not None and now < limit


def _is_above(value: str, found: _Difference) -> bool:
    limit, (_, now) = read_number(value, decimal="."), found.numbers
    return limit is not None and now is not None and now > limit


def _has_moved(value: str, found: _Difference) -> bool:
    """By the amount or more; a number where there was none has moved."""
    least, unit = amount_of(value)
    before, now = found.numbers
    if before is None or now is None:
        return now is not None
    moved = abs(now - before)
    if unit == "%":
        return moved > 0 if before == 0 else moved / abs(before) * 100 >= least - 1e-9
    return moved >= least - 1e-9 and moved > 0


def _has_parts(value: str, found: _Difference) -> bool:
    return found.comparison.has_changed


def _is_enough(value: str, found: _Difference) -> bool:
    least, unit = amount_of(value)
    ops = [op for op in found.comparison.diff if op.op != "equal"]
    if unit == "lines":
        return sum(max(len(op.before), len(op.after)) for op in ops) >= least
    changed = sum(map(_words_of, ops))
    if unit == "words":
        return changed >= least
    whole = sum(len(text.split()) for text in lines(found.states.before))
    return changed * 100 >= least * max(1, whole)


def _words_of(op: DiffOp) -> int:
    """How many words differ: of a changed line those that were put in place of others."""
    if op.words:
        return sum(max(len(old.split()), len(new.split())) for old, new in op.words)
    return max(sum(len(text.split()) for text in side) for side in (op.before, op.after))


_RULES: dict[FilterKind, Callable[[str, _Difference], bool]] = {
    K.APPEARS: _appears,
    K.DISAPPEARS: _disappears,
    K.WHILE: _is_there,
    K.UNLESS: _is_not_there,
    K.BELOW: _is_below,
    K.ABOVE: _is_above,
    K.CHANGED_BY: _has_moved,
    K.ONLY: _has_parts,
    K.LEAST: _is_enough,
}
