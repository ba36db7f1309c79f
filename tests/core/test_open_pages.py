"""Open pages in columns: the choice is the one that weighing every page anew would make."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from vedette.core.hunt import DECIMALS, Turn, choose
from vedette.core.hunt_worth import (
    NOTHING,
    HuntFigures,
    HuntParams,
    Prospect,
    Yields,
    mean_of,
    prospect_of,
    room_of,
    said_by,
    sum_of,
    weigh,
)
from vedette.core.open_pages import OpenPages
from vedette.core.schedule.columns import chances
from vedette.core.urls.canonical import watch_id

WORDS = [f"word{n}" for n in range(20)]


def drawn(seed: int) -> tuple[list[Prospect], Yields]:
    """Some pages, and what looks at some of them came to."""
    draw = random.Random(seed)
    hosts, many = draw.choice((1, 3, 10, 40)), draw.choice((3, 30, 150))
    pages = {}
    for _ in range(many):
        deep = "a/" * draw.randrange(6)
        url = f"https://h{draw.randrange(hosts)}.example/p{draw.randrange(4)}/{deep}{draw.randrange(10**6)}.html"
        known = prospect_of(url)
        words = tuple(dict.fromkeys(draw.choices(WORDS, k=draw.randrange(8))))
        pull, source = draw.choice((0.0, 0.0, 0.4, 0.7)), draw.choice(("one", "two"))
        pages[url] = Prospect(
            url, known.host, known.neighbourhood, known.costs, source, pull, words + known.words
        )
    yields, all_pages = Yields(), list(pages.values())
    for page in draw.choices(all_pages, k=draw.choice((0, 5, 50, 200))):
        yields.note(page, draw.choice((0.0, 0.0, 0.0, 0.5, 0.9, None)))
    return all_pages, yields


class Plainly:
    """The same rule without any column or heap: before each look everything is weighed."""

    def __init__(self, pages: list[Prospect], yields: Yields, turn: Turn, params: HuntParams) -> None:
        self.open = {page.url: page for page in pages}
        self.yields, self.turn, self.params = yields, turn, params
        self.waiting = dict(turn.waiting)
        ids = np.array([watch_id(url) for url in self.open], np.int64)
        drawn = chances(params.seed, ids, np.zeros(len(ids), np.int64)).tolist()
        self.chance = dict(zip(self.open, drawn, strict=True))
        self.first = {place: self.chance[page.url] for place, page in self.heads().items()}

    def choose(self, most: int) -> list[str]:
        found, share = list[str](), self.params.share
        for n in range(self.turn.number, self.turn.number + most):
            is_turn_of_new = math.floor((n + 1) * share) > math.floor(n * share)
            page = (self.best(is_new=True) if is_turn_of_new else None) or self.best(is_new=False)
            if page is None:
                break
            found.append(page.url)
            del self.open[page.url]
            for name in (page.host, page.neighbourhood):
                self.waiting[name] = self.waiting.get(name, 0) + 1
        return found

    def best(self, *, is_new: bool) -> Prospect | None:
        valued = [(self.value(page, is_new), page) for page in self.heads().values()]
        ranked = [
            (-worth, self.first[page.neighbourhood], page.url) for worth, page in valued if worth is not None
        ]
        return self.open[min(ranked)[2]] if ranked else None

    def heads(self) -> dict[str, Prospect]:
        ranked = sorted(self.open.values(), key=lambda one: (round(self.own(one), 6), self.chance[one.url]))
        return {page.neighbourhood: page for page in ranked}

    def own(self, page: Prospect) -> float:
        whole = mean_of(self.yields.whole, self.params.prior_yield, self.params)
        said = said_by(self.yields.of_words(page.words), whole, self.params)
        return 100.0 * page.pull + 100.0 * said + sum_of(page.costs)

    def value(self, page: Prospect, is_new: bool) -> float | None:
        yields, params = self.yields, self.params
        at_host = yields.hosts.get(page.host, NOTHING)
        here = yields.neighbourhoods.get(page.neighbourhood, NOTHING)
        busy, near = self.waiting.get(page.host, 0), self.waiting.get(page.neighbourhood, 0)
        if min(room_of(at_host, params), params.at_host) - busy < 1:
            return None
        if is_new and here.looks + near >= params.known_after:
            return None
        seed, said = yields.seeds.get(page.seed, NOTHING), yields.of_words(page.words)
        figures = HuntFigures(yields.whole, at_host, here, busy, near, seed, yields.linked, page.pull, said)
        return round(sum_of(weigh(page, figures, is_new=is_new, params=params)), DECIMALS)


@pytest.mark.parametrize("seed", range(40))
def test_columns_choose_what_weighing_everything_before_each_look_chooses(seed: int) -> None:
    pages, yields = drawn(seed)
    draw = random.Random(f"turn {seed}")
    params = HuntParams(
        share=draw.choice((0.0, 0.15, 0.5, 1.0)), at_host=draw.choice((1, 2, 50)), seed=seed % 3
    )
    turn = Turn(draw.randrange(100), {pages[0].host: 1, pages[0].neighbourhood: 1})
    most = draw.choice((1, 8, 24))
    chosen = choose(pages, yields, most, turn=turn, params=params)
    assert [one.prospect.url for one in chosen] == Plainly(pages, yields, turn, params).choose(most)


@pytest.mark.parametrize("seed", range(100, 115))
def test_what_was_put_and_dropped_in_any_order_is_weighed_like_what_is_left(seed: int) -> None:
    pages, yields = drawn(seed)
    draw = random.Random(seed)
    kept = OpenPages(pages[: len(pages) // 2])
    for _ in range(30):
        some = draw.sample(pages, max(1, len(pages) // 5))
        kept.drop(watch_id(page.url) for page in some)
        kept.put(draw.sample(pages, max(1, len(pages) // 5)))
    left = [page for page in pages if watch_id(page.url) in kept]
    assert len(left) == len(kept)
    assert choose(kept, yields, 20, turn=Turn(3)) == choose(left, yields, 20, turn=Turn(3))


def test_a_page_that_is_put_again_is_as_it_was_given_last() -> None:
    plain = [prospect_of(f"https://a.example/x/{n}") for n in range(9)]
    pages = OpenPages(plain)
    last = Prospect(plain[4].url, plain[4].host, plain[4].neighbourhood, pull=0.9, words=("ring",))
    pages.put([last])
    assert len(pages) == 9
    assert choose(pages, Yields(), 1, turn=Turn(0))[0].prospect == last


def test_thousands_of_equals_are_ordered_by_chance_and_none_is_passed_over() -> None:
    pages = [prospect_of(f"https://h{n}.example/x/1") for n in range(3000)]
    chosen = choose(pages, Yields(), 3000, turn=Turn(0), params=HuntParams(share=1.0))
    assert len({one.prospect.url for one in chosen}) == 3000
    again = choose(reversed(pages), Yields(), 50, turn=Turn(0), params=HuntParams(share=1.0))
    assert again == chosen[:50]
