"""`vedette db adopt`: the store of an older sentinel is added to, never changed, and taken over (000 section 6)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from stocked import blank

ENDPOINT = {
    "id": "ep1",
    "domain": "porezna-uprava.gov.hr",
    "path": "/HR_Porezni_sustav/Stranice/pausalno.aspx",
    "name": "Paušalno oporezivanje",
    "listingStrategy": "HTML_LIST",
    "scrapeFrequency": "DAILY",
    "priority": "CRITICAL",
    "isActive": 1,
    "urlPattern": "/HR_",
    "paginationPattern": None,
    "metadata": json.dumps({"maxDepth": 2, "startDate": "2024-01-01"}),
}
ITEMS = [
    ("i1", "https://porezna-uprava.gov.hr/vijesti/1", "PROCESSED", "ep1"),
    ("i2", "https://porezna-uprava.gov.hr/arhiva/2019/", "FETCHED", "ep1"),
    ("i3", "https://porezna-uprava.gov.hr/zakon-o-pdv.pdf", "PENDING", "ep1"),
    ("i4", "https://hok.hr/novosti/4", "FAILED", "nobody"),
    ("i5", "https://hok.hr/novosti/5", "SKIPPED", "nobody"),
    ("i6", "mailto:ured@hok.hr", "PENDING", "ep1"),
    ("i7", "https://test.example/7", "PENDING", "ep1"),
]
PLAIN = (
    'CREATE TABLE "DiscoveredItem" (id TEXT PRIMARY KEY, "endpointId" TEXT, url TEXT, title TEXT, '
    '"publishedAt" DATETIME, status TEXT, "contentHash" TEXT, "evidenceId" TEXT, "retryCount" INTEGER DEFAULT 0, '
    '"errorMessage" TEXT, "processedAt" DATETIME)'
)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """As 001 section 4.4 has it, before the adaptive fields."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(PLAIN)
        columns = ", ".join(f'"{name}"' for name in ENDPOINT)
        db.execute(f'CREATE TABLE "DiscoveryEndpoint" ({columns})')
        db.execute(
            f'INSERT INTO "DiscoveryEndpoint" VALUES ({", ".join("?" * len(ENDPOINT))})',
            tuple(ENDPOINT.values()),
        )
        db.executemany(
            'INSERT INTO "DiscoveredItem" (id, url, status, "endpointId", title, "publishedAt", "retryCount") '
            "VALUES (?, ?, ?, ?, 'Članak', 1700000000000, 2)",
            ITEMS,
        )
    return path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "data")


def rows(path: Path, query: str, values: Sequence[Any] = ()) -> list[Any]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query, values).fetchall()


def test_plain_items_are_classified_scheduled_and_watched(cli: Cli, old: Path) -> None:
    done = cli("db", "adopt", str(old), "--json")
    assert (done.json["items"], done.json["scheduled"], done.json["deprecated"]) == (7, 7, 1)
    assert (done.json["sources"], done.json["watches"], done.json["left_alone"]) == (2, 4, 1)
    found = dict(
        (row[0], row[1:])
        for row in rows(
            old,
            'SELECT id, "nodeType", "nodeRole", "freshnessRisk", "changeFrequency", "scanCount" FROM "DiscoveredItem"',
        )
    )
    assert found["i1"] == ("HUB", "NEWS_FEED", "HIGH", 0.5, 0)
    assert found["i2"] == ("HUB", "ARCHIVE", "LOW", 0.5, 0)
    assert found["i3"][0] == "ASSET"
    watch = cli("explain", "https://hok.hr/novosti/4", "--json").json
    assert (watch["risk"], watch["velocity"]) == ("HIGH", 0.5)


def test_the_next_scan_follows_the_risk(cli: Cli, old: Path) -> None:
    cli("db", "adopt", str(old))
    due = dict(rows(old, 'SELECT id, "nextScanDue" FROM "DiscoveredItem"'))
    assert due["i1"] < due["i2"]  # HIGH before LOW
    mine = {watch["url"]: watch["due_at"] for watch in cli("list", "--json").json["watches"]}
    assert mine["https://porezna-uprava.gov.hr/vijesti/1"][:19] == due["i1"][:19].replace(" ", "T")


def test_an_endpoint_becomes_a_source_with_its_options(cli: Cli, old: Path) -> None:
    cli("db", "adopt", str(old))
    source = next(s for s in cli("sources", "--json").json["sources"] if s["id"] == "ep1")
    assert (source["lister"], source["tier"]) == ("html_list", "CRITICAL")
    assert "html_list,CRITICAL,86400s,/HR_,2024-01-01T00:00:00+00:00,2" in cli("export").out
    assert source["url"] == "https://porezna-uprava.gov.hr/HR_Porezni_sustav/Stranice/pausalno.aspx"
    unknown = next(s for s in cli("sources", "--json").json["sources"] if s["id"] == "hok-hr")
    assert unknown["name"] == "Auto: hok.hr"  # 001 section 6.2


