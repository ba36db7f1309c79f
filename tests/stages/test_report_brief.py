"""A change in three lines of a screen."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stocked import RULES, a_change

from vedette.contracts.change import Change, DiffOp
from vedette.contracts.words import Risk, VisitId, WatchId
from vedette.core.change.diff import diff_words
from vedette.report.changes import ROWS, _near, brief
from vedette.report.diffs import excerpt
from vedette.report.plain import as_text
from vedette.report.table import MORE, wide

CHANGE: Change = a_change()(WatchId(1), VisitId(2))  # type: ignore[operator]
LONG = "https://example.org/" + "/".join(f"part-{n}-of-a-long-address" for n in range(4))
TEXTS = st.lists(st.text(alphabet="ab é漢", max_size=300), max_size=3).map(tuple)
CELLS = st.lists(st.text(alphabet="ab |é漢", max_size=60), max_size=4).map(tuple)
OPS = st.builds(
    DiffOp, st.sampled_from(["insert", "delete", "replace", "move", "equal"]), TEXTS, TEXTS, headings=CELLS
)


def changed(*ops: DiffOp) -> Change:
    from dataclasses import replace

    return replace(CHANGE, comparison=replace(CHANGE.comparison, diff=ops))


@given(st.lists(OPS, max_size=6), st.integers(40, 200), st.sampled_from([RULES, LONG]))
def test_no_change_takes_more_than_three_lines_or_is_wider_than_the_screen(
    ops: list[DiffOp], width: int, url: str
):
    rows = brief(changed(*ops), url=url, risk=Risk.CRITICAL, width=width)
    assert 1 <= len(rows) <= ROWS
    assert all(wide(row) <= width for row in rows)


@pytest.mark.parametrize("width", [80, 100, 200])
def test_the_address_is_whole_and_the_words_that_differ_are_there(width: int):
    before = "The fee for a permit is set by the council every year and stands at 25 euros for a household of four."
    op = DiffOp("replace", (before,), (before.replace("25", "24"),), (("25", "24"),))
    text = as_text(brief(changed(op), url=RULES, risk=Risk.HIGH, width=width))
    assert RULES in text
    assert "[-25-] {+24+}" in text
    assert "… council every year and stands at [-25-]" in text


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_value_in_a_table_has_its_row_and_its_heading(width: int):
    before, after = "Rye flour, 1 kg | 1.45 | 1.90 | in stock", "Rye flour, 1 kg | 1.65 | 1.90 | in stock"
    op = DiffOp("replace", (before,), (after,), (("1.45", "1.65"),), ("Product", "Price", "Before", "Stock"))
    rows = as_text(brief(changed(op), url=RULES, risk=Risk.HIGH, width=width)).splitlines()
    assert rows[-1] == "    Rye flour, 1 kg | Price: [-1.45-] {+1.65+} | 1.90 | in stock"


def test_what_moved_is_told_last():
    ops = (DiffOp("move", ("contact",), ("contact",)), DiffOp("insert", (), ("A new rule holds.",)))
    text = as_text(brief(changed(*ops), url=RULES, risk=Risk.HIGH, width=80))
    assert "+ A new rule holds.  (and 1 more)" in text


def test_a_long_address_is_folded_never_cut():
    rows = as_text(brief(CHANGE, url=LONG, risk=Risk.LOW, width=60))
    assert LONG in "".join(part.strip() for part in rows.split("\n"))


def test_a_line_that_was_rewritten_is_shown_as_two_and_not_word_by_word():
    before = "The grounds for the amendment are given in section 21 of the note of the council"
    after = "The consolidated text reads that the deadlines stay and that the forms do not change"
    words = (
        ("grounds", "consolidated"), ("for", "text reads that"), ("amendment", "deadlines"), ("are", "stay"),
        ("given", "and"), ("in section 21 of", "that"), ("note of the council", "forms do not change"),
    )  # fmt: skip
    text = as_text(
        brief(changed(DiffOp("replace", (before,), (after,), words)), url=RULES, risk=Risk.HIGH, width=120)
    )
    assert f"- {before}" in text
    assert f"+ {after}" in text
    assert "[-" not in text


LINE = st.lists(
    st.sampled_from("the fee of a permit is 12,400 euros (monthly), paid by 31 May".split()), min_size=1
)


@given(LINE, LINE, LINE, LINE, LINE)
def test_words_that_differ_stand_as_far_from_their_neighbours_as_on_the_page(a, b, c, d, e):
    before = " ".join([*a, *b, *c, *d, *e])
    after = " ".join([*a, "OTHER", *c, "AGAIN", *e])
    op = DiffOp("replace", (before,), (after,), diff_words(before, after))
    shown = "".join(text for _, text in _near(excerpt([op])[0][1:]))
    without = re.sub(r"\[-.*?-\] ?", "", shown).replace("{+", "").replace("+}", "")
    for part in without.split(MORE):
        assert part.strip() in after


def test_the_place_where_a_number_differs_keeps_its_blank():
    before = "There are 15,280 open calls at present. An appeal may be made within 15 days of the notice."
    op = DiffOp("replace", (before,), (before.replace("15,280", "59,791"),), (("15,280", "59,791"),))
    assert "There are [-15,280-] {+59,791+} open calls" in as_text(
        brief(changed(op), url=RULES, risk=Risk.HIGH, width=80)
    )
