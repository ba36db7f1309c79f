"""What comes next, what hunts found, what another budget would have done, and one order for many watches."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from stocked import HOUR, NEWS, NOW, PRIVATE, RULES, a_change, stocked
from web_kit import an_installation, serving

from vedette.contracts.errors import InputError, RefusedError
from vedette.contracts.words import Reason
from vedette.operations.bulk_edit import MOST, edit_watches
from vedette.operations.due_list import DueLine, due_json, due_list
from vedette.operations.freshness_apart import FreshnessProcess, asked_what_if
from vedette.operations.watches import list_watches
from vedette.report.beliefs import Believed
from vedette.report.rate_band import WIDTH, rate_band, rate_words
from vedette.store.views import WatchFilter

EVIL = "<script>alert(1)</script>"
ODD = "https://odd.example/~ana/"
FINDING = (
    "INSERT INTO findings (watch_id, number, score, action, contributions, weights, found_at) "
    "VALUES (5, 1, 71.5, 'persist', ?, 'w1', 1794744000000)"
)
ODD_PAGE = (
    "INSERT INTO odd_pages (watch_id, number, url, place, source_id, at, digest, pull, simhash, figures, features, "
    "provenance, score, action, twin, weights) VALUES (5, 1, ?, 'odd.example', 'rules', 1794744000000, x'00', 0, 0, "
    "x'00', '[]', '{}', 71.5, 'persist', 0, 'w1')"
)


def test_what_is_due_comes_with_the_reasons_of_the_decision_that_set_its_time(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    assert [one.watch.url for one in due_list(installation, timedelta(0), 9).lines] == [NEWS]
    found = due_list(installation, timedelta(days=7), 9)
    assert [one.watch.url for one in found.lines] == [NEWS, RULES, PRIVATE]
    said = due_json(installation, found)[1]
    assert [one["code"] for one in said["reasons"]] == ["base", "velocity", "jitter"]
    assert "base: floor" in str(said["why"])
    first = due_list(installation, timedelta(days=7), 1)
    assert due_list(installation, timedelta(days=7), 9, first.after).lines == found.lines[1:]


def test_reasons_of_the_learned_policy_are_told_in_words():
    reasons = (
        Reason("value", 12.65, "0.237 changes a day; a look costs 1"),
        Reason("objective", -8.0, "CRITICAL changes must be seen in time"),
    )
    one = DueLine(watch=cast(Any, None), lane=None, reasons=reasons)
    assert one.why == "learned: 1.7 changes a week; promised: CRITICAL changes must be seen in time"
    dear = Reason("value", 12.65, "0.237 changes a day; a look costs 3.5")
    one = DueLine(watch=cast(Any, None), lane=None, reasons=(dear,))
    assert one.why == "learned: 1.7 changes a week; a look costs 3.5"


async def test_the_page_of_what_is_due_says_beside_the_field_what_cannot_be_read(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        assert "base: floor" in (await client.ask("/due?within=7d")).text
        assert 'id="problem-within"' in (await client.ask("/due?within=soon")).text
        assert (await client.ask("/api/v1/due/why?within=soon")).json["errors"][0]["field"] == "within"
        assert (await client.ask("/api/v1/due/why?within=7d&limit=1")).json["total"] == 3


async def test_findings_are_shown_with_what_makes_them_odd_and_can_be_filtered(tmp_path: Path):
    stock = stocked(tmp_path)
    stock.execute(ODD_PAGE, ODD)
    stock.execute(FINDING, f'[["{EVIL}", 1, "markup", 41.0], ["guestbook", 1, "age", 12.0]]')
    async with serving(an_installation(tmp_path)) as client:
        page = (await client.ask("/hunt")).text
        assert "guestbook" in page
        assert EVIL not in page
        assert "Nothing is so odd" in (await client.ask("/hunt?least=90")).text
        assert 'id="problem-least"' in (await client.ask("/hunt?least=many")).text
        assert [one["url"] for one in (await client.ask("/api/v1/hunt/findings")).json["items"]] == [ODD]
        assert (await client.post("/api/v1/hunt/mark", json={"url": ODD, "word": "nice"})).status == 422


def test_one_order_is_given_to_many_and_what_cannot_be_done_is_told_by_its_address(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    done = edit_watches(installation, "mute", [RULES, "https://nobody.example/", RULES], length=HOUR)
    assert done.done == (RULES,)
    assert [url for url, _ in done.refused] == ["https://nobody.example/"]
    found = list_watches(installation, WatchFilter(), 0)
    assert {one.url for one in found.watches if one.source in found.muted} == {RULES}
    assert edit_watches(installation, "pause", [RULES, NEWS]).done == (RULES, NEWS)


@pytest.mark.parametrize(("order", "urls", "field"), [
    ("praise", [RULES], "--order"), ("pause", [], "--urls"), ("pause", ["x"] * (MOST + 1), "--urls"),
])  # fmt: skip
def test_an_order_that_cannot_be_given_names_its_field(
    tmp_path: Path, order: str, urls: list[str], field: str
):
    stocked(tmp_path)
    with pytest.raises(InputError, match=field):
        edit_watches(an_installation(tmp_path), order, urls)


async def test_watches_can_be_chosen_on_the_page_and_by_a_call(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        assert (await client.ask("/watches")).text.count("data-pick") == 3
        origin = {"Origin": client.address}
        fields = [("order", "pause"), ("url", RULES), ("url", NEWS)]
        page = await client.post("/watches/order", data=fields, headers=origin)
        assert "2 watches" in page.text
        said = (await client.post("/api/v1/watches/order", json={"order": "resume", "urls": [RULES]})).json
        assert said["done"] == [RULES]
        assert (await client.post("/api/v1/watches/order", json={"order": "pause", "urls": []})).status == 422


def test_a_what_if_that_nobody_follows_writes_nothing_on_the_server(tmp_path: Path, capfd):
    stocked(tmp_path)
    asked = asked_what_if(budget="1", hours="4", policy="")
    FreshnessProcess().what_if(an_installation(tmp_path), asked)
    assert tuple(capfd.readouterr()) == ("", "")
    steps: list[tuple[int, int]] = []
    FreshnessProcess().what_if(
        an_installation(tmp_path), asked, progress=lambda done, whole: steps.append((done, whole))
    )
    assert steps
    assert steps[-1][0] == steps[-1][1]


def test_a_what_if_is_read_from_sliders_and_played_over_the_record(tmp_path: Path):
    stocked(tmp_path)
    asked = asked_what_if(budget="2", hours="1.5", policy="seed-ewma")
    assert (asked.budgets, asked.objectives) == (("2x",), ("CRITICAL=90m",))
    found = FreshnessProcess().what_if(an_installation(tmp_path), asked)
    assert found["objectives"]["CRITICAL"]["within_h"] == 1.5  # type: ignore[index]
    for wrong in ({"budget": "x"}, {"hours": "-1"}, {"budget": "99"}):
        with pytest.raises(InputError, match=f"--{next(iter(wrong))}: a number"):
            asked_what_if(**{"budget": "1", "hours": "4", "policy": "", **wrong})


async def test_a_what_if_that_cannot_be_asked_is_told_beside_its_slider(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        assert 'type="range"' in (await client.ask("/freshness")).text
        answer = await client.ask("/freshness/what-if?budget=many")
        assert (answer.status, 'id="problem-budget"' in answer.text) == (422, True)
        assert (await client.ask("/api/v1/what-if?hours=0")).json["errors"][0]["field"] == "hours"


def test_neighbours_of_a_change_are_those_of_the_list(tmp_path: Path):
    from vedette.operations.changes import list_changes, stored_diff
    from vedette.store.views import ChangeFilter

    stock = stocked(tmp_path)
    for number, at in ((90, NOW - 2 * HOUR), (91, NOW - HOUR), (92, NOW - HOUR / 2)):
        stock.visit(RULES, at=at, body=str(number), change=a_change(number=number, at=at))
    installation = an_installation(tmp_path)
    order = [one.number for one in list_changes(installation, ChangeFilter(), 0)]
    assert len(order) == 4
    found = [stored_diff(installation, str(number)) for number in order]
    assert [one.older for one in found] == [*order[1:], None]
    assert [one.newer for one in found] == [None, *order[:-1]]


def test_a_rate_stands_between_its_bounds_on_the_line_and_in_words():
    rates = (0.0, 0.001, 1 / 30, 0.5, 3.0, 1000.0)
    for low, best, high in zip(rates, rates[1:], rates[2:], strict=False):
        one = Believed(
            rate=best, rate_low=low, rate_high=high, p_changed=0.1, value=1, price=1, hours=1, looked_at=NOW
        )
        band = rate_band(one)
        assert 0 <= band.low <= band.best <= band.low + band.width <= WIDTH
    assert [rate_words(rate) for rate in (0.0, 1 / 365, 2 / 7, 1.0, 12.0)] == [
        "hardly ever", "1 change a year", "2 changes a week", "1 change a day", "12 changes a day",
    ]  # fmt: skip


async def test_chosen_watches_are_put_into_a_group_and_looked_at_together(tmp_path: Path):
    stock = stocked(tmp_path)
    installation = an_installation(tmp_path)
    assert edit_watches(installation, "group", [RULES, NEWS], group="taxes").refused == ()
    assert edit_watches(installation, "group", [RULES], group="rules").done == (RULES,)
    async with serving(installation) as client:
        both = (await client.ask("/api/v1/sources?tag=taxes")).json["items"]
        one = (await client.ask("/api/v1/sources?tag=rules")).json["items"]
        looked = (await client.post("/api/v1/watches/order", json={"order": "look", "urls": [RULES]})).json
        nameless = await client.post("/api/v1/watches/order", json={"order": "group", "urls": [RULES]})
    assert {source["url"] for source in both} >= {RULES, NEWS}
    assert [set(source["tags"]) >= {"taxes", "rules"} for source in one] == [True], (
        "it stays in those it was in"
    )
    assert looked["done"] == [RULES]
    assert "look" in {action for action, _ in stock.orders()}
    assert nameless.status == 422
    assert nameless.json["errors"][0]["field"] == "group"


def test_a_second_what_if_is_refused_while_one_is_under_way(tmp_path: Path):
    stocked(tmp_path)
    busy = FreshnessProcess()
    busy._child = object()  # type: ignore[assignment]
    with pytest.raises(RefusedError, match="try again in a moment"):
        busy.what_if(an_installation(tmp_path), asked_what_if(budget="1", hours="4", policy=""))
