"""init, add, import, export: what is watched."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import NOW, Stock, blank

from vedette.config import model as config
from vedette.core.urls.canonical import watch_id
from vedette.store.queries import Queries

URLWATCH = b"""\
name: Rules
url: https://example.org/rules
filter:
  - css: main
---
# a comment
navigate: https://spa.example.org/app
name: App
timeout: 20
---
command: uptime
---
url: [broken
---
url: https://example.org/last
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    blank(tmp_path / "data")
    return Cli(tmp_path / "data")


def sources(cli: Cli) -> dict[str, dict[str, object]]:
    return {source["url"]: source for source in cli("sources", "--json").json["sources"]}


def test_init_writes_a_configuration_that_is_valid_and_makes_the_store(tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    told = Cli(tmp_path / "data")("init", "--config", str(path), "--json")
    assert told.code == 0
    assert config.read(path) == config.parse({"data": "vedette-data", **_written()})
    assert json.loads((tmp_path / "vedette.schema.json").read_text())["properties"]["sources"]
    assert Path(told.json["store"]).exists()


def _written() -> dict[str, object]:
    return {
        "fetch": {"total_timeout": "30s", "body_limit": "10 MiB"},
        "lanes": {"default": {"gap_min": "2s", "gap_max": "5s", "per_minute": 20, "at_once": 1}},
    }


def test_init_does_not_overwrite_unless_it_is_forced(tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    path.write_text("data: mine\n")
    cli = Cli(tmp_path / "data")
    told = cli("init", "--config", str(path))
    assert told.code == 3
    assert told.err == f"vedette: {path} exists; edit it, or overwrite it with --force\n"
    assert path.read_text() == "data: mine\n"
    assert cli("init", "--config", str(path), "--force").code == 0
    assert path.read_text() != "data: mine\n"


def test_add_makes_a_source_and_a_watch_that_is_due_now_and_tells_the_engine(cli: Cli):
    told = cli("add", "https://example.org/zakon", "--risk", "high", "--name", "Zakon", "--json")
    assert (told.code, told.json["added"], told.json["source"]) == (0, True, "zakon")
    watch = cli("due", "--json").json["watches"][0]
    assert (watch["url"], watch["risk"]) == ("https://example.org/zakon", "HIGH")
    assert watch["due_at"] == NOW.isoformat()
    assert ("due", "host:example.org") in Stock(cli.data, count=1).orders()


def test_adding_a_url_again_in_any_spelling_changes_only_what_is_said(cli: Cli):
    cli("add", "https://example.org/feed", "--lister", "feed", "--tier", "critical")
    told = cli("add", "https://EXAMPLE.org/feed/#top", "--risk", "low", "--json")
    assert told.json["added"] is False
    only = sources(cli)
    assert list(only) == ["https://example.org/feed"]
    assert only["https://example.org/feed"]["lister"] == "feed"
    assert only["https://example.org/feed"]["tier"] == "CRITICAL"
    assert only["https://example.org/feed"]["risk"] == "LOW"


def test_two_urls_with_one_name_are_two_sources(cli: Cli):
    assert cli("add", "https://a.example/", "--name", "News").code == 0
    assert cli("add", "https://b.example/", "--name", "News").code == 0
    assert len({source["id"] for source in sources(cli).values()}) == 2


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["add", "example.org/page"], 2, "did you mean https://example.org/page ?"),
        (["add", "ftp://example.org/"], 2, "only http and https"),
        (["add", "javascript:alert(1)"], 2, "only http and https"),
        (["add", ""], 2, "the URL is empty"),
        (["add", "http://"], 2, "is not a URL"),
        (["add", "https://example.org/" + "a" * 5000], 2, "at most 4096"),
        (["add", "https://my-test.example.org/"], 3, "blocked by the word 'test'"),
        (["add", "https://example.org/", "--risk", "huge"], 2, "unknown risk 'huge'"),
        (["add", "https://example.org/", "--lister", "rss"], 2, "lister"),
        (["add", "https://example.org/", "--frequency", "soon"], 2, "soon"),
        (["add"], 2, "Missing argument"),
        (["import", "nowhere.txt"], 2, "cannot read nowhere.txt"),
        (["import", "registry:gov"], 2, "unknown registry 'gov'"),
        (["import", "https://example.org/list.opml"], 2, "save it to a file first"),
        (["import", "-", "--format", "docx"], 2, "unknown format 'docx'"),
        (["export", "--format", "pdf"], 2, "unknown format 'pdf'"),
        (["export", "--what", "moons"], 2, "unknown kind of export 'moons'"),
    ],
)
def test_bad_words_are_told_in_one_line_and_change_nothing(cli: Cli, words: list[str], code: int, says: str):
    told = cli(*words)
    assert told.code == code
    assert told.err.startswith("vedette: ")
    assert says in told.err
    assert len(told.err.splitlines()) == 1
    assert sources(cli) == {}
    as_json = json.loads(cli(*words, "--json").err)
    assert (as_json["code"], says in as_json["error"]) == (code, True)


