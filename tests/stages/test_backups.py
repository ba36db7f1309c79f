"""A backup is one moment of a store, whole; restoring it brings that moment back and overwrites nothing unasked.

A damaged page is told in words, and `doctor` finds it.
"""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_call import Cli, Told
from stocked import FixedClock
from test_engine_app import Station

from vedette.contracts.errors import RESTORE

REFUSED, BAD_INPUT, STORE, PROBLEMS = 3, 2, 5, 6
READING = (
    ("list",),
    ("sources",),
    ("lanes",),
    ("changes",),
    ("due",),
    ("health",),
    ("doctor",),
    ("status",),
    ("db", "status"),
    ("evidence", "verify"),
    ("evidence", "heads"),
    ("explain", "https://a.example/1"),
    ("show", "https://a.example/1"),
    ("alerts",),
    ("parked",),
    ("add", "https://b.example/"),
)
Shell = Callable[..., "asyncio.Future[Told]"]


@pytest.fixture
async def crawl_run(tmp_path: Path) -> Station:
    crawl_run = Station(tmp_path / "data")
    await crawl_run.run()
    return crawl_run


@pytest.fixture
def shell(crawl_run: Station) -> Shell:
    """The command line in a thread of its own: some verbs run a loop."""

    def call(*words: str, data: Path | None = None) -> asyncio.Future[Told]:
        cli = Cli(data or crawl_run.data, clock=FixedClock(crawl_run.clock.now()))
        return asyncio.get_running_loop().run_in_executor(None, lambda: cli(*words))

    return call


async def test_a_backup_is_restored_elsewhere_whole_and_goes_on(
    crawl_run: Station, shell: Shell, tmp_path: Path
):
    made = await shell("backup", str(tmp_path / "kept"), "--json")
    assert (made.code, made.json["visits"], made.json["problems"]) == (0, 4, 0)
    told = await shell("restore", str(tmp_path / "kept"), "--json", data=tmp_path / "new")
    assert (told.code, told.json["visits"]) == (0, 4)
    checked = await shell("evidence", "verify", "--json", data=tmp_path / "new")
    assert (checked.code, checked.json["whole"], checked.json["visits"]) == (0, True, 4)
    again = Station(tmp_path / "new")
    again.clock.advance(crawl_run.clock.now() - again.clock.now())
    ended = await again.run(seconds=3600.0 * 48)
    assert ended.error is None


async def test_a_restore_overwrites_nothing_unless_told_and_then_moves_it_aside(
    crawl_run: Station, shell: Shell, tmp_path: Path
):
    await shell("backup", str(tmp_path / "kept"))
    before = (crawl_run.data / "vedette.db").read_bytes()
    told = await shell("restore", str(tmp_path / "kept"))
    assert (told.code, "--replace" in told.err) == (REFUSED, True)
    assert (crawl_run.data / "vedette.db").read_bytes() == before
    told = await shell("restore", str(tmp_path / "kept"), "--replace")
    assert told.code == 0, told.err
    (aside,) = crawl_run.data.glob("before-restore-*")
    assert (aside / "vedette.db").read_bytes() == before
    assert (await shell("evidence", "verify")).code == 0


async def test_a_backup_takes_no_folder_that_is_there_and_a_restore_nothing_that_is_no_backup(
    crawl_run: Station, shell: Shell, tmp_path: Path
):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("x")
    assert (await shell("backup", str(tmp_path / "full"))).code == BAD_INPUT
    assert (await shell("restore", str(tmp_path / "full"), data=tmp_path / "new")).code == BAD_INPUT
    assert not (tmp_path / "new" / "vedette.db").exists()
    await shell("backup", str(tmp_path / "kept"))
    manifest = json.loads((tmp_path / "kept" / "BACKUP.json").read_text())
    (tmp_path / "kept" / "BACKUP.json").write_text(json.dumps(manifest | {"visits": 99}))
    told = await shell("restore", str(tmp_path / "kept"), data=tmp_path / "new")
    assert (told.code, "99" in told.err) == (STORE, True)
    assert not (tmp_path / "new" / "vedette.db").exists()


async def test_a_backup_is_private_whatever_the_umask(crawl_run: Station, shell: Shell, tmp_path: Path):
    await shell("backup", str(tmp_path / "kept"))
    await shell("restore", str(tmp_path / "kept"), data=tmp_path / "new")
    for folder in (tmp_path / "kept", tmp_path / "new"):
        open_ones = [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]
        assert open_ones == []


@pytest.mark.parametrize("seed", range(6))
async def test_a_damaged_page_is_told_by_every_verb_and_found_by_doctor(
    crawl_run: Station, shell: Shell, tmp_path: Path, seed: int
):
    """No traceback, whatever page it is; whoever meets the damage says how to get back."""
    chance = random.Random(seed)
    await shell("backup", str(tmp_path / "kept"))
    path = crawl_run.data / "vedette.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = int(db.execute("PRAGMA page_size").fetchone()[0])
    db.close()
    data = bytearray(path.read_bytes())
    for page in chance.sample(range(len(data) // size), 12):
        start = page * size + (100 if page == 0 else 0)
        data[start : start + 64] = chance.randbytes(64)
    path.write_bytes(bytes(data))
    for words in READING:
        told = await shell(*words)
        assert "Traceback" not in told.err
        assert told.code in (0, BAD_INPUT, STORE, PROBLEMS), (words, told)
        if told.code == STORE:
            assert "vedette restore BACKUP" in told.err, (words, told.err)
    told = await shell("doctor")
    assert told.code == PROBLEMS
    assert "vedette restore BACKUP" in told.out.replace("\n", " ")
    told = await shell("backup", str(tmp_path / "bad"))
    assert (told.code, (tmp_path / "bad").exists()) == (STORE, False)
    told = await shell("restore", str(tmp_path / "kept"), "--replace")
    assert told.code == 0, told.err
    assert (await shell("evidence", "verify")).code == 0


async def test_a_run_on_a_damaged_database_ends_in_words(crawl_run: Station, shell: Shell):
    path = crawl_run.data / "vedette.db"
    db = sqlite3.connect(path)
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'ix_watches_queue'").fetchone()
    size = int(db.execute("PRAGMA page_size").fetchone()[0])
    db.close()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * 200)
    told = await shell("run", "--once")
    assert (told.code, RESTORE in told.err) == (STORE, True), told


async def test_a_segment_that_was_lost_comes_back_with_the_backup(
    crawl_run: Station, shell: Shell, tmp_path: Path
):
    await shell("backup", str(tmp_path / "kept"))
    shutil.rmtree(crawl_run.data / "archive")
    told = await shell("evidence", "verify")
    assert told.code == PROBLEMS
    assert (await shell("restore", str(tmp_path / "kept"), "--replace")).code == 0
    assert (await shell("evidence", "verify")).code == 0
