"""Lines for a screen: nothing is lost, nothing is wider than it, no word is cut that fits."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vedette.report.plain import Line, as_text, line
from vedette.report.table import LEAST, MORE, cut, fold, wide

WORD = st.text(alphabet="abcé漢/-_.?=&0", min_size=1, max_size=30)
LINES = st.builds(
    lambda indent, parts: line(" " * indent, *[(style, f"{text} ") for style, text in parts]),
    st.integers(0, 12),
    st.lists(
        st.tuples(st.sampled_from(["", "new", "gone"]), st.lists(WORD, max_size=12).map(" ".join)), max_size=5
    ),
)
WIDTHS = st.integers(LEAST, 200)


def text_of(rows: list[Line]) -> str:
    return "".join(as_text(rows).split())


@given(LINES, WIDTHS)
def test_a_folded_line_loses_nothing_and_fits(one: Line, width: int):
    rows = fold(one, width)
    assert text_of(rows) == text_of([one])
    assert all(wide(row) <= width for row in rows)


@given(st.lists(st.text(alphabet="abc", min_size=1, max_size=9), min_size=1, max_size=60), WIDTHS)
def test_a_word_that_fits_is_not_cut(words: list[str], width: int):
    assert " ".join(as_text(fold(line(" ".join(words)), width)).split()) == " ".join(words)


@given(LINES, WIDTHS, st.integers(1, 4))
def test_a_cut_line_has_so_many_rows_and_says_that_there_is_more(one: Line, width: int, most: int):
    rows = cut(one, width, most, tail=line("  (and 3 more)"))
    assert len(rows) <= most
    assert all(wide(row) <= width for row in rows)
    whole = fold((*one, ("", "  (and 3 more)")), width)
    assert rows == whole or as_text(rows).endswith(f"{MORE}  (and 3 more)")


def test_what_continues_stands_under_the_text_of_its_line():
    rows = as_text(fold(line("    ", ("new", "+ one two three four five six seven")), 24)).split("\n")
    assert rows == ["    + one two three four", "      five six seven"]


@given(st.integers(LEAST, 60))
def test_a_number_is_never_parted_from_its_unit(width: int):
    told = "last success 1 d 11 h ago (in 9 min, 0.25 s or 12 % of 3 ms), last change 1.07 h before; 7 hours, 5 d"
    rows = as_text(fold(line(told), width)).split("\n")
    units = ("d ", "h ", "min", "s or", "% ", "ms")
    assert not [row for row in rows[1:] if row.strip().startswith(units)], rows
    assert " ".join(" ".join(rows).split()) == told


def test_a_long_address_is_folded_at_its_joints():
    rows = as_text(fold(line(("mark", "https://example.org/rules/of-the-town/2026")), 24)).split("\n")
    assert rows == ["https://example.org/", "  rules/of-the-town/2026"]


@given(st.integers(LEAST, 100), st.integers(2, 4000))
def test_how_many_are_left_is_not_torn_apart(width: int, left: int):
    rows = fold(
        line("a change that is told in some words of its own", ("dim", f"  (and {left} more)")), width
    )
    assert sum(f"(and {left} more)" in as_text([row]) for row in rows) == 1
