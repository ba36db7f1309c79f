"""rank: a file of signals in, the ranked URLs with their reasons out; no row is lost without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_call import Cli

NOW = "2024-06-15T12:00:00Z"
REUTERS = (
    '{"url": "https://reuters.com/world/europe", "visits": 150, "lastVisited": "2024-06-10T08:00:00Z", '
    '"lastChanged": "2024-06-14T22:00:00Z", "topicRelevance": 0.9, "hubDepth": 1, "isHub": true}'
)
PLAIN = '{"url": "https://example.org/plain"}'
DEEP = '{"url": "https://example.org/deep", "hub_depth": 4, "last_visited": "2024-06-15T11:30:00Z"}'
CSV = (
    "url,visits,lastVisited,last_changed,topicRelevance,hub_depth,isHub\n"
    "https://example.org/plain,,,,,,\n"
    "https://reuters.com/world/europe,150,2024-06-10T08:00:00Z,2024-06-14T22:00:00Z,0.9,1,TRUE\n"
    "https://example.org/deep,3,2024-06-15T11:30:00Z,,0,4,no\n"
)


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "none")


def saved(tmp_path: Path, *lines: str) -> str:
    place = tmp_path / "urls.jsonl"
    place.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(place)


def test_json_lines_come_out_ranked_with_level_and_reasons(cli: Cli, tmp_path: Path) -> None:
    told = cli("rank", saved(tmp_path, PLAIN, "", DEEP, REUTERS), "--now", NOW)
    assert told.code == 0
    assert told.out.splitlines() == [
        "SCORE  LEVEL      URL  REASONS",
        "   94  Very high  https://reuters.com/world/europe  "
        "Changed in last 24h, High topic relevance, Is a hub page",
        "   50  Medium     https://example.org/plain  -",
        "   15  Very low   https://example.org/deep  Recently visited (<1h), Deep URL",
    ]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf", b"\n \n"])
def test_csv_gives_what_json_lines_give_whatever_its_delimiter(
    cli: Cli, tmp_path: Path, delimiter: str, mark: bytes
) -> None:
    told = cli("rank", "-", "--now", NOW, "--json", stdin=mark + CSV.replace(",", delimiter).encode())
    lines = cli("rank", saved(tmp_path, PLAIN, REUTERS, DEEP), "--now", NOW, "--json")
    assert told.code == 0
    assert told.json == lines.json
    assert [one["score"] for one in told.json["ranked"]] == [94, 50, 15]


def test_the_json_document_says_all_of_it(cli: Cli, tmp_path: Path) -> None:
    said = cli("rank", saved(tmp_path, REUTERS, PLAIN, PLAIN), "--now", NOW, "--json").json
    assert said.pop("ranked")[0] == {
        "url": "https://reuters.com/world/europe",
        "score": 94,
        "level": "Very high",
        "reasons": ["Changed in last 24h", "High topic relevance", "Is a hub page"],
        "contributions": [
            {"code": "base", "points": 50},
            {"code": "changed_24h", "points": 20},
            {"code": "relevance", "points": 14},
            {"code": "hub", "points": 10},
        ],
    }
    assert said == {
        "now": "2024-06-15T12:00:00+00:00",
        "rows": 3,
        "bad": 0,
        "problems": [],
        "not_used": [],
        "repeated": 1,
    }


def test_top_and_min_score_cut_and_say_so(cli: Cli, tmp_path: Path) -> None:
    file = saved(tmp_path, PLAIN, REUTERS, DEEP)
    assert cli("rank", file, "--now", NOW, "--top", "1").out.count("https://") == 1
    assert "1 of 3" in cli("rank", file, "--now", NOW, "--top", "1").err
    assert len(cli("rank", file, "--now", NOW, "--min-score", "50", "--json").json["ranked"]) == 2
    assert len(cli("rank", file, "--now", NOW, "--min-score", "51", "--json").json["ranked"]) == 1
    assert cli("rank", file, "--now", NOW, "--min-score", "100", "--json").json["ranked"] == []
    assert len(cli("rank", file, "--now", NOW, "--top", "0", "--json").json["ranked"]) == 3


def test_without_now_the_clock_is_asked(cli: Cli, tmp_path: Path) -> None:
    said = cli("rank", saved(tmp_path, REUTERS), "--json").json  # the clock of the tests stands in 2026
    assert said["ranked"][0]["reasons"] == ["Not visited in 7+ days", "High topic relevance", "Is a hub page"]


BROKEN = [
    '{"url": "https://example.org/a", "topic_relevance": NaN}',
    PLAIN,
    "{broken",
    '["https://example.org/"]',
    '{"url": "https://example.org/b", "lastVisited": "2024-06-16T12:00:00Z"}',
    '{"visits": 1}',
    '{"url": "https://example.org/c", "is_hub": "maybe"}',
    '{"url": "https://example.org/d", "visits": -1}',
]


def test_bad_rows_are_all_counted_named_by_line_and_field_and_nothing_is_ranked(
    cli: Cli, tmp_path: Path
) -> None:
    told = cli("rank", saved(tmp_path, *BROKEN), "--now", NOW)
    assert (told.code, told.out) == (2, "")
    for words in (
        "7 of 8 rows",
        "line 1: topic_relevance is nan",
        "line 3: not JSON",
        "line 4: not a JSON object",
        "line 5: last_visited is 2024-06-16T12:00:00+00:00",
        "line 6: url is missing",
        "and 2 more",
        "--skip-bad",
    ):
        assert words in told.err
    assert json.loads(cli("rank", saved(tmp_path, *BROKEN), "--now", NOW, "--json").err)["code"] == 2


def test_skip_bad_ranks_the_others_and_still_counts(cli: Cli, tmp_path: Path) -> None:
    file = saved(tmp_path, *BROKEN)
    told = cli("rank", file, "--now", NOW, "--skip-bad")
    assert told.code == 0
    assert "https://example.org/plain" in told.out
    assert "7 rows left out: line 1: topic_relevance" in told.err
    said = cli("rank", file, "--now", NOW, "--skip-bad", "--json").json
    assert (said["rows"], said["bad"], len(said["problems"])) == (1, 7, 7)
    assert said["problems"][-1]["line"] == 8


def test_a_bad_csv_row_is_named_by_the_line_it_begins_in(cli: Cli) -> None:
    text = 'url,title,topic_relevance\nhttps://a.example/,"two\nlines",0.5\nhttps://b.example/,x\nhttps://c.example/,x,2\n'
    told = cli("rank", "-", stdin=text.encode())
    assert told.code == 2
    assert "line 4: 2 cells, the header has 3" in told.err
    assert "line 5: topic_relevance is 2.0" in told.err


def test_a_row_that_is_no_utf_8_is_bad_and_the_others_are_not(cli: Cli) -> None:
    lines = b'{"url": "https://a.example/\xff"}\n{"url": "https://b.example/"}\n'
    said = cli("rank", "-", "--skip-bad", "--json", stdin=lines).json
    assert (said["bad"], [one["url"] for one in said["ranked"]]) == (1, ["https://b.example/"])
    csv = b"url\nhttps://a.example/\xff\nhttps://b.example/\n"
    assert cli("rank", "-", "--skip-bad", "--json", stdin=csv).json["bad"] == 1


def test_columns_that_mean_nothing_are_named_with_what_they_may_mean(cli: Cli, tmp_path: Path) -> None:
    row = '{"url": "https://example.org/", "title": "x", "topicRelevence": 0.9}'
    told = cli("rank", saved(tmp_path, row))
    assert "not used: title, topicRelevence (did you mean topicRelevance?)" in told.err
    assert cli("rank", saved(tmp_path, row), "--json").json["not_used"] == ["title", "topicRelevence"]


@pytest.mark.parametrize("nothing", [b"", b"\n\n", b"url,visits\n"])
def test_nothing_ranks_as_nothing(cli: Cli, nothing: bytes) -> None:
    told = cli("rank", "-", stdin=nothing)
    assert (told.code, told.out) == (0, "")
    assert "no URLs" in told.err
    assert cli("rank", "-", "--json", stdin=nothing).json["ranked"] == []


def test_a_repeated_url_is_ranked_each_time_and_told(cli: Cli, tmp_path: Path) -> None:
    told = cli("rank", saved(tmp_path, PLAIN, PLAIN))
    assert told.out.count("https://example.org/plain") == 2
    assert "1 rows repeat a URL" in told.err


@pytest.mark.parametrize(
    ("words", "stdin", "said"),
    [
        (["rank", "no-such-file"], b"", "cannot read no-such-file"),
        (["rank", "."], b"", "cannot read .: Is a directory"),
        (["rank", "-"], b"[{}]", "JSON array"),
        (["rank", "-"], b"\xff\xfeu\x00", "UTF-16"),
        (["rank", "-"], b"address,visits\nx,1\n", "no column `url`"),
        (["rank", "-"], b"{" + b" " * 2**20, "line 1 is longer"),
        (["rank", "-", "--format", "jsn"], b"", "unknown format 'jsn'"),
        (["rank", "-", "--top", "-1"], b"", "--top"),
        (["rank", "-", "--min-score", "101"], b"", "--min-score"),
        (["rank", "-", "--now", "soon"], b"", "--now"),
    ],
)
def test_what_cannot_be_read_is_one_line_and_ends_with_2(
    cli: Cli, words: list[str], stdin: bytes, said: str
) -> None:
    told = cli(*words, stdin=stdin)
    assert (told.code, told.out) == (2, "")
    assert said in told.err
    assert len(told.err.splitlines()) == 1


def test_nothing_of_a_file_moves_the_terminal(cli: Cli, tmp_path: Path) -> None:
    row = '{"url": "https://example.org/\\u202e\\u001b[31m", "\\u001b[31mtitle": 1}'
    for told in (cli("rank", saved(tmp_path, row)), cli("rank", saved(tmp_path, row), "--json")):
        assert told.code == 0
        assert not any(char in told.out + told.err for char in "\x1b\u202e")


def test_more_rows_than_one_write_holds_are_one_document(cli: Cli, tmp_path: Path) -> None:
    rows = [f'{{"url": "https://example.org/{n}", "topic_relevance": {n % 11 / 10}}}' for n in range(4500)]
    said = cli("rank", saved(tmp_path, *rows), "--json").json
    scores = [one["score"] for one in said["ranked"]]
    assert len(scores) == 4500
    assert scores == sorted(scores, reverse=True)
    assert said["ranked"][0]["url"] == "https://example.org/10"
