"""A change that is called noise: rules are proposed, tried on the evidence that is kept, and applied."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from functools import partial
from urllib.parse import quote

import pytest
from scripted import life
from web_kit import serving

from vedette.config.model import Loaded, parse
from vedette.contracts.errors import InputError, RefusedError
from vedette.operations.back_test import apply_rule, back_test, mark_change
from vedette.operations.changes import list_changes
from vedette.operations.installation import Installation
from vedette.operations.simulate import replay
from vedette.store.views import ChangeFilter
from vedette.telemetry.clock import JumpingClock

URL = "https://shop.example/item"
QUICK = {"lanes": {"default": {"gap_min": "1s", "gap_max": "1s", "per_minute": 0}}}
FILLER = "Dostava traje tri dana, a povrat je moguć u roku od četrnaest dana od primitka pošiljke. " * 8
# Cups in stock move all the time; the price is what matters.
STATES = [("12,90", 40), ("12,90", 31), ("12,90", 47), ("10,90", 47), ("10,90", 18), ("11,50", 44)]


def shop(price: str, cups: int) -> str:
    return (
        f"<html><head><title>Kettle</title></head><body><h1>Kettle</h1><p class='price'>{price} EUR</p>"
        f"<div class='stock'><p>Cups in stock: {cups} pieces</p></div><p>{FILLER}</p></body></html>"
    )


async def watched_shop(folder, states=STATES):
    def script(url: str, hours: float):
        return (
            (200, "")
            if url.endswith("robots.txt")
            else (200, shop(*states[min(int(hours // 9), len(states) - 1)]))
        )

    watched = life(folder, script, {"id": "shop", "url": URL}, **QUICK)
    await watched.run(seconds=9 * 3600.0 * len(states))
    return watched


def an_installation(watched, **sections) -> Installation:
    return Installation(
        Loaded(config=parse(sections), path=None, data=watched.data, digest="x"),
        JumpingClock(watched.clock.now()),
    )


@pytest.fixture(scope="module")
def stocked_shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    return asyncio.run(watched_shop(folder))


@pytest.fixture
def shop_store(stocked_shop, tmp_path) -> Installation:
    """A copy for one test."""
    shutil.copytree(stocked_shop.data, tmp_path / "data")
    return Installation(
        Loaded(config=parse({}), path=None, data=tmp_path / "data", digest="x"),
        JumpingClock(stocked_shop.clock.now()),
    )


def noise_of(installation: Installation) -> int:
    told = list_changes(installation, ChangeFilter(), 0)
    return next(one.number for one in told if "31" in one.view.change.comparison.summary)


def test_a_rule_is_proposed_tried_on_the_record_and_applied(shop_store):
    installation = shop_store
    told = {
        one.number: one.view.change.comparison.summary
        for one in list_changes(installation, ChangeFilter(), 0)
    }
    noise = noise_of(installation)
    price = next(number for number, words in told.items() if "12,90" in words and "Cups" not in words)
    mark_change(installation, str(price), "useful", "ana")
    steps: list[tuple[int, int]] = []
    found = back_test(installation, str(noise), progress=lambda done, whole: steps.append((done, whole)))
    assert found.tested == len(told) == len(steps)
    assert found.unread == 0
    best = found.rules[0]
    assert best.hides_this
    assert best.useful == 0
    assert noise in {one.number for one in best.hidden}
    assert price not in {one.number for one in best.hidden}
    assert best.words == f"would have hidden {len(best.hidden)} reports, 0 that you marked useful"
    wide = next(one for one in found.rules if "all numbers" in one.rule.words)
    assert wide.useful == 1, "a rule that hides what somebody found useful says so"
    kinds = {step.kind.value for one in found.rules for step in one.rule.steps}
    assert {"replace", "remove", "ignore"} <= kinds
    done = apply_rule(installation, str(noise), [str(best.rule)], "ana")
    assert done.change.view.mark == "noise"
    again = back_test(installation, str(noise), [str(best.rule)])
    assert again.source.source.options.filters == done.filters
    marks = {one.number: one.view.mark for one in list_changes(installation, ChangeFilter(mark="noise"), 0)}
    assert marks == {noise: "noise"}
    assert len(list_changes(installation, ChangeFilter(mark="none"), 0)) == len(told) - 2
    assert replay(installation).not_recomputed["noise_rule"] == 1


async def test_what_the_back_test_says_is_what_the_engine_does_with_the_rule(tmp_path):
    """The same life again, once with each rule from the start: the reports that are left are those it foresaw."""
    watched = await watched_shop(tmp_path / "first")
    installation = an_installation(watched)
    told = list_changes(installation, ChangeFilter(), 0)
    noise = next(one.number for one in told if "31" in one.view.change.comparison.summary)
    for number, one in enumerate(back_test(installation, str(noise)).rules):
        again = life(
            tmp_path / str(number), watched.fetcher._script, {"id": "shop", "url": URL, "filters": list(one.filters)},
            **QUICK,
        )  # fmt: skip
        await again.run(seconds=9 * 3600.0 * len(STATES))
        left = list_changes(an_installation(again), ChangeFilter(), 0)
        assert len(left) == len(told) - len(one.hidden), one.rule


async def test_a_rule_that_cannot_be_used_says_why_and_changes_nothing(tmp_path):
    watched = await watched_shop(tmp_path, STATES[:3])
    installation = an_installation(watched)
    for rule, words in (
        ("", "at least one step"),
        ("ignroe: x", "ignore"),
        ("remove: [", "CSS selector"),
        ("xpath: //p", "may take long"),
    ):
        with pytest.raises(InputError, match=words):
            back_test(installation, "1", [rule])
    with pytest.raises(InputError, match="useful"):
        mark_change(installation, "1", "usefull", "ana")
    written = an_installation(watched, sources=[{"id": "shop", "url": URL}])
    with pytest.raises(RefusedError, match=r"vedette\.yaml"):
        apply_rule(written, "1", ["ignore: Cups"], "ana")
    assert list_changes(installation, ChangeFilter(mark="noise"), 0) == []


async def test_a_person_marks_a_change_sees_what_a_rule_would_have_hidden_and_applies_it(shop_store):
    number = noise_of(shop_store)
    async with serving(shop_store) as client:
        said = await client.post(f"/changes/{number}/mark", data={"mark": "useful"})
        assert said.status == 303
        assert "mark-useful" in (await client.ask("/changes?mark=useful")).text
        assert "No change fits." in (await client.ask("/changes?mark=noise")).text
        shown = await client.ask(f"/changes/{number}/noise")
        assert "1 that you marked useful" in shown.text
        own = await client.ask(f"/changes/{number}/noise?rule={quote('ignore: no such words')}")
        assert "It does not hide this change." in own.text
        bad = await client.ask(f"/changes/{number}/noise?rule=ignroe")
        assert (bad.status, "problem-rule" in bad.text) == (422, True)
        done = await client.post(f"/changes/{number}/noise", data={"rule": "ignore: Cups in stock"})
        assert done.headers["Location"] == f"/changes/{number}?done=silenced"
        assert "mark-noise" in (await client.ask(f"/changes/{number}")).text
        audit = (await client.ask("/api/v1/audit")).json["items"]
    assert f"/changes/{number}/noise" in {one["path"] for one in audit}
    with shop_store.reading() as db:
        rows = [
            json.loads(row) for (row,) in db.execute("SELECT payload FROM ledger WHERE run_id = 'operator'")
        ]
    assert [(row[0]["action"], row[0]["output"]) for row in rows] == [
        ("mark", "useful"),
        ("noise_rule", "noise"),
    ]
    assert rows[1][0]["inputs"]["rule"] == ["ignore: Cups in stock"]


async def test_the_api_says_and_does_the_same(shop_store):
    number = noise_of(shop_store)
    async with serving(shop_store) as client:
        call = partial(client.post, headers={"Content-Type": "application/json"})
        tried = (await call(f"/api/v1/changes/{number}/noise/try", data="{}")).json
        assert tried["rules"][0]["hides_this"]
        assert tried["rules"][0]["hidden"] == len(tried["rules"][0]["changes"])
        rule = json.dumps({"rule": tried["rules"][0]["rule"]})
        done = (await call(f"/api/v1/changes/{number}/noise", data=rule)).json
        assert (done["mark"], done["filters"]) == ("noise", tried["rules"][0]["filters"])
        marked = (await client.ask("/api/v1/changes?mark=noise")).json["items"]
        assert [(one["number"], one["mark"]) for one in marked] == [(number, "noise")]
        back = await call(f"/api/v1/changes/{number}/mark", data='{"mark": "none"}')
        assert back.json["mark"] is None
        assert (await call(f"/api/v1/changes/{number}/mark", data='{"mark": "odd"}')).status == 422


async def test_long_work_says_how_far_it_is_and_can_be_cancelled(shop_store, monkeypatch):
    number, go = noise_of(shop_store), threading.Event()

    def slow(installation, what, steps, *, progress):
        progress(1, 4)
        go.wait(60)
        progress(2, 4)
        raise AssertionError("it was cancelled")

    monkeypatch.setattr("vedette.surface.http.noise_pages.back_test", slow)
    async with serving(shop_store) as client:
        shown = await client.ask(f"/changes/{number}/noise")
        assert '<progress max="4" value="1"' in shown.text
        assert "left" in shown.text
        work = {"work": f"noise {number} ", "next": f"/changes/{number}/noise"}
        stopped = await client.post("/work/cancel", data=work)
        assert stopped.headers["Location"] == f"/changes/{number}/noise?done=cancelled"
        after = await client.ask(stopped.headers["Location"])
        assert "It was cancelled." in after.text
        assert "<progress" not in after.text
        go.set()
