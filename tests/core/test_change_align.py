from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from vedette.core.change.diff import runs

elements = st.lists(st.integers(0, 12), max_size=60)


@given(elements, elements)
def test_outside_the_runs_both_sides_are_equal_and_inside_they_are_all_that_differs(a, b):
    i = j = 0
    for i1, i2, j1, j2 in runs(a, b):
        assert i1 < i2 or j1 < j2
        assert a[i:i1] == b[j:j1]
        i, j = i2, j2
    assert a[i:] == b[j:]


def test_one_insertion_is_one_run():
    a = list(range(1000))
    assert runs(a, [*a[:500], -1, *a[500:]]) == [(500, 500, 500, 501)]


def test_two_unrelated_sequences_without_fixed_points_are_one_coarse_run():
    r = random.Random(1)
    a, b = ([r.randrange(3) for _ in range(20_000)] for _ in range(2))
    assert len(runs(a, b)) <= 3
