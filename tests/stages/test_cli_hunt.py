"""hunt, and what explain and why-not say of a page that was not chosen yet; what a pause means for it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import NOW, Stock, blank, stocked

from vedette.config.model import parse
from vedette.config.policies import sources_of
from vedette.config.rules import hunt_params
from vedette.contracts.errors import ConfigError
from vedette.contracts.hunt import DueNow, HuntRecord, HuntRows, HuntState, OrderedLook
from vedette.contracts.words import SourceId
from vedette.core.hunt_worth import HuntParams
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.store.hunt_rows import HuntReader, release
from vedette.store.operator import operating, pause_source, remove_source, resume_source
from vedette.store.sqlite import Pick, connect

OPEN = [f"https://h{n}.example/part/{m}" for n in range(3) for m in range(4)]


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    stock = stocked(tmp_path)
    stock.source("https://h0.example/", name="hunt")
    first = stock.watch("https://h0.example/")
    found = tuple(replace(first, id=watch_id(url), url=url, lane=lane_of(url), due_at=None) for url in OPEN)
    stock.visit("https://h0.example/", found=found)
    yields = (
        ("", HuntRecord(9, 4.5, 1)),
        ("h1.example", HuntRecord(5, 4.0)),
        ("h1.example/part", HuntRecord(5, 4.0)),
    )
    rows = HuntRows(
        found=tuple((watch_id(url), "") for url in OPEN),
        opened=tuple((watch_id(url), SourceId("hunt"), ()) for url in OPEN),
        yields=(*yields, ("h2.example", HuntRecord(40, 0.0, 40))),
        state=HuntState(number=10),
    )
    stock.group(hunt=rows)
    return stock


@pytest.fixture
def cli(stock: Stock) -> Cli:
    return Cli(stock.data)


def test_hunt_says_where_it_was_and_what_comes_next_with_reasons_that_add_up(cli: Cli):
    said = cli("hunt", "--json").json
    assert (said["chosen"], said["open"], said["waiting"], said["looks"]) == (10, 12, 0, 9)
    rooms = {one["host"]: one["room"] for one in said["hosts"]}
    assert rooms == {"h1.example": 195, "h2.example": 0}
    assert said["next"][0]["url"].startswith("https://h1.example/")
    assert not any("h2.example" in one["url"] for one in said["next"])  # its errors have used up its room
    for one in said["next"]:
        assert sum(reason["points"] for reason in one["reasons"]) == pytest.approx(one["value"])
    told = cli("hunt").out
    assert "10 looks chosen" in told
    assert "12 pages are open" in told


def test_hunt_changes_nothing(cli: Cli, stock: Stock):
    def rows() -> list[str]:
        return list(connect(stock.path, read_only=True).iterdump())

    before = rows()
    assert cli("hunt").code == 0
    assert rows() == before


def test_a_store_without_a_hunt_says_how_to_have_one(tmp_path: Path):
    blank(tmp_path)
    told = Cli(tmp_path)("hunt")
    assert told.code == 0
    assert "hunt: true" in told.out + told.err


def test_why_not_and_explain_say_that_a_page_was_not_chosen_yet(cli: Cli):
    assert cli("why-not", OPEN[0], "--json").json["reason"] == "open"
    assert "when the hunt chooses it" in cli("explain", OPEN[0]).out
    assert cli("explain", OPEN[0], "--json").json["is_open"] is True


def test_once_somebody_asked_for_it_a_page_is_not_open_any_more(cli: Cli):
    assert cli("add", OPEN[0]).code == 0
    assert cli("why-not", OPEN[0], "--json").json["reason"] != "open"
    assert cli("explain", OPEN[0], "--json").json["is_open"] is False
    assert cli("hunt", "--json").json["open"] == 11


@pytest.mark.parametrize("how", ["remove", "pause"])
def test_what_a_removed_or_paused_source_left_open_is_never_due(stock: Stock, how: str):
    with operating(stock.path) as db:
        {"remove": remove_source, "pause": pause_source}[how](db, SourceId("hunt"), now=NOW)
        assert release(db, [], now=NOW) == 0
    assert all(stock.watch(url).due_at is None for url in OPEN)


def test_what_a_source_that_stopped_hunting_left_open_is_due(stock: Stock):
    with operating(stock.path) as db:
        assert release(db, [SourceId("hunt")], now=NOW) == 0
        assert release(db, [SourceId("other")], now=NOW) == 12
    assert all(stock.watch(url).due_at == NOW for url in OPEN)


def test_a_run_of_one_source_hunts_for_that_one_only(stock: Stock):
    for source, count in (("hunt", 12), ("other", 0)):
        reader = HuntReader(connect(stock.path, read_only=True), Pick(source=source).clause())
        assert len(reader.open(0, 100, now=NOW)) == count


def test_a_paused_source_is_not_chosen_from_and_resuming_it_leaves_open_what_is(stock: Stock):
    path = stock.path
    with operating(path) as db:
        pause_source(db, "hunt", now=NOW)
    assert HuntReader(connect(path, read_only=True)).open(0, 100, now=NOW) == []
    due = DueNow(watch=watch_id(OPEN[0]), lane="host:h0.example", risk=stock.watch(OPEN[0]).risk, at=NOW)
    ordered = OrderedLook(turn=1, watch=due.watch, url=OPEN[0], seed=SourceId("hunt"), ordered_at=NOW)
    stock.group(hunt=HuntRows(ordered=(ordered,), chosen=(due,)))
    reader = HuntReader(connect(path, read_only=True))
    assert reader.waiting(now=NOW) == []  # chosen, and put to rest with its source
    with operating(path) as db:
        resume_source(db, "hunt", now=NOW)
    assert [one.url for one in reader.waiting(now=NOW)] == [OPEN[0]]
    assert len(reader.open(0, 100, now=NOW)) == 11


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"lister": "feed", "hunt": True}, "set `lister: crawl`"),
        ({"lister": "crawl", "follow_hosts": ["*"]}, "set `hunt: true`"),
    ],
)
def test_a_hunt_that_cannot_be_is_told_with_what_to_do(source, words):
    config = parse({"sources": [{"url": "https://a.example/", **source}]})
    with pytest.raises(ConfigError, match=words):
        list(sources_of(config))


@pytest.mark.parametrize(
    "hunt",
    [{"share": 1.5}, {"error_cost": 0}, {"at_host": 0}, {"looks_per_day": 0}, {"looks_per_day": math.inf}],
)
def test_a_knob_out_of_range_is_told(hunt):
    with pytest.raises(ConfigError, match=f"hunt.{next(iter(hunt))}"):
        parse({"hunt": hunt})


def test_the_defaults_of_the_configuration_are_those_of_the_rule():
    assert hunt_params(parse({})) == HuntParams()


@pytest.mark.parametrize("form", [(), ("--json",)])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_hunt_that_has_nowhere_to_start_is_an_error_that_says_what_to_do(
    tmp_path: Path, is_new: bool, form: tuple[str, ...]
):
    if not is_new:
        stocked(tmp_path).source("https://plain.example/", name="plain")  # it does not hunt
    told = Cli(tmp_path)("hunt", "run", "--looks", "5", *form)
    assert told.code != 0
    assert "vedette hunt seed registry:smallweb" in told.err
    assert told.out == ""


def test_seeds_become_sources_that_hunt_and_are_known_the_second_time(tmp_path: Path):
    blank(tmp_path)
    listed = tmp_path / "seeds.txt"
    listed.write_text("https://one.example/\nhttps://two.example/links\nnonsense\n")
    cli = Cli(tmp_path)
    said = cli("hunt", "seed", str(listed), "https://three.example/", "--json").json
    assert len(said["added"]) == 3
    again = cli("hunt", "seed", "https://one.example/", "--json").json
    assert (len(again["added"]), len(again["known"])) == (0, 1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("seed", "nowhere.txt"), "neither a URL nor a file"),
        (("seed", "registry:nowhere"), "nowhere"),
        (("show", "https://never.example/"), "no hunt has looked at"),
        (("mark", "https://never.example/", "odd"), "no hunt has looked at"),
        (("mark", "https://never.example/", "weird"), "odd or plain"),
        (("run", "--looks", "0"), "--looks"),
        (("findings", "--least", "-1"), "--least"),
        (("rescore", "--workers", "0"), "--workers"),
    ],
)
def test_what_cannot_be_is_told_in_one_message_and_ends_with_an_error(
    cli: Cli, words: tuple[str, ...], said: str
):
    told = cli("hunt", *words)
    assert told.code != 0
    assert said in told.err
    assert "Traceback" not in told.err


def test_an_empty_list_of_seeds_is_an_error(cli: Cli, tmp_path: Path):
    empty = tmp_path / "empty.txt"
    empty.write_text("# nothing\n\n")
    told = cli("hunt", "seed", str(empty))
    assert told.code != 0
    assert "names no seed" in told.err


def test_before_anything_was_found_the_findings_say_what_to_do(cli: Cli):
    assert cli("hunt", "findings", "--json").json == []
    told = cli("hunt", "findings")
    assert told.code == 0
    assert "vedette hunt run" in told.out + told.err


def test_nothing_to_judge_again_is_no_error(cli: Cli):
    said = cli("hunt", "rescore", "--json").json
    assert (said["pages"], said["findings"], said["changed"]) == (0, 0, 0)
