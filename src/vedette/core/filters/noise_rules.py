"""Rules that would keep a change from being told, and whether a change of before would still be told with one.

A rule is one or more filter steps.  Proposals go from the narrow to the wide: the values of a line, an element, a whole
line, an order, all numbers of the page.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vedette.contracts.change import ChangeKind, Comparison, DiffOp, Layer, Noise
from vedette.contracts.filters import ELEMENTS, FilterKind, FilterStep, PageFilters
from vedette.core.change.layers import compare
from vedette.core.change.life import Confirm
from vedette.core.change.long_lines import MAX_LINE
from vedette.core.change.state import State, lines
from vedette.core.filters.filter_steps import MOST_VALUE, read_filters
from vedette.core.filters.line_steps import filter_lines
from vedette.core.filters.report_rules import States, told

K = FilterKind
MOST_LINES = 6  # of a change that single lines are ignored for
AROUND = 40  # characters beside a value that say which one it is
MOST_WORDS = 200  # of a line that are looked at for what it keeps saying
LEAST_WORDS = 6  # characters that tell a line from others
MARKS = "/~@;!"  # that part a replacement; the first that it does not hold
VALUE = "…"  # stands for a value that is not compared
ALL_NUMBERS = FilterStep(K.REPLACE, rf"/\d[\d.,:]*/{VALUE}/")
_NUMBER = re.compile(r"\d(?:[\d.,:/-]*\d)?")
_META = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True)
class NoiseRule:
    """Steps that are put to those of a source, and what they do, in words."""

    steps: tuple[FilterStep, ...]
    words: str

    def __str__(self) -> str:
        return "\n".join(map(str, self.steps))


def proposed_rules(diff: Sequence[DiffOp], selectors: Sequence[str] = ()) -> tuple[NoiseRule, ...]:
    """For the differences of one change, narrow ones first.  `selectors`: CSS of the elements that hold them."""
    ops = [op for op in diff if op.op != "equal"]
    made = (
        _values(ops),
        _elements(selectors),
        _whole_lines(ops),
        _order(ops),
        _letters(ops),
        _removals(ops),
        _all_numbers(ops),
    )
    return tuple(rule for rule in made if rule is not None)


def with_rule(filters: Sequence[str], rule: Sequence[FilterStep]) -> tuple[str, ...]:
    """The steps of a source with those of a rule: elements are chosen before lines are."""
    known = set(filters)
    new = [step for step in rule if str(step) not in known]
    first = [str(step) for step in new if step.kind in ELEMENTS]
    at = sum(1 for step in read_filters(tuple(filters)).steps if step.kind in ELEMENTS)
    chosen = (*filters[:at], *first, *filters[at:])
    return (*chosen, *(str(step) for step in new if step.kind not in ELEMENTS))


@dataclass(frozen=True, slots=True)
class Retold:
    """A change of before, under other filters."""

    is_told: bool
    is_louder: bool = False  # lines differ that did not differ before


def retold(
    diff: Sequence[DiffOp], before: States, after: States, added: PageFilters, *, filters: PageFilters
) -> Retold:
    """Whether it would still be told.  `before`, `after`: what the old and the new filters leave of its two states."""
    differed, differ = _differing(before), _differing(after)
    moved = _passed([text for op in diff if op.op != "equal" for text in (*op.before, *op.after)], added)
    is_louder = bool(differ - differed - set(moved))
    if not (after.before and after.after):
        return Retold(is_told=True, is_louder=is_louder)
    comparison = compare(State(after.before), State(after.after))
    has_moves = any(op.op == "move" for op in diff) and any(op.op == "move" for op in comparison.diff)
    left = [
        op
        for op in diff
        if op.op == "equal" or _is_left(op, differ, added) or (op.op == "move" and has_moves)
    ]
    if not comparison.has_changed or all(op.op == "equal" for op in left):
        return Retold(is_told=False, is_louder=is_louder)
    narrowed = Comparison(has_changed=True, layer=Layer.CONTENT, diff=tuple(left))
    step = Confirm(kind=ChangeKind.CHANGED, noise=Noise(), reasons=(), comparison=narrowed)
    end = told(step, after, filters, is_pending=True)
    return Retold(is_told=isinstance(end, Confirm), is_louder=is_louder)


def _differing(states: States) -> set[str]:
    return set(lines(states.before)) ^ set(lines(states.after))


def _passed(texts: Iterable[str], added: PageFilters) -> tuple[str, ...]:
    """Lines as the new text steps leave them."""
    blocks = tuple(("", text) for text in texts)
    return tuple(text for _, text in filter_lines(blocks, PageFilters(added.texts)).blocks)


def _is_left(op: DiffOp, differ: set[str], added: PageFilters) -> bool:
    return op.op != "move" and any(
        _is_among(text, differ) for text in _passed((*op.before, *op.after), added)
    )


def _is_among(text: str, texts: set[str]) -> bool:
    """Of a long line a difference keeps a part, with marks where it goes on."""
    if text in texts or not (text.startswith(VALUE) or text.endswith(VALUE)):
        return text in texts
    part = text.strip(VALUE)
    return any(part in one for one in texts if len(one) > MAX_LINE)


# The rules.


def _values(ops: Sequence[DiffOp]) -> NoiseRule | None:
    """Lines that keep their words and show another number."""
    pairs = _numeric(ops)
    if not pairs or len(pairs) > MOST_LINES:
        return None
    steps = list(dict.fromkeys(step for pair in pairs if (step := _masked(*pair)) is not None))
    if not steps:
        return None
    which = "the number" if len(steps) == 1 else f"the numbers of {len(steps)} lines"
    return NoiseRule(tuple(steps), f"Leave out {which} that moved; the words beside it are still compared.")


def _elements(selectors: Sequence[str]) -> NoiseRule | None:
    if not selectors:
        return None
    step = FilterStep(K.REMOVE, ", ".join(selectors))
    what = (
        "the element that holds it" if len(selectors) == 1 else f"the {len(selectors)} elements that hold it"
    )
    return NoiseRule((step,), f"Leave out {what}, whatever it says. All else on the page is compared.")


def _whole_lines(ops: Sequence[DiffOp]) -> NoiseRule | None:
    """Each line that differs, by the words that it keeps."""
    wanted = [op for op in ops if op.op != "move"]
    found = [text for op in wanted for text in _steady(op)]
    if not found or not all(_steady(op) for op in wanted) or len(found) > MOST_LINES:
        return None
    steps = tuple(FilterStep(K.IGNORE, text) for text in dict.fromkeys(found))
    what = (
        "every line that says this" if len(steps) == 1 else f"every line that says one of these {len(steps)}"
    )
    return NoiseRule(steps, f"Leave out {what}.")


def _order(ops: Sequence[DiffOp]) -> NoiseRule | None:
    if not ops or any(op.op != "move" for op in ops):
        return None
    return NoiseRule(
        (FilterStep(K.SORT, "up"),), "Compare the lines in alphabetical order: what only moves is not told."
    )


def _letters(ops: Sequence[DiffOp]) -> NoiseRule | None:
    if not ops or any(_joined(op.before).lower() != _joined(op.after).lower() for op in ops):
        return None
    return NoiseRule((FilterStep(K.LOWER, "true"),), "Compare without regard to capital letters.")


def _removals(ops: Sequence[DiffOp]) -> NoiseRule | None:
    if not ops or any(op.op != "delete" for op in ops):
        return None
    return NoiseRule(
        (FilterStep(K.ONLY, "added, changed"),), "Tell of lines that come or change, not of lines that go."
    )


def _all_numbers(ops: Sequence[DiffOp]) -> NoiseRule | None:
    return (
        NoiseRule((ALL_NUMBERS,), "Leave out all numbers of the page. This is wide.")
        if _numeric(ops)
        else None
    )


def _numeric(ops: Sequence[DiffOp]) -> list[tuple[str, str]]:
    """Line by line, where nothing but numbers differs; empty: something else does too."""
    found = []
    for op in ops:
        if op.op != "replace" or len(op.before) != len(op.after):
            return []
        found += list(zip(op.before, op.after, strict=True))
    differ = [(old, new) for old, new in found if old != new]
    return differ if all(_NUMBER.sub("0", old) == _NUMBER.sub("0", new) for old, new in differ) else []


def _masked(old: str, new: str) -> FilterStep | None:
    """A replacement of the numbers that differ, known by the words beside them.  None: none that fits a line."""
    old_spans, new_spans = list(_NUMBER.finditer(old)), list(_NUMBER.finditer(new))
    moved = [two for one, two in zip(old_spans, new_spans, strict=False) if one.group() != two.group()]
    if not moved or len(old_spans) != len(new_spans):
        return None
    value = r"\d[\d.,:/-]*" if any("/" in one.group() for one in (*old_spans, *new_spans)) else r"\d[\d.,:-]*"
    start, end = max(0, moved[0].start() - AROUND), min(len(new), moved[-1].end() + AROUND)
    pattern, put, at = "", "", start
    for span in moved:
        steady = new[at : span.start()]
        pattern, put, at = pattern + _META.sub(r"\\\1", steady) + value, put + steady + VALUE, span.end()
    rest = new[at:end]
    pattern, put = pattern + _META.sub(r"\\\1", rest), put + rest
    mark = next((one for one in MARKS if one not in pattern + put), None)
    text = f"{mark}{pattern}{mark}{put}{mark}"
    return (
        None
        if mark is None or len(text) > MOST_VALUE // 4 or not put.strip(VALUE + " ")
        else FilterStep(K.REPLACE, text)
    )


def _steady(op: DiffOp) -> list[str]:
    """What its lines keep saying: a plain text for each, empty where there is too little of it."""
    if op.op != "replace" or len(op.before) != len(op.after):
        texts = [*op.before, *op.after]
    else:
        texts = [_common(old, new) for old, new in zip(op.before, op.after, strict=True) if old != new]
    cut = [text.strip()[:120].strip() for text in texts]
    return cut if all(len(text) >= LEAST_WORDS and not text.startswith("/") for text in cut) else []


def _common(old: str, new: str) -> str:
    """The longest run of words that both have."""
    first, second = old.split(" ")[:MOST_WORDS], new.split(" ")[:MOST_WORDS]
    best, ends = (0, 0), [0] * (len(second) + 1)  # how long a run ends here, for each word of the second
    for at, word in enumerate(first, 1):
        run = [0] * (len(second) + 1)
        for there, other in enumerate(second, 1):
            run[there] = ends[there - 1] + 1 if word == other else 0
            best = max(best, (run[there], at))
        ends = run
    size, end = best
    return " ".join(first[end - size : end])


def _joined(texts: Sequence[str]) -> str:
    return "\n".join(texts)
