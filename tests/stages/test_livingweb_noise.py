"""Noise differs on every request; the truth under it does not."""

from __future__ import annotations

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from vedette.livingweb import EPOCH, HostSpec, LivingWeb, Noise, World, made_up
from vedette.livingweb.chance import Chance
from vedette.livingweb.noise import BLOCKS, KINDS, POSITIONS, Roll
from vedette.livingweb.process import DAY, At

T0 = EPOCH + 3 * DAY
LAYOUTS = ("semantic", "tables", "divs", "aspnet", "blog", "wiki")


async def bodies(world: World, count: int = 3, t: float = T0) -> list[str]:
    async with LivingWeb(world, now=lambda: t) as web, aiohttp.ClientSession() as client:
        found = []
        for _ in range(count):
            async with client.get(web.url(0, 0, by="address")) as response:
                text = (await response.read()).decode(response.charset or "")
                found.append(text.replace(f":{web.port}/", ":PORT/"))
        return found


def truth_in(html: str, paragraphs: tuple[str, ...]) -> tuple[str, ...]:
    """The blocks of text that are paragraphs of the truth, in the order in which they stand."""
    nodes = LexborHTMLParser(html).css("p, font, div, span")
    texts = [" ".join(node.text(deep=False).split()) for node in nodes]
    return tuple(text for text in texts if text in paragraphs)


@pytest.mark.parametrize("name", KINDS)
async def test_a_known_kind_differs_each_time_and_leaves_the_truth_alone(name: str) -> None:
    layout = LAYOUTS[sorted(KINDS).index(name) % len(LAYOUTS)]
    world = World([HostSpec(layout=layout, noise=(KINDS[name],), pages=3)], seed=2)
    truth = world.state(0, 0, T0).paragraphs
    shown = await bodies(world)
    assert len(set(shown)) == 3
    assert {truth_in(html, truth) for html in shown} == {truth}


@pytest.mark.parametrize("seed", range(12))
async def test_a_kind_made_up_now_differs_each_time_and_leaves_the_truth_alone(seed: int) -> None:
    world = World([HostSpec(layout=LAYOUTS[seed % 6], noise=(made_up(f"now-{seed}"),), pages=3)], seed=seed)
    truth = world.state(0, 0, T0).paragraphs
    shown = await bodies(world)
    assert len(set(shown)) == 3
    assert {truth_in(html, truth) for html in shown} == {truth}


@given(seed=st.integers(), first=st.integers(0, 1000))
def test_made_up_noise_is_never_the_same_twice_in_a_row(seed: int, first: int) -> None:
    kind = made_up(seed)
    texts = [kind.make(Roll(Chance("page", n), n, T0, "hr")) for n in (first, first + 1)]
    assert texts[0] != texts[1]


def test_seeds_make_up_many_kinds_in_all_places() -> None:
    kinds = [made_up(seed) for seed in range(200)]
    assert {kind.position for kind in kinds} == set(BLOCKS)
    assert len({kind.make(Roll(Chance(0), 0, T0, "hr")) for kind in kinds}) == 200


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_layout_has_every_place_for_noise(layout: str) -> None:
    def placed(position: str) -> Noise:
        return Noise(position, position, lambda roll: f" XX{position}-{roll.count}XX ")

    world = World([HostSpec(layout=layout, noise=tuple(map(placed, POSITIONS)))], seed=2)
    (html,) = await bodies(world, 1)
    missing = [position for position in POSITIONS if f"XX{position}-0XX" not in html]
    assert missing == []


async def test_a_noisy_page_that_truly_changes_shows_the_new_truth() -> None:
    spec = HostSpec(noise=tuple(KINDS.values()), changes=At((T0,)))
    before, after = World([spec], seed=2), World([spec], seed=2)
    old, new = (before.state(0, 0, t).paragraphs for t in (T0 - 1, T0))
    assert old != new
    assert truth_in((await bodies(before, 1, T0 - 1))[0], old) == old
    assert truth_in((await bodies(after, 1, T0))[0], new) == new


async def test_the_same_requests_get_the_same_noise_in_another_run() -> None:
    spec = HostSpec(noise=(*KINDS.values(), made_up("again")))
    assert await bodies(World([spec], seed=2)) == await bodies(World([spec], seed=2))


def test_a_place_that_no_layout_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no position"):
        Noise("odd", "behind", lambda roll: "")
