"""Filters of a source through the whole stream: which edits are told, and which are not."""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from scripted import life

from vedette.config.model import parse

URL = "https://shop.example/item"
QUICK = {"lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}}}
FILLER = "Dostava traje tri dana, a povrat je moguć u roku od četrnaest dana od primitka pošiljke. " * 8


def shop(price: str, stock: str = "In stock", news: str = "", rows: tuple[str, ...] = ()) -> str:
    """A page on which everything but price and stock moves at every look."""
    items = "".join(f"<li>{row}</li>" for row in rows)
    return (
        f"<html><head><title>Kettle</title></head><body><h1>Kettle</h1><p class='price'>{price}</p>"
        f"<p class='stock'>{stock}</p><ul class='rows'>{items}</ul><div class='news'><p>{news}</p></div>"
        f"<p>{FILLER}</p></body></html>"
    )


def shopping(folder, states, *filters, **config):
    """A page that shows one state after another, nine hours each; it is looked at about every four."""

    def script(url: str, hours: float):
        if url.endswith("robots.txt"):
            return 200, ""
        return 200, states[min(int(hours // 9), len(states) - 1)]

    source = {"id": "shop", "url": URL, "filters": list(filters)}
    return life(folder, script, source, **QUICK, **config)


async def reports(watched, states) -> list[str]:
    await watched.run(seconds=9 * 3600.0 * len(states))
    return [
        one
        for (one,) in watched.rows(
            "SELECT summary FROM changes WHERE state = 'reported' ORDER BY observed_at"
        )
    ]


def outcomes(watched) -> list[str]:
    return [one for (one,) in watched.rows("SELECT outcome FROM visits ORDER BY at")]


async def test_only_what_the_filter_leaves_is_compared(tmp_path):
    chance = random.Random(5)
    prices = ["12,90 EUR", "12,90 EUR", "12,90 EUR", "10,90 EUR", "10,90 EUR"]
    states = [shop(price, news=f"Vijest {chance.random()} {chance.choice('abc') * 9}") for price in prices]
    watched = shopping(tmp_path, states, {"css": ".price"})
    told = await reports(watched, states)
    assert len(told) == 1
    assert "10,90" in told[0]
    assert "Vijest" not in told[0]


async def test_without_a_filter_the_same_edits_are_told(tmp_path):
    states = [shop("12,90 EUR", news="Nova cijena dostave od ponedjeljka")] * 2
    states += [shop("12,90 EUR", news="Trgovina je otvorena i nedjeljom")] * 2
    told = await reports(shopping(tmp_path, states), states)
    assert len(told) == 1


RULES = [
    (("below: 90",), ["119,90", "99,90", "89,90", "95,00", "89,90"], 2),
    (("above: 100",), ["99,90", "100,00", "101,00", "50,00"], 1),
    (("changed_by: 10 %",), ["100,00", "95,00", "91,00", "89,00", "88,00"], 1),  # small steps add up
    (("changed_by: 5",), ["100,00", "104,99", "105,00"], 1),
    (("below: 90", "above: 110", "rules: any"), ["100,00", "111,00", "95,00", "80,00"], 2),
]


@pytest.mark.parametrize(("rules", "prices", "count"), RULES)
async def test_a_number_decides_what_is_told(tmp_path, rules, prices, count):
    states = [shop(f"{price} EUR") for price in prices]
    told = await reports(shopping(tmp_path, states, "css: .price", *rules), states)
    assert len(told) == count, told


async def test_a_text_that_comes_back_is_told_each_time(tmp_path):
    states = [
        shop("9 EUR", stock) for stock in ("Sold out", "In stock", "Sold out", "In stock", "In stock soon")
    ]
    watched = shopping(tmp_path, states, "css: .stock", "appears: /(?i)^in stock$/")
    assert len(await reports(watched, states)) == 2


async def test_a_text_that_goes_is_told(tmp_path):
    states = [shop("9 EUR", stock) for stock in ("Sold out", "Sold out, ask us", "In stock", "Sold out")]
    told = await reports(shopping(tmp_path, states, "css: .stock", "disappears: sold out"), states)
    assert len(told) == 1


ROWS = ("Alpha report", "Beta report", "Gamma report")
PARTS = [
    ("added", [ROWS[:2], ROWS, ROWS[:2]], ["1 line added"]),
    ("removed", [ROWS[:2], ROWS, ROWS[:2]], ["1 line removed"]),
    ("changed", [ROWS[:2], ROWS, (*ROWS[:2], "Gamma report 2026")], ["1 changed"]),
]


@pytest.mark.parametrize(("part", "rows", "words"), PARTS)
async def test_only_some_kinds_of_lines_are_told(tmp_path, part, rows, words):
    states = [shop("9 EUR", rows=one) for one in rows]
    told = await reports(shopping(tmp_path, states, "css: .rows", f"only: {part}"), states)
    assert len(told) == len(words), told


async def test_order_repetition_and_case_do_not_count_where_they_are_filtered(tmp_path):
    chance = random.Random(8)
    states = []
    for _ in range(5):
        rows = [chance.choice((str.upper, str.lower, str.title))(row) for row in ROWS * 2]
        chance.shuffle(rows)
        states.append(shop("9 EUR", rows=tuple(rows)))
    watched = shopping(tmp_path, states, "css: .rows", "lower", "sort", "unique")
    assert await reports(watched, states) == []
    assert watched.rows("SELECT COUNT(*) FROM changes") == [(0,)]


async def test_a_small_difference_waits_until_it_is_large_enough(tmp_path):
    words = "one two three four five six seven eight nine ten".split()
    states = [shop("9 EUR", news=" ".join([*words[:count], "end"])) for count in (4, 5, 6, 7, 7)]
    watched = shopping(tmp_path, states, "css: .news", "least: 3 words")
    assert len(await reports(watched, states)) == 1


async def test_a_filter_that_matches_nothing_is_an_outcome_and_no_change(tmp_path):
    states = [
        shop("12 EUR"),
        shop("12 EUR").replace("class='price'", "class='cost'"),
        shop("12 EUR"),
        shop("11 EUR"),
    ]
    watched = shopping(tmp_path, states, "css: .price")
    told = await reports(watched, states)
    assert len(told) == 1
    assert "filter_unmatched" in outcomes(watched)
    detail = watched.rows("SELECT detail FROM visits WHERE outcome = 'filter_unmatched'")[0][0]
    assert detail == "`css: .price` matches nothing on the page"
    kept = watched.rows("SELECT COUNT(*) FROM evidence")[0][0]
    assert kept >= 3  # the page that does not match is evidence too


async def test_a_changed_filter_takes_effect_at_the_next_look_and_reports_nothing(tmp_path):
    chance = random.Random(3)
    states = [shop("12 EUR", news=f"{chance.random()}") for _ in range(3)] + [shop("11 EUR", news="x")] * 2
    watched = shopping(tmp_path, states, "css: .price")
    await watched.run(seconds=3600.0)
    for filters in (["css: .stock"], ["css: .price", "lower: true"], ["remove: .news"], ["css: .price"]):
        raw = {"sources": [{"id": "shop", "url": URL, "filters": filters}]}
        watched.config = parse({**raw, "schedule": {"policy": "fixed", "interval": "4h"}, **QUICK})
        watched.clock.advance(timedelta(hours=0.6)) if hasattr(watched.clock, "advance") else None
        await watched.run(seconds=1.2 * 3600)
    assert watched.rows("SELECT COUNT(*) FROM changes WHERE state = 'reported'") == [(0,)]


async def test_equal_bytes_are_read_again_by_a_new_filter(tmp_path):
    states = [shop("12 EUR")]
    watched = shopping(tmp_path, states, "css: .price")
    await watched.run(seconds=3600.0)
    raw = {"sources": [{"id": "shop", "url": URL, "filters": ["css: .gone"]}]}
    watched.config = parse({**raw, "schedule": {"policy": "fixed", "interval": "4h"}, **QUICK})
    await watched.run(seconds=8 * 3600.0)
    assert outcomes(watched)[-1] == "filter_unmatched"
    watched.config = parse({"sources": [{"id": "shop", "url": URL, "filters": ["css: .stock"]}], **QUICK})
    await watched.run(seconds=60.0)  # the correction heals it at once
    assert outcomes(watched)[-1] == "ok"
    assert watched.rows("SELECT COUNT(*) FROM changes") == [(0,)]


def stated(price: str, stock: str = "InStock", news: str = "") -> str:
    """The price is only in the data for programs; around it everything moves."""
    offer = f'{{"@type":"Offer","price":"{price}","priceCurrency":"EUR","availability":"https://schema.org/{stock}"}}'
    data = (
        f'<script type="application/ld+json">{{"@type":"Product","name":"Kettle","offers":{offer}}}</script>'
    )
    return shop("see basket", news=news).replace("</head>", f"{data}</head>")


async def test_a_price_that_is_stated_for_programs_is_told_when_it_falls_and_when_it_is_there_again(tmp_path):
    states = [
        stated(*one)
        for one in (("99.90",), ("95.00", "InStock", "Akcija"), ("89.90",), ("89.9", "OutOfStock"))
    ]
    told = await reports(shopping(tmp_path, states, "price: true", "below: 90"), states)
    assert len(told) == 1
    assert "89.90 EUR" in told[0]
    states = [stated("9", stock) for stock in ("OutOfStock", "InStock", "OutOfStock")]
    told = await reports(shopping(tmp_path / "stock", states, "price: true", "appears: in stock"), states)
    assert len(told) == 1
