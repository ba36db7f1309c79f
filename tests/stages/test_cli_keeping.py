"""lanes, sources, parked, evidence, db, doctor: the operator's hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import HOUR, NEWS, NOW, RULES, Stock, stocked

from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Parked
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.urls.canonical import watch_id

HOST = LaneKey("host:example.org")


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return stocked(tmp_path)


@pytest.fixture
def cli(stock: Stock) -> Cli:
    return Cli(stock.data)


def test_lanes_show_what_holds_them(cli: Cli, stock: Stock):
    assert cli("lanes", "--json").json == {"lanes": []}
    stock.group(lanes=((HOST, LaneState(failures=5, closed_until=NOW + HOUR, crawl_delay=HOUR)),))
    lane = cli("lanes", "show", "https://example.org/any", "--json").json["lanes"][0]
    assert (lane["condition"], lane["failures"], lane["crawl_delay"]) == ("open", 5, 3600.0)
    assert lane["reasons"][0]["seconds"] == 3600.0
    assert "breaker open until 2026-11-15 13:00:00" in cli("lanes").out
    assert cli("lanes", "show", "--shut", "--json").json["lanes"]


@pytest.mark.parametrize("name", ["host:example.org", "example.org", "EXAMPLE.org", "https://example.org/x"])
def test_a_lane_is_reset_and_blocked_by_any_of_its_names(cli: Cli, stock: Stock, name: str):
    stock.group(lanes=((HOST, LaneState(failures=5, closed_until=NOW + HOUR, next_start_at=NOW + HOUR)),))
    assert cli("lanes", "reset", name).code == 0
    lane = cli("lanes", "show", "--json").json["lanes"][0]
    assert (lane["condition"], lane["failures"]) == ("closed", 0)
    assert lane["next_start_at"] is not None  # politeness is not reset
    assert cli("lanes", "block", name, "--why", "they asked").code == 0
    assert cli("lanes", "show", "--json").json["lanes"][0]["blocked_by"] == "they asked"
    assert ("lane", "host:example.org") in stock.orders()


def test_a_source_is_paused_resumed_reset_and_removed(cli: Cli, stock: Stock):
    assert cli("sources", "pause", "news", "--json").json["watches"] == 1
    assert "paused" in cli("sources").out
    assert cli("due", "--json").json["watches"] == []
    assert cli("sources", "resume", "news").code == 0
    stock.execute(
        "UPDATE sources SET failures = 5, closed_until = 9999999999999, last_error = 'x' WHERE id = 'news'"
    )
    assert "closed, opens" in cli("sources", "list").out
    assert cli("sources", "reset", "news").code == 0
    news = next(s for s in cli("sources", "--json").json["sources"] if s["id"] == "news")
    assert (news["failures"], news["closed_until"]) == (0, None)
    assert cli("sources", "remove", "news").code == 0
    assert "news" not in [s["id"] for s in cli("sources", "--json").json["sources"]]
    assert cli("history", NEWS).code == 0  # what was seen stays
    assert cli("sources", "pause", "news").code == 2


def test_parked_looks_are_listed_retried_and_dropped(cli: Cli, stock: Stock):
    for url in (RULES, NEWS):
        parked = Parked(
            watch=watch_id(url), url=url, outcome=Outcome.TIMEOUT, detail="slow", attempts=3, at=NOW
        )
        stock.visit(url, outcome=Outcome.TIMEOUT, at=NOW, parked=parked, due_at=NOW + 99 * HOUR)
    assert len(cli("parked", "--json").json["parked"]) == 2
    assert cli("parked", "show", RULES, "--json").json["detail"] == "slow"
    assert cli("parked", "retry", RULES).code == 0
    assert [w["url"] for w in cli("due", "--json").json["watches"]] == [RULES]
    assert cli("parked", "retry", RULES).code == 1
    assert cli("parked", "drop").code == 2
    assert cli("parked", "drop", "--all", "--json").json == {"dropped": 1}
    assert "nothing is parked" in cli("parked").err


def test_evidence_is_shown_by_url_number_and_digest(cli: Cli):
    found = cli("evidence", "show", RULES, "--json").json["evidence"]
    assert len(found) == 2
    by_number = cli("evidence", "show", str(found[0]["evidence"]), "--json").json["evidence"]
    by_digest = cli("evidence", "show", f"sha256:{found[0]['digest']}", "--json").json["evidence"]
    assert by_number == by_digest == found[:1]
    assert cli("evidence", "show", "0" * 64).code == 1
    assert cli("evidence", "show", "what").code == 2
    assert cli("evidence", "heads", "--json").json["heads"][0]["count"] == 4
    assert cli("evidence").code == 2


def test_evidence_names_the_text_that_was_made_of_it(cli: Cli, stock: Stock):
    one, other = (found["evidence"] for found in cli("evidence", "show", RULES, "--json").json["evidence"])
    stock.execute(f"INSERT INTO artifacts VALUES ({one}, 'ocr', 'abc', 1200, 91.4, 'artifacts/ab/c.zst', 0)")
    shown = cli("evidence", "show", RULES, "--json").json["evidence"]
    made = {found["evidence"]: found.get("artifacts") for found in shown}
    assert made[other] is None
    assert [(text["kind"], text["chars"], text["confidence"]) for text in made[one]] == [("ocr", 1200, 91.4)]
    assert "ocr 1200 characters, 91 % sure" in cli("evidence", "show", RULES).out


def test_the_doctor_says_what_scanned_documents_lack(cli: Cli, tmp_path: Path):
    config = tmp_path / "ocr.yaml"
    config.write_text("extract: {ocr_languages: zzz}\n")
    checks = {
        check["check"]: check for check in cli("doctor", "--config", str(config), "--json").json["checks"]
    }
    assert checks["ocr"]["state"] == "warn"
    assert "scanned documents and images are kept and parked" in checks["ocr"]["found"]
    assert "apt-get install" in checks["ocr"]["remedy"]
    assert checks["documents"]["state"] == "ok"


def test_verify_finds_problems_in_a_store_whose_archive_is_gone(cli: Cli):
    told = cli("evidence", "verify", "--json")
    assert told.code == 6
    assert told.json["whole"] is False
    assert "missing" in {problem["kind"] for problem in told.json["problems"]}
    assert "problems" in cli("evidence", "verify", "--quick").out


def test_an_export_of_evidence_says_what_is_wrong(cli: Cli, tmp_path: Path):
    assert cli("evidence", "export", RULES, "--to", str(tmp_path / "x.txt")).code == 2
    assert cli("evidence", "export", RULES, "--to", str(tmp_path / "x.warc.gz")).code == 5
    assert not (tmp_path / "x.warc.gz").exists()
    assert cli("evidence", "export", RULES, "--to", str(tmp_path / "x.warc.gz"), "--since", "1m").code == 1


def test_db_says_where_it_is_and_how_it_is(cli: Cli, stock: Stock):
    status = cli("db", "status", "--json").json
    assert (status["rows"]["watches"], status["rows"]["changes"], status["version"]) == (
        3,
        1,
        status["newest"],
    )
    assert cli("db").out.startswith(str(stock.path))
    assert cli("db", "path").out == f"{stock.path.resolve()}\n"
    assert "is up to date" in cli("db", "upgrade").out


def test_the_doctor_names_what_is_bad_and_what_to_do(cli: Cli, stock: Stock, tmp_path: Path):
    told = cli("doctor", "--json")
    checks = {check["check"]: check for check in told.json["checks"]}
    assert checks["archive"]["state"] == "bad"  # rows without files
    assert "verify" in checks["archive"]["remedy"]
    assert checks["user agent"]["state"] == "warn"
    assert checks["store"]["state"] == "ok"
    assert told.code == 6
    stock.execute("DELETE FROM segments")
    assert cli("doctor").code == 0


def test_without_a_browser_the_doctor_says_how_to_get_one_and_who_waits_for_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", "")
    checks = {check["check"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["browser"]["state"] == "warn"
    assert "is not installed; pages that only scripts fill" in checks["browser"]["found"]
    assert "is not installed" in cli("add", "https://app.example/", "--headless").err
    checks = {check["check"]: check for check in cli("doctor", "--json").json["checks"]}
    assert checks["browser"]["found"].endswith("parked until it is: app-example")
    assert "install" in checks["browser"]["remedy"]


def test_the_doctor_survives_a_broken_configuration(cli: Cli, tmp_path: Path):
    bad = tmp_path / "bad.yaml"
    bad.write_text("fetsh: {}\n")
    told = cli("doctor", "--config", str(bad), "--json")
    assert told.code == 6
    assert "did you mean `fetch`" in json.dumps(told.json)
    assert cli("list", "--config", str(bad)).code == 4


def test_the_doctor_distrusts_a_clock_that_went_back(cli: Cli, stock: Stock):
    stock.execute(
        "INSERT INTO runs (id, started_at, policy, config_digest) VALUES ('r', 9999999999999, 'p', 'd')"
    )
    checks = {c["check"]: c["state"] for c in cli("doctor", "--json").json["checks"]}
    assert checks["clock"] == "bad"
