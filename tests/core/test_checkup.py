"""One look at a source, judged."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vedette.contracts.source import Follow, ListerKind, Listing, Sighting, Source
from vedette.contracts.words import Outcome, SourceId, WatchId
from vedette.core.health.source_health import SourceFinding, SourceLook, is_offline, judge_source

URL = "https://h.hr/vijesti"
NEWS = Source(id=SourceId("news"), name="News", url=URL, lister=ListerKind.HTML_LIST)
LISTED = Listing(
    sightings=(Sighting(url=f"{URL}/1", id=WatchId(1)),),
    follow=(Follow(url=f"{URL}?page=2", lister=ListerKind.PAGE, depth=1),),
)
FINE = SourceLook(source=NEWS, outcome=Outcome.OK, answered=URL, status=200, listing=LISTED)


@pytest.mark.parametrize(
    ("look", "finding", "words"),
    [
        (FINE, SourceFinding.FINE, "2 listed"),
        (replace(FINE, answered="https://h.hr/novosti", is_permanent=True), SourceFinding.MOVED, "for good to https://h.hr/novosti"),
        (replace(FINE, answered="https://h.hr/novosti"), SourceFinding.MOVED, "for now"),
        (replace(FINE, outcome=Outcome.GONE), SourceFinding.GONE, "gone"),
        (replace(FINE, outcome=Outcome.SOFT_404), SourceFinding.GONE, "not found"),
        (replace(FINE, listing=Listing()), SourceFinding.NOTHING_LISTED, "empty"),
        (replace(FINE, listing=Listing(problem="no list found")), SourceFinding.NOTHING_LISTED, "no list found"),
        (
            replace(FINE, listing=Listing(problem="not a list"), looks_like=ListerKind.FEED),
            SourceFinding.KIND_CHANGED,
            "looks like feed, is read as html_list",
        ),
        (replace(FINE, outcome=Outcome.ROBOTS_REFUSED, detail="/vijesti"), SourceFinding.REFUSED, "/vijesti"),
        (replace(FINE, outcome=Outcome.LOGIN_WALL), SourceFinding.REFUSED, "login"),
        (replace(FINE, outcome=Outcome.SERVER_ERROR), SourceFinding.UNREACHABLE, "failed"),
        (replace(FINE, outcome=Outcome.NO_BROWSER), SourceFinding.NOT_LOOKED, "browser"),
        (replace(FINE, outcome=Outcome.LANE_CLOSED), SourceFinding.NOT_LOOKED, "lane"),
    ],
)  # fmt: skip
def test_each_finding_has_its_row(look, finding, words):
    checked = judge_source(look)
    assert checked.finding is finding
    assert words in checked.words


@pytest.mark.parametrize("outcome", Outcome)
def test_every_outcome_is_judged(outcome):
    judge_source(replace(FINE, outcome=outcome))


def test_a_page_or_an_act_lists_nothing_and_is_fine():
    for lister in (ListerKind.PAGE, ListerKind.NN, ListerKind.HNB, ListerKind.EURLEX):
        look = replace(FINE, source=replace(NEWS, lister=lister), listing=Listing())
        assert judge_source(look).finding is SourceFinding.FINE


def test_no_network_is_said_when_several_hosts_fail_and_not_when_one_does():
    down = replace(FINE, outcome=Outcome.DNS_ERROR)
    other = replace(down, source=replace(NEWS, url="https://other.hr/"))
    assert is_offline([judge_source(down), judge_source(other)])
    assert not is_offline([judge_source(down), judge_source(down)])
    assert not is_offline([judge_source(down), judge_source(other), judge_source(FINE)])
    assert not is_offline([])
