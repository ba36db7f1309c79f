"""A store that may not be written to is listed, shown and verified; what needs to write says so.

Permission bits do not bind root, so each question is asked by a child that gives up the powers of root.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_call import Cli
from machine import unpack
from stocked import RULES, stocked

READS = (
    ("list",),
    ("changes",),
    ("sources",),
    ("history", RULES),
    ("explain", RULES),
    ("evidence", "show", RULES),
    ("evidence", "heads"),
    ("db", "status"),
)
CHILD = """
import ctypes, sys
class Header(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
ctypes.CDLL(None).capset(ctypes.byref(Header(0x20080522, 0)), (ctypes.c_uint32 * 6)())
from vedette.surface.cli import main
sys.exit(main({words!r}))
"""


def asked(data: Path, *words: str) -> subprocess.CompletedProcess[str]:
    code = CHILD.format(words=[*words, "--data", str(data)])
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=data.parent,
        env=os.environ | {"TMPDIR": str(copies(data))},
        check=False,
    )


def copies(data: Path) -> Path:
    """Where the program puts copies, whoever it runs as."""
    folder = data.parent / "copies"
    folder.mkdir(exist_ok=True)
    folder.chmod(0o777)
    return folder


def shut(folder: Path) -> None:
    """Readable by everyone, writable by nobody."""
    for path in [folder, *folder.rglob("*")]:
        bits = stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH
        path.chmod(bits | (stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH if path.is_dir() else 0))


@pytest.fixture
def text_cache(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    for path in [tmp_path, *tmp_path.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def left_by_a_kill(stock: Path, target: Path, *, with_index: bool) -> None:
    """The files of a store whose last writes are only in the log."""
    db = sqlite3.connect(stock)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("UPDATE watches SET title = 'only in the log'")
    db.commit()
    shutil.copytree(stock.parent, target)  # while it is open: a log that nobody folded
    db.close()
    assert target.joinpath("vedette.db-wal").stat().st_size > 0
    if not with_index:
        target.joinpath("vedette.db-shm").unlink()


@pytest.mark.slow
@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_a_store_on_a_read_only_medium_can_be_read(text_cache: Path, words: tuple[str, ...]):
    stock = stocked(text_cache / "data")
    expected = Cli(stock.path.parent)(*words, "--json")
    for name in ("vedette.db-wal", "vedette.db-shm"):  # as a clean stop leaves it
        (stock.path.parent / name).unlink(missing_ok=True)
    shut(stock.path.parent)
    told = asked(stock.path.parent, *words, "--json")
    assert told.stderr == ""
    assert told.returncode == expected.code == 0
    assert set(json.loads(told.stdout)) == set(expected.json)


@pytest.mark.slow
@pytest.mark.parametrize("with_index", [True, False])
def test_what_a_kill_left_in_the_log_is_read_on_a_read_only_medium(text_cache: Path, with_index: bool):
    stock = stocked(text_cache / "data")
    left_by_a_kill(stock.path, text_cache / "copy", with_index=with_index)
    shut(text_cache / "copy")
    told = asked(text_cache / "copy", "list", "--json")
    assert told.returncode == 0, told.stderr
    assert "only in the log" in told.stdout
    assert not list(copies(text_cache / "copy").iterdir()), "the copy is gone"


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("add", "https://new.example/"), ("sources", "pause", "rules"), ("run", "--once")]
)
def test_what_needs_to_write_says_that_it_cannot_and_what_to_do(text_cache: Path, words: tuple[str, ...]):
    stock = stocked(text_cache / "data")
    shut(stock.path.parent)
    told = asked(stock.path.parent, *words)
    assert told.returncode in (5, 1)
    assert "Traceback" not in told.stderr
    assert "backup" not in told.stderr
    assert "write" in told.stderr or "ermission" in told.stderr


@pytest.mark.slow
def test_evidence_on_a_read_only_medium_is_verified_and_given_out(text_cache: Path):
    (packed,) = (Path(__file__).parents[1] / "fixtures" / "stores").glob("0012-*.tar.xz")
    with tarfile.open(packed) as archive:
        unpack(archive, text_cache / "data")
    assert Cli(text_cache / "data")("db", "upgrade").code == 0
    (url,) = (w["url"] for w in Cli(text_cache / "data")("list", "rules", "--json").json["watches"])
    shut(text_cache / "data")
    told = asked(text_cache / "data", "evidence", "verify", "--json")
    assert told.returncode == 0, told.stderr
    assert json.loads(told.stdout)["whole"] is True
    assert "The rate is 24 %." in asked(text_cache / "data", "evidence", "cat", url, "--text").stdout
