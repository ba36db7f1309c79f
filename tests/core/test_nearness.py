"""Whatever the order of looks, a crawl finds what is within its depth and nothing else."""

from __future__ import annotations

import random
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.words import WatchId
from vedette.core.urls.trap_counters import CrawlDepths

Graph = dict[int, list[int]]


def _true_depths(graph: Graph) -> dict[int, int]:
    depths, line = {0: 0}, deque([0])
    while line:
        page = line.popleft()
        for link in graph[page]:
            if link not in depths:
                depths[link] = depths[page] + 1
                line.append(link)
    return depths


def _crawled(graph: Graph, max_depth: int, chance: random.Random) -> dict[int, int]:
    """Reads known pages in any order, each once, as looks come."""
    depths, waiting = {0: 0}, [0]
    rule = CrawlDepths(max_depth)
    while waiting:
        page = waiting.pop(chance.randrange(len(waiting)))
        nearer = rule.read(WatchId(page), depths[page], [WatchId(link) for link in graph[page]])
        depths |= nearer.pages
        at = rule.of(WatchId(page)) + 1
        seen = [(link, at) for link in graph[page]] + [(link, depth) for link, _, depth in nearer.within]
        for link, depth in seen:
            if link in depths:
                continue
            if depth > max_depth:
                rule.too_deep(WatchId(page), WatchId(link), f"/{link}")
            else:
                depths[link] = depth
                waiting.append(link)
                rule.found(WatchId(link), depth)
    return depths


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 4), st.integers(0, 6))
def test_the_order_of_looks_decides_neither_what_is_found_nor_how_deep_it_is(
    seed: int, pages: int, width: int, max_depth: int
) -> None:
    chance = random.Random(seed)
    graph = {
        page: [chance.randrange(pages) for _ in range(chance.randint(0, width))] for page in range(pages)
    }
    truth = {page: depth for page, depth in _true_depths(graph).items() if depth <= max_depth}
    assert _crawled(graph, max_depth, chance) == truth
