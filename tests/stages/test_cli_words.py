"""Words that mean what everyone means: numbers that another verb takes, names that are checked, sources at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import HOUR, NEWS, NOW, RULES, Stock, a_change, blank, stocked


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return stocked(tmp_path / "data")


@pytest.fixture
def cli(stock: Stock) -> Cli:
    return Cli(stock.data)


def configured(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "vedette.yaml"
    path.write_text(text, encoding="utf-8")
    return ["--config", str(path)]


TWO = """\
sources:
- {url: https://example.org/a, name: Alpha}
- {url: https://example.org/b, name: Beta, active: false}
"""


def test_changes_shows_a_number_that_diff_takes_also_for_the_change_before_the_last(cli: Cli, stock: Stock):
    first, second = 910_218_962_434_785_280, 910_218_962_434_785_281
    stock.visit(RULES, at=NOW - HOUR / 2, body="PDV 23", change=a_change(at=NOW - HOUR / 2, number=first))
    stock.visit(RULES, at=NOW - HOUR / 4, body="PDV 22", change=a_change(at=NOW - HOUR / 4, number=second))
    lines = [line.split()[0] for line in cli("changes").out.splitlines()]
    assert lines == ["3", "2", "1"]
    assert [one["number"] for one in cli("changes", "--json").json["changes"]] == [3, 2, 1]
    assert cli("diff", "2", "--json").json["change"] == first
    assert cli("diff", str(second), "--json").json["number"] == 3
    told = cli("diff", "4")
    assert (told.code, told.err) == (
        1,
        "vedette: there is no change 4; `vedette changes --state all` shows them\n",
    )


def test_diff_of_a_url_names_the_number_and_how_to_see_the_one_before(cli: Cli, stock: Stock):
    stock.visit(RULES, at=NOW - HOUR / 2, body="PDV 23", change=a_change(at=NOW - HOUR / 2, number=2**60))
    told = cli("diff", RULES)
    assert "vedette diff 1" in told.err


def test_digits_that_history_prints_are_taken_by_evidence_show(cli: Cli):
    (digits,) = re.findall(r" ([0-9a-f]{12})\b", cli("history", RULES).out.splitlines()[1])
    assert cli("evidence", "show", digits, "--json").json["evidence"][0]["url"] == RULES
    assert cli("evidence", "show", digits[:6], "--json").code == 0
    told = cli("evidence", "show", "abc")
    assert (told.code, "at least 6 digits" in told.err) == (2, True)


def test_digits_that_mean_several_contents_are_an_error_that_names_them(cli: Cli, stock: Stock):
    numbers = (bytes(31) + bytes([n]) for n in range(9))
    for number in (1001, 1002):
        stock.execute("UPDATE evidence SET digest = ? WHERE id = ?", next(numbers), number)
    told = cli("evidence", "show", "0" * 12)
    assert told.code == 2
    assert "2 contents begin with" in told.err


def test_sources_of_the_configuration_are_shown_before_the_first_run(tmp_path: Path):
    cli, words = Cli(tmp_path / "data"), configured(tmp_path, TWO)
    blank(tmp_path / "data")
    told = cli("sources", *words, "--json").json["sources"]
    assert [(one["id"], one["active"], one["watches"]) for one in told] == [
        ("alpha", True, 0),
        ("beta", False, 0),
    ]
    assert "not looked at yet" in cli("sources", *words).out
    assert "2 sources of vedette.yaml not looked at yet: alpha, beta" in cli("list", *words).err
    assert "alpha" in cli("health", *words).err
    assert "https://example.org/a" in cli("export", *words, "--format", "urls").out
    told = cli("explain", "https://example.org/a", *words)
    assert (told.code, "vedette run" in told.err, "why-not" in told.err) == (1, True, False)
    assert cli("why-not", "https://example.org/a", *words, "--json").json["reason"] == "not_taken_in"


def test_sources_of_the_configuration_are_shown_without_a_store(tmp_path: Path):
    cli, words = Cli(tmp_path / "data"), configured(tmp_path, TWO)
    told = cli("sources", *words)
    assert (told.code, "alpha" in told.out) == (0, True)
    assert not (tmp_path / "data").exists()


def test_a_source_of_the_configuration_can_be_paused_before_the_first_run(tmp_path: Path):
    cli, words = Cli(tmp_path / "data"), configured(tmp_path, TWO)
    assert cli("sources", "pause", "alpha", *words).code == 0
    assert cli("sources", *words, "--json").json["sources"][0]["active"] is False


@pytest.mark.parametrize(
    "words",
    [
        ["sources", "pause", "rulse"],
        ["sources", "resume", "rulse"],
        ["sources", "reset", "rulse"],
        ["sources", "remove", "rulse"],
        ["sources", "check", "rulse"],
        ["look", "--source", "rulse"],
        ["list", "--source", "rulse"],
        ["due", "--source", "rulse"],
        ["changes", "--source", "rulse"],
        ["run", "--once", "--source", "rulse"],
        ["run", "--queued", "--source", "rulse"],
        ["pause", "rulse"],
        ["resume", "rulse"],
        ["remove", "rulse"],
    ],
)
def test_a_mistyped_source_is_an_error_that_names_the_nearest_wherever_an_id_is_taken(
    cli: Cli, words: list[str]
):
    told = cli(*words)
    assert (told.code, "'rulse'" in told.err, "did you mean 'rules'?" in told.err) == (2, True, True)


@pytest.mark.parametrize(
    ("words", "nearest"),
    [
        (["run", "--once", "--tier", "hihg"], "HIGH"),
        (["add", "https://example.org/x", "--tier", "hihg"], "HIGH"),
        (["add", "https://example.org/x", "--risk", "critcal"], "CRITICAL"),
        (["add", "https://example.org/x", "--lister", "fede"], "feed"),
        (["list", "--risk", "lwo"], "LOW"),
        (["list", "--outcome", "robots_refusd"], "robots_refused"),
        (["changes", "--state", "reportd"], "reported"),
        (["lanes", "reset", "exmaple.org"], "host:example.org"),
        (["lanes", "block", "exmaple.org"], "host:example.org"),
        (["list", "--host", "exmaple.org"], "example.org"),
        (["export", "--what", "watchs"], "watches"),
        (["export", "--format", "cvs"], "csv"),
        (["import", "-", "--format", "cvs"], "csv"),
    ],
)
def test_a_mistyped_word_is_bad_input_that_names_the_nearest(cli: Cli, words: list[str], nearest: str):
    told = cli(*words)
    assert told.code == 2, told
    assert f"did you mean {nearest!r}?" in told.err


def test_quiet_says_results_and_errors_only(tmp_path: Path):
    cli = Cli(tmp_path / "data")
    made = cli("init", "--config", str(tmp_path / "vedette.yaml"), "-q")
    added = cli("add", "https://example.org/x", "-q")
    paused = cli("sources", "pause", "example-org-x", "-q")
    assert [(told.code, told.out, told.err) for told in (made, added, paused)] == [(0, "", "")] * 3
    assert "https://example.org/x" in cli("list", "-q").out


def test_pages_are_paused_resumed_and_removed_by_their_url(cli: Cli, stock: Stock):
    assert cli("pause", RULES).code == 0
    assert stock.watch(RULES).due_at is None
    assert cli("why-not", RULES, "--json").json["reason"] == "paused"
    assert cli("resume", RULES).code == 0
    assert stock.watch(RULES).due_at is not None
    told = cli("remove", RULES)
    assert (told.code, "its history stays" in told.out) == (0, True)
    assert RULES not in cli("list").out
    assert cli("history", RULES).code == 0
    assert cli("sources", "remove", NEWS).code == 0


def test_the_store_gives_the_signals_that_rank_scores(cli: Cli, tmp_path: Path):
    file = tmp_path / "signals.jsonl"
    assert cli("export", "--what", "signals", "--format", "jsonl", "--to", str(file)).code == 0
    ranked = {one["url"]: one for one in cli("rank", str(file), "--json").json["ranked"]}
    assert ranked[RULES]["reasons"] == ["Visited today", "Changed in last 24h"]
    assert "Is a hub page" in ranked[NEWS]["reasons"]
    told = cli("rank", str(file), "--json").json
    assert (told["bad"], told["not_used"]) == (0, [])
    assert cli("export", "--what", "signals", "--format", "csv").out.splitlines()[0].startswith("url,visits,")
    assert cli("export", "--what", "signals", "--format", "opml").code == 2


def test_removed_and_merged_watches_are_not_listed_among_what_is_watched(cli: Cli):
    cli("sources", "remove", "rules")
    assert RULES not in cli("list").out


SETTINGS = """\
fetch:
  redirects: 3
  headers: {Authorization: "env:NO_SUCH_VARIABLE", X-Key: hunter2}
sources:
- url: https://example.org/a
  lister: feed
lanes:
  "host:example.org": {per_minute: 6}
"""


def test_config_show_has_every_setting_with_its_value_and_where_that_comes_from(tmp_path: Path):
    cli, words = Cli(tmp_path / "data"), configured(tmp_path, SETTINGS)
    told = {
        one["key"]: (one["value"], one["from"])
        for one in cli("config", "show", *words, "--json").json["settings"]
    }
    path = words[1]
    assert told["fetch.redirects"] == (3, f"{path}:2")
    assert told["fetch.total_timeout"] == ("30s", "default")
    assert told["sources.0.lister"] == ("feed", f"{path}:6")
    assert told["lanes.host:example.org.per_minute"] == (6.0, f"{path}:8")
    assert told["data"] == (str(tmp_path / "data"), "--data")
    shown = cli("config", "show", "headers", *words).out
    assert "env:NO_SUCH_VARIABLE (not set)" in shown
    assert "hunter2" not in shown
    only = cli("config", "show", "--set", *words, "--json").json["settings"]
    assert len(only) == 6


HOOK = "notify: {channels: {hook: {kind: webhook, url: 'https://hooks.example/x', secret: 'env:NO_SUCH_SECRET'}}}\n"


def test_doctor_names_a_secret_that_is_not_set_wherever_it_is_asked_for(tmp_path: Path, stock: Stock):
    cli, words = Cli(stock.data), configured(tmp_path, HOOK)
    cli("add", "https://example.org/x", "--header", "X-Key: env:NO_SUCH_KEY", *words)
    told = {one["check"]: one for one in cli("doctor", *words, "--json").json["checks"]}
    assert told["config"]["state"] == "ok"
    assert told["secrets"]["state"] == "bad"
    assert "NO_SUCH_SECRET (asked for by `notify.channels.hook.secret`)" in told["secrets"]["found"]
    assert "NO_SUCH_KEY (asked for by source example-org-x)" in told["secrets"]["found"]
    assert told["channels"]["state"] == "bad"
    assert cli("doctor", *words).code == 6


def test_doctor_names_the_channels_that_are_there(tmp_path: Path, stock: Stock):
    words = configured(tmp_path, "notify: {channels: {out: {kind: stdout}}}\n")
    told = {one["check"]: one for one in Cli(stock.data)("doctor", *words, "--json").json["checks"]}
    assert (told["channels"]["state"], "out (stdout)" in told["channels"]["found"]) == ("ok", True)
    assert told["secrets"]["state"] == "ok"


def test_history_marks_the_look_that_first_showed_a_change_with_its_number(cli: Cli):
    newest, oldest = cli("history", RULES).out.splitlines()[1:3]
    assert "change 1" in newest
    assert "change" not in oldest


def on_a_terminal(wide: int, *words: str) -> list[str]:
    """What the program prints on a terminal of that width."""
    ours, theirs = os.openpty()
    env = {**os.environ, "COLUMNS": str(wide), "TERM": "xterm", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "vedette", *words], stdout=theirs, stderr=theirs, env=env
    ) as run:
        os.close(theirs)
        said = b""
        with suppress(OSError):  # EIO: the other end is closed
            while part := os.read(ours, 65536):
                said += part
    os.close(ours)
    assert run.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", said.decode()).splitlines()


@pytest.mark.parametrize("wide", [80, 100, 200])
def test_a_narrow_terminal_is_spared_columns_and_no_time_outcome_or_number_is_folded(stock: Stock, wide: int):
    data = ["--data", str(stock.data)]
    history = on_a_terminal(wide, "history", RULES, *data)
    assert any(re.search(r"2026-11-15 11:00:00Z +ok .*change 1 .*2883cf53438b", line) for line in history)
    sources = on_a_terminal(wide, "sources", *data)
    assert any("not seen: robots_refused" in line for line in sources)
    page = on_a_terminal(wide, "help")
    assert max(map(len, page)) <= wide


def test_tags_pick_sources_watches_and_changes(cli: Cli, tmp_path: Path):
    assert cli("add", RULES, "--tag", "law", "--tag", "tax").code == 0
    assert [one["id"] for one in cli("sources", "list", "--tag", "tax", "--json").json["sources"]] == [
        "rules"
    ]
    assert [one["url"] for one in cli("list", "--tag", "law", "--json").json["watches"]] == [RULES]
    assert len(cli("changes", "--tag", "law", "--json").json["changes"]) == 1
    told = cli("list", "--tag", "lwa")
    assert (told.code, "did you mean 'law'?" in told.err) == (2, True)
    table = cli("export", "--format", "csv").out
    assert "law|tax" in table
    again = Cli(tmp_path / "again")
    blank(tmp_path / "again")
    assert again("import", "-", stdin=table.encode()).code == 0
    assert [one["id"] for one in again("sources", "list", "--tag", "tax", "--json").json["sources"]] == [
        "rules"
    ]


def test_sources_of_one_name_have_ids_that_can_be_read_and_stay(tmp_path: Path):
    rows = [
        {"name": "News", "url": f"https://a.example/{end}"}
        for end in ("one", "two/", "x/two", "2026/?page=3", "")
    ]
    config = tmp_path / "vedette.yaml"
    config.write_text(json.dumps({"sources": rows}))
    told = Cli(tmp_path / "data")("--config", str(config), "sources", "--json").json["sources"]
    ids = {one["url"]: one["id"] for one in told}
    assert ids["https://a.example/one"] == "news"
    assert ids["https://a.example/two/"] == "news-two"
    assert ids["https://a.example/2026/?page=3"] == "news-2026"
    assert ids["https://a.example/"] == "news-a-example"
    assert len(set(ids.values())) == len(rows)
    cli = Cli(tmp_path / "other")
    for row in rows:
        assert cli("add", row["url"], "--name", row["name"]).code == 0
    assert {one["url"]: one["id"] for one in cli("sources", "--json").json["sources"]} == ids
