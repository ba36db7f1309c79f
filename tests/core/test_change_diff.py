from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.change import DiffOp
from vedette.core.change.diff import diff_lines, diff_words, summary, unified
from vedette.core.change.state import lines as lines_of


def page(*texts: str) -> list[tuple[str, str]]:
    return [(f"main/p[{n}]", text) for n, text in enumerate(texts, 1)]


def diff_blocks(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> tuple[DiffOp, ...]:
    return diff_lines(lines_of(before), lines_of(after))[0]


def test_a_changed_rate_shows_the_words_that_changed():
    (op,) = [
        o
        for o in diff_blocks(page("a", "PDV je 25 %", "c"), page("a", "PDV je 24 %", "c"))
        if o.op != "equal"
    ]
    assert (op.op, op.words) == ("replace", (("25 %", "24 %"),))
    assert summary([op]) == "1 line changed: '25 %' -> '24 %'"


def test_a_block_that_went_elsewhere_is_a_move():
    diff = diff_blocks(page("a", "b", "c", "d"), page("a", "c", "d", "b"))
    assert {o.op for o in diff} == {"equal", "move"}
    assert summary(diff) == "1 line moved"


def test_lines_added_and_removed_are_counted_and_shown():
    diff = diff_blocks(page("a", "b"), page("a", "novi članak o porezu", "još jedan", "b"))
    assert summary(diff) == "2 lines added: 'novi članak o porezu', 'još jedan'"
    assert unified(diff) == "  a\n+ novi članak o porezu\n+ još jedan\n  b"


def test_the_name_of_a_json_field_is_part_of_its_line():
    (op,) = [
        o for o in diff_blocks([("/rates/0/eur", "7.53")], [("/rates/0/eur", "7.54")]) if o.op != "equal"
    ]
    assert op.before == ("/rates//eur: 7.53",)


def test_a_huge_rewrite_ends_as_a_coarse_diff_with_a_reason():
    ops, reasons = diff_lines([f"staro {n}" for n in range(20_000)], [f"novo {n}" for n in range(20_000)])
    assert len(ops) <= 500
    assert [reason.code for reason in reasons] == ["diff_coarse"]
    assert len(summary(ops)) <= 200


def test_a_line_of_ten_megabytes_is_cut():
    (op,) = diff_lines(["x " * 5_000_000], ["y " * 5_000_000])[0]
    assert len(op.before[0]) < 3000
    assert len(op.words[0][0]) < 3000


lines = st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n"), max_size=20), max_size=30)


@given(lines, lines)
def test_every_line_that_came_or_went_is_in_the_diff(a, b):
    diff = diff_lines(a, b)[0]
    gone = [line for o in diff if o.op in ("delete", "replace", "move") for line in o.before]
    come = [line for o in diff if o.op in ("insert", "replace", "move") for line in o.after]
    assert sorted(set(a) - set(b)) == sorted(set(gone) - set(b))
    assert sorted(set(b) - set(a)) == sorted(set(come) - set(a))
    assert (not [o for o in diff if o.op != "equal"]) == (a == b)
    assert len(summary(diff)) <= 200


@given(st.text(max_size=60), st.text(max_size=60))
def test_word_diffs_never_fail(a, b):
    diff_words(a, b)


class Counted(str):
    """A line that counts how often it is taken apart."""

    __slots__ = ()
    splits = 0

    def __getitem__(self, key):
        return Counted(super().__getitem__(key))

    def split(self, *words):
        Counted.splits += 1
        return super().split(*words)


def test_a_page_with_nothing_in_common_is_diffed_in_time_that_grows_with_its_lines_alone():
    before = [Counted(f"staro {n}") for n in range(3000)]
    after = [Counted(f"novo {-n}") for n in range(3000)]
    Counted.splits = 0
    ops, reasons = diff_lines(before, after)
    assert Counted.splits < 20_000
    assert len(ops) == 500
    assert reasons[0].code == "diff_coarse"


def replaced(before: str, after: str) -> DiffOp:
    return DiffOp("replace", (before,), (after,), diff_words(before, after))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Open today.", "Open today until five.", "'until five' put in"),
        ("Open today until five.", "Open today.", "'until five' taken out"),
        (
            "The part on income tax does not bind firms with fewer than 20 employees.",
            "The consolidated text reads: the report covers 8093 cases and 22 recommendations.",
            "'The part on income tax does not bind …' -> 'The consolidated text reads: the …'",
        ),
        (
            "It is paid every month",
            "It is paid " + "every other week, with all that was left over from the weeks before it",
            "'month' -> 'other week, with all that was left …'",
        ),
    ],
)
def test_a_summary_can_be_read_without_the_page(before: str, after: str, said: str):
    assert summary([replaced(before, after)]) == f"1 line changed: {said}"


