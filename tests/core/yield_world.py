"""A made-up web with finds in it: most hosts have next to none, a few have many.  One seed, one world.

Hosts come to light over time, neighbourhoods of a host resemble each other, some hosts fail half of the time,
some link into traps.  What a page holds is fixed by the seed, whoever looks and whenever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from vedette.core.hunt import Turn, choose
from vedette.core.hunt_worth import HuntParams, Prospect, Yields, prospect_of
from vedette.core.schedule.columns import chances

HOSTS, LOOKS, BATCH = 80, 800, 40
TRAP = "/loop/back/loop/back/loop/back"


@dataclass(frozen=True)
class World:
    pages: dict[str, float | None]  # URL: what a look finds there; None: an error
    known_from: dict[str, int]  # URL: the turn from which it is known

    def known(self, turn: int) -> Iterator[str]:
        return (url for url, begin in self.known_from.items() if begin <= turn)


def world_of(seed: int) -> World:
    draw = _draws(seed)
    pages: dict[str, float | None] = {}
    known_from: dict[str, int] = {}
    for host in range(HOSTS):
        rich = draw() < 0.12
        rate = 0.15 + 0.5 * draw() if rich else 0.03 * draw()
        failing = 0.5 if draw() < 0.15 else 0.02
        begin = 0 if draw() < 0.4 else int(LOOKS / 2 * draw())
        for place in range(1 + int(4 * draw())):
            here = min(1.0, rate * (0.3 + 1.4 * draw()))
            is_trap = draw() < 0.1
            for page in range(10 + int(50 * draw())):
                tail = TRAP if is_trap and page % 2 else ""
                url = f"https://h{host}.example/part{place}{tail}/page{page}.html"
                found = 1.0 if draw() < (0.0 if tail else here) else 0.0
                pages[url] = None if draw() < failing else found
                known_from[url] = begin
    return World(pages, known_from)


def found_by_choice(world: World, params: HuntParams, *, looks: int = LOOKS) -> Yields:
    """What `choose` finds with so many looks."""
    yields, seen = Yields(), set[str]()
    prospects = {url: prospect_of(url, params) for url in world.pages}
    for turn in range(0, looks, BATCH):
        open_ = [prospects[url] for url in world.known(turn) if url not in seen]
        for one in choose(open_, yields, BATCH, turn=Turn(turn), params=params):
            seen.add(one.prospect.url)
            yields.note(one.prospect, world.pages[one.prospect.url])
    return yields


def found_uniformly(world: World, seed: int, *, looks: int = LOOKS) -> Yields:
    """What as many looks at pages drawn evenly from all that are known find."""
    draw = _draws(seed + 1_000_003)
    yields, seen = Yields(), set[str]()
    for turn in range(0, looks, BATCH):
        open_ = [url for url in world.known(turn) if url not in seen]
        for _ in range(min(BATCH, len(open_))):
            at = int(draw() * len(open_))
            open_[at], url = open_[-1], open_[at]
            open_.pop()
            seen.add(url)
            yields.note(Prospect(url, url.split("/")[2], ""), world.pages[url])
    return yields


def _draws(seed: int) -> Callable[[], float]:
    """Numbers in [0, 1), one after the other."""

    def numbers() -> Iterator[float]:
        block = 0
        while True:
            ids = np.arange(block * 4096, (block + 1) * 4096)
            yield from chances(seed, ids, np.zeros(4096, np.int64)).tolist()
            block += 1

    stream = numbers()
    return lambda: next(stream)