def test_a_blocked_word_is_a_whole_word(cli: Cli):
    assert cli("add", "https://latest.example/").code == 0


def test_a_url_list_is_taken_line_by_line_and_bad_lines_lose_nothing_else(cli: Cli, tmp_path: Path):
    listed = tmp_path / "urls.txt"
    listed.write_text(
        "# mine\n\nhttps://a.example/\nnot a url\nhttps://b.example/ # why\nhttps://test.example/\n"
    )
    told = cli("import", str(listed), "--json")
    assert told.code == 2
    assert (told.json["format"], told.json["new"], told.json["bad"]) == ("urls", 2, 2)
    assert [problem["line"] for problem in told.json["problems"]] == [4, 6]
    assert set(sources(cli)) == {"https://a.example/", "https://b.example/"}
    again = cli("import", str(listed))
    assert "2 sources taken from urls: 0 new, 2 known" in again.out
    assert "line 4: not taken" in again.out


def test_strict_imports_nothing_when_a_line_is_bad_and_a_dry_run_writes_nothing(cli: Cli):
    listed = b"https://a.example/\nnonsense\n"
    assert cli("import", "-", "--strict", stdin=listed).code == 2
    assert cli("import", "-", "--dry-run", stdin=b"https://a.example/\n").code == 0
    assert sources(cli) == {}
    assert cli("import", "-", stdin=b"https://a.example/\n").code == 0
    assert len(sources(cli)) == 1


def test_a_csv_is_read_by_its_header_in_any_order_and_dialect(cli: Cli):
    text = "\ufeffName;Priority;Link;Colour\nRules;critical;https://a.example/rules;red\n;;;\nX;;nope;\n"
    told = cli("import", "-", "--json", stdin=text.encode())
    assert told.code == 2
    assert told.json["format"] == "csv"
    assert told.json["lines"][0]["not_carried_over"] == ["colour"]
    assert told.json["problems"][0]["line"] == 4
    assert sources(cli)["https://a.example/rules"]["risk"] == "CRITICAL"


def test_a_csv_without_a_header_has_url_name_risk_tier_lister(cli: Cli):
    told = cli("import", "-", "--format", "csv", stdin=b"https://a.example/f,Feed,HIGH,LOW,feed\n")
    assert told.code == 0
    assert sources(cli)["https://a.example/f"]["lister"] == "feed"


def test_opml_gives_feeds_and_entities_are_not_expanded(cli: Cli):
    opml = b"""<?xml version="1.0"?><!DOCTYPE opml [<!ENTITY x SYSTEM "file:///etc/passwd"><!ENTITY b "boo">]>
    <opml version="2.0"><body><outline text="Folder"><outline text="A &amp; B" xmlUrl="https://a.example/rss"/></outline>
    <outline text="Site" url="https://b.example/"/><outline text="none"/></body></opml>"""
    told = cli("import", "-", "--json", stdin=opml)
    assert told.code == 0
    found = sources(cli)
    assert found["https://a.example/rss"]["lister"] == "feed"
    assert found["https://a.example/rss"]["name"] == "A & B"
    assert found["https://b.example/"]["lister"] == "page"
    assert cli("import", "-", "--format", "opml", stdin=b"<html>no</html>").code == 2


