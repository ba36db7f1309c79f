"""Watches, changes, lanes and parked work as operations: values in, values out."""

from __future__ import annotations

from pathlib import Path

import pytest
from stocked import NEWS, NOW, RULES, FixedClock, Stock, stocked

from vedette.config.model import load
from vedette.contracts.change import ChangeState
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.watch import Parked
from vedette.contracts.words import LaneKey, Outcome
from vedette.core.lanes.lane import BLOCKED, CLOSED, condition
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import TOLD, a_lane, an_outcome, some_states
from vedette.operations.changes import list_changes, stored_diff
from vedette.operations.classified import classify_page
from vedette.operations.installation import Installation
from vedette.operations.lanes import (
    block_lane,
    drop_work,
    explained_lane_json,
    find_parked,
    list_lanes,
    list_parked,
    reset_lane,
    retry_work,
)
from vedette.operations.watches import history_of, list_watches, watched_host
from vedette.store.views import ChangeFilter, WatchFilter

LANE = LaneKey("host:example.org")


@pytest.fixture
def here(tmp_path: Path) -> Installation:
    stocked(tmp_path / "data")
    return Installation(load(None, tmp_path / "data"), FixedClock())


def test_a_list_that_is_cut_says_how_many_there_are(here: Installation):
    whole, cut = list_watches(here, WatchFilter(), 0), list_watches(here, WatchFilter(), 1)
    assert (len(cut.watches), cut.total) == (1, whole.total)
    assert whole.total == len(whole.watches) > 1
    assert all(watch.last_outcome is not None for watch in whole.unseen)


def test_the_history_names_the_change_that_a_look_was_the_first_to_show(here: Installation):
    found = history_of(here, RULES.replace("example", "EXAMPLE"), 0)
    shown = {found.changes[visit.id] for visit in found.visits if visit.id in found.changes}
    told = list_changes(here, ChangeFilter(watch=found.watch.id, states=TOLD), 0)
    assert shown == {(one.view.change.id, one.number) for one in told}
    with pytest.raises(VedetteError, match="is not watched"):
        history_of(here, "https://example.org/unknown", 0)


def test_a_change_is_found_by_its_number_its_id_and_its_page(here: Installation):
    newest = list_changes(here, ChangeFilter(), 1)[0]
    by_number, by_page = stored_diff(here, str(newest.number)), stored_diff(here, newest.view.url)
    by_id = stored_diff(here, str(newest.view.change.id))
    assert {one.change.number for one in (by_number, by_page, by_id)} == {newest.number}
    assert list(by_number.ops) == list(newest.view.change.comparison.diff)
    with pytest.raises(VedetteError, match="there is no change 9999"):
        stored_diff(here, "9999")


def test_a_lane_is_blocked_and_reset_and_a_stranger_is_refused(here: Installation):
    block_lane(here, LANE, "asked us to stop")
    view = list_lanes(here, LANE, only_shut=True)[0]
    assert condition(view.state, here.now()) == BLOCKED
    assert explained_lane_json(here, view, here.now())["blocked_by"] == "asked us to stop"
    assert condition(reset_lane(here, LANE), here.now()) == CLOSED
    assert list_lanes(here, LANE, only_shut=True) == []
    with pytest.raises(InputError, match="no page of it is watched"):
        reset_lane(here, LaneKey("host:exampel.org"))


def test_parked_work_is_found_retried_and_dropped(here: Installation):
    stock = Stock(here.loaded.data, count=100)
    for url in (RULES, NEWS):
        parked = Parked(
            watch=watch_id(url), url=url, outcome=Outcome.TIMEOUT, detail="slow", attempts=3, at=NOW
        )
        stock.visit(url, outcome=Outcome.TIMEOUT, at=NOW, parked=parked)
    assert len(list_parked(here).looks) == 2
    assert [look.detail for look in find_parked(here, RULES).looks] == ["slow"]
    assert retry_work(here, RULES) == 1
    with pytest.raises(VedetteError, match="is not parked"):
        drop_work(here, RULES)
    with pytest.raises(InputError, match="no parked job is called 'ocr-17'"):
        find_parked(here, "ocr-17")
    assert drop_work(here, None) == 1
    assert list_parked(here).looks == ()


def test_words_become_values_or_an_error_that_names_the_nearest(here: Installation):
    assert {a_lane(word) for word in ("host:example.org", "Example.org", RULES)} == {LANE}
    assert watched_host(here, "EXAMPLE.org") == "example.org"
    assert an_outcome("OK", "--outcome") is Outcome.OK
    assert some_states(None, "--state") == TOLD
    assert some_states("observed", "--state") == (ChangeState.OBSERVED,)
    with pytest.raises(InputError, match="did you mean 'reported'"):
        some_states("reportd", "--state")
    with pytest.raises(InputError, match="--host"):
        watched_host(here, "exampel.org")


def test_a_url_is_classified_without_a_store(tmp_path: Path):
    loaded = load(None, tmp_path / "none")
    page = classify_page(loaded.config, "HTTPS://EXAMPLE.ORG/zakon/pdv")
    assert (page.url, page.blocked_by) == (RULES, None)
    assert page.said.reason.code
    assert not (tmp_path / "none").exists()
