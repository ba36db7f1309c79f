"""list, due, history, changes, diff, explain, why-not: what is known, and why."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import EVIL, HOUR, NEWS, NOW, PRIVATE, RULES, Stock, a_change, stocked

from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Parked, Refused
from vedette.contracts.words import LaneKey, Outcome, Reason, SourceId, WatchId
from vedette.core.urls.canonical import watch_id
from vedette.store.operator import LOCK
from vedette.store.rows import to_ms
from vedette.store.sqlite import StoreLock

SECOND = timedelta(seconds=1)
HOST = LaneKey("host:example.org")
OBEYED = ("\x1b", "\x07", "\x9b", "\u202e")


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return stocked(tmp_path)


@pytest.fixture
def cli(stock: Stock) -> Cli:
    return Cli(stock.data)


def test_list_filters_and_says_how_many_there_are(cli: Cli):
    assert [w["url"] for w in cli("list", "--json").json["watches"]] == [NEWS, PRIVATE, RULES]
    assert [w["url"] for w in cli("list", "pdv", "--json").json["watches"]] == [RULES]
    assert [w["url"] for w in cli("list", "--risk", "critical", "--json").json["watches"]] == [RULES]
    one = cli("list", "--limit", "1", "--json").json
    assert (len(one["watches"]), one["total"]) == (1, 3)
    assert "1 of 3; --limit 0 shows all" in cli("list", "--limit", "1").err


def test_due_is_what_is_due_now_or_within_a_time(cli: Cli):
    assert [w["url"] for w in cli("due", "--json").json["watches"]] == [NEWS]
    assert [w["url"] for w in cli("due", "--within", "8h", "--json").json["watches"]] == [NEWS, RULES]


def test_history_has_every_look_newest_first(cli: Cli):
    visits = cli("history", RULES, "--json").json["visits"]
    assert [visit["changed"] for visit in visits] == [True, False]
    assert {"at", "outcome", "status", "seconds", "changed", "digest", "text_chars"} <= set(visits[0])
    assert len(visits[0]["digest"]) == 64
    assert "robots_refused" in cli("history", PRIVATE).out


def test_changes_are_summed_up_and_filtered(cli: Cli):
    assert "1 line changed: '25' -> '24'" in cli("changes").out
    assert [c["change"] for c in cli("changes", "--json").json["changes"]] == [77]
    assert cli("changes", "--since", "30m", "--json").json["changes"] == []
    assert cli("changes", "--since", "2026-11-15", "--risk", "critical", "--json").json["changes"]
    assert cli("changes", "--state", "observed", "--json").json["changes"] == []
    assert "[-25-] {+24+}" in cli("changes", "--diff").out


def test_diff_shows_the_stored_diff_by_url_and_by_number(cli: Cli):
    by_url, by_number = cli("diff", RULES), cli("diff", "77")
    assert by_url.out == by_number.out
    assert "- PDV je 25 % od 2013." in by_url.out
    assert "[-25-] {+24+}" in cli("diff", "77", "--words").out
    assert cli("diff", "77", "--json").json["diff"][1]["words"] == [["25", "24"]]
    assert cli("diff", NEWS).code == 1
    assert cli("diff", "78").code == 1
    assert cli("diff", "9" * 30).code == 1


@pytest.mark.parametrize(
    "words", [["list"], ["changes", "--diff"], ["diff", "77"], ["explain", RULES], ["history", RULES]]
)
def test_nothing_of_the_web_moves_the_terminal(cli: Cli, words: list[str]):
    assert EVIL in cli("diff", "77", "--json").json["summary"]
    for told in (cli(*words), cli(*words, "--json")):
        assert told.code == 0
        assert not any(char in told.out for char in OBEYED)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list", "--risk", "x"], 2),
        (["list", "--outcome", "x"], 2),
        (["list", "--limit", "-1"], 2),
        (["due", "--within", "soon"], 2),
        (["changes", "--since", "once"], 2),
        (["changes", "--state", "x"], 2),
        (["diff", "77", "--words", "--unified"], 2),
        (["history", "no url"], 2),
        (["history", "https://example.org/unknown"], 1),
        (["explain", "https://example.org/unknown"], 1),
        (["why-not", "nope"], 2),
    ],
)
def test_bad_words_have_their_exit_code(cli: Cli, words: list[str], code: int):
    assert cli(*words).code == code
    assert json.loads(cli(*words, "--json").err)["code"] == code


def test_explain_prints_the_recorded_decision_and_its_points_add_up(cli: Cli):
    said = cli("explain", RULES, "--json").json
    assert {"url", "outcome", "visits", "due_at", "reasons"} <= set(said)
    assert (said["risk"], said["role"], said["velocity_word"]) == ("CRITICAL", "REGULATION", "active")
    schedule = next(d for d in said["decisions"] if d["action"] == "schedule")
    assert schedule["points"] == schedule["output"]["hours"] == 7.25
    assert sum(r["points"] for r in said["reasons"] if r["action"] == "schedule") == 7.25
    assert said["noise"]["templates"] == [
        {"place": "footer/p", "words": "Posjeta: … danas", "values": ["number"]}
    ]
    text = cli("explain", RULES).out
    assert "7.25  sum, hours until the next look" in text
    assert "0.650 (active)" in text
    assert "values in a line      Posjeta: … danas" in text
    assert "a line comes and goes Dani sajma" in text


def test_explain_does_not_decide_again(cli: Cli, stock: Stock):
    before = cli("explain", RULES, "--json").json["decisions"]
    stock.execute("UPDATE watches SET velocity = 0.01, risk = 0")
    assert cli("explain", RULES, "--json").json["decisions"] == before


@pytest.mark.parametrize(
    "spelling", [RULES + "/", RULES + "?utm_source=x", RULES.replace("https", "http"), RULES + "#a"]
)
def test_explain_takes_any_spelling(cli: Cli, spelling: str):
    assert cli("explain", spelling, "--json").json["url"] == RULES


def test_a_watch_that_was_never_visited_is_explained_too(cli: Cli):
    cli("add", "https://new.example/")
    said = cli("explain", "https://new.example/", "--json").json
    assert (said["outcome"], said["visits"], said["reasons"]) == (None, [], [])
    assert "never looked at" in cli("explain", "https://new.example/").out


def test_an_unknown_url_is_sent_to_why_not(cli: Cli):
    assert "vedette why-not https://example.org/x" in cli("explain", "https://example.org/x").err


def reason(cli: Cli, url: str) -> str:
    told = cli("why-not", url, "--json")
    assert told.code == 0
    assert told.json["answer"]
    assert cli("why-not", url).out.splitlines()[0] == told.json["answer"]
    return str(told.json["reason"])


def test_why_not_answers_for_robots_blocked_not_due_and_unknown(cli: Cli):
    assert reason(cli, PRIVATE) == "robots_refused"
    assert "Disallow: /private/" in cli("why-not", PRIVATE).out
    assert reason(cli, "https://test.example/") == "blocked"
    assert reason(cli, RULES) == "not_due"
    assert "2026-11-15 18:00:00Z (in 6 h)" in cli("why-not", RULES).out
    assert reason(cli, "https://example.org/never") == "unknown"
    assert "risk CRITICAL" in cli("why-not", "https://example.org/zakon/9").out


def test_why_not_answers_for_a_lane_that_is_closed_held_or_blocked(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, LaneState(failures=5, closed_until=NOW + HOUR)),))
    assert reason(cli, NEWS) == "lane_closed"
    assert "open until 2026-11-15 13:00:00Z (in 1 h), after 5 failures" in cli("why-not", NEWS).out
    stock.group(lanes=((HOST, LaneState(held_until=NOW + HOUR)),))
    assert reason(cli, NEWS) == "lane_held"
    cli("lanes", "block", "example.org", "--why", "asked to stop")
    assert reason(cli, NEWS) == "lane_blocked"


def test_why_not_answers_for_a_refused_sighting_with_its_count(cli: Cli, stock: Stock):
    url = "https://example.org/calendar?day=9"
    refused = Refused(
        url=url,
        id=watch_id(url),
        source=SourceId("news"),
        reason=Reason("trap_calendar", note="50 days"),
        at=NOW,
    )
    stock.visit(NEWS, at=NOW, refused=(refused,))
    assert reason(cli, url) == "refused"
    assert "saw it 1 time, last" in cli("why-not", url).out
    assert "trap_calendar (50 days)" in cli("why-not", url).out


def test_why_not_answers_for_leased_merged_parked_paused_and_removed(cli: Cli, stock: Stock):
    stock.execute("INSERT INTO leases VALUES (?, 'w', ?, ?)", watch_id(NEWS), to_ms(NOW), to_ms(NOW + HOUR))
    assert reason(cli, NEWS) == "leased"
    stock.execute("DELETE FROM leases")
    stock.visit(
        NEWS,
        outcome=Outcome.TIMEOUT,
        at=NOW,
        parked=Parked(
            watch=watch_id(NEWS), url=NEWS, outcome=Outcome.TIMEOUT, detail="30 s", attempts=3, at=NOW - HOUR
        ),
    )
    assert reason(cli, NEWS) == "parked"
    cli("sources", "pause", "news")
    assert reason(cli, NEWS) == "paused"
    cli("sources", "remove", "news")
    assert reason(cli, NEWS) == "source_removed"
    stock.execute("UPDATE watches SET merged_into = ? WHERE id = ?", watch_id(RULES), watch_id(PRIVATE))
    assert reason(cli, PRIVATE) == "merged"
    assert RULES in cli("why-not", PRIVATE).out


def test_why_not_tells_a_store_without_an_engine_from_one_that_is_busy(cli: Cli, stock: Stock):
    assert reason(cli, NEWS) == "no_engine"
    lock = StoreLock(stock.data / LOCK)
    lock.take("pid 7")
    try:
        assert reason(cli, NEWS) == "waiting"
    finally:
        lock.release()


def test_why_not_lists_everything_that_holds_a_url_back(cli: Cli, stock: Stock):
    stock.group(lanes=((HOST, LaneState(failures=5, closed_until=NOW + HOUR)),))
    codes = [one["reason"] for one in cli("why-not", PRIVATE, "--json").json["all"]]
    assert codes == ["robots_refused", "lane_closed", "not_due"]


def test_a_store_that_is_not_there_or_too_old_is_told(tmp_path: Path, stock: Stock):
    nowhere = Cli(tmp_path / "nowhere")("list")
    assert nowhere.code == 5
    assert "run `vedette init`" in nowhere.err
    stock.execute("UPDATE alembic_version SET version_num = '0000'")
    old = Cli(stock.data)("list")
    assert old.code == 5
    assert "run `vedette db upgrade`" in old.err
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "vedette.db").write_bytes(b"x" * 5000)
    assert Cli(tmp_path / "bad")("list").code == 5


def test_ids_beyond_the_range_are_no_surprise(cli: Cli):
    assert WatchId(0) == 0
    assert cli("evidence", "show", "9" * 25).code == 1


def test_an_explanation_marks_the_look_that_saw_a_change_first_and_the_one_that_confirmed_it(
    stock: Stock, cli: Cli
):
    first = stock.visit(NEWS, at=NOW - HOUR / 2 - SECOND, body="new")
    stock.visit(
        NEWS, at=NOW - HOUR / 2, body="new", change=lambda watch, _: a_change(number=78)(watch, first.id)
    )
    looks = cli("explain", NEWS).out.partition("looks, newest first\n")[2].splitlines()
    assert [line.split()[-1] for line in looks[:2]] == ["confirmed", "2"]
    assert looks[1].endswith("change 2")
    seen = cli("explain", NEWS, "--json").json["visits"]
    assert [one["change"] for one in seen[:3]] == [None, 78, None]


def test_a_list_says_what_is_paused_and_what_is_muted(cli: Cli):
    assert cli("pause", "news").code == cli("mute", "rules").code == 0
    rows = {line.split()[-1]: line for line in cli("list").out.splitlines()[1:]}
    assert "paused" in rows[NEWS]
    assert "muted" in rows[RULES]
    assert "muted" not in rows[PRIVATE]
    body = {one["url"]: one for one in cli("list", "--json").json["watches"]}
    assert [body[url]["is_paused"] for url in (NEWS, RULES, PRIVATE)] == [True, False, False]
    assert [body[url]["is_muted"] for url in (NEWS, RULES, PRIVATE)] == [False, True, False]
