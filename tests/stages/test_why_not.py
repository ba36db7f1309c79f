"""why-not gives the true reason: every outcome, under every policy, from a store as the engine writes it."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import HOUR, NOW, FixedClock, Stock

from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Decision, Parked
from vedette.contracts.words import Outcome, Reason
from vedette.core.health.remedies import ALL_SETTINGS, REMEDIES, advice
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.schedule.due import DUE_RULES, LEARNED
from vedette.core.urls.canonical import lane_of, watch_id
from vedette.report.why_not import INTERVAL_BY

POLICIES = (*DUE_RULES, LEARNED)
PAGE = "https://example.org/page"
DETAIL = "10.1.2.3 is private; only fetch.allow_networks can open it"


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Stock:
    stock = Stock(tmp_path_factory.mktemp("store"))
    stock.source(PAGE, name="page")
    return stock


def looked(stock: Stock, outcome: Outcome, policy: str, *, is_parked: bool = False) -> None:
    made = Decision(action="schedule", inputs={"policy": policy}, output={})
    parked = Parked(watch=watch_id(PAGE), url=PAGE, outcome=outcome, detail=DETAIL, attempts=3, at=NOW)
    more = {"parked": parked} if is_parked else {}
    at = NOW - HOUR + stock.count * HOUR / 1000
    stock.execute("DELETE FROM parked")
    stock.visit(
        PAGE, outcome=outcome, at=at, detail="" if outcome in SEEN else DETAIL, decisions=(made,),
        due_at=NOW + 91 * HOUR, interval=91 * HOUR, **more,
    )  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("outcome", Outcome, ids=str)
def test_the_outcome_of_the_last_look_comes_first_with_what_to_do(
    stock: Stock, outcome: Outcome, policy: str
):
    """A5: address_refused was told as `not due ... by velocity 0.50`."""
    looked(stock, outcome, policy)
    looked(stock, outcome, policy)  # so it was no single bad answer
    said = Cli(stock.data)("why-not", PAGE, "--json").json
    everything = " ".join(one["answer"] for one in said["all"])
    if outcome in SEEN:
        assert said["reason"] == "not_due"
        assert INTERVAL_BY[policy].format(velocity=0.5, risk="MEDIUM") in said["answer"]
    else:
        assert said["reason"] == outcome.value
        assert DETAIL in said["answer"]
        assert "(in 3 d 19 h)" in said["answer"]  # when it is tried again
        assert said["remedy"] == advice(outcome, url=PAGE, detail=DETAIL) != ""
    assert ("velocity" in everything) == (policy == "seed-ewma" and MEANING[outcome].keeps_schedule)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("outcome", [o for o in Outcome if MEANING[o].retry], ids=str)
def test_a_parked_look_says_how_its_attempts_ended_and_how_to_try_at_once(
    stock: Stock, outcome: Outcome, policy: str
):
    looked(stock, outcome, policy, is_parked=True)
    said = Cli(stock.data)("why-not", PAGE, "--json").json
    assert (said["reason"], f"3 attempts ended with {outcome.value} ({DETAIL})" in said["answer"]) == (
        "parked",
        True,
    )
    assert said["remedy"].endswith(f"vedette parked retry {PAGE}")
    assert "velocity" not in " ".join(one["answer"] for one in said["all"])


@pytest.mark.parametrize(
    ("detail", "line"),
    [
        (
            "127.0.0.2 is loopback; only fetch.allow_networks can open it",
            'fetch: {allow_networks: ["127.0.0.2/32"]}',
        ),
        ("::1 is loopback; only fetch.allow_networks can open it", 'fetch: {allow_networks: ["::1/128"]}'),
        ("port 81 is neither usual nor in fetch.allow_ports", "fetch: {allow_ports: [81]}"),
    ],
)
def test_a_refused_address_gives_the_very_line_to_write(detail: str, line: str):
    assert line in advice(Outcome.ADDRESS_REFUSED, url=PAGE, detail=detail)


def test_all_that_is_in_the_way_of_an_address_is_named_at_once():
    from vedette.fetch.guard import Guard

    reason = Guard((), ()).refuses("127.0.0.2", 8099)
    assert reason is not None
    said = advice(Outcome.ADDRESS_REFUSED, url=PAGE, detail=reason.note)
    assert 'fetch: {allow_networks: ["127.0.0.2/32"], allow_ports: [8099]}' in said


def test_an_inner_address_that_a_site_leads_to_is_not_simply_recommended():
    said = advice(Outcome.ADDRESS_REFUSED, url=PAGE, detail=f"leads to http://10.1.2.3/: {DETAIL}")
    assert said.startswith("The site itself leads there; only if that is meant")
    metadata = "169.254.169.254 is a cloud metadata address; only fetch.allow_networks can open it"
    assert "169.254" not in advice(Outcome.ADDRESS_REFUSED, url=PAGE, detail=metadata)


def test_every_setting_that_the_table_names_exists():
    named = {name for remedy in REMEDIES.values() for name in remedy.healed_by}
    assert named - ALL_SETTINGS == set()


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("option", ["every", "scrape_frequency"])
def test_an_interval_that_was_asked_for_is_said_to_be_asked_for(tmp_path: Path, policy: str, option: str):
    """N6."""
    stock = Stock(tmp_path)
    stock.source(PAGE, name="page", **{option: HOUR / 6})
    scheduled(stock, policy, Reason("fixed", 4.0), Reason(option, -4.0 + 1 / 6))
    said = Cli(stock.data)("why-not", PAGE, "--json").json["answer"]
    words = "every 10 min" if option == "every" else "at least every 10 min"
    assert f"interval 10 min, asked {words}." in said


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("audit", ", cut short at random, as the audit of the schedule"),
        ("objective", ", so that changes of MEDIUM pages are seen in time (objectives)"),
        ("acquaint", ", soon after the first look, to learn its noise"),
        ("failed", ", after looks that failed"),
    ],
)
def test_what_made_the_interval_is_said_and_not_what_usually_does(
    tmp_path: Path, policy: str, code: str, words: str
):
    """N6: the ceiling of a source that did not bite is not the reason either."""
    stock = Stock(tmp_path)
    stock.source(PAGE, name="page", scrape_frequency=24 * HOUR)
    scheduled(stock, policy, Reason("fixed", 4.0), Reason(code, -4.0 + 1 / 6))
    assert f"interval 10 min{words}." in Cli(stock.data)("why-not", PAGE, "--json").json["answer"]
    scheduled(stock, policy, Reason("fixed", 1 / 6))
    usual = INTERVAL_BY[policy].format(velocity=0.5, risk="MEDIUM")
    assert f"interval 10 min{usual}." in Cli(stock.data)("why-not", PAGE, "--json").json["answer"]


def scheduled(stock: Stock, policy: str, *reasons: Reason) -> None:
    made = Decision(action="schedule", reasons=reasons, inputs={"policy": policy}, output={})
    at = NOW - HOUR / 60 + stock.count * HOUR / 1000
    stock.visit(PAGE, at=at, decisions=(made,), due_at=NOW + HOUR / 7, interval=HOUR / 6)


def test_a_paused_page_is_told_to_be_resumed_and_nothing_that_would_be_refused(tmp_path: Path):
    """N6."""
    stock = Stock(tmp_path)
    stock.source(PAGE, name="page")
    cli = Cli(stock.data)
    assert cli("sources", "pause", "page").code == 0
    said = cli("why-not", PAGE)
    assert "vedette sources resume page" in said.out
    assert ("not scheduled" in said.out, "vedette look" in said.out) == (False, False)
    assert cli("look", PAGE).code != 0


def test_a_reader_of_the_store_sees_the_same(tmp_path: Path):
    stock = Stock(tmp_path)
    stock.source(PAGE, name="page")
    looked(stock, Outcome.ROBOTS_REFUSED, LEARNED)
    lines = Cli(stock.data)("why-not", PAGE).out.splitlines()
    assert lines[0].startswith("robots.txt does not allow it")
    assert lines[1].strip().startswith(f"vedette robots {PAGE}")


@pytest.mark.parametrize("outcome", [one for one in Outcome if one not in SEEN], ids=str)
def test_no_answer_says_that_something_is_done_again_in_the_past(stock: Stock, outcome: Outcome):
    looked(stock, outcome, LEARNED)
    said = Cli(stock.data, clock=FixedClock(NOW + 200 * HOUR))("why-not", PAGE, "--json").json
    for one in said["all"]:
        assert "again 2026" not in one["answer"], one


def test_a_lane_whose_next_turn_is_a_crawl_delay_away_says_so(tmp_path: Path):
    stock = Stock(tmp_path / "store")
    stock.source(PAGE, name="page")
    held = LaneState(next_start_at=NOW + 23 * HOUR, crawl_delay=24 * HOUR)
    stock.group(lanes=((lane_of(PAGE), held),))
    said = Cli(stock.data)("why-not", PAGE, "--json").json
    assert said["reason"] == "lane_gap"
    assert "(in 23 h): its robots.txt asks for 1 d between two requests (Crawl-delay)" in said["answer"]
    words = Cli(stock.data)("lanes", "show").out
    assert "its next turn is" in words
    assert "nothing holds it" not in words


def test_a_gap_that_ends_before_the_page_is_due_does_not_keep_it(tmp_path: Path):
    stock = Stock(tmp_path / "store")
    stock.source(PAGE, name="page")
    stock.visit(PAGE, at=NOW - HOUR, due_at=NOW + 6 * HOUR, interval=7 * HOUR)
    lane = LaneState(next_start_at=NOW + timedelta(seconds=90), crawl_delay=timedelta(seconds=120))
    stock.group(lanes=((lane_of(PAGE), lane),))
    assert Cli(stock.data)("why-not", PAGE, "--json").json["reason"] == "not_due"
