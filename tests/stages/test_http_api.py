"""/api/v1: the operations of the command line, for programs."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from stocked import HOUR, NEWS, NOW, PRIVATE, RULES, Stock, a_change, stocked
from web_kit import an_installation, serving

from vedette.contracts.change import ChangeState
from vedette.contracts.errors import InputError
from vedette.contracts.events import NAMES, Alerted
from vedette.operations.list_pages import change_page, watch_page
from vedette.operations.watches import list_watches, watches_json
from vedette.report.plain import dump
from vedette.store.views import ChangeFilter, WatchFilter
from vedette.surface.http import dashboard
from vedette.surface.http.web_context import SHARED_S

READS = (
    "/overview", "/watches", f"/watch?url={RULES}", f"/watch/history?url={RULES}", f"/watch/why-not?url={PRIVATE}",
    f"/watch/evidence?url={RULES}", "/due", "/sources", "/changes", "/changes/1", "/lanes", "/evidence/1001",
    "/freshness", "/alerts", "/parked", "/health", "/settings", "/tokens", "/audit", "/openapi.json",
    "/search?text=pdv", "/due/why", "/hunt/findings",
)  # fmt: skip


async def test_everything_can_be_read_and_has_a_tag_by_which_it_is_not_sent_twice(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path in READS:
            first = await client.ask("/api/v1" + path)
            assert first.status == 200, (path, first.text)
            assert first.headers["Content-Type"] == "application/json"
            again = await client.ask("/api/v1" + path, headers={"If-None-Match": first.headers["ETag"]})
            assert (again.status, again.text) == (304, ""), path


async def test_the_api_says_what_the_command_line_says(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    told = dump(watches_json(list_watches(installation, WatchFilter(only_kept=True), 0)))
    async with serving(installation) as client:
        assert dump((await client.ask("/api/v1/watches")).json["items"]) == told
        assert (await client.ask("/api/v1/openapi.json")).json["openapi"].startswith("3.1")
        diff = (await client.ask("/api/v1/changes/1")).json
        assert (diff["number"], diff["url"]) == (1, RULES)
        assert diff["diff"]


async def test_pages_of_a_list_hold_everything_once_in_order(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    whole = [one.url for one in list_watches(installation, WatchFilter(), 0).watches]
    for by_due in (False, True):
        seen, cursor = [], None
        while True:
            page = watch_page(installation, WatchFilter(by_due=by_due, only_scheduled=by_due), 1, cursor)
            seen += [one.url for one in page.found.watches]
            cursor = page.after
            if cursor is None:
                break
        assert sorted(seen) == sorted(whole)
        assert by_due or seen == whole


def test_pages_of_changes_of_one_moment_lose_none(tmp_path: Path):
    stock = Stock(tmp_path)
    stock.source(RULES, name="rules")
    for number in range(7):
        at = NOW - HOUR if number < 5 else NOW - 2 * HOUR
        stock.visit(RULES, at=at, change=a_change(ChangeState.REPORTED, at, 100 + number))
    installation, seen, cursor = an_installation(tmp_path), [], None
    for _ in range(10):
        page = change_page(installation, ChangeFilter(), 2, cursor)
        seen += [one.view.change.id for one in page.changes]
        cursor = page.after
        if cursor is None:
            break
    assert seen == [100, 101, 102, 103, 104, 105, 106]


@pytest.mark.parametrize("cursor", ["x", "", "W10", "WzEsMl0", "bnVsbA", "WzFlOTksImEiXQ", "ž", "A" * 9000])
def test_what_is_no_cursor_is_refused_beside_its_field(tmp_path: Path, cursor: str):
    stocked(tmp_path)
    with pytest.raises(InputError, match=r"^--cursor:"):
        watch_page(an_installation(tmp_path), WatchFilter(), 1, cursor)


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/watches?risk=GRAVE", "risk"),
        ("/watches?limit=0", "limit"),
        ("/watches?limit=no", "limit"),
        ("/watches?source=rulez", "source"),
        ("/watches?cursor=zzz", "cursor"),
        ("/watches?other=1", "other"),
        ("/changes?since=yesterday", "since"),
        ("/watch?url=example.org", "url"),
        ("/due?within=soon", "within"),
    ],
)
async def test_bad_input_is_a_problem_with_a_message_beside_the_field(tmp_path: Path, path: str, field: str):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        answer = await client.ask("/api/v1" + path)
    assert (answer.status, answer.headers["Content-Type"]) == (422, "application/problem+json")
    assert [one["field"] for one in answer.json["errors"]] == [field]
    assert len(answer.json["errors"][0]["message"]) > 10
    assert answer.json["status"] == 422


async def test_what_is_not_there_is_said_as_such(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        for path in ("/changes/99", "/watch?url=https://example.org/unknown", "/evidence/99", "/nothing"):
            answer = await client.ask("/api/v1" + path)
            assert (answer.status, answer.headers["Content-Type"]) == (404, "application/problem+json"), path
        assert (await client.ask("/api/v1/watches", "DELETE")).status == 405


async def test_an_operator_can_add_pause_mute_look_and_remove(tmp_path: Path):
    stock = stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        made = await client.post(
            "/api/v1/sources", json={"url": "https://example.com/new", "risk": "HIGH", "tags": ["a"]}
        )
        assert (made.status, made.json["risk"], made.json["added"]) == (201, "HIGH", True)
        assert (await client.post("/api/v1/sources", json={"url": "https://example.com/new"})).status == 200
        source = made.json["source"]
        for order in ("pause", "resume", "unmute", "reset"):
            assert (await client.post(f"/api/v1/sources/{source}/{order}")).status == 200, order
        assert (await client.post(f"/api/v1/sources/{source}/mute", json={"for": "8h"})).status == 200
        assert (await client.post(f"/api/v1/sources/{source}/mute", json={"for": "long"})).status == 422
        looked = await client.post("/api/v1/look", json={"urls": [NEWS]})
        assert (looked.status, looked.json["looks"]) == (202, 1)
        assert (await client.ask(f"/api/v1/sources/{source}", "DELETE")).status == 200
        assert (
            await client.post("/api/v1/lanes/host:example.org/block", json={"words": "asked to"})
        ).status == 200
        assert (await client.post("/api/v1/lanes/host:example.org/reset")).status == 200
    assert "look" in {action for action, _ in stock.orders()}


async def test_a_write_with_a_key_is_done_once_also_when_it_is_asked_at_the_same_time(tmp_path: Path):
    stocked(tmp_path)
    body = {"name": "grafana", "scope": "read"}
    async with serving(
        an_installation(tmp_path), "static-token", Authorization="Bearer static-token"
    ) as client:
        ask = [client.post("/api/v1/tokens", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(5)]
        answers = await asyncio.gather(*ask)
        assert {one.status for one in answers} == {201}
        assert len({one.text for one in answers}) == 1
        assert sum("Idempotency-Replayed" in one.headers for one in answers) == 4
        other = await client.post("/api/v1/tokens", json={"name": "x"}, headers={"Idempotency-Key": "k1"})
        assert (other.status, other.json["errors"][0]["field"]) == (422, "Idempotency-Key")
        assert (await client.post("/api/v1/tokens", json=body)).status == 422, (
            "without the key it is another one"
        )


async def test_events_are_streamed_as_they_happen_and_only_those_that_are_asked_for(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        there = client.address + "/api/v1/events?types=alerted"
        async with asyncio.timeout(30), client.session.get(there) as stream:
            assert stream.headers["Content-Type"].startswith("text/event-stream")
            assert await stream.content.readline() == b": following\n"
            told = Alerted(at=NOW, type="CIRCUIT_BREAKER_OPEN", subject="host:a\n\ndata: forged", alert=7)
            client.state.events.emit(told)
            await stream.content.readline()
            assert await stream.content.readline() == b"event: alerted\n"
            line = await stream.content.readline()
            assert line.startswith(b"data: {")
            assert b"forged" in line, "one line, whatever the text is"
    assert "alerted" in NAMES.values()


async def test_who_only_counts_is_told_how_many_came_and_nothing_of_them(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        there = client.address + "/api/v1/events?types=alerted&counted=true"
        async with asyncio.timeout(30), client.session.get(there) as stream:
            await stream.content.readuntil(b"\n\n")
            for number in range(300):
                told = Alerted(at=NOW, type="CIRCUIT_BREAKER_OPEN", subject="host:secret", alert=number)
                client.state.events.emit(told)
            assert await stream.content.readuntil(b"\n\n") == b'event: counted\ndata: {"alerted": 300}\n\n'


async def test_ten_pages_that_hear_of_the_same_news_get_one_rendered_list(tmp_path: Path, monkeypatch):
    stocked(tmp_path)
    asked = []

    def counted(*given: Any) -> Any:
        asked.append(given)
        return change_page(*given)

    monkeypatch.setattr(dashboard, "change_page", counted)
    async with serving(an_installation(tmp_path)) as client:
        part = {"hx-request": "true", "hx-target": "latest-list"}
        answers = await asyncio.gather(*(client.ask("/", headers=part) for _ in range(10)))
        assert len(asked) == 1
        assert len({one.text for one in answers}) == 1
        assert "/changes/1" in answers[0].text
        assert all("script-src 'self'" in one.headers["Content-Security-Policy"] for one in answers)
        await asyncio.sleep(SHARED_S)
        await client.ask("/", headers=part)
    assert len(asked) == 2, "who asks a second after news is shown them"


async def test_raw_evidence_is_a_download_that_no_browser_runs(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        answer = await client.ask("/api/v1/evidence/1001/raw")
        assert answer.status in (200, 503), "the stock has rows without an archive"
        page = await client.ask("/evidence/1001/raw")
        assert page.status in (200, 503)
        assert (
            "script-src" not in page.headers["Content-Security-Policy"]
            or "'self'" in page.headers["Content-Security-Policy"]
        )
