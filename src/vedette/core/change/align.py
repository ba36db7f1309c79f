"""Where do two sequences differ?  Near-linear for real texts, bounded for hostile ones.

Elements that occur once on both sides are fixed points (patience diff); what lies between them is
compared exactly while small, and given back as one differing run when it is not.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

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
