"""Diffs by line and word.  A block that went elsewhere is a move, not a loss and a gain."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from functools import cached_property
from itertools import islice
from typing import NamedTuple

from vedette.contracts.change import DiffOp
from vedette.contracts.words import Reason
from vedette.core.change.kinds import units
from vedette.core.change.long_lines import MAX_LINE, narrowed, shown, shown_pair

MAX_OPS = 500  # beyond this a diff says how much, not what
MAX_PAIRS = 10_000  # line pairs whose likeness is measured, per diff
MAX_WORDS = 4000  # units of a line that are compared word by word
SCATTERED = 4  # places in a line that differ: with more of them, and most of its words, it was rewritten
CONTEXT = 2  # equal lines kept beside a difference
LIKE = 0.4  # share of common words that makes two lines versions of each other
SUMMARY = 200  # spec 001/4.1
_SHOWN = 40


def diff_lines(a: Sequence[str], b: Sequence[str]) -> tuple[tuple[DiffOp, ...], tuple[Reason, ...]]:
    """The diff, and why it is coarse where it is."""
    parts = _parts(a, b)
    became, is_whole = _became(a, b, parts)
    used = set(became.values())
    ops: list[DiffOp] = []
    end = 0
    for at, part in enumerate(parts):
        ops += _context(a[end : part.run[0]], has_before=bool(ops))
        ops += islice(_part_ops(a, b, part, became, used), MAX_OPS + 1)  # no more are shown
        end = part.run[1]
        if len(ops) > MAX_OPS:
            edits = (op for one in parts[at:] for op in _part_ops(a, b, one, became, used) if op.op != "move")
            return _coarse(a, b, ops[:MAX_OPS], edits)
    ops += _context(a[end:], has_before=bool(ops))[:1]
    reasons = () if is_whole else (Reason("diff_coarse", note="too many lines to pair one by one"),)
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
    before, after = narrowed(before, after)
    a, b = units(before[: MAX_WORDS * 8]), units(after[: MAX_WORDS * 8])
    if len(a) > MAX_WORDS or len(b) > MAX_WORDS:
        return (shown_pair(before, after),)
    pairs = [("".join(a[i1:i2]).strip(), "".join(b[j1:j2]).strip()) for i1, i2, j1, j2 in runs(a, b)]
    return tuple((shown(gone), shown(come)) for gone, come in pairs if gone or come)


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
    return _with_examples(", ".join(parts), [op for op in diff if op.op not in ("equal", "move")])


def _with_examples(head: str, edits: Sequence[DiffOp]) -> str:
    """As many edits as there is room for, one at least; the others are counted."""
    said, joint = head, ": "
    for left, op in zip(range(len(edits), 0, -1), edits, strict=True):
        example, counted = _example(op), f" and {left} more"
        room = SUMMARY - len(f" and {left - 1} more") * (left > 1)
        if joint != ": " and len(f"{said}{joint}{example}") > room:
            return said + counted
        if example:
            said, joint = _clipped(f"{said}{joint}{example}", room), ", "
    return said


def is_rewritten(op: DiffOp) -> bool:
    """Were so many words exchanged that what is left of the line only looks like it?"""
    if len(op.words) <= SCATTERED:
        return False
    changed = sum(len(gone.split()) + len(new.split()) for gone, new in op.words)
    return 2 * changed > sum(len(text.split()) for text in (*op.before, *op.after))


def _example(op: DiffOp) -> str:
    """The words that differ first, and how many places more; of a line that was rewritten they say nothing, so the line
    itself."""
    if op.op == "replace" and op.words:
        is_whole = is_rewritten(op)
        gone, come = (op.before[0], op.after[0]) if is_whole else op.words[0]
        more = "" if is_whole or len(op.words) == 1 else f" and {len(op.words) - 1} more in it"
        if not gone or not come:
            return f"'{_clipped(gone or come, 2 * _SHOWN)}' {'taken out' if gone else 'put in'}{more}"
        return f"'{_clipped(gone, _SHOWN)}' -> '{_clipped(come, _SHOWN)}'{more}"
    if op.op in ("insert", "delete"):
        return f"'{_clipped((op.after or op.before)[0], 2 * _SHOWN)}'"
    return ""


def _clipped(text: str, most: int) -> str:
    """Cut between two words where it has any."""
    if len(text) <= most:
        return text
    head, blank, _ = text[: most - 1].rpartition(" ")
    return f"{head} …" if blank and len(head) > most // 2 else text[: most - 1] + "…"


class _Part(NamedTuple):
    """A differing run without what only moved: positions of the lines that went, came, and came from elsewhere."""

    run: Run
    gone: list[int]
    come: list[int]
    moved: list[int]


def _parts(a: Sequence[str], b: Sequence[str]) -> list[_Part]:
    differing = runs(a, b)
    gone = Counter(line for i1, i2, _, _ in differing for line in a[i1:i2])
    come = Counter(line for _, _, j1, j2 in differing for line in b[j1:j2])
    moved = gone & come  # left one place and came up in another
    parts = []
    for i1, i2, j1, j2 in differing:
        part = _Part((i1, i2, j1, j2), [i for i in range(i1, i2) if a[i] not in moved], [], [])
        for j in range(j1, j2):
            is_moved = moved[b[j]] > 0
            moved[b[j]] -= is_moved
            (part.moved if is_moved else part.come).append(j)
        parts.append(part)
    return parts


def _part_ops(
    a: Sequence[str], b: Sequence[str], part: _Part, became: Mapping[int, int], used: set[int]
) -> Iterator[DiffOp]:
    """In the order of the new lines; what went stands before the line that stood behind it."""
    for j in part.moved:
        yield DiffOp("move", (shown(b[j]),), (shown(b[j]),))
    lost = deque(i for i in part.gone if i not in used)
    for j in part.come:
        i = became.get(j)
        if i is None:
            yield DiffOp("insert", (), (shown(b[j]),))
            continue
        while lost and part.run[0] <= lost[0] < i < part.run[1]:
            yield DiffOp("delete", (shown(a[lost.popleft()]),))
        old, new = shown_pair(a[i], b[j])
        yield DiffOp("replace", (old,), (new,), diff_words(a[i], b[j]))
    for i in lost:
        yield DiffOp("delete", (shown(a[i]),))


def _context(equal: Sequence[str], *, has_before: bool) -> list[DiffOp]:
    """The last lines before a difference, and the first after the one before."""
    if not equal:
        return []
    if has_before and len(equal) > 2 * CONTEXT:
        return [_equal(equal[:CONTEXT]), _equal(equal[-CONTEXT:])]
    return [_equal(equal if has_before else equal[-CONTEXT:])]


def _equal(kept: Sequence[str]) -> DiffOp:
    cut = tuple(map(shown, kept))
    return DiffOp("equal", cut, cut)


def _coarse(
    a: Sequence[str], b: Sequence[str], ops: list[DiffOp], edits: Iterator[DiffOp]
) -> tuple[tuple[DiffOp, ...], tuple[Reason, ...]]:
    """The first differences.  Lines that only moved leave room for one that was edited."""
    if all(op.op in ("equal", "move") for op in ops):
        ops[-1:] = list(islice(edits, 1)) or ops[-1:]
    note = f"{len(a)} lines against {len(b)}; the first {len(ops)} differences are shown"
    return tuple(ops), (Reason("diff_coarse", note=note),)


# Which old line became which new one?  First by what names a line: the path of a field, the label of a row, the words
# around a number, the number of an article; wherever it stands, if the name is there once before and after.  Then by
# names and by common words within a run.  A line whose name is there before and after becomes no line of another name.

_NUMBERED = re.compile(
    r"[(\[\s]*((?:§\s*|[^\W\d_]+\.?\s+)\d+(?:[.-]\d+)*[a-z]?|\d+(?:\.\d+)*[a-z]?(?=[.):\]]))[.):\]]*(?:\s|$)"
)
_VALUE = re.compile(r"(?<!\w)\d[\d.,]*")
_LETTER = re.compile(r"[^\W\d_]")
_LABEL = re.compile(r":\s|\s[–—=-]\s")
_MAX_LABEL = 80  # characters; a longer one is prose
_MAX_NAMED = 300  # characters of a line that are read for its names


class _Names(NamedTuple):
    """What may name a line, the most exact first."""

    levels: tuple[str, ...]
    own: str = ""  # the name that no line of another name is paired with
    is_field: bool = False


def _names(line: str) -> _Names:
    if line.startswith("/") and ": " in line:
        line = line[:MAX_LINE]
        path = line.partition(": ")[0]
        return _Names((line.rpartition(": ")[0], path), path, is_field=True)
    line = line[:_MAX_NAMED]
    return _names_of_row(line) if " | " in line else _names_of_prose(line)


def _names_of_row(line: str) -> _Names:
    """A first cell without letters may count the rows; the label is then the first cell that begins with words."""
    first, *cells = (cell.strip("| ") for cell in line.split(" | "))
    worded = [cell for cell in cells if _LETTER.match(cell)]
    label = first if _LETTER.search(first) else next(iter(worded), first)
    return _Names((" | ".join([first, *worded]), label, first), label)


def _names_of_prose(line: str) -> _Names:
    """The text before its last number, its words without numbers, its label, its number."""
    values = [found.start() for found in _VALUE.finditer(line)]
    form = _VALUE.sub("", line) if values else ""
    numbered = _NUMBERED.match(line[:_MAX_LABEL])
    rest = line[numbered.end() if numbered else 0 :][:_MAX_LABEL].lstrip(" –—=-")
    mark = _LABEL.search(rest)
    label = rest[: mark.start()] if mark and _LETTER.search(rest[: mark.start()]) else ""
    number = numbered[1].casefold() if numbered else ""
    head = line[: values[-1]] if values else ""
    return _Names((head, form if _LETTER.search(form) else "", label, number), label or number)


class _Pairing:
    """The lines that differ, by position, with their names; and what each new one was before."""

    def __init__(self, a: Sequence[str], b: Sequence[str], parts: Sequence[_Part]) -> None:
        self.gone = {i: _names(a[i]) for part in parts for i in part.gone}
        self.come = {j: _names(b[j]) for part in parts for j in part.come}
        self.became: dict[int, int] = {}
        self.used: set[int] = set()
        self.b = b

    @cached_property
    def stays(self) -> set[str]:
        """Names of lines that are there before and after, as far as lines that differ have them too."""
        wanted = {name for names in (*self.gone.values(), *self.come.values()) for name in names.levels}
        stays: set[str] = set()
        for j, line in enumerate(self.b):
            if j not in self.come:
                stays.update(wanted.intersection(_names(line).levels))
        return stays

    @cached_property
    def before(self) -> set[str]:
        return {names.own for names in self.gone.values()} | self.stays

    @cached_property
    def after(self) -> set[str]:
        return {names.own for names in self.come.values()} | self.stays

    @cached_property
    def _gone_names(self) -> set[str]:
        return {name for names in self.gone.values() for name in names.levels}

    @cached_property
    def _come_names(self) -> set[str]:
        return {name for names in self.come.values() for name in names.levels}

    def may_be(self, i: int, j: int) -> bool:
        old, new = self.gone[i], self.come[j]
        if old.own == new.own:
            return True
        if old.is_field or new.is_field:
            return False
        return not (old.own and old.own in self.after) and not (new.own and new.own in self.before)

    def pair(self, i: int, j: int) -> None:
        self.became[j] = i
        self.used.add(i)

    def in_place(self, parts: Sequence[_Part]) -> None:
        """One line that became one line, where no other line can have a better claim: most changes are that."""
        for part in parts:
            if len(part.gone) == len(part.come) == 1:
                i, j = part.gone[0], part.come[0]
                old, new = self.gone[i], self.come[j]
                names = next(filter(None, old.levels), ""), next(filter(None, new.levels), "")
                is_only = len(self.gone) == len(self.come) == 1 or not (
                    all(names) or self._is_elsewhere(i, j)
                )
                if (names[0] and names[0] == names[1]) or (is_only and old.own == new.own):
                    self.pair(i, j)

    def _is_elsewhere(self, i: int, j: int) -> bool:
        """One of them has its name on a line of the other side, where it may have come from or gone to."""
        is_gone = not self._come_names.isdisjoint(filter(None, self.gone[i].levels))
        return is_gone or not self._gone_names.isdisjoint(filter(None, self.come[j].levels))

    def by_name(self, gone: Iterable[int], come: Iterable[int], apart: Container[str] = ()) -> None:
        """Lines whose name is there once on either side, and not `apart`."""
        for level in range(4):
            old, new = (
                _once((at, names[at].levels[level]) for at in left if len(names[at].levels) > level)
                for left, names in (
                    ([i for i in gone if i not in self.used], self.gone),
                    ([j for j in come if j not in self.became], self.come),
                )
            )
            for name, j in new.items():
                if name in old and name not in apart and (level < 2 or self.may_be(old[name], j)):
                    self.pair(old[name], j)


def _once(named: Iterable[tuple[int, str]]) -> dict[str, int]:
    """Where a name stands that is there once."""
    where: dict[str, int] = {}
    twice = {""}
    for at, name in named:
        if where.setdefault(name, at) != at:
            twice.add(name)
    return {name: at for name, at in where.items() if name not in twice}


def _became(a: Sequence[str], b: Sequence[str], parts: Sequence[_Part]) -> tuple[dict[int, int], bool]:
    """The old line of each new one that has one; and could all be compared that might be alike?"""
    pairing = _Pairing(a, b, parts)
    pairing.in_place(parts)
    if len(pairing.used) < len(pairing.gone) and len(pairing.became) < len(pairing.come):
        pairing.by_name(pairing.gone, pairing.come, pairing.stays)
    budget = MAX_PAIRS
    is_whole = True
    for part in parts:
        pairing.by_name(part.gone, part.come)
        gone = [i for i in part.gone if i not in pairing.used]
        come = [j for j in part.come if j not in pairing.became]
        if not gone or not come:
            continue
        if len(gone) == len(come) == 1 and pairing.may_be(gone[0], come[0]):
            pairing.pair(gone[0], come[0])
            continue
        reach = max(len(gone), len(come))
        if reach * min(len(gone), len(come)) > budget:
            reach, is_whole = max(0, budget) // len(come) // 2, False
        budget -= len(come) * min(2 * reach + 1, len(gone))
        for i, j in _likest([_words(a[i]) for i in gone], [_words(b[j]) for j in come], reach):
            i, j = gone[i], come[j]
            if i not in pairing.used and j not in pairing.became and pairing.may_be(i, j):
                pairing.pair(i, j)
    return pairing.became, is_whole


def _likest(gone: list[set[str]], come: list[set[str]], reach: int) -> list[tuple[int, int]]:
    """Pairs of lines that are versions of each other, the likest first; none further apart than `reach`."""
    found = []
    for j, new in enumerate(come):
        at = j if len(gone) == len(come) else j * len(gone) // len(come)
        for i in range(max(0, at - reach), min(len(gone), at + reach + 1)):
            likeness = len(gone[i] & new) / max(len(gone[i]), len(new), 1)
            if likeness >= LIKE:
                found.append((-likeness, abs(i - at), j, i))
    return [(i, j) for *_, j, i in sorted(found)]


def _words(line: str) -> set[str]:
    return set(line[:MAX_LINE].split())


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
