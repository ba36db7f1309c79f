"""Croatian letters from the wire to the output: in the URL, the header's charset, the text, the diff and the JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cli_call import Cli
from document_kit import word_file
from scripted import Life, Scripted, life, page

from vedette.contracts.fetch import Fetched, FetchRequest

DAY = 86400.0
TYPED = "https://uprava.example/propisi/šume-i-đaci?upit=čćžšđ ČĆŽŠĐ"
SENT = "https://uprava.example/propisi/%C5%A1ume-i-%C4%91aci?upit=%C4%8D%C4%87%C5%BE%C5%A1%C4%91%20%C4%8C%C4%86%C5%BD%C5%A0%C4%90"
BEFORE, AFTER = "Žalba Čakovca: đak čita 24 šume, ćuti.", "Žalba Čakovca: đak čita 25 šuma, ćuti."
TITLE = "Čišćenje šuma: Đurđica Žgela"


class Encoded(Scripted):
    """Answers in one charset, named by the header, by the page, or by nobody."""

    charset, header, head = "utf-8", "", ""

    async def fetch(self, request: FetchRequest) -> Fetched:
        answer = await super().fetch(request)
        if answer.status == 404:
            return answer
        body = answer.body.decode().encode(self.charset)
        return replace(answer, body=body, wire=body, headers=(), content_type=self.header)


def watched_in(folder: Path, charset: str, header: str, head: str = "") -> Life:
    def script(url: str, hours: float) -> tuple[int, str]:
        if url.endswith("/robots.txt"):
            return 200, ""
        return 200, page(BEFORE if hours < 6 else AFTER, title=TITLE, head=head)

    watched = life(folder, script, {"url": TYPED, "lister": "page"})
    watched.fetcher = Encoded(watched.clock, script)
    watched.fetcher.charset, watched.fetcher.header = charset, header
    return watched


@pytest.mark.parametrize(
    ("charset", "header", "head"),
    [
        ("utf-8", "text/html; charset=utf-8", ""),
        ("cp1250", "text/html; charset=windows-1250", ""),
        ("iso-8859-2", "text/html; charset=ISO-8859-2", ""),
        ("cp1250", "text/html", '<meta charset="windows-1250">'),
        ("cp1250", "text/html", ""),
        ("cp1250", "text/html; charset=utf-8", ""),
        ("utf-16", "text/html", ""),
    ],
)
async def test_letters_are_the_same_from_the_wire_to_the_diff(
    tmp_path: Path, charset: str, header: str, head: str
):
    watched = watched_in(tmp_path, charset, header, head)
    await watched.run(seconds=DAY)
    assert {asked for _, asked in watched.fetcher.asked if "robots" not in asked} == {SENT}
    cli = Cli(tmp_path)
    (change,) = cli("changes", "--json").json["changes"]
    told = cli("diff", TYPED, "--json")
    for words in (BEFORE, AFTER):
        assert words in told.out  # as letters, not as \u0161
        assert words in json.dumps(told.json, ensure_ascii=False)
    assert "šuma" in cli("diff", TYPED).out
    assert change["url"] == SENT
    explained = cli("explain", TYPED, "--json").json
    assert (explained["url"], explained["title"]) == (SENT, TITLE)
    assert "/propisi/šume-i-đaci" in cli("explain", TYPED).out  # people read letters
    assert cli("explain", SENT, "--json").json == explained  # either spelling is the same page


async def test_letters_of_a_document_are_the_same_in_its_diff(tmp_path: Path):
    watched = watched_in(tmp_path, "utf-8", "")
    before = word_file()
    after = word_file(edit=lambda made: made.add_paragraph(AFTER) and None)

    class Files(Scripted):
        async def fetch(self, request: FetchRequest) -> Fetched:
            answer = await super().fetch(request)
            body = before if self.asked[-1][0] < 6 else after
            return answer if answer.status == 404 else replace(answer, body=body, wire=body, headers=())

    watched.fetcher = Files(watched.clock, lambda url, hours: (200, ""))
    await watched.run(seconds=DAY)
    assert AFTER in Cli(tmp_path)("diff", TYPED, "--json").out
    assert Cli(tmp_path)("explain", TYPED, "--json").json["title"] == "Pravilnik o čuđenju šume"
