"""Why, how fresh, what if: as operations.  Values in, values out; nothing is printed."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from stocked import NOW, PRIVATE, RULES, FixedClock, stocked

from vedette.config.model import load
from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.explain import explain
from vedette.operations.freshness import (
    FreshnessQuestion,
    a_budget,
    freshness,
    freshness_json,
    some_objectives,
)
from vedette.operations.hunt import hunt, hunt_json
from vedette.operations.installation import Installation
from vedette.operations.rank import RankQuestion, rank_urls, read_signals
from vedette.operations.simulate import WhatIf, replay, replay_json, simulate_record
from vedette.operations.why_not import why_not, why_not_json
from vedette.report.explanation import explanation_json
from vedette.report.plain import dump


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    return Installation(load(None, stocked(tmp_path / "data").data), FixedClock())


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str]):
    """An operation prints nothing."""
    yield
    assert capfd.readouterr() == ("", "")


def test_a_decision_is_explained_as_it_was_recorded(here: Installation):
    said = explain(here, RULES.upper().replace("ZAKON/PDV", "zakon/pdv"), visits=1)
    assert (said.watch.url, len(said.visits)) == (RULES, 1)
    assert said.decisions
    assert json.loads(dump(explanation_json(said, NOW)))["url"] == RULES
    with pytest.raises(VedetteError, match="is not watched"):
        explain(here, "https://example.org/unknown", visits=1)


def test_what_holds_a_url_back_is_told_for_any_url(here: Installation):
    for url in (RULES, PRIVATE, "https://example.org/unknown"):
        found = why_not(here, url)
        body = why_not_json(found)
        assert found.url == url
        assert body["reason"] == found.answers[0].code
        assert len(body["all"]) == len(found.answers) > 0
    with pytest.raises(InputError, match="has no scheme"):
        why_not(here, "example.org/rules")


def test_freshness_says_what_is_expected_and_what_was_measured(here: Installation):
    found = freshness(here, FreshnessQuestion(budget="none", objectives=["HIGH=6h:0.9"]))
    assert found.outlook.budget is None
    assert found.goals["HIGH"] == (6.0, 0.9)
    assert freshness_json(found)["holds"] == found.holds()
    with pytest.raises(InputError, match="buys no look"):
        freshness(here, FreshnessQuestion(budget="0"))


def test_a_what_if_without_a_history_says_so(here: Installation):
    here.loaded.data.joinpath("vedette.db").unlink()
    here.new_store()
    with pytest.raises(VedetteError, match="no history"):
        simulate_record(here, WhatIf(), since=None, draws=2, progress=lambda done, whole: None)


def test_a_hunt_that_never_was_is_empty(here: Installation):
    found = hunt(here, top=5)
    assert (found.state.number, found.hosts, found.next) == (0, [], [])
    assert hunt_json(found)["chosen"] == 0


def test_every_decision_is_counted_once(here: Installation):
    steps: list[tuple[int, int]] = []
    found = replay(here, progress=lambda done, whole: steps.append((done, whole)))
    counted = found.agreed.total() + found.differing.total() + found.not_recomputed.total()
    assert counted > 0
    assert steps[-1][0] == steps[-1][1]
    assert len(replay_json(found)["differences"]) == found.differing.total()
    about_one = replay(here, RULES)
    assert about_one.agreed.total() <= found.agreed.total()


def test_rows_are_ranked_and_bad_ones_refuse_all():
    rows = b'{"url": "https://a.example/", "visits": 9}\n{"url": "https://b.example/"}\n{"url": 7}\n'
    gathered = read_signals(BytesIO(rows), "auto", now=NOW)
    with pytest.raises(InputError, match="1 of 3 rows cannot be used"):
        rank_urls(gathered, RankQuestion(now=NOW))
    found = rank_urls(gathered, RankQuestion(now=NOW, skips_bad=True))
    assert [one.url for one in found] == [one.url for one in found]  # it can be walked again
    assert {one.url for one in found} == {"https://a.example/", "https://b.example/"}


@pytest.mark.parametrize(("text", "looks"), [("none", None), ("0.5x", 50.0), ("2000", 2000.0)])
def test_a_budget_is_read_as_people_write_it(text: str, looks: float | None):
    assert a_budget(text, 100.0) == looks


def test_an_objective_takes_the_place_of_the_configured_one():
    assert some_objectives(["critical=2h"], {"CRITICAL": (4.0, 0.9), "LOW": (24.0, 0.5)}) == {
        "CRITICAL": (2.0, 0.95),
        "LOW": (24.0, 0.5),
    }
