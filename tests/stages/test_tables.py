"""Tables on a screen of any width: every word is whole, and nothing goes over the edge but a word that must."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from cli_call import Cli
from hypothesis import given
from hypothesis import strategies as st
from stocked import RULES, FixedClock, stocked
from terminal import SIZES, in_terminal

from vedette.report.plain import as_text
from vedette.report.table import table_lines
from vedette.surface.cli.output import Output

WORDS = st.sampled_from(
    ["ok", "-", "", "12", "anthropic/claude-3-haiku", "a few words of an answer", "x" * 64, "19 h 18 min ago"]
)
HEADS = ("MODEL", "STATE", "TOOK", "WHY", "ANSWER")


@given(
    st.lists(st.tuples(*[WORDS] * len(HEADS)), min_size=1, max_size=5),
    st.integers(20, 220),
    st.lists(st.sampled_from(HEADS[1:]), max_size=3, unique=True),
)
def test_no_word_is_cut_and_no_line_is_wider_than_the_screen(cells, width, least):
    rows = [[("", text) for text in row] for row in cells]
    lines = as_text(table_lines(HEADS, rows, width, least=least)).split("\n")
    for one in lines:
        assert len(one) <= width or len(one.split()) <= 2, lines
    there = " ".join(lines).split()
    for n, head in enumerate(HEADS):
        if head in least:
            continue
        for row in cells:
            for word in row[n].split():
                assert word == "-" or word in there or f"{word}," in there or len(word) > width - 4, lines


def test_what_is_long_goes_under_its_row_where_there_is_no_room_beside():
    answer = "The organisation behind harbour.example publishes news and guidance for its readers."
    rows = [[("", "perplexity/sonar-large"), ("", "brand"), ("", "ok"), ("", "303 ms"), ("", answer)]]
    heads = ("MODEL", "PROMPT", "QUALITY", "TOOK", "ANSWER")
    lines = as_text(table_lines(heads, rows, 76)).split("\n")
    assert lines[1].split() == ["perplexity/sonar-large", "brand", "ok", "303", "ms"]
    assert lines[2].startswith("    The organisation behind harbour.example publishes news and guidance")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("verb", ["panel models", "evidence heads", "sources"])
def test_what_a_pipe_shows_is_whole_on_a_screen(verb: str, size: tuple[int, int], tmp_path: Path):
    data = stocked(tmp_path).data
    piped = Cli(data, clock=FixedClock())(*verb.split())
    assert piped.code in (0, 6)
    command = [sys.executable, "-m", "vedette", *verb.split(), "--data", str(data)]
    shot = in_terminal(command, size, cwd=tmp_path)
    shown = {word.rstrip(",") for word in shot.text.split()}
    for row in piped.out.splitlines()[1:]:
        assert row.split()[0] in shown
        longest = max(row.split(), key=len)
        assert longest in shown
    assert shot.too_wide == []


def test_a_change_on_a_narrow_screen_has_its_address_and_its_summary_on_lines_of_their_own(tmp_path: Path):
    data = stocked(tmp_path).data
    command = [sys.executable, "-m", "vedette", "changes", "--data", str(data)]
    lines = in_terminal(command, (60, 24), cwd=tmp_path).lines
    first = next(n for n, one in enumerate(lines) if "CRITICAL" in one)
    assert lines[first + 1].strip() == RULES
    assert lines[first + 2].startswith("   ")
    assert "changed:" in lines[first + 2]


@pytest.mark.parametrize("verb", ["backup", "restore"])
def test_what_is_refused_draws_no_bar_first(verb: str, tmp_path: Path):
    data = stocked(tmp_path).data
    there = tmp_path / "there"
    there.mkdir()
    (there / "file").write_text("something")
    command = [sys.executable, "-m", "vedette", verb, str(there), "--data", str(data)]
    shot = in_terminal(command, (80, 24), cwd=tmp_path)
    assert shot.code != 0
    assert "copying" not in shot.raw


def test_no_digit_of_an_explanation_says_nothing(tmp_path: Path):
    told = Cli(stocked(tmp_path).data, clock=FixedClock())("explain", RULES)
    assert "schedule -> due_at 2026-11-15 19:15:00Z, hours 7.25, velocity 0.65" in told.out
    assert not re.findall(r"\d\.\d{5,}", told.out)


def test_a_column_of_numbers_is_aligned_at_its_right_edge(capsys: pytest.CaptureFixture[str]):
    heads, cells = ("ID", "WATCHES", "STATE"), [("a", "7", "fine"), ("b", "1,204", "late"), ("c", "-", "new")]
    rows = [[("", text) for text in row] for row in cells]
    on_screen = as_text(table_lines(heads, rows, 80)).splitlines()
    Output().table(heads, cells, empty="")
    on_pipe = capsys.readouterr().out.splitlines()
    assert (
        on_screen
        == on_pipe
        == ["ID  WATCHES  STATE", "a         7  fine", "b     1,204  late", "c         -  new"]
    )