@given(st.lists(st.tuples(st.text(), st.text()), max_size=4))
def test_a_summary_cuts_no_word_that_would_have_had_room(texts):
    said = summary([replaced(*pair) for pair in texts if pair[0] != pair[1]])
    assert len(said) <= 200


def told(before: list[str], after: list[str]) -> list[str]:
    """Each difference as "old => new"; one of them is empty where a line came or went."""
    ops = diff_lines(before, after)[0]
    return [
        f"{''.join(o.before)} => {''.join(o.after)}".strip() for o in ops if o.op not in ("equal", "move")
    ]


FLOURS = ["Wheat flour, 1 kg | 1.10", "Rye flour, 1 kg | 1.20"]
BARLEY = "Barley flour, 1 kg | 1.05"
ARTICLE = "Article {} Everyone who pays the fee of the town {}"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            FLOURS,
            [BARLEY, "Wheat flour, 1 kg | 1.15", FLOURS[1]],
            [f"=> {BARLEY}", f"{FLOURS[0]} => Wheat flour, 1 kg | 1.15"],
        ),
        (
            [BARLEY, *FLOURS],
            ["Wheat flour, 1 kg | 1.15", FLOURS[1]],
            [f"{BARLEY} =>", f"{FLOURS[0]} => Wheat flour, 1 kg | 1.15"],
        ),
        (
            [ARTICLE.format(1, "lives here"), "End"],
            [ARTICLE.format(2, "is new"), ARTICLE.format(1, "lives there"), "End"],
            [
                f"=> {ARTICLE.format(2, 'is new')}",
                f"{ARTICLE.format(1, 'lives here')} => {ARTICLE.format(1, 'lives there')}",
            ],
        ),
        (
            ["§ 1 Dogs are kept on a lead.", "§ 2 Cats are kept at home."],
            ["§ 1 Dogs are kept on a lead.", "§ 2 Birds are kept in a cage.", "§ 3 Cats are kept at home."],
            ["=> § 2 Birds are kept in a cage.", "§ 2 Cats are kept at home. => § 3 Cats are kept at home."],
        ),
        (
            ["Wheat flour 1.10 €", "Rye flour 1.20 €", "Notes", "Corn flour 1.30 €"],
            ["Corn flour 1.35 €", "Notes", "Rye flour 1.25 €", "Wheat flour 1.15 €"],
            [
                "Corn flour 1.30 € => Corn flour 1.35 €",
                "Rye flour 1.20 € => Rye flour 1.25 €",
                "Wheat flour 1.10 € => Wheat flour 1.15 €",
            ],
        ),
        (
            ["1 | Wheat | 1.10", "2 | Rye | 1.20"],
            ["1 | Rye | 1.25", "2 | Wheat | 1.15"],
            ["2 | Rye | 1.20 => 1 | Rye | 1.25", "1 | Wheat | 1.10 => 2 | Wheat | 1.15"],
        ),
        (
            ["Open: 9 to 17", "Price: 10 euros"],
            ["Tax: 5 euros", "Price: 12 euros", "Open: 8 to 17"],
            [
                "=> Tax: 5 euros",
                "Price: 10 euros => Price: 12 euros",
                "Open: 9 to 17 => Open: 8 to 17",
            ],
        ),
        (
            ["Zagreb | Wheat | 1.10", "Zagreb | Rye | 1.20", "Notes", "Split | Wheat | 1.30"],
            ["Split | Wheat | 1.35", "Notes", "Zagreb | Rye | 1.25", "Zagreb | Wheat | 1.15"],
            [
                "Split | Wheat | 1.30 => Split | Wheat | 1.35",
                "Zagreb | Rye | 1.20 => Zagreb | Rye | 1.25",
                "Zagreb | Wheat | 1.10 => Zagreb | Wheat | 1.15",
            ],
        ),
        (
            ["Committee for the roads of the town", "Committee for the schools of the old town"],
            ["Committee for the schools of the new town"],
            [
                "Committee for the roads of the town =>",
                "Committee for the schools of the old town => Committee for the schools of the new town",
            ],
        ),
    ],
    ids=[
        "a row came above", "a row above went", "an article came before", "an article was put between",
        "a list without labels in another order", "rows that are counted in another order", "labels",
        "the same goods in two towns", "the likest line, not the first that is like",
    ],
)  # fmt: skip
def test_a_line_is_told_with_the_one_that_it_was_before(before: list[str], after: list[str], said: list[str]):
    assert told(before, after) == said


