"""Whatever a store is made of is for its owner alone, whatever the umask; a store of before is mended and told of."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from cli_call import Cli
from test_engine_app import Station

from vedette.store.connection import mend
from vedette.store.migrate import prepare


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def open_to_others(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


async def test_a_run_leaves_nothing_that_others_can_read(tmp_path: Path):
    crawl_run = Station(tmp_path / "deep" / "data")
    seen: list[Path] = []
    crawl_run.web.before["https://a.example/2"] = lambda: _note(seen, crawl_run.data)
    await crawl_run.run()
    assert seen == []  # while it runs: the log of SQLite, its shared memory, the lock
    assert open_to_others(crawl_run.data) == []
    assert len(list(crawl_run.data.rglob("*"))) >= 4


async def _note(seen: list[Path], data: Path) -> None:
    assert (data / "vedette.db-wal").exists()
    seen += open_to_others(data)


async def test_a_store_of_before_is_mended_when_it_is_opened_and_the_run_says_so(tmp_path: Path):
    crawl_run = Station(tmp_path / "data")
    await crawl_run.run()
    for path in (crawl_run.data, *crawl_run.data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    await crawl_run.run()
    assert open_to_others(crawl_run.data) == []
    (told,) = [event.fields["count"] for event in crawl_run.events if event.name == "made_private"]
    assert isinstance(told, int)
    assert told >= 4


def test_every_verb_mends_it_and_notes_it_once(tmp_path: Path):
    cli = Cli(tmp_path / "data")
    cli("add", "https://a.example/")
    for path in (cli.data, *cli.data.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    assert "yours alone" in cli("list").err
    assert open_to_others(cli.data) == []
    assert "yours alone" not in cli("list").err


def test_a_folder_that_holds_other_things_keeps_its_rights(tmp_path: Path):
    data = tmp_path / "home"
    data.mkdir(mode=0o755)
    (data / "letters").write_text("mine")
    Cli(data)("add", "https://a.example/")
    assert data.stat().st_mode & 0o777 == 0o755
    assert (data / "letters").stat().st_mode & 0o777 == 0o666
    assert (data / "vedette.db").stat().st_mode & 0o777 == 0o600
    assert mend(data) == 0


def test_the_configuration_that_init_writes_may_hold_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert Cli(tmp_path / "data")("init").code == 0
    assert (tmp_path / "vedette.yaml").stat().st_mode & 0o777 == 0o600


def test_a_store_that_is_prepared_again_keeps_its_locks_and_loses_nothing(tmp_path):
    """A process that closes a database's file lets go of its locks: another one then deletes the log under it."""
    path = prepare(tmp_path)
    count = "db.execute('SELECT COUNT(*) FROM t').fetchone()[0]"
    other = f"import sqlite3; db = sqlite3.connect({str(path)!r}); print({count}); db.close()"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("CREATE TABLE t (x)")
        prepare(tmp_path)
        for number in range(1, 4):
            db.execute("INSERT INTO t VALUES (?)", (number,))
            told = subprocess.run([sys.executable, "-c", other], capture_output=True, text=True, check=True)
            assert int(told.stdout) == number
