"""Views that move, on a real pseudo-terminal: no traceback, a line that moves, nothing wider than the screen."""

from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from live_scenes import LONG
from machine import patient
from stocked import stocked
from terminal import SIZES, Shot, in_terminal

HERE = Path(__file__).parent
at_three_sizes = pytest.mark.parametrize("size", SIZES, ids=[f"{wide}x{high}" for wide, high in SIZES])


def played(scene: str, size: tuple[int, int], place: Path) -> Shot:
    shot = in_terminal([sys.executable, str(HERE / "live_scenes.py"), scene, str(place)], size, cwd=place)
    assert "Traceback" not in shot.raw, shot.text
    assert shot.too_wide == []
    return shot


def moved(shot: Shot, pattern: str) -> list[str]:
    """The states of the line that moves, each once."""
    return list(dict.fromkeys(found[0] for state in shot.states if (found := re.search(pattern, state))))


@at_three_sizes
def test_a_run_shows_how_it_goes_and_each_change_in_at_most_three_lines(
    size: tuple[int, int], tmp_path: Path
):
    shot = played("run", size, tmp_path)
    assert len(moved(shot, r"^\d+ looks?, ")) >= 3
    assert all("/s" in state for state in shot.states if " look" in state and "changes" in state)
    at = next(n for n, words in enumerate(shot.lines) if words.startswith("CRITICAL"))
    assert shot.lines[at].endswith("https://example.org/zakon/pdv")
    told = [words for words in shot.lines[at + 1 :] if words.startswith("    ")]
    assert "[-25-] {+24+}" in told[0]
    assert len(told) <= 2
    assert "host:example.org is left alone, until 2026-11-15 13:00" in shot.text
    assert "dns_error after 3 attempts" in shot.text


@at_three_sizes
def test_a_long_address_and_a_long_reason_are_folded_and_lose_nothing(size: tuple[int, int], tmp_path: Path):
    shot = played("run", size, tmp_path)
    whole = "".join(words.strip() for words in shot.lines)
    assert LONG in whole
    last = " ".join(words.strip() for words in shot.lines)
    assert "issued for another name than the one that was asked for" in last


@at_three_sizes
@pytest.mark.parametrize("scene", ["panel", "bar"])
def test_other_views_that_move_do_so(scene: str, size: tuple[int, int], tmp_path: Path):
    shot = played(scene, size, tmp_path)
    pattern = r"^\d+ of \d+ cells" if scene == "panel" else r"reading evidence .*\d+%"
    assert len(moved(shot, pattern)) >= 3
    assert shot.code == 0


@at_three_sizes
def test_a_look_that_is_waited_for_shows_that_it_goes_on(size: tuple[int, int], tmp_path: Path):
    shot = played("look", size, tmp_path)
    assert shot.code == 0
    assert "https://example.org/zakon/pdv" in shot.text


@pytest.mark.slow
@at_three_sizes
def test_the_first_minute(size: tuple[int, int], tmp_path: Path):
    words = [sys.executable, "-m", "vedette", "demo", "--seconds", "8", "--data", "kept"]
    shot = in_terminal(words, size, cwd=tmp_path)
    assert (shot.code, "Traceback" in shot.raw) == (0, False), shot.text
    assert shot.too_wide == []
    assert "Dashboard: http://127.0.0.1:" in shot.text
    assert len(moved(shot, r"\d+ looks?, ")) >= 3
    rates = [float(rate) for rate in moved(shot, r"[\d.]+(?= looks/s)")]
    assert max(rates) > 1
    assert not re.search("[čćšžđČĆŠŽĐ]", shot.text)  # English unless asked
    for claim in ("changes  ", "false alarms  ", "politeness  ", "evidence  "):
        assert f"  {claim}" in shot.text
    assert "never more than 1 at once" in " ".join(shot.text.split())
    assert " records verified" in shot.text
    typed = [line.strip() for line in shot.lines if line.startswith("  ") and "vedette " in line]
    assert any(words.endswith("evidence verify") for words in typed)


