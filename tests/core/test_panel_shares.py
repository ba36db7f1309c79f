"""What each of several workers may do of a batch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.panel.shares import SharedMoney, allotted, ends_by, most_visits, others_have_room, widths

DOLLARS = st.floats(0, 100)


@given(st.lists(st.tuples(st.integers(0, 3), DOLLARS, st.floats(0, 1)), max_size=60), DOLLARS)
def test_what_is_allotted_and_spent_and_lost_never_passes_the_ceiling(words, budget):
    has, spent, lost = [0.0] * 4, 0.0, 0.0
    for who, wants, part in words:
        used = has[who] * part
        has[who], spent = has[who] - used, spent + used
        if part > 0.9:  # it was killed
            has[who], lost = 0.0, lost + has[who]
        money = SharedMoney(budget=budget, spent=spent, lost=lost, elsewhere=sum(has) - has[who])
        has[who] = allotted(money, has=has[who], wants=wants)
        assert spent + lost + sum(has) <= budget + 1e-6


@given(st.integers(1, 200), st.dictionaries(st.text(min_size=1), st.integers(1, 64), min_size=1, max_size=12))
def test_calls_at_once_are_divided_and_nobody_is_left_without(at_once, wants):
    found = widths(at_once, wants)
    assert found.keys() == wants.keys()
    assert all(1 <= width <= wants[name] for name, width in found.items())
    assert sum(found.values()) <= max(at_once, len(wants) + at_once)


@pytest.mark.parametrize(
    ("busy", "workers", "most"), [(12, 1, 12), (12, 5, 3), (3, 4, 1), (0, 2, 0), (3, 0, 3)]
)
def test_a_worker_leaves_others_their_providers(busy, workers, most):
    assert most_visits(busy, workers) == most


@pytest.mark.parametrize(
    ("visits", "busy", "workers", "have"),
    [
        ((), 3, 1, False),  # nobody else is there
        ((), 3, 2, True),
        ((1,), 3, 2, True),
        ((2,), 3, 2, False),
        ((1, 1), 3, 3, False),
        ((1,), 3, 3, True),
    ],
)
def test_others_have_room_where_one_has_fewer_than_its_part(
    visits: tuple[int, ...], busy: int, workers: int, have: bool
):
    assert others_have_room(visits, busy, workers) is have


def test_a_batch_ends_by_the_word_that_stopped_any_of_its_shares():
    assert ends_by(["complete", "killed", "budget_spent"]) == "killed"
    assert ends_by(["complete", "budget_spent"]) == "budget_spent"
    assert ends_by(["complete", "incomplete"]) == "complete"
