from __future__ import annotations

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


def test_lines_added_and_removed_are_counted_and_one_is_shown():
    diff = diff_blocks(page("a", "b"), page("a", "novi članak o porezu", "još jedan", "b"))
    assert summary(diff) == "2 lines added: 'novi članak o porezu'"
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
