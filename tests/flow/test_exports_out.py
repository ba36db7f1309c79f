"""What leaves: changes as tables that no spreadsheet runs, evidence as files that other tools open."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from cli_call import Cli
from scripted import Life, life, page
from stocked import HOUR, NEWS, NOW, FixedClock, a_change, stocked
from surt import surt
from warcio.archiveiterator import ArchiveIterator
from web_kit import an_installation, serving

from vedette.config.model import Loaded
from vedette.contracts.change import DiffOp
from vedette.evidence.wacz import turned
from vedette.operations.installation import Installation

URL = "https://ured.hr/obavijest?b=2&a=1"
FIRST, SECOND = page("Stopa je 25 %."), page("Stopa je 24 %.")
FORMULAS = (
    '=HYPERLINK("http://evil.example")',
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=cmd|' /C calc'!A0",
)


def script(url: str, hours: float) -> tuple[int, str]:
    return (200, "") if url.endswith("robots.txt") else (200, FIRST if hours < 6 else SECOND)


@pytest.fixture
async def watched(tmp_path: Path) -> Life:
    made = life(tmp_path / "data", script, {"url": URL, "lister": "page"})
    await made.run(seconds=24 * 3600)
    return made


@pytest.fixture
def cli(watched: Life) -> Cli:
    return Cli(watched.data, clock=FixedClock(watched.clock.now()))


def validated(path: Path) -> str:
    """What py-wacz says of it."""
    command = [sys.executable, "-m", "wacz.main", "validate", "-f", str(path)]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent)
    return f"{told.returncode} {told.stdout} {told.stderr}"


def test_a_wacz_of_a_page_is_valid_for_the_tool_of_its_authors(watched: Life, cli: Cli, tmp_path: Path):
    path = tmp_path / "page.wacz"
    assert cli("evidence", "export", URL, "--to", str(path)).code == 0
    told = validated(path)
    assert told.startswith("0"), told
    assert "Valid" in told, told
    with zipfile.ZipFile(path) as packed:
        assert packed.testzip() is None
        package = json.loads(packed.read("datapackage.json"))
        for one in package["resources"]:
            data = packed.read(one["path"])
            assert (one["bytes"], one["hash"]) == (len(data), f"sha256:{sha256(data).hexdigest()}")
        about = json.loads(packed.read("datapackage-digest.json"))
        assert about["hash"] == f"sha256:{sha256(packed.read('datapackage.json')).hexdigest()}"
        pages = [json.loads(line) for line in packed.read("pages/pages.jsonl").splitlines()][1:]
        assert [one["url"] for one in pages] == [watched.config.sources[0].url] * 2
        data = packed.read("archive/data.warc.gz")
        lines = packed.read("indexes/index.cdx").decode().splitlines()
    assert lines == sorted(lines)
    assert len(lines) == 2
    for line in lines:
        key, stamp, said = line.split(" ", 2)
        entry = json.loads(said)
        assert key == surt(entry["url"])
        start = int(entry["offset"])
        (record,) = ArchiveIterator(io.BytesIO(data[start : start + int(entry["length"])]))
        assert record.rec_headers["WARC-Target-URI"] == entry["url"]
        assert record.rec_headers["WARC-Date"].replace("-", "").replace(":", "")[:8] == stamp[:8]


def test_a_change_is_given_out_with_its_two_states(cli: Cli, tmp_path: Path):
    for name in ("change.wacz", "change.warc.gz"):
        told = cli("evidence", "export", "--change", "1", "--to", str(tmp_path / name), "--json")
        assert (told.code, told.json["records"]) == (0, 2), told.err
    with (tmp_path / "change.warc.gz").open("rb") as file:
        bodies = [one.content_stream().read() for one in ArchiveIterator(file) if one.rec_type == "response"]
    assert bodies == [FIRST.encode(), SECOND.encode()]
    assert cli("evidence", "export", "--change", "9", "--to", str(tmp_path / "x.wacz")).code == 1
    assert cli("evidence", "export", URL, "--change", "1", "--to", str(tmp_path / "x.wacz")).code == 2
    assert cli("evidence", "export", "--change", "1", "--to", str(tmp_path / "change.wacz")).code == 2
    assert {one.name for one in tmp_path.iterdir()} == {"change.warc.gz", "change.wacz", "data"}


async def test_a_program_downloads_what_the_verb_writes(watched: Life, tmp_path: Path):
    loaded = Loaded(config=watched.config, path=None, data=watched.data, digest="x")
    installation = Installation(loaded, FixedClock(watched.clock.now()))
    async with serving(installation) as client:
        for path in (
            "/api/v1/archive.wacz?change=1",
            f"/api/v1/archive.warc.gz?what={URL.replace('&', '%26')}",
        ):
            async with client.session.get(client.address + path) as answer:
                body = await answer.read()
                assert answer.status == 200, body
                assert "attachment" in answer.headers["Content-Disposition"]
                (tmp_path / "got.wacz").write_bytes(body)
            if "wacz" in path:
                assert validated(tmp_path / "got.wacz").startswith("0")
        assert (await client.ask("/api/v1/archive.wacz")).status == 422
        assert (await client.ask("/api/v1/archive.wacz?change=99")).status == 404
        assert (await client.ask("/api/v1/export/changes.jsonl")).text.count("\n") == 1
        assert (await client.ask("/api/v1/export/sources.opml")).text.startswith("<?xml")
        assert (await client.ask("/api/v1/export/changes.opml")).status == 422


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.org/",
        "http://example.org:8080/A/b/?z=1&A=2",
        "https://example.org/a%20b/c",
        "http://192.168.0.1/x",
        "https://sub.a.example.co.uk/x.html?q",
    ],
)
def test_the_index_is_sorted_by_the_form_that_other_tools_look_up(url: str):
    assert turned(url) == surt(url)


def test_changes_are_a_table_that_no_spreadsheet_runs(tmp_path: Path):
    stock = stocked(tmp_path)
    for number, formula in enumerate(FORMULAS, 300):

        def hostile(watch, after, number=number, formula=formula):
            made = a_change(number=number)(watch, after)
            diff = (DiffOp("insert", (), (formula,)),)
            return replace(made, comparison=replace(made.comparison, summary=formula, diff=diff))

        stock.visit(NEWS, body=formula, title=formula, change=hostile, at=NOW - HOUR)
    told = Cli(tmp_path)("export", "--what", "changes")
    rows = list(csv.DictReader(io.StringIO(told.out)))
    assert len(rows) == len(FORMULAS) + 1
    assert {row["url"] for row in rows[:-1]} | {rows[-1]["url"]} >= {NEWS}
    for row in rows:
        for cell in row.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r")), cell
            assert not set("\x1b\x07\x9b\u202e") & set(cell)
    assert any(row["summary"] == "'+1+1" for row in rows)
    lines = [
        json.loads(line) for line in Cli(tmp_path)("export", "--what", "changes", "--json").out.splitlines()
    ]
    assert {one["summary"] for one in lines} >= set(FORMULAS), "programs get what was there"
    assert {one["source"] for one in lines} == {"news", "rules"}
    assert Cli(tmp_path)("export", "--what", "changes", "--format", "opml").code == 2


async def test_an_export_over_http_is_the_export_of_the_verb(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for what, form in (
            ("sources", "csv"),
            ("watches", "jsonl"),
            ("changes", "csv"),
            ("signals", "jsonl"),
        ):
            text = Cli(tmp_path)("export", "--what", what, "--format", form).out
            assert (await client.ask(f"/api/v1/export/{what}.{form}")).text == text
