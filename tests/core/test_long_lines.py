"""Lines of any length: what differs in them is in sight, wherever it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.change import DiffOp
from vedette.core.change.diff import diff_lines, diff_words, summary
from vedette.core.change.long_lines import MARGIN, MAX_LINE, narrowed, shown_pair
from vedette.core.filters.filter_steps import read_filters
from vedette.core.filters.noise_rules import retold
from vedette.core.filters.report_rules import States
from vedette.report.diffs import by_words
from vedette.report.plain import as_text
from vedette.surface.http.diff_rows import side_by_side

FILLER = "lorem ipsum dolor "


def replaced(before: str, after: str) -> DiffOp:
    ops, _ = diff_lines(["Naslov", before], ["Naslov", after])
    (op,) = [one for one in ops if one.op != "equal"]
    return op


@pytest.mark.parametrize("length", [50, 400, 900, 9_000, 30_000])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_a_rate_that_differs_somewhere_in_a_long_paragraph_is_what_is_told(length: int, share: float):
    head, tail = FILLER * int(length * share), FILLER * int(length * (1 - share))
    before, after = (f"{head}the rate is {rate} percent. {tail}" for rate in (5, 6))
    op = replaced(before, after)
    assert op.words == (("5 percent", "6 percent"),)
    assert summary([op]) == "1 line changed: '5 percent' -> '6 percent'"
    assert "rate is 5 percent" in op.before[0]
    assert "rate is 6 percent" in op.after[0]
    assert max(map(len, (*op.before, *op.after))) <= MAX_LINE + 2
    (line,) = by_words((op,))
    assert "[-5 percent-] {+6 percent+}" in "".join(text for _, text in line)


def test_without_blanks_too():
    before, after = (f"{'x' * 50_000}{mark}{'y' * 50_000}" for mark in "ab")
    op = replaced(before, after)
    assert op.before != op.after
    assert op.words


TEXTS = st.lists(st.sampled_from(["a ", "b ", "č5 ", "%, ", "long-word-of-letters "]), max_size=12).map(
    "".join
)


@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_nothing_that_differs_is_left_out(head: str, old: str, new: str, tail: str):
    before, after = ((head * 80 + one + tail * 80) for one in (old, new))
    a, b = narrowed(before, after)
    start = before.find(a)
    assert start >= 0
    assert (a == b) == (before == after)
    cut = len(before) - len(a)
    assert len(after) - len(b) == cut, "the same is taken off both"
    assert any(
        before == before[:n] + a + before[len(before) - (cut - n) :]
        and after == before[:n] + b + before[len(before) - (cut - n) :]
        for n in range(cut + 1)
    )
    if len(before) > MAX_LINE or len(after) > MAX_LINE:
        old_line, new_line = shown_pair(before, after)
        assert (old_line == new_line) <= (before == after or old_line.endswith("…"))


def test_short_lines_are_compared_as_they_are():
    text = "w " * (MAX_LINE // 2)
    assert narrowed(text, text[:-2]) == (text, text[:-2])
    assert diff_words(f"a {FILLER}", f"b {FILLER}") == (("a", "b"),)
    assert MARGIN < MAX_LINE


def test_differences_far_from_each_other_in_a_long_line_are_both_marked_and_nothing_else():
    fill = " ".join(f"word{n}" for n in range(600))
    ops, _ = diff_lines(
        [f"The fee is 25 EUR. {fill} The term is 8 days."], [f"The fee is 27 EUR. {fill} The term is 9 days."]
    )
    text = as_text(by_words(ops))
    assert "{+27 EUR+}" in text
    assert "{+9+}" in text
    (row,) = [row for row in side_by_side(ops) if row.kind == "replace"]
    assert [words for style, words in row.left if style == "gone"] == ["25 EUR", "8"]
    assert [words for style, words in row.right if style == "new"] == ["27 EUR", "9"]


@pytest.mark.parametrize("words", [50, 600])
def test_a_rule_that_touches_nothing_hides_nothing_however_long_the_line_is(words: int):
    fill = " ".join(f"word{n}" for n in range(words))
    old, new = f"{fill} The fee is 25 EUR.", f"{fill} The fee is 27 EUR."
    plain = States((("main/p", "Fees"), ("main/p", old)), (("main/p", "Fees"), ("main/p", new)))
    diff, _ = diff_lines(["Fees", old], ["Fees", new])
    idle = read_filters(("ignore: nothing like it",))
    assert retold(diff, plain, plain, idle, filters=idle).is_told
    one = (("main/p", "Fees"), ("main/p", f"{fill} The fee is … EUR."))
    masks = read_filters((r"replace: /fee is \d+/fee is …/",))
    assert not retold(diff, plain, States(one, one), masks, filters=masks).is_told
