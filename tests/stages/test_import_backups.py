"""Backups of changedetection.io and bookmarks of browsers: what is taken, what is told, and that nothing is lost."""

from __future__ import annotations

import html
import io
import json
import re
import tracemalloc
import zipfile
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import brotli
import pytest
from cli_call import Cli
from hypothesis import given, settings
from hypothesis import strategies as st
from stocked import blank
from web_kit import an_installation, serving

from vedette.contracts.errors import InputError
from vedette.operations.formats import changedetection as backups
from vedette.operations.formats import read
from vedette.operations.formats.changedetection_history import MOST_TEXT, PastReader
from vedette.operations.imported_history import imported_diff

URL = "https://example.org/rules"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    blank(tmp_path / "data")
    return Cli(tmp_path / "data")


def source(cli: Cli, url: str = URL) -> dict[str, Any]:
    lines = cli("export", "--format", "jsonl").out.splitlines()
    return next(row for row in map(json.loads, lines) if row["url"] == url)


def zipped(**files: str | bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return file.getvalue()


WATCH = {
    "url": URL,
    "title": "Rules",
    "tags": ["t1"],
    "time_between_check": {"hours": 6},
    "include_filters": [".price", "xpath://h1"],
    "ignore_text": ["Visitors:"],
    "headers": {"Authorization": "env:HOME"},
}
FOLDERS = {
    "w1/watch.json": json.dumps(WATCH),
    "w1/history.txt": "1714550400,a.txt\n1767225600,/datastore/w1/b.txt.br\n",
    "w1/a.txt": "old text",
    "w2/watch.json": json.dumps({"url": "https://example.org/two"}),
    "w3/watch.json": "{broken",
    "w4/watch.json": json.dumps({"url": "file:///etc/passwd"}),
    "t1/tag.json": json.dumps({"title": "Law"}),
    "changedetection.json": "{}",
}


def test_a_backup_with_a_folder_for_each_watch_keeps_watches_groups_intervals_and_tells_of_the_rest(cli: Cli):
    told = cli("import", "-", "--json", stdin=zipped(**FOLDERS))
    assert (told.code, told.json["format"], told.json["taken"], told.json["bad"]) == (
        2, "changedetection", 2, 2,
    )  # fmt: skip
    row = source(cli)
    assert (row["name"], row["tags"], row["every"]) == ("Rules", ["Law"], "21600s")
    assert row["note"] == (
        "changedetection.io: 2 versions from 2024-05-01 to 2026-01-01; include_filters .price, xpath://h1"
    )
    assert row["filters"] == ["ignore: Visitors:"]
    first = told.json["lines"][0]["not_carried_over"]
    assert first == [
        "header Authorization", "include_filters .price, xpath://h1", "1 of 2 versions from 2024-05-01 to 2026-01-01",
    ]  # fmt: skip
    assert "fetch" not in row, "a file reads no variable of ours"
    whys = [one["why"] for one in told.json["problems"]]
    assert whys[0] == "there is no url"
    assert "http" in whys[1]


def test_the_history_of_an_older_backup_is_told_and_a_note_of_ours_stays(cli: Cli):
    cli("add", URL)
    cli("note", URL, "mine")
    old = {"watching": {"w1": WATCH}, "settings": {"application": {"tags": {"t1": {"title": "Law"}}}}}
    files = {"url-watches.json": json.dumps(old), "w1/history.txt": FOLDERS["w1/history.txt"]}
    assert cli("import", "-", stdin=zipped(**files)).code == 0
    assert (source(cli)["note"], source(cli)["tags"]) == ("mine", ["Law"])


def test_a_backup_that_unpacks_to_more_than_a_list_can_be_is_refused_in_words(cli: Cli, monkeypatch):
    monkeypatch.setattr(backups, "MOST", 100_000)
    told = cli("import", "-", stdin=zipped(**{**FOLDERS, "w1/history.txt": "1" * 200_000}))
    assert told.code == 2
    assert "larger than" in told.err
    cut = cli("import", "x.zip", "--format", "changedetection")
    assert cut.code == 2
    broken = zipped(**FOLDERS)[:-40]
    assert "cannot be read" in cli("import", "-", "--format", "changedetection", stdin=broken).err


BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE><H1>Bookmarks</H1>
<DL><p>
    <DT><H3 ADD_DATE="1">Law</H3>
    <DL><p>
        <DT><A HREF="https://example.org/rules" ADD_DATE="1" TAGS="tax,vat">Rules &amp; <b>more</b></A>
        <DT><H3>Über | uns</H3>
        <DL><p>
            <DT><A HREF="https://example.org/two">Two</A>
        </DL><p>
    </DL><p>
    <DT><A HREF="javascript:alert(1)">run</A>
    <DT><A HREF="place:sort=8">most visited</A>
    <DT><A HREF="https://example.org/three">=cmd</A>
</DL><p>
"""


@pytest.mark.parametrize("name", ["bookmarks.html", "bookmarks.txt"])
def test_bookmarks_are_taken_with_their_folders_as_tags(cli: Cli, tmp_path: Path, name: str):
    (tmp_path / name).write_text(BOOKMARKS, "utf-8")
    told = cli("import", str(tmp_path / name), "--json")
    assert (told.code, told.json["format"], told.json["taken"]) == (2, "bookmarks", 3)
    assert (source(cli)["name"], source(cli)["tags"]) == ("Rules & more", ["Law", "tax", "vat"])
    assert source(cli, "https://example.org/two")["tags"] == ["Law"]
    assert "tags" not in source(cli, "https://example.org/three")
    assert [one["line"] for one in told.json["problems"]] == [13, 14]
    assert "folder Über | uns" in told.json["lines"][1]["not_carried_over"]


def test_a_page_that_is_no_list_is_told_so(cli: Cli):
    assert "no link" in cli("import", "-", "--format", "bookmarks", stdin=b"<p>nothing").out


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["bookmarks", "changedetection", "distill"]), st.binary(max_size=300))
def test_no_bytes_break_a_reader(form: str, data: bytes):
    with suppress(InputError):
        read(data, form, "x")


OLD, NEW = "Fee: 10 EUR\nOpen on Monday", "Fee: 12 EUR\nOpen on Monday"
LAYOUTS = {
    "a folder for each watch, packed": {
        "w1/watch.json": json.dumps({"url": URL}),
        "w1/history.txt": "1714550400,a.txt\n1767225600,b.txt.br\n1767225700,gone.txt\n1767225800,shot.png\n",
        "w1/a.txt": OLD,
        "w1/b.txt.br": brotli.compress(NEW.encode()),
    },
    "one list, whole paths": {
        "url-watches.json": json.dumps({"watching": {"w1": {"url": URL}}}),
        "w1/history.txt": "1714550400,/datastore/w1/a.txt\n1767225600,/datastore/w1/b.txt\n",
        "w1/a.txt": OLD,
        "w1/b.txt": NEW,
    },
    "one list that holds the history": {
        "url-watches.json": json.dumps(
            {
                "watching": {
                    "w1": {"url": URL, "history": {"1714550400": "/d/w1/a.txt", "1767225600": "b.txt"}}
                }
            }
        ),
        "w1/a.txt": OLD,
        "w1/b.txt": NEW,
    },
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_versions_of_a_backup_are_shown_as_imported_and_never_as_evidence(cli: Cli, layout: str):
    assert cli("import", "-", stdin=zipped(**LAYOUTS[layout])).code == 0
    cli("import", "-", stdin=zipped(**LAYOUTS[layout]))  # again: nothing comes twice
    told = cli("history", URL, "--json").json
    assert told["visits"] == []
    assert [(one["origin"], one["is_evidence"]) for one in told["imported"]] == [
        ("changedetection.io", False)
    ] * 2
    assert told["imported"][0]["at"].startswith("2026-01-01T00:00:00")
    assert "imported" in cli("history", URL).out
    found = imported_diff(an_installation(cli.data), URL, datetime(2026, 1, 1, tzinfo=UTC))
    assert found.text == NEW
    assert [(op.before, op.after) for op in found.ops if op.op != "equal"] == [
        (("Fee: 10 EUR",), ("Fee: 12 EUR",))
    ]
    assert cli("evidence", "show", URL, "--json").json["evidence"] == []
    assert cli("evidence", "verify").code == 0


def test_what_of_a_history_cannot_be_taken_is_told(cli: Cli):
    told = cli("import", "-", "--json", stdin=zipped(**LAYOUTS["a folder for each watch, packed"])).json
    (line,) = told["lines"]
    assert line["imported_versions"] == 2
    assert line["not_carried_over"] == ["2 of 4 versions from 2024-05-01 to 2026-01-01"]


def test_a_version_that_blows_up_or_leads_out_of_its_folder_is_left_out(cli: Cli):
    files = {
        "w1/watch.json": json.dumps({"url": URL}),
        "w1/history.txt": "1714550400,bomb.txt.br\n1714550401,../../secret.txt\n1714550402,broken.txt.br\n",
        "w1/bomb.txt.br": brotli.compress(b"a" * 50_000_000),
        "w1/broken.txt.br": b"no brotli",
        "secret.txt": "secret",
    }
    cli("import", "-", stdin=zipped(**files))
    assert "imported" not in cli("history", URL, "--json").json


def test_versions_that_may_not_be_kept_are_told_as_left_out(cli: Cli, tmp_path: Path):
    backup = zipped(**LAYOUTS["one list, whole paths"])
    config = tmp_path / "vedette.yaml"
    config.write_text("screen: [{name: fees, category: test, pattern: '12 EUR'}]\n")
    (line,) = cli("import", "-", "--json", "--config", str(config), stdin=backup).json["lines"]
    assert line["imported_versions"] == len(cli("history", URL, "--json").json["imported"]) == 1
    assert line["not_carried_over"] == ["1 of its versions may not be kept here"]
    cli("import", "-", stdin=json.dumps({"url": f"{URL}/two", "redact": True}).encode())
    moved = zipped(**{**LAYOUTS["one list, whole paths"], "url-watches.json": json.dumps(
        {"watching": {"w1": {"url": f"{URL}/two"}}})})  # fmt: skip
    (line,) = cli("import", "-", "--json", stdin=moved).json["lines"]
    assert "imported_versions" not in line
    assert line["not_carried_over"] == ["2 of its versions may not be kept here"]
    assert "imported" not in cli("history", f"{URL}/two", "--json").json


@pytest.mark.parametrize("damaged", ["w1/watch.json", "w1/a.txt"])
def test_a_damaged_file_of_a_backup_is_a_sentence_or_one_version_less(damaged: str):
    files = {**LAYOUTS["a folder for each watch, packed"], "w1/a.txt": OLD * 100}
    data = bytearray(zipped(**files))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        at = archive.getinfo(damaged).header_offset + 30 + len(damaged)
    data[at : at + 8] = b"\xff" * 8
    if damaged == "w1/a.txt":
        (entry,) = read(bytes(data), "changedetection", "x.zip")[1].entries
        assert [one.text for one in entry.past] == [NEW]
    else:
        with pytest.raises(InputError, match="cannot be read"):
            read(bytes(data), "changedetection", "x.zip")


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("bomb", ["w1/watch.json", "w1/a.txt"])
def test_a_backup_packed_so_that_no_limit_holds_while_it_unpacks_is_not_unpacked(packing: int, bomb: str):
    """Python unpacks these two kinds without an end: a kilobyte may become gigabytes."""
    files = {
        "w1/watch.json": json.dumps({"url": URL}),
        "w1/history.txt": "1714550400,a.txt\n",
        "w1/a.txt": OLD,
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(
                name, text + " " * 50_000_000 * (name == bomb), packing if name == bomb else None
            )
    tracemalloc.start()
    try:
        with suppress(InputError):
            (entry,) = read(file.getvalue(), "changedetection", "x.zip")[1].entries
            assert entry.past == ()
        assert tracemalloc.get_traced_memory()[1] < 20_000_000
    finally:
        tracemalloc.stop()


def test_all_versions_together_are_read_within_one_limit_also_those_that_are_left_out():
    names = [f"w{n}" for n in range(3)]
    files = {f"{one}/large.txt": "a" * (MOST_TEXT + 1) for one in names}
    files |= {f"{one}/a.txt": OLD for one in names}
    with zipfile.ZipFile(io.BytesIO(zipped(**files))) as archive:
        reader = PastReader(archive, frozenset(archive.namelist()), left=2 * MOST_TEXT)
        told = {1714550400: "large.txt", 1714550401: "a.txt"}
        assert [len(reader.versions(one, told)) for one in names] == [1, 0, 0]


@pytest.mark.parametrize("forged", [5, {"w1": [1]}])
def test_a_list_that_claims_to_hold_versions_itself_has_none(forged: object):
    whole = {"watching": {"w1": {"url": URL}}, "past": forged, "history": forged}
    (entry,) = read(json.dumps(whole).encode(), "changedetection", "x.json")[1].entries
    assert entry.past == ()


async def test_the_page_of_a_watch_marks_imported_versions_as_no_evidence(cli: Cli):
    cli("import", "-", stdin=zipped(**LAYOUTS["one list, whole paths"]))
    async with serving(an_installation(cli.data)) as client:
        page = await client.ask(f"/watch?url={quote(URL, safe='')}")
        assert "Imported versions" in page.text
        link = html.unescape(re.search(r'href="(/watch/imported[^"]+)"', page.text)[1])
        shown = await client.ask(link)
    assert "no evidence of ours" in shown.text
    assert "12" in shown.text
