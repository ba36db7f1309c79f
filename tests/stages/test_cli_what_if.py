"""simulate and freshness: what they say, and what they say no to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from cli_call import Cli
from stocked import blank, stocked

GRID = ("simulate", "--world", "demo", "--days", "2")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    stocked(tmp_path)
    return Cli(tmp_path)


def test_a_store_without_history_says_what_to_do(tmp_path):
    blank(tmp_path)
    told = Cli(tmp_path)("simulate")
    assert told.code == 1
    assert "no history to play over yet" in told.err
    told = Cli(tmp_path)("freshness")
    assert told.code == 2
    assert "nothing is watched yet" in told.err


@pytest.mark.parametrize("verb", ["simulate", "freshness"])
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--budget=0",), "buys no look"),
        (("--budget=-3",), "buys no look"),
        (("--budget=inf",), "buys no look"),
        (("--budget=nanx",), "buys no look"),
        (("--budget=much",), "neither looks per day"),
        (("--policy", "seed-emwa"), "seed-ewma"),
        (("--objective", "CRITICAL"), "write"),
        (("--objective", "URGENT=2h"), "unknown risk"),
        (("--objective", "CRITICAL=soon"), "not a duration"),
        (("--objective", "CRITICAL=0h"), "above 0"),
        (("--objective", "CRITICAL=2h:1.5"), "at most 1"),
        (("--objective", "CRITICAL=2h:x"), "write for example"),
        (("--since", "yesterday"), "neither a duration"),
    ],
)
def test_bad_words_get_one_clear_line(cli, verb, words, expected):
    told = cli(verb, *words)
    assert told.code == 2
    assert expected in told.err
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--plot", "x.pdf"), ".png or .svg"),
        (("--plot", "no/such/folder/x.png"), "no folder"),
        (("--world", "mars"), "living web"),
    ],
)
def test_bad_words_of_simulate(cli, words, expected):
    told = cli("simulate", *words)
    assert told.code == 2
    assert expected in told.err


def test_without_matplotlib_the_extra_is_named(cli, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else real(name)
    )
    told = cli(*GRID, "--plot", str(cli.data / "x.png"))
    assert told.code == 1
    assert "pip install 'vedette[plot]'" in told.err


def test_freshness_before_anything_was_looked_at_twice(cli):
    told = cli("freshness", "--json")
    assert told.code == 0
    expected = told.json["expected"]["classes"]["CRITICAL"]
    assert expected["targets"] == 1
    assert expected["share"] == 0.95
    assert told.json["measured"]["classes"]["CRITICAL"]["changes"] == 1
    assert "measured over" in cli("freshness").out


def test_what_was_removed_is_not_counted_as_watched(cli):
    before = cli("freshness", "--json").json["expected"]["classes"]["CRITICAL"]["targets"]
    for watch in cli("list", "--json").json["watches"]:
        if watch["risk"] == "CRITICAL":
            assert cli("remove", watch["source"]).code == 0
    after = cli("freshness", "--json").json["expected"]["classes"]
    assert before == 1
    assert after["CRITICAL"]["targets"] == 0


def test_an_objective_that_a_host_has_no_room_for_names_the_host(cli):
    config = cli.data / "vedette.yaml"
    config.write_text(
        "schedule: {host_budget_per_day: 2}\nobjectives: {CRITICAL: {within: 4h, share: 0.9}}\n"
    )
    told = cli("freshness", "--config", str(config), "--json")
    (tight,) = told.json["expected"]["tight_hosts"]
    assert tight["host"] == "example.org"
    assert tight["missing"] == pytest.approx(24 * 0.9 / 4 - 2)
    assert told.json["holds"] is False
    assert cli("freshness", "--config", str(config), "--check").code == 6
    assert "too many" in cli("freshness", "--config", str(config)).out


def test_a_living_web_is_played_without_bounds(cli):
    told = cli(*GRID, "--policy", "fixed", "--budget", "0.5x", "--budget", "none", "--json")
    assert told.code == 0
    half, free = told.json["scenes"]
    assert half["budget_per_day"] == pytest.approx(told.json["requests_per_day"] / 2)
    assert free["budget_per_day"] is None
    one = half["classes"]["ALL"]["requests"]
    assert one["low"] == one["high"] == pytest.approx(half["budget_per_day"], rel=0.05)


def test_objectives_and_budgets_come_from_the_configuration(cli):
    config = cli.data / "vedette.yaml"
    config.write_text("schedule: {budget_per_day: 40}\nobjectives: {HIGH: {within: 1d, share: 0.5}}\n")
    said = cli(*GRID, "--config", str(config), "--json").json
    assert said["objectives"] == {"HIGH": {"within_h": 24.0, "share": 0.5}}
    assert said["scenes"][0]["budget_per_day"] == 40
    bad = cli.data / "bad.yaml"
    for text in ("objectives: {URGENT: {within: 4h}}", "objectives: {CRITICAL: {within: 4h, share: 2}}",
                 "schedule: {budget_per_day: 0}", "schedule: {audit_share: 0.9}"):  # fmt: skip
        bad.write_text(text)
        assert cli("freshness", "--config", str(bad)).code == 4


def test_policies_are_compared_at_one_budget_unless_told_otherwise(tmp_path: Path):
    """By itself `fixed` looks twice as often as `learned`: no wonder it is in time more often."""
    words = ("--policy", "fixed", "--policy", "learned", "--json")
    even = Cli(tmp_path)(*GRID, *words).json["scenes"]
    assert even[0]["budget_per_day"] == even[1]["budget_per_day"] is not None
    spent = [one["classes"]["ALL"]["requests"]["high"] for one in even]
    assert spent[0] == pytest.approx(spent[1], rel=0.1)
    critical = [one["classes"]["CRITICAL"]["within"]["high"] for one in even]
    assert critical[1] > critical[0]
    free = Cli(tmp_path)(*GRID, *words, "--budget", "none").json["scenes"]
    assert [one["budget_per_day"] for one in free] == [None, None]
    told = Cli(tmp_path)(*GRID, *words[:-1]).err
    assert "Each was given" in told
    assert "Promised: CRITICAL within 4 h (95%)" in told


def test_a_plot_of_a_known_world_speaks_of_no_bounds(tmp_path: Path):
    told = Cli(tmp_path)(*GRID, "--policy", "fixed", "--plot", str(tmp_path / "a.svg"))
    assert told.code == 0
    drawn = (tmp_path / "a.svg").read_text()
    assert "band" not in drawn
    assert "times 10" not in drawn


def test_freshness_tells_that_an_interval_that_was_asked_for_is_too_long_for_the_promise(cli):
    critical = "http://127.0.0.9/critical"
    assert cli("add", critical, "--risk", "critical", "--every", "2d").code == 0
    told = cli("freshness", "--check", "--json")
    assert told.json["expected"]["classes"]["CRITICAL"]["coverage"] < 0.95
    assert not told.json["holds"]
    assert told.code != 0


def test_freshness_says_no_number_that_says_nothing(cli):
    told = cli("freshness")
    assert told.code == 0
    for riddle in ("0% or more", "100% or more", "- by 0", " days,", "100.0%"):
        assert riddle not in told.out
    assert "measured over " in told.out
