"""How much may be in memory at once, and who waits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.fetch import MIB
from vedette.core.limits.memory_budget import SMALL, Use, body_claim, bounded, fits, for_bodies

TOTAL = 288 * MIB
sizes = st.integers(1, 40 * MIB)


def test_a_body_claims_what_it_says_or_the_most_that_it_may():
    limits = {"wire_limit": 10 * MIB, "body_limit": 8 * MIB}
    assert body_claim(9 * MIB, **limits, is_coded=False) == 18 * MIB
    assert body_claim(None, **limits, is_coded=False) == 20 * MIB
    assert body_claim(MIB, **limits, is_coded=True) == 17 * MIB
    assert body_claim(99 * MIB, **limits, is_coded=False) == 20 * MIB


def test_small_bodies_pass_while_a_large_one_waits_and_within_their_share_only():
    full = Use(TOTAL, large=Use(TOTAL).large_room)
    assert not fits(18 * MIB, full, is_large_waiting=True)
    assert fits(SMALL, full, is_large_waiting=True)
    assert not fits(SMALL, Use(TOTAL, small=full.small_room), is_large_waiting=True)
    assert fits(SMALL, Use(TOTAL, small=full.small_room), is_large_waiting=False)


@given(st.lists(sizes, max_size=200), st.booleans())
def test_whatever_is_asked_for_the_budget_holds(asked: list[int], is_large_waiting: bool):
    use = Use(TOTAL)
    for size in asked:
        claim = bounded(size, TOTAL)
        if fits(claim, use, is_large_waiting=is_large_waiting):
            is_small = claim <= SMALL
            use = Use(TOTAL, use.small + claim * is_small, use.large + claim * (not is_small))
    assert use.small + use.large <= TOTAL


@given(st.integers(1, 10**12))
def test_one_claim_alone_always_fits_however_large(size: int):
    assert fits(bounded(size, TOTAL), Use(TOTAL), is_large_waiting=False)


def test_a_small_budget_still_has_room_for_a_body():
    assert for_bodies(224 * MIB) >= 32 * MIB
