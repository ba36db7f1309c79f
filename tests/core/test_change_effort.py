"""Pages made to hurt: twice the page is twice the work, counted in calls, whatever its noise is like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from vedette.contracts.change import Block, ChangeKind, Noise
from vedette.contracts.words import Outcome, Risk
from vedette.core.change.life import LookState, Past, Pending, advance
from vedette.store.text_columns import dump_noise

pytestmark = pytest.mark.slow
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
Page = tuple[Block, ...]


def alternating(n: int, chance: Random) -> Page:
    return tuple((f"p[{i}]", f"stalno {i}" if i % 2 else f"novo {chance.random()}") for i in range(n))


def coming_and_going(n: int, chance: Random) -> Page:
    rows = [(f"div[{i}]/p", f"stalno {i}") for i in range(n)]
    banners = [(f"div[{i}]/p[2]", f"novo {chance.random()}") for i in range(n) if chance.random() < 0.5]
    return tuple(sorted([*rows, *banners], key=lambda block: int(block[0][4:].partition("]")[0])))


def shuffled_lists(n: int, chance: Random) -> Page:
    lists = [(f"ul[{i}]", chance.sample("abcd", 4)) for i in range(n // 4)]
    return tuple(
        (f"{path}/li[{k}]", f"{path} {word}") for path, words in lists for k, word in enumerate(words)
    )


def all_new(n: int, chance: Random) -> Page:
    return tuple((f"div[{i}]/p", f"novo {chance.random()}") for i in range(n))


def numbers_in_one_line(n: int, chance: Random) -> Page:
    return (("p", " ".join(f"tekst {chance.randrange(1000)}" for _ in range(n))),)


def dates_in_one_line(n: int, chance: Random) -> Page:
    return (("p", " ".join(f"{chance.randrange(1, 28)}.11.2026" for _ in range(n))),)


def alike(n: int, chance: Random) -> Page:
    return tuple(
        (f"p[{i}]", f"Stalno {i} ima {chance.randrange(10**6)} i {chance.random()}") for i in range(n)
    )


def repeated(n: int, chance: Random) -> Page:
    return tuple((f"p[{i}]", f"jedan od {chance.randrange(5)}") for i in range(n))


def words_in_one_line(n: int, chance: Random) -> Page:
    return (("p", " ".join(f"w{chance.randrange(300)}" for _ in range(n * 10))),)


@pytest.mark.parametrize(
    "page",
    [
        alternating,
        coming_and_going,
        shuffled_lists,
        all_new,
        numbers_in_one_line,
        dates_in_one_line,
        alike,
        repeated,
        words_in_one_line,
    ],
)
def test_twice_the_page_is_twice_the_work(page):
    few, many = (effort(lambda size=size: second_look(page, size)) for size in (400, 800))
    assert many < 2.7 * few + 20_000


def second_look(page: Callable[[int, Random], Page], size: int) -> None:
    """Four states that all differ: what the first look saw, and three looks after it."""
    chance = Random(1)
    before, *looks, last = (page(size, chance) for _ in range(4))
    ats = tuple(NOON + timedelta(seconds=5 * n) for n in range(3))
    pending = Pending(kind=ChangeKind.CHANGED, looks=tuple(looks), ats=ats[:2])
    past = Past(before=before, before_at=NOON - timedelta(hours=1), risk=Risk.LOW, pending=pending, age=30)
    advance(LookState(outcome=Outcome.OK, at=ats[2], blocks=last), past)


@pytest.mark.parametrize("page", [all_new, alike, repeated, coming_and_going])
def test_what_is_kept_of_a_page_is_bounded_however_much_varies(page):
    chance, noise, before, at = Random(2), Noise(), None, NOON
    for visit in range(40):
        shown = page(700, chance)
        if before is not None:
            past = Past(before=before, before_at=at, age=visit, noise=noise)
            step = advance(LookState(outcome=Outcome.OK, at=at + timedelta(seconds=5), blocks=shown), past)
            noise = step.noise
        before, at = shown, at + timedelta(hours=4)
    assert len(dump_noise(noise) or "") < 64_000


def effort(work: Callable[[], object]) -> int:
    calls = 0

    def count(frame: object, event: str, arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
