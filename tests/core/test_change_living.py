"""Pages of the living web with noise of every kind, beside and between their paragraphs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from living_pages import Lives, lives_of, restless_world

from vedette.core.change.kinds import TOKEN, WORDS, kind_of
from vedette.core.change.template import bare_clock

HOSTS = 16


@pytest.mark.parametrize("seed", [7, 23])
def test_an_edit_beside_noise_is_told_by_the_visit_that_sees_it_and_noise_is_not(seed: int) -> None:
    world, total = restless_world(seed, hosts=HOSTS, pages=12, tempo=4.0), Lives()
    for host in range(HOSTS):
        total += lives_of(world, seed, host, days=1.5)
    assert total.told > 50
    assert len(total.missed) <= total.told / 200, total.missed
    assert len(total.false) <= total.looks / 1000, total.false


def test_a_clock_with_a_date_is_a_clock_over_midnight_too() -> None:
    at = datetime(2026, 1, 5, 23, 51, 26, tzinfo=UTC)
    passed = timedelta(minutes=58, seconds=22)
    assert bare_clock("05.01.2026. 23:51:34", "06.01.2026. 00:49:57", (at, at + passed)) == "date"
    assert bare_clock("05.01.2026. 23:51:34", "06.01.2026. 08:00:00", (at, at + passed)) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [("073b4 · 7627 · ad265", TOKEN), ("0b763b, cf98d, 647609", TOKEN), ("15 of 20", WORDS)],
)
def test_pieces_of_a_random_token_that_are_all_digits_belong_to_it(text: str, kind: str) -> None:
    assert kind_of(text) == kind
