"""`kill -9` does not change what a hunt finds: the same pages, scores and reasons, byte for byte."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import pytest
from killed_hunt import findings_digest, looked_at, odd_world
from odd_kit import watched_world
from scripted import Life

from vedette.contracts.fetch import Fetched, FetchRequest

CHILD = [sys.executable, str(Path(__file__).with_name("killed_hunt.py"))]


def hunt(data: Path, looks: int, world: int, *, kill_after: int | None = None) -> bool:
    """One run.  True: it came to its end; `kill_after`: so many lines, then SIGKILL."""
    command = [*CHILD, str(data), str(looks), str(world)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    is_ended = False
    for heard, line in enumerate(process.stdout, 1):
        is_ended = is_ended or line == "ended\n"
        if heard == kill_after:
            process.kill()
    assert process.wait(120) == (0 if is_ended else -9)
    return is_ended


def kills(data: Path, looks: int, many: int, *, world: int, seed: int) -> int:
    chance, done = random.Random(seed), 0
    most = max(4, 3 * looks // many)
    while done < many and not hunt(data, looks, world, kill_after=chance.randrange(2, most)):
        done += 1
    while not hunt(data, looks, world):
        pass
    return done


def check(tmp_path: Path, looks: int, many: int, *, world: int, seed: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert hunt(whole, looks, world)
    assert kills(killed, looks, many, world=world, seed=seed) == many
    assert looked_at(killed)[0] >= looks
    assert findings_digest(killed) == findings_digest(whole)


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_three_kills_change_no_finding(tmp_path: Path):
    check(tmp_path, 130, 3, world=5, seed=11)


@pytest.mark.drill
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("looks", "world", "seed"), [(300, 5, 11), (300, 6, 12), (700, 5, 13), (700, 7, 14), (1100, 8, 15)]
)
def test_ten_kills_change_no_finding(tmp_path: Path, looks: int, world: int, seed: int):
    check(tmp_path, looks, 10, world=world, seed=seed)


async def late(watched: Life, seed: int) -> str:
    """A hunt of 120 looks that end in an order drawn by chance."""
    chance, fetch = random.Random(seed), watched.fetcher.fetch

    async def slow(request: FetchRequest) -> Fetched:
        await asyncio.sleep(chance.choice((0.0, 0.0, 0.01, 0.03)))
        return await fetch(request)

    watched.fetcher.fetch = slow
    ended = await watched.run(max_visits=120, seconds=86_400.0)
    assert ended.error is None
    return findings_digest(watched.data)


@pytest.mark.slow
async def test_the_order_in_which_looks_end_changes_no_finding(tmp_path: Path):
    world = odd_world(5)
    one, other = [await late(watched_world(world, tmp_path / str(seed)), seed) for seed in (1, 2)]
    assert one == other
