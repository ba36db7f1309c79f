"""Lists of other tools: what they say is taken, what is known of a page stays, what cannot be taken is told."""

from __future__ import annotations

import io
import json
import zipfile
from html import escape
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from stocked import blank

from vedette.config.model import SourceConfig
from vedette.operations.formats.changedetection import NOT_GET
from vedette.operations.formats.tables import COLUMNS, LISTS, OBJECTS

URL = "https://example.org/rules"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    blank(tmp_path / "data")
    return Cli(tmp_path / "data")


def source(cli: Cli, url: str = URL) -> dict[str, Any]:
    lines = cli("export", "--format", "jsonl").out.splitlines()
    return next(row for row in map(json.loads, lines) if row["url"] == url)


def test_a_bare_url_changes_nothing_of_a_source_that_is_known(cli: Cli):
    cli("add", URL, "--name", "My name", "--lister", "feed", "--risk", "high", "--every", "10m")
    before = source(cli)
    assert cli("import", "-", stdin=f"{URL}\n".encode()).code == 0
    assert source(cli) == before


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("csv", f"url,risk\n{URL},LOW\n"),
        ("urlwatch", f"url: {URL}\n"),
        ("opml", f'<opml><body><outline url="{URL}"/></body></opml>'),
        ("jsonl", json.dumps({"url": URL})),
        ("yaml", f"sources: [{{url: {URL}}}]"),
    ],
)
def test_a_list_changes_only_what_its_line_says(cli: Cli, form: str, text: str):
    cli("add", URL, "--name", "My name", "--lister", "sitemap", "--risk", "high")
    assert cli("import", "-", "--format", form, stdin=text.encode()).code == 0
    assert (source(cli)["name"], source(cli)["lister"]) == ("My name", "sitemap")
    assert source(cli)["risk"] == ("LOW" if form == "csv" else "HIGH")


