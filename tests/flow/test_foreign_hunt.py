"""The hunt in a web that it was not made for: other languages, kinds, templates and links."""

from __future__ import annotations

from pathlib import Path

import pytest
from foreign_world import ForeignWorld

from foreign_hunt import breadth_first, hunt_in

LOOKS = 1200
SMALL = {"size": (150, 6000), "special": (80, 90)}


@pytest.mark.slow
async def test_in_a_foreign_web_it_sees_more_than_breadth_first_and_most_findings_are_odd(tmp_path: Path):
    hunt = await hunt_in(ForeignWorld(12, **SMALL), tmp_path, LOOKS)
    assert hunt.seen > 1.5 * breadth_first(hunt.world, LOOKS)
    assert len(hunt.findings) >= 5
    assert hunt.precision(50) >= 0.7


@pytest.mark.slow
async def test_in_a_foreign_web_without_odd_pages_hardly_anything_is_a_finding(tmp_path: Path):
    hunt = await hunt_in(ForeignWorld(11, **SMALL, is_swapped=True), tmp_path, LOOKS)
    assert len(hunt.findings) <= 20