def test_rows_that_cannot_be_taken_are_named_and_stay_where_they_are(cli: Cli, old: Path) -> None:
    done = cli("db", "adopt", str(old), "--json")
    assert done.code == 6
    assert {problem["row"] for problem in done.json["problems"]} == {"item i6", "item i7"}
    assert len(rows(old, 'SELECT * FROM "DiscoveredItem"')) == len(ITEMS)


def test_nothing_that_was_there_is_changed(cli: Cli, old: Path) -> None:
    columns = 'id, "endpointId", url, title, "publishedAt", status, "retryCount"'
    before = rows(old, f'SELECT {columns} FROM "DiscoveredItem" ORDER BY id')
    endpoints = rows(old, 'SELECT id, "scrapeFrequency", metadata FROM "DiscoveryEndpoint"')
    cli("db", "adopt", str(old))
    assert rows(old, f'SELECT {columns} FROM "DiscoveredItem" ORDER BY id') == before
    assert rows(old, 'SELECT id, "scrapeFrequency", metadata FROM "DiscoveryEndpoint"') == endpoints
    assert rows(old, 'SELECT "scrapeFrequencyDeprecatedAt" FROM "DiscoveryEndpoint"') != [(None,)]


def test_said_again_it_doubles_nothing_and_moves_no_schedule(cli: Cli, old: Path) -> None:
    cli("db", "adopt", str(old))
    due = rows(old, 'SELECT id, "nextScanDue" FROM "DiscoveredItem" ORDER BY id')
    again = cli("db", "adopt", str(old), "--json").json
    assert (again["columns"], again["scheduled"], again["watches"], again["sources"]) == ([], 0, 0, 0)
    assert rows(old, 'SELECT id, "nextScanDue" FROM "DiscoveredItem" ORDER BY id') == due


def test_it_goes_on_after_a_stop_in_the_middle(cli: Cli, old: Path) -> None:
    cli("db", "adopt", str(old))
    with closing(sqlite3.connect(old)) as db, db:
        db.execute("UPDATE \"DiscoveredItem\" SET \"nextScanDue\" = NULL WHERE id IN ('i1', 'i4')")
    assert cli("db", "adopt", str(old), "--json").json["scheduled"] == 2


def test_a_schedule_that_the_old_store_has_is_kept(cli: Cli, old: Path) -> None:
    with closing(sqlite3.connect(old)) as db, db:
        for column in ('"nextScanDue" DATETIME', '"freshnessRisk" TEXT', '"changeFrequency" REAL'):
            db.execute(f'ALTER TABLE "DiscoveredItem" ADD COLUMN {column}')
        db.execute(
            'UPDATE "DiscoveredItem" SET "nextScanDue" = \'2030-01-02T03:04:05Z\', "freshnessRisk" = \'CRITICAL\', '
            "\"changeFrequency\" = 0.9 WHERE id = 'i2'"
        )
    cli("db", "adopt", str(old))
    watch = cli("explain", ITEMS[1][1], "--json").json
    assert (watch["risk"], watch["velocity"]) == ("CRITICAL", 0.9)
    assert watch["due_at"].startswith("2030-01-02T03:04:05")


def test_a_trial_changes_nothing(cli: Cli, old: Path, tmp_path: Path) -> None:
    before = old.read_bytes()
    done = cli("db", "adopt", str(old), "--dry-run", "--json")
    assert (done.code, done.json["scheduled"]) == (0, 7)
    assert "nextScanDue" in done.json["columns"]
    assert old.read_bytes() == before
    assert not (tmp_path / "data" / "vedette.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("missing.db", "there is no file"),
        ("empty.db", "has no table DiscoveredItem"),
        ("text.db", "not a database"),
        ("nosuch://x", "cannot be opened"),
        ("data/vedette.db", "is a store of vedette already"),
    ],
)
def test_what_is_no_old_store_is_told(cli: Cli, tmp_path: Path, words: str, said: str) -> None:
    (tmp_path / "text.db").write_text("hello " * 100)
    sqlite3.connect(tmp_path / "empty.db").execute("CREATE TABLE x (y)").connection.close()
    blank(tmp_path / "data")  # its views have the documents' names
    place = words if "://" in words else str(tmp_path / words)
    told = cli("db", "adopt", place)
    assert told.code in (2, 5)
    assert said in told.err


def test_an_endpoint_that_cannot_be_read_is_named(cli: Cli, old: Path) -> None:
    with closing(sqlite3.connect(old)) as db, db:
        db.execute('UPDATE "DiscoveryEndpoint" SET "listingStrategy" = \'TELEPATHY\'')
    done = cli("db", "adopt", str(old), "--json")
    assert {"row": "endpoint ep1", "why": done.json["problems"][0]["why"]} == done.json["problems"][0]
    assert "TELEPATHY" in done.json["problems"][0]["why"]
    assert done.json["watches"] == 4  # its items have a source of their own