@pytest.mark.slow
def test_what_the_demonstration_says_to_type_works(tmp_path: Path):
    for seconds in ("12", "60"):  # on a slow machine little happens in twelve
        words = [sys.executable, "-m", "vedette", "demo", "--seconds", seconds, "--data", f"kept{seconds}"]
        shot = in_terminal(words, (100, 30), cwd=tmp_path, seconds=120)
        if "vedette diff" in shot.text:
            break
    at = next(n for n, line in enumerate(shot.lines) if "export VEDETTE_DATA" in line)
    end = next(n for n, line in enumerate(shot.lines) if "Your own web" in line)
    typed = [line.strip() for line in shot.lines[at:end]]
    exports = "; ".join(line for line in typed if line.startswith("export "))
    verbs = [line for line in typed if not line.startswith("export ")]
    assert len(verbs) == 4
    for words in verbs:
        told = subprocess.run(f"{exports}; {words}", shell=True, capture_output=True, text=True, cwd=tmp_path)
        assert told.returncode == 0, (words, told.stderr)
        assert told.stdout


@at_three_sizes
def test_a_list_keeps_every_address_whole(size: tuple[int, int], tmp_path: Path):
    data = stocked(tmp_path).data
    shot = in_terminal([sys.executable, "-m", "vedette", "list", "--data", str(data)], size, cwd=tmp_path)
    assert shot.code == 0
    assert shot.too_wide == []
    for url in ("https://example.org/zakon/pdv", "https://example.org/feed.xml"):
        assert url in shot.text
    assert "VELOCITY" not in shot.text


def test_a_run_with_nothing_due_says_so_and_its_status_line_says_when_the_next_look_is(tmp_path: Path):
    """N3."""
    run = [sys.executable, "-m", "vedette", "run", "--seconds", "2"]
    empty = in_terminal(run, (100, 30), cwd=tmp_path)
    assert "nothing to watch yet; type: vedette add URL" in empty.text
    add = [sys.executable, "-m", "vedette", "add", "https://prices.example/"]
    assert in_terminal(add, (100, 30), cwd=tmp_path).code == 0
    with closing(sqlite3.connect(tmp_path / "vedette-data" / "vedette.db")) as db, db:
        soon = int((time.time() + 20_000) * 1000)
        db.execute("UPDATE watches SET due_at = ? WHERE due_at IS NOT NULL", (soon,))
    shot = in_terminal(run, (100, 30), cwd=tmp_path)
    assert "Traceback" not in shot.raw, shot.text
    assert "nothing is due now; the next look is" in shot.text
    assert any("next look in 5 h" in state for state in shot.states), shot.states


@pytest.mark.parametrize("after", [0.12, 0.3, 0.6, 1.2, 2.5])
def test_ctrl_c_is_one_line_and_130_at_any_moment(after: float, tmp_path: Path):
    words = [sys.executable, "-m", "vedette", "demo", "--seconds", "30", "--data", "kept"]
    shot = in_terminal(words, (80, 24), cwd=tmp_path, interrupt_after=patient(after / 2))
    if "Could not import runpy module" in shot.raw:
        return  # a machine so busy that Python itself was still being loaded: nothing of ours had begun
    assert "Traceback" not in shot.raw, shot.text
    # Before the interpreter has a handler the signal itself ends it, which a shell calls 130 too.
    is_before = shot.code == -signal.SIGINT and shot.text.strip() == "^C"
    assert shot.code == 130 or is_before


@pytest.mark.parametrize("verb", ["changes --diff", "list", "explain https://example.org/zakon/pdv"])
def test_a_reader_that_takes_one_line_is_no_failure(verb: str, tmp_path: Path):
    data = stocked(tmp_path).data
    command = f"set -o pipefail; {sys.executable} -m vedette -q {verb} --data {data} | head -1"
    told = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=patient(60), cwd=tmp_path
    )
    assert (told.returncode, told.stderr) == (0, "")


@pytest.mark.parametrize(
    "words", ["panel plan", "diff https://a.example/ --from yesterday", "restore nowhere --data x"]
)
@pytest.mark.parametrize("columns", [48, 80])
def test_what_is_refused_is_folded_between_words(words: str, columns: int, tmp_path: Path):
    def told(width: int) -> Shot:
        return in_terminal([sys.executable, "-m", "vedette", *words.split()], (width, 24), cwd=tmp_path)

    whole, shot = told(400), told(columns)
    assert shot.code == whole.code != 0
    assert shot.too_wide == []
    assert " ".join(shot.text.split()) == " ".join(whole.text.split())