def test_a_row_that_is_renamed_in_its_place_is_still_one_change():
    assert told(FLOURS, ["Wheat flour, 2 kg | 1.10", FLOURS[1]]) == [
        f"{FLOURS[0]} => Wheat flour, 2 kg | 1.10"
    ]


NAMES = ["Wheat", "Rye", "Barley", "Corn", "Oats", "Spelt", "Rice", "Millet"]
SHAPES = {
    "rows": "{} flour, 1 kg | {}.10 | in stock",
    "fields": "/items/name={}/price: {}",
    "labels": "{} flour, 1 kg: {} euros",
    "lists": "{} flour, 1 kg {} €",
    "dashes": "{} flour – {} €",
    "articles": "Article {} Whoever enters the market pays {} euros for every day.",
}


def test_the_summary_of_a_line_with_several_edits_counts_those_that_it_does_not_name():
    before, after = (
        "It begins in March, at a cost of 12,400 euros.",
        "It begins in May, at a cost of 14,900 euros.",
    )
    assert summary(diff_lines([before], [after])[0]) == "1 line changed: 'March' -> 'May' and 1 more in it"


def test_a_row_is_not_told_as_the_heading_that_stands_in_its_place():
    before = ["Prices of today", "Wheat flour, 1 kg 2 €", "Rye flour, 1 kg 1 €"]
    after = ["Wheat flour, 1 kg 1 €", "Prices of today", "Prices of today", "Rye flour, 1 kg 1 €"]
    assert "Wheat flour, 1 kg 2 € => Wheat flour, 1 kg 1 €" in told(before, after)


@pytest.mark.parametrize("shape", SHAPES)
@given(data=st.data())
def test_the_value_of_one_thing_is_never_told_of_another(shape: str, data: st.DataObject):
    """Rows come, go, change their values and their order, under headings that stay or move."""
    things = NAMES if shape != "articles" else [str(n) for n in range(1, 9)]
    sides = []
    for _ in range(2):
        listed = data.draw(st.lists(st.sampled_from(things), unique=True))
        rows = {SHAPES[shape].format(one, data.draw(st.integers(1, 9))): one for one in listed}
        lines = list(rows)
        for at in data.draw(st.lists(st.integers(0, len(lines)), max_size=2)):
            lines.insert(at, "Prices of today")
        sides.append((lines, rows))
    (before, old), (after, new) = sides
    for op in diff_lines(before, after)[0]:
        if op.op != "replace" or op.before[0] not in old or op.after[0] not in new:
            continue
        one, other = old[op.before[0]], new[op.after[0]]
        assert one == other or (one not in new.values() and other not in old.values())
    for one in set(old.values()) & set(new.values()):
        was = next(line for line, thing in old.items() if thing == one)
        now = next(line for line, thing in new.items() if thing == one)
        assert was == now or f"{was} => {now}" in told(before, after)


@pytest.mark.parametrize(
    "line",
    [
        "a{} | 1 | b",
        "/a/{0}/b: {0}",
        "Article {} of the law",
        "word {} €",
        "Label {}: x",
        "{0}" * 400,
        ": " * 900,
    ],
)
def test_pairs_by_name_cost_as_much_as_there_are_lines(line: str):
    few, many = (
        _calls(
            lambda n=n: diff_lines([line.format(k) for k in range(n)], [line.format(-k) for k in range(n)])
        )
        for n in (1000, 2000)
    )
    assert many < 2.7 * few + 20_000


def _calls(work: Callable[[], object]) -> int:
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


def test_an_edit_is_told_however_many_lines_moved_before_it():
    lines = [f"line {n} {'x' * (n % 7)}" for n in range(1400)]
    ops, reasons = diff_lines([*lines, "Price: 1"], [*lines[700:], *lines[:700], "Price: 2"])
    assert "replace" in {op.op for op in ops}
    assert len(ops) <= 500
    assert reasons[0].code == "diff_coarse"


def test_a_summary_names_as_many_edits_as_fit_and_counts_the_others():
    pairs = [
        ("the rate is 24 % now", "the rate is 25 % now"),
        ("the sum is 400 euros", "the sum is 500 euros"),
    ]
    assert summary([replaced(*pair) for pair in pairs]) == (
        "2 lines changed: '24 %' -> '25 %', '400' -> '500'"
    )
    many = [replaced(f"line {n} says {'a' * 30}{n}", f"line {n} says {'b' * 30}{n}") for n in range(9)]
    said = summary(many)
    assert said.endswith("and 7 more")
    assert len(said) <= 200
