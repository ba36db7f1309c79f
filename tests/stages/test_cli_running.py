"""run, test, classify, robots: with an app that plays its part, no network."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cli_call import Cli
from stocked import EVIL, HOUR, NEWS, NOW, RULES, Stock, stocked

from vedette.app.run import RunRequest
from vedette.contracts.errors import RefusedError
from vedette.contracts.events import (
    Changed,
    ClockHealed,
    ClockSet,
    Event,
    LookParked,
    MadePrivate,
    Paused,
    Resumed,
    Visited,
)
from vedette.contracts.fetch import Extraction, Fetched, RobotsRules
from vedette.contracts.filters import StepLeft
from vedette.contracts.words import ChangeId, ContentClass, Outcome, Reason, Risk
from vedette.core.limits.budget import Tally
from vedette.engine.crawl.loop import Ended, Mode
from vedette.operations.probe import filter_steps
from vedette.surface.cli.live_view import Counts

VISITED = Visited(at=NOW, url=RULES, outcome=Outcome.OK, detail=EVIL)
FAILED = Visited(at=NOW, url=NEWS, outcome=Outcome.TIMEOUT)
CHANGED = Changed(at=NOW, url=RULES, change=ChangeId(77), risk=Risk.CRITICAL)
PARKED = LookParked(at=NOW, url=EVIL, outcome=Outcome.DNS_ERROR, attempts=3)


class PlayedApp:
    """Says what it was told to say."""

    def __init__(self, *events: Event, ended: Ended | BaseException | None = None) -> None:
        self.events = events
        self.ended = ended or Ended(by="idle", tally=Tally())
        self.request: RunRequest | None = None
        self.outcome = Outcome.OK
        self.refusal: Reason | None = None

    def run_engine(self, loaded: Any, request: RunRequest, *, on_event: Callable[[Event], None]) -> Ended:
        self.request = request
        for event in self.events:
            on_event(event)
        if isinstance(self.ended, BaseException):
            raise self.ended
        return self.ended

    def look_once(self, loaded: Any, url: str) -> tuple[Fetched, Extraction, tuple[Reason, ...]]:
        fetched = Fetched(
            url=url, outcome=self.outcome, at=NOW, took=timedelta(seconds=0.2), status=200, body=b"x", wire=b"x",
            content_type="text/html",
        )  # fmt: skip
        extraction = Extraction(
            content_class=ContentClass.HTML, text=f"PDV {EVIL}", title=EVIL, hrefs=("a", "b")
        )
        return fetched, extraction, (Reason("gate_passed", note="content"),)

    def filter_steps(self, loaded: Any, fetched: Fetched, texts: tuple[str, ...]) -> tuple[StepLeft, ...]:
        return filter_steps(loaded, fetched, texts)

    def fetch_robots(self, loaded: Any, url: str) -> tuple[RobotsRules, Reason | None]:
        rules = RobotsRules(
            origin="https://example.org", fetched_at=NOW, expires_at=NOW + HOUR, status=200, outcome=Outcome.OK,
            text="", verdict="rules", crawl_delay=7.0, sitemaps=("https://example.org/sitemap.xml",),
        )  # fmt: skip
        return rules, self.refusal


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return stocked(tmp_path)


def ended(by: str, error: BaseException | None = None) -> Ended:
    return Ended(by=by, tally=Tally(), error=error)


def test_a_run_is_asked_for_as_the_options_say(stock: Stock):
    app = PlayedApp()
    words = (
        "--once",
        "--tier",
        "high",
        "--fetch-only",
        "--policy",
        "fixed",
        "--seconds",
        "5",
        "--max-visits",
        "9",
    )
    assert Cli(stock.data, app)("run", *words).code == 0
    assert app.request == RunRequest(
        mode=Mode.ONCE, tier=Risk.HIGH, fetch_only=True, policy="fixed", seconds=5.0, max_visits=9
    )
    Cli(stock.data, app)("run", "--until-idle", "--discover-only", "--patience", "2m")
    assert app.request == RunRequest(mode=Mode.UNTIL_IDLE, discover_only=True, patience=timedelta(minutes=2))
    Cli(stock.data, app)("run")
    assert app.request == RunRequest()


@pytest.mark.parametrize(
    "words",
    [
        ["--once", "--until-idle"],
        ["--fetch-only", "--discover-only"],
        ["--tier", "x"],
        ["--policy", "x"],
        ["--patience", "x"],
        ["--seconds", "-1"],
        ["--max-visits", "0"],
    ],
)
def test_options_that_make_no_sense_are_refused(stock: Stock, words: list[str]):
    app = PlayedApp()
    assert Cli(stock.data, app)("run", *words).code == 2
    assert app.request is None


def test_events_are_json_lines_for_a_program(stock: Stock):
    told = Cli(stock.data, PlayedApp(VISITED, CHANGED, PARKED))("run", "--once", "--json")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert [line["event"] for line in lines] == ["visited", "changed", "parked"]
    assert lines[0]["detail"] == EVIL
    assert "\x9b" not in told.out


def test_people_see_each_change_with_its_stored_diff_and_how_it_went(stock: Stock):
    told = Cli(stock.data, PlayedApp(VISITED, FAILED, CHANGED, PARKED))("run", "--once")
    assert "CRITICAL  changed  https://example.org/zakon/pdv" in told.out
    assert "[-25-] {+24+}" in told.out
    assert "\x1b" not in told.out
    assert "2 looks, 1 change, 0 found, 1 host, 1 error" in told.err
    assert Cli(stock.data, PlayedApp(VISITED))("run", "--once", "--quiet").err == ""


SURROUNDINGS = (
    (
        Paused(at=NOW, what="another program holds vedette.db"),
        "paused  another program holds vedette.db; no look",
    ),
    (Resumed(at=NOW, seconds=22.4), "resumed  the store takes looks again, after 22 s"),
    (ClockSet(at=NOW, seconds=-HOUR), "clock set  the clock was set back by 1 h;"),
    (
        ClockHealed(at=NOW, watches=1, lanes=2, others=3, until=None),
        "clock healed  the clock stood ahead: times of",
    ),
    (MadePrivate(at=NOW, count=1), "made private  1 file or folder stood open to others"),
)


@pytest.mark.parametrize(("event", "words"), SURROUNDINGS, ids=lambda one: getattr(one, "name", None))
def test_people_hear_of_what_befalls_a_run_and_why_it_stands_still(stock: Stock, event: Event, words: str):
    app = PlayedApp(event)
    assert words in Cli(stock.data, app)("run", "--once").out
    assert words.split("  ")[1] not in Cli(stock.data, app)("run", "--once", "--quiet").out


def test_how_a_run_ended_is_its_exit_code(stock: Stock):
    def code(how: Ended | BaseException, *words: str) -> int:
        return Cli(stock.data, PlayedApp(ended=how))("run", *words).code

    assert code(ended("limit"), "--once") == 0
    assert code(ended("stopped")) == 0
    assert code(ended("stopped"), "--once") == 130
    assert code(ended("failed", OSError("disk"))) == 1
    assert code(ended("failed", RefusedError("no"))) == 3
    assert code(RefusedError("the store is in use")) == 3
    assert code(KeyboardInterrupt()) == 130


def test_a_reader_that_went_away_asks_the_run_to_end_and_breaks_nothing(stock: Stock):
    from vedette.surface.cli.live_view import _Reader

    heard: list[str] = []
    stops: list[int] = []

    def tell(event: Event) -> None:
        heard.append(event.name)
        raise BrokenPipeError

    before = signal.signal(signal.SIGINT, lambda number, frame: stops.append(number))
    try:
        reader = _Reader(tell)
        reader.hear(VISITED)
        reader.hear(VISITED)
    finally:
        signal.signal(signal.SIGINT, before)
    with pytest.raises(BrokenPipeError):
        reader.check()
    assert (heard, stops) == (["visited"], [signal.SIGINT])


def test_the_rate_is_of_the_last_moments():
    """By the machine's time: in a demonstration an hour of the run's own time is a second."""
    elapsed = timedelta(seconds=100)
    counts = Counts(lambda: elapsed)
    for second in range(20):
        elapsed = timedelta(seconds=100 + second)
        counts.add(replace(VISITED, at=NOW + second * HOUR))
    assert counts.rate() == pytest.approx(1.1)


def test_a_narrow_screen_leaves_out_what_matters_least():
    counts = Counts(lambda: timedelta(seconds=5), visits=12, changes=3)
    assert counts.words(due="4 due", width=200).startswith(
        "12 looks, 3 changes, 0 found, 0 hosts, 4 due, 0 errors, "
    )
    for width in range(20, 120):
        words = counts.words(due="4 due", width=width)
        assert len(words) <= width
        assert words.startswith("12 looks, 3 changes")
        assert not words.endswith(",")


def test_a_look_shows_what_would_be_kept_and_saves_nothing(stock: Stock):
    app = PlayedApp()
    cli = Cli(stock.data, app)
    said = cli("test", RULES, "--json").json
    assert (said["outcome"], said["links"], said["text_chars"]) == ("ok", 2, len(f"PDV {EVIL}"))
    text = cli("test", RULES, "--text").out
    assert "gate_passed" in text
    assert "\x1b" not in text
    app.outcome = Outcome.GONE
    assert cli("test", RULES).code == 1
    assert len(cli("history", RULES, "--json").json["visits"]) == 2


def test_robots_says_whether_we_may_and_by_which_rule(stock: Stock):
    app = PlayedApp()
    cli = Cli(stock.data, app)
    said = cli("robots", RULES, "--json")
    assert (said.code, said.json["allowed"], said.json["crawl_delay"]) == (0, True, 7.0)
    app.refusal = Reason("robots_disallow", note="Disallow: /zakon")
    told = cli("robots", RULES)
    assert told.code == 3
    assert told.out.startswith("refused: Disallow: /zakon\n")
    assert "sitemap https://example.org/sitemap.xml" in told.out


def test_classify_needs_no_store_and_names_the_row(tmp_path: Path):
    cli = Cli(tmp_path / "none")
    said = cli("classify", "https://example.org/zakon/1", "--json").json
    assert (said["node_type"], said["role"], said["risk"]) == ("LEAF", "REGULATION", "CRITICAL")
    assert said["pattern"].startswith("hr:")
    assert (
        cli("classify", "https://example.org/x", "--content-type", "application/pdf", "--json").json[
            "node_type"
        ]
        == "ASSET"
    )
    assert cli("classify", "mailto:x").code == 2
    assert not (tmp_path / "none").exists()


def test_classify_uses_the_configured_rows(tmp_path: Path):
    path = tmp_path / "vedette.yaml"
    path.write_text("classify: {patterns: [{pattern: /moj, role: FORM, risk: HIGH}]}\n")
    said = Cli(tmp_path)("classify", "https://example.org/moj", "--config", str(path), "--json").json
    assert (said["role"], said["risk"]) == ("FORM", "HIGH")
    path.write_text("classify: {patterns: [{pattern: '(', role: FORM, risk: HIGH}]}\n")
    assert Cli(tmp_path)("classify", "https://example.org/moj", "--config", str(path)).code == 4


def test_a_twin_that_is_not_there_is_answered_with_the_nearest(tmp_path: Path):
    told = Cli(tmp_path)("demo", "--twin", "croatai")
    assert told.code == 2
    assert "did you mean 'croatia'?" in told.err


def test_a_database_that_a_run_does_not_use_is_told_by_run_and_doctor(
    stock: Stock, monkeypatch: pytest.MonkeyPatch
):
    """001 section 11.1: nobody believes that watches go to the PostgreSQL that the variable names."""
    cli = Cli(stock.data, app=PlayedApp())
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    checks = {check["check"]: check for check in cli("doctor", "--json").json["checks"]}
    assert (cli("run", "--once").err.count("DATABASE_URL"), checks["databases"]["state"]) == (0, "ok")
    monkeypatch.setenv("DATABASE_URL", "postgresql://fiskai:tajna@db/main")
    told = cli("run", "--once")
    assert (told.code, "DATABASE_URL names PostgreSQL: only `vedette panel` writes there" in told.err) == (
        0,
        True,
    )
    checks = {check["check"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["databases"]["state"] == "warn"
    assert "DATABASE_URL names PostgreSQL" in checks["databases"]["found"]
    assert "tajna" not in told.err + str(checks)


LIST_PAGE = b"""<html><body><main><ul class="news">
<li class="row"><a href="/news/1">First</a></li><li class="row"><a href="/news/2">Second</a></li>
<li class="row"><a href="/news/old/3">Third</a></li><li class="ad"><a href="/ads/9">Buy</a></li></ul>
</main></body></html>"""


class ListApp(PlayedApp):
    def look_once(self, loaded: Any, url: str) -> tuple[Fetched, Extraction, tuple[Reason, ...]]:
        fetched, extraction, _ = super().look_once(loaded, url)
        return replace(fetched, body=LIST_PAGE), extraction, ()


def test_a_lister_its_filters_and_a_selector_can_be_tried_without_saving_anything(stock: Stock):
    cli = Cli(stock.data, ListApp())
    words = [
        "test",
        "https://example.org/news/",
        "--lister",
        "html_list",
        "--item",
        "li.row",
        "--exclude",
        "/old/",
    ]
    listing = cli(*words, "--json").json["listing"]
    assert [one["url"] for one in listing["found"]] == [
        "https://example.org/news/1",
        "https://example.org/news/2",
    ]
    assert listing["left_out"] == [
        {"url": "https://example.org/news/old/3", "reason": "exclude", "note": "matches an exclude pattern"}
    ]
    told = cli(*words).out
    assert "read as html_list: 2 found, 1 left out, 0 further listings" in told
    assert "First" in told
    assert "listing" not in cli("test", "https://example.org/news/", "--json").json
    assert cli("test", "https://example.org/news/", "--include", "x").code == 2
    assert cli("test", "https://example.org/news/", "--lister", "nosuch").code == 2
    assert all("example.org/news" not in one["url"] for one in cli("list", "--json").json["watches"])