def xlsx(rows: list[list[str]]) -> bytes:
    """A workbook of one sheet, as small as programs take it."""
    ns = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    cells = "".join(
        f'<row r="{y}">'
        + "".join(
            f'<c r="{chr(65 + x)}{y}" t="inlineStr"><is><t>{escape(cell)}</t></is></c>'
            for x, cell in enumerate(row)
            if cell
        )
        + "</row>"
        for y, row in enumerate(rows, 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {ns} xmlns:r="{rel}"><sheets><sheet name="S" sheetId="1" r:id="r1"/>'
        "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{rel}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f"<worksheet {ns}><sheetData>{cells}</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def test_a_spreadsheet_is_read_as_a_table(cli: Cli, tmp_path: Path):
    file = tmp_path / "sources.xlsx"
    file.write_bytes(
        xlsx([["Link", "Title", "Priority"], [URL, "Rules", "high"], ["", "", ""], ["nonsense", "", ""]])
    )
    told = cli("import", str(file))
    assert told.code == 2
    assert "line 4: not taken" in told.out
    assert (source(cli)["name"], source(cli)["risk"]) == ("Rules", "HIGH")


@pytest.mark.parametrize(
    "data", [b"%PDF-1.7\n\xe2\xe3\x00", b"\x89PNG\r\n\x1a\n\x00\x00", bytes(range(256)) * 4]
)
def test_a_file_that_is_no_list_is_told_in_one_line(cli: Cli, tmp_path: Path, data: bytes):
    file = tmp_path / "what"
    file.write_bytes(data)
    told = cli("import", str(file))
    assert told.code == 2
    first, *_ = told.out.splitlines()
    assert first.startswith("line 1: not taken: the file is not a list of sources: it is not text")
    assert len(told.out) < 400


def test_a_broken_spreadsheet_is_told_in_one_line(cli: Cli, tmp_path: Path):
    file = tmp_path / "sources.xlsx"
    file.write_bytes(b"PK\x03\x04 and then nothing")
    told = cli("import", str(file))
    assert (told.code, len(told.err.splitlines())) == (2, 1)


WATCHING = {
    "watching": {
        "6b0f": {
            "url": URL,
            "title": "Rules",
            "paused": True,
            "time_between_check": {"weeks": None, "days": None, "hours": 2, "minutes": 30, "seconds": None},
            "headers": {"X-Team": "law", "Authorization": "env:HOME"},
            "fetch_backend": "html_webdriver",
            "include_filters": ["#main"],
            "previous_md5": "abc",
        },
        "77aa": {"url": "https://example.org/post", "method": "POST", "body": "x"},
        "88bb": {"title": "no address"},
    },
    "settings": {"application": {}},
}


def zipped(name: str, text: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, text)
    return file.getvalue()


@pytest.mark.parametrize("wrap", [lambda text: text.encode(), lambda text: zipped("url-watches.json", text)])
@pytest.mark.parametrize("indent", [None, 2])
def test_the_watches_of_changedetection_are_taken_from_its_json_and_its_backup(
    cli: Cli, wrap: Any, indent: Any
):
    told = cli("import", "-", "--json", stdin=wrap(json.dumps(WATCHING, indent=indent)))
    assert (told.code, told.json["format"], told.json["taken"]) == (2, "changedetection", 1)
    (line,) = told.json["lines"]
    assert line["not_carried_over"] == ["header Authorization"]
    assert source(cli)["filters"] == ["css: #main"]
    row = source(cli)
    assert (row["name"], row["active"], row["every"]) == ("Rules", False, "9000s")
    assert (row["requires_headless"], row["fetch"]) == (True, {"headers": {"X-Team": "law"}})
    why = [problem["why"] for problem in told.json["problems"]]
    assert why == [NOT_GET.format("POST"), "there is no url"]


JOBS = """\
url: https://example.org/rules
headers: {X-Team: law, X-Home: "env:HOME"}
cookies: {session: abc, lang: hr}
---
url: https://example.org/search
method: POST
data: {q: tax}
---
url: https://example.org/form
data: a=1
"""


def test_headers_of_a_job_are_carried_over_but_no_secret_and_a_post_is_not_made_a_get(cli: Cli):
    told = cli("import", "-", "--format", "urlwatch", "--json", stdin=JOBS.encode())
    assert (told.code, told.json["taken"]) == (2, 1)
    assert source(cli)["fetch"] == {"headers": {"X-Team": "law"}}
    assert told.json["lines"][0]["not_carried_over"] == ["header Cookie", "header X-Home"]
    assert [problem["why"] for problem in told.json["problems"]] == [NOT_GET.format("POST")] * 2


def test_ids_of_addresses_are_words_that_can_be_typed(cli: Cli):
    for url, name in (
        ("http://xn--mnchen-3ya.example/stra%C3%9Fe?q=%C5%BE", "munchen-example-strasse-q-z"),
        ("https://example.org/članak/šuma", "example-org-clanak-suma"),
    ):
        assert cli("add", url, "--json").json["source"] == name
    assert "münchen" in cli("list", "münchen").out
    assert "münchen" in cli("list", "--host", "münchen.example").out
    url = next(word for word in cli("list", "münchen").out.split() if word.startswith("http"))
    assert cli("explain", url).code == 0


def distill(*watches: dict[str, Any], as_text: bool = True) -> bytes:
    """An export of Distill Web Monitor: config and schedule are JSON within JSON, in some versions not."""
    nested = json.dumps if as_text else (lambda value: value)
    data = [
        {name: nested(value) if name in ("config", "schedule") else value for name, value in one.items()}
        for one in watches
    ]
    return json.dumps({"client": {"local": 1}, "data": data}).encode()


WATCH = {
    "id": "1f0c",
    "name": "Water charges",
    "uri": URL,
    "config": {
        "selections": [
            {
                "frames": [{"index": 0, "includes": [{"type": "css", "expr": "main"}], "excludes": []}],
                "dynamic": True,
            }
        ],
        "regexp": {"expr": "x", "flags": "gim"},
    },
    "tags": "town,water",
    "content_type": 2,
    "state": 40,
    "schedule": {"type": "INTERVAL", "params": {"interval": 3600}},
}


@pytest.mark.parametrize("as_text", [True, False])
def test_the_watches_of_distill_are_taken_from_its_export(cli: Cli, tmp_path: Path, as_text: bool):
    file = tmp_path / "distill-export.json"
    bad = {"name": "nothing", "config": {}}
    file.write_bytes(distill(WATCH, bad, {"uri": "https://b.example/", "config": None}, as_text=as_text))
    told = cli("import", str(file), "--json")
    assert (told.code, told.json["format"], told.json["taken"]) == (2, "distill", 2), told
    assert "there is no uri" in str(told.json)
    taken = source(cli)
    assert (taken["name"], taken["every"], taken["tags"]) == ("Water charges", "3600s", ["town", "water"])
    assert taken["requires_headless"] is True
    assert taken["filters"] == ["css: main", "regex: (?im)x"]
    assert "selections" not in str(told.json)
    assert source(cli, "https://b.example/")["lister"] == "page"


@pytest.mark.parametrize(
    "data",
    [b'{"data": 7}', b'{"data": [7]}', b'{"data": [{"uri": 7}]}', b'{"data": [{"uri": "x", "config": "{"}]}',
     b'{"data": [{"uri": "https://a.example/", "schedule": "[[[", "tags": 5, "config": {"selections": 3}}]}'],
)  # fmt: skip
def test_a_broken_export_of_distill_is_told_and_no_traceback(cli: Cli, data: bytes):
    told = cli("import", "-", "--format", "distill", stdin=data)
    assert told.code in (0, 2)
    assert "Traceback" not in told.err


def test_the_tags_of_changedetection_are_taken_by_their_titles(cli: Cli):
    said = {
        "watching": {
            "1": {"url": URL, "tags": ["aa", "bb", "zz"]},
            "2": {"url": "https://example.org/old", "tag": "law, tax"},
        },
        "settings": {"application": {"tags": {"aa": {"title": "Law"}, "bb": {"title": "Tax | VAT"}}}},
    }
    told = cli("import", "-", "--json", stdin=json.dumps(said).encode())
    assert told.code == 0
    assert source(cli)["tags"] == ["Law"]
    assert source(cli, "https://example.org/old")["tags"] == ["law", "tax"]
    assert told.json["lines"][0]["not_carried_over"] == ["tag Tax | VAT", "tag zz"]


def test_every_option_of_a_source_is_a_column_of_a_list():
    assert set(COLUMNS) == set(SourceConfig.model_fields)
    assert {"include", "exclude", "tags"} <= LISTS <= set(COLUMNS)
    assert {"fetch", "selectors", "traps", "structured"} == OBJECTS
