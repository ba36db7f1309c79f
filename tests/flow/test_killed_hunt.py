"""`kill -9` does not change what a hunt finds: the same pages, scores and reasons, byte for byte."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest
from killed_hunt import findings_digest, looked_at

CHILD = [sys.executable, str(Path(__file__).with_name("killed_hunt.py"))]
LOOKS = 300


def hunt(data: Path, looks: int, *, kill_after: int | None = None) -> bool:
    """One run.  True: it came to its end; `kill_after`: so many lines, then SIGKILL."""
    process = subprocess.Popen([*CHILD, str(data), str(looks)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    is_ended = False
    for heard, line in enumerate(process.stdout, 1):
        is_ended = is_ended or line == "ended\n"
        if heard == kill_after:
            process.kill()
    assert process.wait(120) == (0 if is_ended else -9)
    return is_ended


def kills(data: Path, looks: int, many: int, seed: int) -> int:
    chance, done = random.Random(seed), 0
    while done < many and not hunt(data, looks, kill_after=chance.randrange(2, 3 * looks // many)):
        done += 1
    while not hunt(data, looks):
        pass
    return done


@pytest.mark.drill
@pytest.mark.xfail(reason="looks that a kill undid are settled in another order, and scores follow the order")
@pytest.mark.timeout(600)
def test_ten_kills_change_no_finding(tmp_path: Path):
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert hunt(whole, LOOKS)
    assert kills(killed, LOOKS, 10, seed=11) == 10
    assert looked_at(killed)[0] >= LOOKS
    assert findings_digest(killed) == findings_digest(whole)