def test_jobs_of_urlwatch_come_over_and_what_does_not_is_named(cli: Cli):
    told = cli("import", "-", "--json", stdin=URLWATCH)
    assert told.code == 2
    assert told.json["format"] == "urlwatch"
    taken = {line["url"]: line for line in told.json["lines"]}
    assert set(taken) == {
        "https://example.org/rules",
        "https://spa.example.org/app",
        "https://example.org/last",
    }
    assert taken["https://example.org/rules"]["not_carried_over"] == []
    assert sources(cli)["https://example.org/rules"]["filters"] == ["css: main"]
    problems = {problem["line"]: problem["why"] for problem in told.json["problems"]}
    assert "runs a command" in problems[11]
    assert "not valid YAML" in problems[13]


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"\x00\xff\xfe",
        b"a: &x [*x, *x]\n" * 3,
        b"[[[[[" * 100,
        b"<" * 5000,
        b"{" * 500,
        b'"' * 5000,
        b"\xef\xbb\xbf",
    ],
)
@pytest.mark.parametrize("form", ["auto", "urls", "csv", "opml", "urlwatch", "webchanges", "jsonl", "yaml"])
def test_no_file_breaks_the_import(cli: Cli, bad: bytes, form: str):
    told = cli("import", "-", "--format", form, "--json", stdin=bad)
    assert told.code in (0, 2)
    assert told.json["taken"] == 0


@pytest.mark.parametrize("form", ["csv", "jsonl", "yaml"])
def test_an_export_gives_the_same_sources_back(cli: Cli, tmp_path: Path, form: str):
    cli(
        "add", "https://a.example/feed", "--lister", "feed", "--name", "=cmd()|' /C calc'!A0", "--risk", "low"
    )
    cli(
        "add",
        "https://b.example/",
        "--lister",
        "crawl",
        "--include",
        "/a",
        "--include",
        "/b",
        "--max-depth",
        "2",
    )
    cli("add", "https://c.example/", "--frequency", "6h", "--headless", "--tier", "high")
    text = cli("export", "--format", form).out
    other = Cli(tmp_path / "other")
    blank(other.data)
    assert other("import", "-", "--format", form, stdin=text.encode()).code == 0
    assert other("export", "--format", form).out == text
    with Queries(cli.data / "vedette.db") as mine, Queries(other.data / "vedette.db") as theirs:
        for before, after in zip(mine.sources(), theirs.sources(), strict=True):
            assert (before.source.options, before.source.fetch) == (after.source.options, after.source.fetch)
            assert (before.source.name, before.source.tier) == (after.source.name, after.source.tier)


def test_opml_and_url_lists_give_the_urls_back(cli: Cli, tmp_path: Path):
    cli("add", "https://a.example/feed", "--lister", "feed")
    cli("add", "https://b.example/?a=1&b=2")
    for form in ("opml", "urls"):
        other = Cli(tmp_path / form)
        blank(other.data)
        assert (
            other("import", "-", "--format", form, stdin=cli("export", "--format", form).out.encode()).code
            == 0
        )
        assert set(sources(other)) == set(sources(cli))


def test_cells_that_a_spreadsheet_would_run_are_neutralised(cli: Cli):
    for number, name in enumerate(("=1+1", "+1", "-1", "@a")):
        cli("add", f"https://a.example/{number}", "--name", name)
    rows = list(csv.DictReader(io.StringIO(cli("export", "--format", "csv").out)))
    assert sorted(row["name"] for row in rows) == ["'+1", "'-1", "'=1+1", "'@a"]


def test_an_export_does_not_overwrite_a_file(cli: Cli, tmp_path: Path):
    target = tmp_path / "out.csv"
    assert cli("export", "--to", str(target)).code == 0
    assert cli("export", "--to", str(target)).code == 3


