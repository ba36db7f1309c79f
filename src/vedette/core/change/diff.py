"""Diffs by line and word.  A block that went elsewhere is a move, not a loss and a gain."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from vedette.contracts.change import DiffOp
from vedette.contracts.words import Reason
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


# Where do two sequences differ?  Near-linear for real texts, bounded for hostile ones.
#
# Elements that occur once on both sides are fixed points (patience diff); what lies between them is
# compared exactly while small, and given back as one differing run when it is not.

Run = tuple[int, int, int, int]  # a[i1:i2] against b[j1:j2], at least one of them not empty
EXACT = 40_000  # cells of an exact comparison of what has no fixed points
EFFORT = 30  # passes over the input, in all, before the rest counts as one differing run


def runs(a: Sequence[Hashable], b: Sequence[Hashable]) -> list[Run]:
    """The differing runs in order.  Everything outside them is equal, element by element."""
    found: list[Run] = []
    stack: list[Run] = [(0, len(a), 0, len(b))]
    effort = EFFORT * (len(a) + len(b) + 100)
    while stack:
        run = _trimmed(a, b, stack.pop())
        i1, i2, j1, j2 = run
        if i1 == i2 and j1 == j2:
            continue
        effort -= (i2 - i1) + (j2 - j1)
        points = _fixed_points(a, b, run) if i1 < i2 and j1 < j2 and effort > 0 else []
        if points:
            stack.extend(reversed(_between(points, run)))
        elif i1 < i2 and j1 < j2 and (i2 - i1) * (j2 - j1) <= EXACT and effort > 0:
            effort -= (i2 - i1) * (j2 - j1) // 50
            found.extend(_exact(a, b, run))
        else:
            found.append(run)
    return found


def _trimmed(a: Sequence[Hashable], b: Sequence[Hashable], run: Run) -> Run:
    i1, i2, j1, j2 = run
    while i1 < i2 and j1 < j2 and a[i1] == b[j1]:
        i1 += 1
        j1 += 1
    while i1 < i2 and j1 < j2 and a[i2 - 1] == b[j2 - 1]:
        i2 -= 1
        j2 -= 1
    return i1, i2, j1, j2


def _fixed_points(a: Sequence[Hashable], b: Sequence[Hashable], run: Run) -> list[tuple[int, int]]:
    """The longest increasing chain of elements that are unique in both ranges."""
    i1, i2, j1, j2 = run
    in_a, in_b = Counter(a[i1:i2]), Counter(b[j1:j2])
    where = {b[j]: j for j in range(j1, j2) if in_b[b[j]] == 1}
    pairs = [(i, where[a[i]]) for i in range(i1, i2) if in_a[a[i]] == 1 and a[i] in where]
    return increasing(pairs)


def increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tails: list[int] = []  # smallest end of a chain of each length
    ends: list[int] = []  # index of that pair
    back: list[int] = []
    for at, (_, j) in enumerate(pairs):
        length = bisect_left(tails, j)
        back.append(ends[length - 1] if length else -1)
        if length == len(tails):
            tails.append(j)
            ends.append(at)
        else:
            tails[length], ends[length] = j, at
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = back[at]
    return chain[::-1]


def _between(points: list[tuple[int, int]], run: Run) -> list[Run]:
    i1, i2, j1, j2 = run
    ranges: list[Run] = []
    for i, j in points:
        ranges.append((i1, i, j1, j))
        i1, j1 = i + 1, j + 1
    ranges.append((i1, i2, j1, j2))
    return ranges


def _exact(a: Sequence[Hashable], b: Sequence[Hashable], run: Run) -> list[Run]:
    i1, i2, j1, j2 = run
    matcher = SequenceMatcher(None, a[i1:i2], b[j1:j2], autojunk=False)
    return [
        (i1 + x1, i1 + x2, j1 + y1, j1 + y2) for op, x1, x2, y1, y2 in matcher.get_opcodes() if op != "equal"
    ]
