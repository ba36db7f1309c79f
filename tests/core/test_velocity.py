"""Change per look: spec 000 section 3, the formula and not the table."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.core.schedule.ewma import VelocityParams, describe_velocity, update_velocity

# 000 section 3: name, velocity, after five stable looks, after one change.  As the formula gives them; the
# document has 0.52 for the hot page and 0.51 for the new one after a change.
TABLE = [("new", 0.50, 0.295, 0.65), ("hot", 0.80, 0.472, 0.86), ("archive", 0.10, 0.059, 0.37)]


@pytest.mark.parametrize(("name", "velocity", "stable", "changed"), TABLE)
def test_the_table_as_the_formula_gives_it(name: str, velocity: float, stable: float, changed: float) -> None:
    after = velocity
    for look in range(5):
        after = update_velocity(after, 3 + look, False)
    assert round(after, 3) == stable
    assert round(update_velocity(velocity, 3, True), 2) == changed


def test_the_first_three_looks_stay_neutral() -> None:
    assert [update_velocity(0.9, n, True) for n in range(4)] == [0.5, 0.5, 0.5, 0.3 * 1.0 + (1 - 0.3) * 0.9]


def test_half_falls_to_a_tenth_after_sixteen_stable_looks_and_not_after_five() -> None:
    velocity, looks = 0.5, 0
    while velocity > 0.1:
        velocity, looks = update_velocity(velocity, 3, False), looks + 1
    assert looks == 16


@given(st.floats(0, 1), st.integers(0, 10_000), st.booleans())
def test_it_stays_within_bounds_and_moves_the_right_way(velocity: float, count: int, changed: bool) -> None:
    after = update_velocity(velocity, count, changed)
    assert 0.01 <= after <= 0.99
    if count >= 3 and 0.01 <= velocity <= 0.99:
        assert after >= velocity if changed else after <= velocity


@pytest.mark.parametrize("bad", [-0.1, 1.1, math.nan, math.inf])
def test_a_velocity_that_is_none_is_refused(bad: float) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        update_velocity(bad, 5, True)


def test_the_parameters_are_the_documents_and_checked() -> None:
    assert VelocityParams() == VelocityParams(
        warmup=3, alpha_change=0.3, alpha_stable=0.1, floor=0.01, ceiling=0.99, neutral=0.5
    )
    with pytest.raises(InputError, match="alpha_change"):
        VelocityParams(alpha_change=1.5)
    with pytest.raises(InputError, match="floor"):
        VelocityParams(floor=0.6)


@pytest.mark.parametrize(
    ("velocity", "word"),
    [(1.0, "volatile"), (0.8, "volatile"), (0.79, "active"), (0.5, "active"), (0.49, "moderate"),
     (0.2, "moderate"), (0.19, "static"), (0.0, "static")],
)  # fmt: skip
def test_the_words_of_001(velocity: float, word: str) -> None:
    assert describe_velocity(velocity) == word