def test_a_watch_that_a_lister_found_is_handed_to_the_source_that_names_it(cli: Cli):
    cli("add", "https://a.example/list", "--lister", "html_list", "--name", "list")
    stock = Stock(cli.data, count=1)
    stock.execute("UPDATE watches SET due_at = NULL")
    cli("add", "https://a.example/list", "--risk", "critical")
    with Queries(stock.path) as queries:
        watch = queries.watch(watch_id("https://a.example/list"))
    assert watch is not None
    assert (watch.due_at, watch.risk.name, watch.source) == (NOW, "CRITICAL", "list")


def test_an_interval_is_set_and_changed_by_add_and_shown_by_every_list(cli: Cli):
    url = "https://example.org/rates"
    told = cli("add", url, "--every", "10m")
    assert (told.code, told.out.splitlines()[1]) == (0, "asked every 10 min")
    assert cli("add", url, "--name", "Rates", "--json").json["asked"]["every"] == 600.0
    assert "asked every 2 h" in cli("add", url, "--every", "2h").out
    for verb in ("list", "due"):
        (watch,) = cli(verb, "--json").json["watches"]
        assert (watch["every"], watch["scrape_frequency"]) == (7200.0, None)
        assert "every 2 h" in cli(verb).out
    assert cli("explain", url, "--json").json["asked"]["words"] == "asked every 2 h"
    assert cli("add", url, "--every", "often").code == 2
    assert cli("add", url, "--every", "0s").code == 2


@pytest.mark.parametrize("word", ["off", "none", "OFF"])
@pytest.mark.parametrize(("option", "key"), [("--every", "every"), ("--frequency", "scrape_frequency")])
def test_an_interval_can_be_taken_back(cli: Cli, option: str, key: str, word: str):
    """N7."""
    url = "https://example.org/rates"
    cli("add", url, option, "1d", "--name", "Rates")
    told = cli("add", url, option, word)
    assert (told.code, "no interval is asked for" in told.out) == (0, True)
    watch = cli("list", "--json").json["watches"][0]
    assert watch[key] is None
    assert cli("explain", url, "--json").json["asked"] is None
    assert cli("sources", "--json").json["sources"][0]["name"] == "Rates"
    assert cli("add", "https://example.org/new", option, word, "--json").json["asked"] is None


def test_taking_back_one_interval_leaves_the_other(cli: Cli):
    url = "https://example.org/rates"
    cli("add", url, "--every", "1d", "--frequency", "6h")
    assert "asked at least every 6 h" in cli("add", url, "--every", "off").out


def test_an_interval_below_the_floor_is_taken_and_the_floor_is_named(cli: Cli):
    told = cli("add", "https://example.org/rates", "--every", "5s")
    assert "asked every 5 s; the floor of 1 min is stronger: every 1 min" in told.out


def test_a_frequency_of_a_page_says_what_it_is(cli: Cli):
    assert "asked at least every 1 d" in cli("add", "https://example.org/a", "--frequency", "DAILY").out


@pytest.mark.parametrize("form", ["csv", "jsonl", "yaml"])
@pytest.mark.parametrize("what", ["sources", "watches"])
def test_an_interval_goes_out_and_comes_back_in_every_format(cli: Cli, tmp_path: Path, form: str, what: str):
    cli("add", "https://example.org/rates", "--every", "10m")
    cli("add", "https://example.org/rules", "--frequency", "DAILY")
    text = cli("export", "--format", form, "--what", what).out
    blank(tmp_path / "other")
    other = Cli(tmp_path / "other")
    assert other("import", "-", "--format", form, stdin=text.encode()).code == 0
    found = {watch["url"]: watch for watch in other("list", "--json").json["watches"]}
    assert found["https://example.org/rates"]["every"] == 600.0
    assert found["https://example.org/rules"]["scrape_frequency"] == 86400.0


def test_the_pages_of_the_registry_have_their_frequency_as_a_ceiling(cli: Cli):
    cli("import", "registry:croatia")
    watches = cli("list", "--limit", "0", "--json").json["watches"]
    pages = [watch for watch in watches if watch["lister"] is None]
    assert len(pages) == 37
    assert all(watch["scrape_frequency"] for watch in pages)
