"""What was kept can be read: by the verb, and by a program that knows nothing but the table of 001."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from scripted import START, Life, life, page
from stocked import FixedClock
from terminal import in_terminal

from vedette.contracts.watch import Located
from vedette.evidence.read_records import read_payload
from vedette.operations.evidence import raw_content

URL, BROKEN = "https://ured.hr/obavijest", "https://ured.hr/nema"
FIRST, SECOND = page("Stopa je 25 %."), page("Stopa je 24 %.")
NAMES = "id sourceId url rawContent contentHash contentType contentClass hasChanged changeSummary fetchedAt"
FIELDS_001 = NAMES.split()


def script(url: str, hours: float) -> tuple[int, str]:
    if url == BROKEN:
        return 500, page("Greška")
    return (200, "") if url.endswith("robots.txt") else (200, FIRST if hours < 6 else SECOND)


@pytest.fixture
async def watched(tmp_path: Path) -> Life:
    made = life(tmp_path / "data", script, *({"url": url, "lister": "page"} for url in (URL, BROKEN)))
    await made.run(seconds=24 * 3600)
    return made


@pytest.fixture
def cli(watched: Life) -> Cli:
    return Cli(watched.data, clock=FixedClock(watched.clock.now()))


@pytest.fixture
async def hostile(tmp_path: Path) -> Life:
    text = page("Red\x1b[2J and \x1b]0;title\x07 and \x9b31m said.")
    made = life(tmp_path / "data", lambda url, hours: (200, text), {"url": URL, "lister": "page"})
    await made.run(seconds=60)
    return made


@pytest.mark.parametrize("words", [(), ("--text",)])
def test_a_terminal_shows_the_control_characters_of_a_page_and_a_pipe_gets_them(
    hostile: Life, tmp_path: Path, words: tuple[str, ...]
):
    """N9."""
    command = [sys.executable, "-m", "vedette", "evidence", "cat", URL, "--data", str(hostile.data), *words]
    shot = in_terminal(command, (200, 50), cwd=tmp_path)
    assert (shot.code, "\\x1b[2J and \\x1b]0;title\\x07" in shot.text) == (0, True), shot.text
    assert not set("\x1b\x07\x9b") & set(shot.raw)
    if not words:
        assert b"\x1b[2J" in subprocess.run(command, capture_output=True, check=True).stdout
        assert "\x1b[2J" in in_terminal([*command, "--raw"], (200, 50), cwd=tmp_path).raw


def test_a_page_is_printed_as_it_came(watched: Life):
    told = subprocess.run(
        [sys.executable, "-m", "vedette", "evidence", "cat", URL, "--data", str(watched.data)],
        capture_output=True,
        check=True,
        cwd=watched.data.parent,
    )
    assert told.stdout == SECOND.encode()


def test_a_page_is_given_as_it_was_at_a_time_and_as_text(watched: Life, cli: Cli):
    early = (START + timedelta(hours=3)).isoformat()
    assert cli("evidence", "cat", URL, "--at", early, "--json").json["rawContent"] == FIRST
    now = cli("evidence", "cat", URL, "--json").json
    assert now["rawContent"] == SECOND
    assert now["digest"] == hashlib.sha256(SECOND.encode()).hexdigest()
    lines = cli("evidence", "cat", URL, "--text").out.splitlines()
    assert "Stopa je 24 %." in lines
    number = now["evidence"]
    assert cli("evidence", "cat", str(number), "--json").json == now
    assert cli("evidence", "cat", now["digest"], "--json").json == now


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((URL, "--at", "2020-01-01"), 1),
        (("https://nobody.example/",), 1),
        ((URL, "--raw", "--text"), 2),
        (("12345",), 1),
    ],
    ids=str,
)
def test_what_is_not_there_is_said(cli: Cli, words: tuple[str, ...], code: int):
    assert cli("evidence", "cat", *words).code == code


def test_a_program_that_knows_only_001_reads_rawContent(watched: Life, cli: Cli, tmp_path: Path):
    told = cli("evidence", "export", "--as-001", "--to", str(tmp_path / "evidence.db"), "--json")
    assert told.json == {"file": str(tmp_path / "evidence.db"), "rows": 2, "lost": 0}
    db = sqlite3.connect(tmp_path / "evidence.db")
    rows = db.execute(f"SELECT {', '.join(FIELDS_001)} FROM Evidence ORDER BY fetchedAt").fetchall()
    db.close()
    found = [dict(zip(FIELDS_001, row, strict=True)) for row in rows]
    assert [one["rawContent"] for one in found] == [FIRST, SECOND]
    assert [one["hasChanged"] for one in found] == [0, 1]
    for one in found:
        assert one["contentHash"] == hashlib.sha256(one["rawContent"].encode()).hexdigest()
        assert one["url"] == URL
    assert cli("evidence", "export", "--as-001", "--to", str(tmp_path / "evidence.db")).code == 2
    assert cli("evidence", "export", "--to", str(tmp_path / "x.warc.gz")).code == 2


def test_any_program_reads_the_record_at_the_place_that_the_view_names(watched: Life):
    query = 'SELECT rawContentFile, rawContentOffset, rawContentLength, contentHash FROM "RegulatoryEvidence"'
    for file, offset, length, digest in watched.rows(query):
        place = Located(segment=file.removesuffix(".warc.gz"), offset=offset, length=length)
        assert hashlib.sha256(read_payload(watched.data / "archive", place).wire).hexdigest() == digest


@pytest.mark.parametrize(
    ("body", "kind", "content_type", "expected"),
    [
        ("šuma".encode(), "HTML", "text/html", ("šuma", "utf-8")),
        ("šuma".encode("cp1250"), "HTML", "text/html; charset=windows-1250", ("šuma", "from windows-1250")),
        (
            b"%PDF-1.4 \xff",
            "PDF_TEXT",
            "application/pdf",
            (base64.b64encode(b"%PDF-1.4 \xff").decode(), "base64"),
        ),
    ],
)
def test_raw_content_is_text_or_base64(body: bytes, kind: str, content_type: str, expected: tuple[str, str]):
    assert raw_content(body, kind, content_type) == expected


def test_show_says_what_each_kept_answer_is(cli: Cli):
    kept = cli("evidence", "show", BROKEN, "--json").json["evidence"]
    assert {(one["standing"], one["status"], one["outcome"]) for one in kept} == {
        ("no_content", 500, "server_error")
    }
    assert "500 server_error" in cli("evidence", "show", BROKEN).out
    assert "content" in json.dumps(cli("evidence", "show", URL, "--json").json)
