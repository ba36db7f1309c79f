"""Diffs by line and word.  A block that went elsewhere is a move, not a loss and a gain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from vedette.contracts.change import DiffOp
from vedette.contracts.words import Reason
from vedette.core.change.align import Run, runs
from vedette.core.change.kinds import units

MAX_OPS = 500  # beyond this a diff says how much, not what
MAX_PAIRS = 10_000  # line pairs whose likeness is measured, per diff
MAX_WORDS = 4000  # units of a line that are compared word by word
MAX_LINE = 2000  # characters of a line that a diff keeps
SCATTERED = 4  # places in a line that differ: with more of them, and most of its words, it was rewritten
CONTEXT = 2  # equal lines kept beside a difference
LIKE = 0.4  # share of common words that makes two lines versions of each other
SUMMARY = 200  # spec 001/4.1
_SHOWN = 40


def diff_lines(a: Sequence[str], b: Sequence[str]) -> tuple[tuple[DiffOp, ...], tuple[Reason, ...]]:
    """The diff, and why it is coarse where it is."""
    differing = runs(a, b)
    moved = _moved(a, b, differing)
    ops: list[DiffOp] = []
    budget = [MAX_PAIRS]
    end = 0
    for run in differing:
        ops += _context(a[end : run[0]], has_before=bool(ops))
        ops += _run_ops(a, b, run, moved, budget)
        end = run[1]
        if len(ops) > MAX_OPS:
            return _coarse(a, b, ops[:MAX_OPS])
    ops += _context(a[end:], has_before=bool(ops))[:1]
    reasons = () if budget[0] > 0 else (Reason("diff_coarse", note="too many lines to pair one by one"),)
    return tuple(ops), reasons


def with_headings(diff: Sequence[DiffOp], headings: Mapping[str, tuple[str, ...]]) -> tuple[DiffOp, ...]:
    """The same diff with the headings of the columns beside rows of tables.  Nothing is compared by them."""
    return tuple(
        op
        if op.op == "equal"
        else replace(op, headings=next(filter(None, map(headings.get, (*op.after, *op.before))), ()))
        for op in diff
    )


def diff_words(before: str, after: str) -> tuple[tuple[str, str], ...]:
    """The words taken out and put in, pair by pair."""
    a, b = units(before[: MAX_WORDS * 8]), units(after[: MAX_WORDS * 8])
    if len(a) > MAX_WORDS or len(b) > MAX_WORDS:
        return ((_cut(before), _cut(after)),)
    pairs = [("".join(a[i1:i2]).strip(), "".join(b[j1:j2]).strip()) for i1, i2, j1, j2 in runs(a, b)]
    return tuple((_cut(gone), _cut(come)) for gone, come in pairs if gone or come)


def unified(diff: Sequence[DiffOp]) -> str:
    """For people: '-' gone, '+' new, '>' moved."""
    out: list[str] = []
    for op in diff:
        if op.op == "equal":
            out += [f"  {line}" for line in op.before]
        elif op.op == "move":
            out += [f"> {line}" for line in op.before]
        else:
            out += [f"- {line}" for line in op.before] + [f"+ {line}" for line in op.after]
    return "\n".join(out)


def summary(diff: Sequence[DiffOp]) -> str:
    """One line: "2 lines added, 1 changed: 'PDV 25 %' -> 'PDV 24 %'"."""
    counts = Counter[str]()
    for op in diff:
        counts[op.op] += max(len(op.before), len(op.after)) if op.op != "equal" else 0
    names = (("insert", "added"), ("delete", "removed"), ("replace", "changed"), ("move", "moved"))
    parts = [f"{counts[op]} {name}" for op, name in names if counts[op]]
    if not parts:
        return ""
    first, _, rest = parts[0].partition(" ")
    parts[0] = f"{first} line{'s' if first != '1' else ''} {rest}"
    example = next((text for text in map(_example, diff) if text), "")
    said = ", ".join(parts) + (f": {example}" if example else "")
    return _clipped(said, SUMMARY)


def is_rewritten(op: DiffOp) -> bool:
    """Were so many words exchanged that what is left of the line only looks like it?"""
    if len(op.words) <= SCATTERED:
        return False
    changed = sum(len(gone.split()) + len(new.split()) for gone, new in op.words)
    return 2 * changed > sum(len(text.split()) for text in (*op.before, *op.after))


def _example(op: DiffOp) -> str:
    """The words that differ first; of a line that was rewritten they say nothing, so the line itself."""
    if op.op == "replace" and op.words:
        gone, come = (op.before[0], op.after[0]) if is_rewritten(op) else op.words[0]
        if not gone or not come:
            return f"'{_clipped(gone or come, 2 * _SHOWN)}' {'taken out' if gone else 'put in'}"
        return f"'{_clipped(gone, _SHOWN)}' -> '{_clipped(come, _SHOWN)}'"
    if op.op in ("insert", "delete"):
        return f"'{_clipped((op.after or op.before)[0], 2 * _SHOWN)}'"
    return ""


def _clipped(text: str, most: int) -> str:
    """Cut between two words where it has any."""
    if len(text) <= most:
        return text
    head, blank, _ = text[: most - 1].rpartition(" ")
    return f"{head} …" if blank and len(head) > most // 2 else text[: most - 1] + "…"


def _moved(a: Sequence[str], b: Sequence[str], differing: list[Run]) -> Counter[str]:
    """Lines that left one place and came up in another."""
    gone = Counter(line for i1, i2, _, _ in differing for line in a[i1:i2])
    come = Counter(line for _, _, j1, j2 in differing for line in b[j1:j2])
    return gone & come


def _run_ops(
    a: Sequence[str], b: Sequence[str], run: Run, moved: Counter[str], budget: list[int]
) -> list[DiffOp]:
    i1, i2, j1, j2 = run
    gone = [line for line in a[i1:i2] if line not in moved]
    come = []
    ops: list[DiffOp] = []
    for line in b[j1:j2]:
        if moved[line] > 0:
            moved[line] -= 1
            ops.append(DiffOp("move", (_cut(line),), (_cut(line),)))
        else:
            come.append(line)
    for old, new in _paired(gone, come, budget)[: MAX_OPS + 1]:  # no more are shown
        if old is None or new is None:
            op = "insert" if old is None else "delete"
            ops.append(DiffOp(op, () if old is None else (_cut(old),), () if new is None else (_cut(new),)))
        else:
            ops.append(DiffOp("replace", (_cut(old),), (_cut(new),), diff_words(old, new)))
    return ops


def _paired(gone: list[str], come: list[str], budget: list[int]) -> list[tuple[str | None, str | None]]:
    """Which old line became which new one; in order, by common words."""
    if len(gone) == len(come) == 1:
        return [(gone[0], come[0])]
    words = [_words(line) for line in gone] if budget[0] > 0 else []
    if len(gone) == len(come) and budget[0] > 0:
        budget[0] -= len(gone)
        if all(_are_like(old, _words(new)) for old, new in zip(words, come, strict=True)):
            return list(zip(gone, come, strict=True))
    pairs: list[tuple[str | None, str | None]] = []
    left = 0
    for new in come:
        match = _match(words, left, _words(new), budget) if budget[0] > 0 else None
        if match is None:
            pairs.append((None, new))
            continue
        pairs += [(old, None) for old in gone[left:match]]
        pairs.append((gone[match], new))
        left = match + 1
    return pairs + [(old, None) for old in gone[left:]]


def _match(words: list[set[str]], left: int, new: set[str], budget: list[int]) -> int | None:
    """The first line from `left` on that the new one is a version of; None also when the budget is over."""
    for at in range(left, len(words)):
        budget[0] -= 1
        if budget[0] <= 0:
            return None
        if _are_like(words[at], new):
            return at
    return None


def _words(line: str) -> set[str]:
    return set(line[:MAX_LINE].split())


def _are_like(one: set[str], other: set[str]) -> bool:
    return len(one & other) >= LIKE * max(len(one), len(other), 1)


def _context(equal: Sequence[str], *, has_before: bool) -> list[DiffOp]:
    """The last lines before a difference, and the first after the one before."""
    if not equal:
        return []
    if has_before and len(equal) > 2 * CONTEXT:
        return [_equal(equal[:CONTEXT]), _equal(equal[-CONTEXT:])]
    return [_equal(equal if has_before else equal[-CONTEXT:])]


def _equal(kept: Sequence[str]) -> DiffOp:
    cut = tuple(map(_cut, kept))
    return DiffOp("equal", cut, cut)


def _coarse(
    a: Sequence[str], b: Sequence[str], ops: list[DiffOp]
) -> tuple[tuple[DiffOp, ...], tuple[Reason, ...]]:
    note = f"{len(a)} lines against {len(b)}; the first {len(ops)} differences are shown"
    return tuple(ops), (Reason("diff_coarse", note=note),)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_LINE else line[:MAX_LINE] + "…"
