"""What a hostile page writes is text wherever it is shown: terminal, CSV, forms of the dashboard."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from cli_call import Cli
from stocked import HOUR, NOW, Stock, a_change, stocked
from test_dashboard_pages import PAYLOADS, SAME, Tags
from web_kit import an_installation, serving

from vedette.contracts.change import DiffOp
from vedette.contracts.copies import replace
from vedette.contracts.words import Outcome

TERMINAL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08hidden\u202e\u2066"
FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "\t=1+1", "\r=1+1")
MARKDOWN = "[click](javascript:alert(1)) ![x](http://evil.example/beacon) `code`"
PLANTED = " ".join((*PAYLOADS, TERMINAL, MARKDOWN))
# Of the controls only the line end; nothing that turns or hides text.
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def planted(data: Path, words: str) -> tuple[Stock, str]:
    """The words in name, title, text, diff, summary, detail, alert and address of one page."""
    stock = stocked(data)
    url = f"https://example.org/{quote(words, safe='')}"
    stock.source(url, name=words)
    stock.visit(url, title=words, at=NOW - 3 * HOUR, body=words)

    def evil(watch, after):
        made = a_change(number=99)(watch, after)
        ops = (DiffOp("replace", (words,), (words + "!",), ((words, words),)), DiffOp("insert", (), (words,)))
        return replace(made, comparison=replace(made.comparison, summary=words, diff=ops))

    stock.visit(url, title=words, change=evil, body=words + "!")
    stock.visit(url, outcome=Outcome.SERVER_ERROR, detail=words, at=NOW - HOUR / 2)
    stock.execute("INSERT INTO parked VALUES (1, ?, 'server_error', ?, 3, 0)", url + "&p", words)
    stock.execute(
        "INSERT INTO alerts (kind, kinds, subject, risk, sources, detail, opened_at, relapses) "
        "VALUES ('ENDPOINT_SLA_BREACH', '[]', ?, 3, '[]', ?, 0, 0)", f"host:{words}", words,
    )  # fmt: skip
    return stock, url


VERBS = (
    "list", "sources list", "changes --state all", "changes --diff", "due", "lanes show", "health", "alerts", "parked",
    "explain URL", "why-not URL", "history URL", "diff URL", "diff URL --words", "evidence show URL", "digest",
)  # fmt: skip


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_lets_a_page_speak_to_the_terminal(tmp_path: Path, verb: str):
    _, url = planted(tmp_path, PLANTED)
    told = Cli(tmp_path)(*(url if word == "URL" else word for word in verb.split()))
    assert "Traceback" not in told.err
    assert not told.err.startswith("vedette: No such"), told.err
    assert CONTROL.findall(told.out + told.err) == []


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("what", ["sources", "watches", "changes"])
def test_no_cell_of_an_export_is_a_formula(tmp_path: Path, formula: str, what: str):
    planted(tmp_path, formula)
    told = Cli(tmp_path)("export", "--what", what, "--format", "csv")
    cells = [cell for row in csv.reader(io.StringIO(told.out)) for cell in row]
    assert told.code == 0
    assert any(formula.strip() in cell for cell in cells) or what == "watches"
    assert [
        cell for cell in cells if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not cell[1:].isdigit()
    ] == []


async def test_the_page_of_filters_shows_what_was_typed_as_text(tmp_path: Path):
    _, url = planted(tmp_path, PLANTED)
    async with serving(an_installation(tmp_path, fetch={"nameservers": ["127.0.0.1:9"]})) as client:
        answers = [await client.ask(f"/filters?url={quote(url, safe='')}")]
        for path in ("/filters/try", "/filters/save"):
            given = {"url": url, "filters": f"keep: {PLANTED}\n{PLANTED}: x"}
            answers.append(await client.post(path, data=given, headers=SAME))
    assert [one.status for one in answers] == [200, 422, 422]
    for answer in answers:
        tags = Tags(answer.text)
        assert (tags.bad, "inline" in tags.scripts) == ([], False)
    assert all("&lt;script&gt;alert(1)" in one.text for one in answers)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1"])
async def test_no_other_origin_writes_a_filter_or_reads_an_answer(tmp_path: Path, origin: str):
    _, url = planted(tmp_path, "plain")
    foreign = {"Origin": origin, "Sec-Fetch-Site": "cross-site"}
    async with serving(an_installation(tmp_path)) as client:
        for path in ("/filters/save", "/filters/try"):
            answer = await client.post(path, data={"url": url, "filters": "css: p"}, headers=foreign)
            assert answer.status == 403, path
        read = await client.ask("/api/v1/sources", headers=foreign)
        kept = await client.ask(f"/api/v1/sources/{quote(url, safe='')}/filters", headers=SAME)
    assert "Access-Control-Allow-Origin" not in read.headers
    assert kept.status >= 400 or kept.json["filters"] == []
