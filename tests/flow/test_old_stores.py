"""Stores of every revision, made by the code of their time: they open, upgrade, run and verify.

Among them are stores of revisions that were edited in place before they were frozen.  `tools/old_stores.py` made them.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tarfile
from pathlib import Path

import pytest
from cli_call import Cli
from machine import unpack
from scripted import Scripted, life, page
from watching import Watched

import vedette.store.migrations.versions as versions
from vedette.config.model import parse
from vedette.store.migrate import HEAD, NEWEST, differences, newest, newest_text, prepare, version
from vedette.telemetry.clock import JumpingClock

STORES = sorted((Path(__file__).parents[1] / "fixtures" / "stores").glob("*.tar.xz"))
# Released revisions are never edited: a store that has one keeps it as it was.  A new revision adds its line here.
FROZEN = {
    "0001_the_stream.py": "c0916c3265a5825a15185c1bbd8e4005318412566a0c1eaa1b89822a6e540e74",
    "0002_deciding.py": "69bcdc9c7d65fe71d674957855d440de7ea535537a86d810fab14b9b3adee211",
    "0003_audits.py": "8b18a67e1abe622a39ae25f34a4c2784c93f4a665ca0dd307a31d95c9de08f17",
    "0004_artifacts.py": "b4a1dce390c65672d6fab8ec8c5d2d417aca904ef11ab4bd7f7b63e4555c8736",
    "0005_alerts.py": "f009c204f0e3cb083acaac5e5d3c1d11ce8951616dd1d18f511415a7bc9170e5",
    "0006_learning.py": "6edc0066f27670f0f66fe2485ce400a8e0a967f617da65b3fa4a93c6bc14ddf4",
    "0007_panel_models.py": "4b0112e1b59cf649f914a1ba741dc6617130998e478a968170ce56eba817febc",
    "0008_the_panel.py": "8594a8100240307e559f8d60e92fe92bbd78240918998cd836fa270f63023f5f",
    "0009_verdicts.py": "753a60defa5f7ecfa08b1a8496cc19a47c3157d2583f5d8cfd909f4ade0510b1",
    "0010_names_of_the_documents.py": "5e4f2e64459b05ec3dd927c52111cb4045812fccb3c6b465d9f77f8582eef4f4",
    "0011_lively_hosts.py": "d74c374db8d728a3c811a4e7bd513a90cd012ccd3630835bcf4fd924d125d994",
    "0012_hunts.py": "3b8a739f57ace64cfb5ec0f174d8c16976beb1ae2c7228647a590595fb6b2d33",
    "0013_intervals.py": "133f525890166c70ed223d0ef3ba4bb456bae539a7cea651458ecf99f922ade9",
    "0014_seals.py": "ac44fb4851bea3546eacbff955e97b7cc32b0b37fc9d37a6cb8dced90ba9ede2",
    "0015_hashes_and_nodes.py": "9a092b5256a8276b7235b429c3dbe7e864450aa4dc727fcdc3392760dffd159d",
    "0016_odd_pages.py": "121d1df94aa1b0f1217b5cfbf4180ff99f81bfe6fc182eb1b5e5b7a9a60d322b",
    "0017_access.py": "1fe3f284bbaf39f4c72e46f04411d50341cc29aa812efbe3295279189f87bc10",
    "0018_feed_addresses.py": "d1e3562cefbff045a5f1dd7c30bbd754858d7b47ed2062c3e2a42f830d93fa93",
    "0019_long_lists.py": "3e04c7dc052990623f53eb3b7b660cd37fcd2a0a9cb4ea69d609a1b8bb8d6ce9",
    "0020_links_and_reports.py": "8d5aee4135c85e794f1f0d93526c18c8e2da0a408ee8ed83e6c6f8c9e2848af7",
    "0021_lane_visits.py": "ddd0b1fbd3b55d7bd3166a2e24087efc1cf0aea6147af4af1ab2c976a45ff164",
    "0022_change_marks.py": "3fb6c696fd2ae9ddb9648e99632aa5fe1bbd69b099299036e102c7ca06c40494",
    "0023_line_of_looks.py": "8ebc04e90c8254b4ce303e0a9f3f88725af6dc1d671b75eca16137f4067399c6",
    "0024_queued_jobs.py": "6dbcbfade2d079b206e415842d8a78e08e78ce884b40e83122b13e11223748f5",
    "0025_panel_workers.py": "5d66086efdd63d50c231733232a30f5ff22afa77119a2ad0e3b53eeb13d2bb07",
    "0026_screenshots_and_imported_texts.py": "3274472abd3d5c624d18c57c29465e64e316e9abba4b93af979e531199b062b0",
    "0027_held_lanes.py": "783fc9814d8dd691a284bd73c8843af4f25ba86b115ee47db195434c3b7ab3ee",
}


@pytest.fixture(params=STORES, ids=lambda path: path.name.partition(".")[0])
def old(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    data = tmp_path / "data"
    with tarfile.open(request.param) as packed:
        unpack(packed, data)
    return data


def test_released_revisions_are_frozen():
    folder = Path(versions.__file__).parent
    found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("[0-9]*.py")}
    assert found == FROZEN


def rows(data: Path, query: str) -> list[tuple[object, ...]]:
    db = sqlite3.connect(data / "vedette.db")
    try:
        return db.execute(query).fetchall()
    finally:
        db.close()


def test_a_store_that_is_too_old_says_what_to_do(old: Path):
    told = Cli(old)("list")
    assert told.code == 5
    assert "vedette db upgrade" in told.err


def test_an_old_store_is_upgraded_and_loses_nothing(old: Path):
    tables = ("visits", "evidence", "changes", "watches", "sources", "ledger")
    before = {table: rows(old, f"SELECT COUNT(*) FROM {table}") for table in tables}
    told = Cli(old)("db", "upgrade")
    assert told.code == 0, told.err
    assert version(old / "vedette.db") == HEAD
    assert {table: rows(old, f"SELECT COUNT(*) FROM {table}") for table in tables} == before
    for words in (
        ("list",),
        ("changes",),
        ("sources",),
        ("health",),
        ("lanes",),
        ("parked",),
        ("db", "status"),
    ):
        assert Cli(old)(*words, "--json").code in (0, 6), words


def test_an_old_store_verifies_and_says_what_was_sealed_late(old: Path):
    assert Cli(old)("db", "upgrade").code == 0
    told = Cli(old)("evidence", "verify", "--json")
    assert told.json["problems"] == []
    assert told.code == 0
    assert told.json["sealed_late"] > 10
    assert "before the upgrade" in Cli(old)("evidence", "verify").err
    db = sqlite3.connect(old / "vedette.db")
    db.execute("UPDATE evidence SET url = url || '?'")
    db.commit()
    db.close()
    assert Cli(old)("evidence", "verify", "--quick").code == 6


async def test_an_old_store_goes_on_watching_and_stays_whole(old: Path):
    """Its pages are looked at again; an edit since then is reported."""
    (url,) = rows(old, "SELECT url FROM watches WHERE url LIKE '%/rules'")[0]
    (last,) = rows(old, "SELECT MAX(at) FROM visits")[0]
    clock = JumpingClock(_moment(last))
    config = parse({"schedule": {"policy": "fixed", "interval": "1h"}})
    watched = Watched(None, old, clock, None, config)  # type: ignore[arg-type]
    watched.fetcher = Scripted(clock, _answer)  # type: ignore[attr-defined]
    before = len(watched.reported())
    ended = await watched.run(seconds=6 * 3600)
    assert ended.error is None
    assert rows(old, f"SELECT COUNT(*) FROM visits WHERE url = '{url}' AND at > {last}")[0][0] > 2
    assert len(watched.reported()) > before
    told = Cli(old)("evidence", "verify", "--json")
    assert told.json["problems"] == []


GLUED = {
    "paths": ["ul/li"], "lines": [], "templates": [], "places": [[0, 1, 8, 0, 0]], "orders": [], "wild": [],
    "looks": [1, 2, 3, 4, 5], "replaced": [], "form": 3,
}  # fmt: skip


def _set_noise(data: Path, noise: dict[str, object]) -> None:
    db = sqlite3.connect(data / "vedette.db")
    assert db.execute("UPDATE watches SET mask = ?", (json.dumps(noise),)).rowcount == 1
    db.commit()
    db.close()


def _form(data: Path) -> object:
    return json.loads(str(rows(data, "SELECT mask FROM watches")[0][0]))["form"]


async def test_what_was_learned_of_glued_words_goes_on_after_an_upgrade_without_a_report(tmp_path: Path):
    """Noise within "Tax OfficeThere are 18 visitors" is still that noise; an edit is told once."""
    edited_at = 100.0

    def answer(url: str, hours: float) -> tuple[int, str]:
        visitors = f"Tax Office<button>There are {int(hours * 7) % 90 + 10} visitors</button>"
        return 200, page(visitors, "The rate is 30 %." if hours > edited_at else "The rate is 25 %.")

    watched = life(tmp_path, answer, {"url": "https://a.hr/rules", "lister": "page"})
    assert (await watched.run(seconds=60)).error is None
    _set_noise(tmp_path, GLUED)
    assert (await watched.run(seconds=60 * 3600)).error is None
    assert _form(tmp_path) == 3
    assert "OfficeThere" in str(rows(tmp_path, "SELECT mask FROM watches"))
    before = len(watched.reported())
    assert (await watched.run(seconds=80 * 3600)).error is None
    assert len(watched.reported()) == before + 1
    assert "30 %" in str(
        rows(tmp_path, "SELECT summary FROM changes WHERE state = 'reported' ORDER BY id DESC")[0]
    )


async def test_what_was_learned_holds_as_it_is_where_no_words_were_glued(tmp_path: Path):
    def answer(url: str, hours: float) -> tuple[int, str]:
        return 200, page(f"<b>T</b>ax Office, {int(hours * 7) % 90 + 10} visitors")

    watched = life(tmp_path, answer, {"url": "https://a.hr/rules", "lister": "page"})
    assert (await watched.run(seconds=60)).error is None
    _set_noise(tmp_path, GLUED)
    assert (await watched.run(seconds=10 * 3600)).error is None
    assert _form(tmp_path) == 4
    assert "ul/li" in str(rows(tmp_path, "SELECT mask FROM watches"))


def _moment(ms: object):
    from vedette.store.rows import from_ms

    assert isinstance(ms, int)
    return from_ms(ms)


def _answer(url: str, hours: float) -> tuple[int, str]:
    if url.endswith("/rules"):
        return 200, page("The rate is 30 %.", title="Rules")
    return (200, "") if url.endswith("robots.txt") else (404, page("nothing"))


def _garbage(path: Path) -> None:
    path.write_bytes(os.urandom(50_000))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _cut_in_a_page(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def _zeroed(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes(len(whole) - 4096))


def _newer(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.commit()
    db.close()


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _no_table(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("DROP TABLE visits")
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "spoil",
    [_garbage, _cut, _cut_in_a_page, _zeroed, _newer, _folder, _empty, _no_table],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize(
    "words",
    [
        ("list",), ("changes",), ("evidence", "verify"), ("evidence", "heads"), ("run", "--once"), ("db", "upgrade"),
        ("db", "status"), ("doctor",), ("gc",), ("evidence", "set-aside"), ("add", "http://a.example/"),
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_store_that_cannot_be_read_is_named_in_one_line(tmp_path: Path, spoil, words: tuple[str, ...]):
    data = tmp_path / "data"
    with tarfile.open(next(path for path in STORES if path.name.startswith("0012"))) as packed:
        unpack(packed, data)
    assert Cli(data)("db", "upgrade").code == 0
    spoil(data / "vedette.db")
    told = Cli(data)(*words)  # an exception that nobody expects would come through
    if spoil is not _empty and words[0] != "doctor" and told.code != 0:
        assert len(told.err.strip().splitlines()) >= 1
        assert str(data) in told.err or "store" in told.err


def test_a_new_store_is_what_the_revisions_make(tmp_path: Path):
    """`migrations/newest.sql` is made of the revisions: run `tools/reference.py` after adding one."""
    assert NEWEST.read_text(encoding="utf-8") == newest_text()
    prepare(tmp_path)
    with sqlite3.connect(tmp_path / "vedette.db") as db, sqlite3.connect(":memory:") as declared:
        for statement in newest():
            declared.execute(statement)
        assert differences(db, declared) == []
        assert differences(declared, db) == []
    assert version(tmp_path / "vedette.db") == HEAD
