"""Lists stay quick however long they are: they are read in their order, and what costs much is remembered."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from stocked import HOUR, NOW, RULES, Stock, a_change, stocked
from web_kit import an_installation, no_metrics, serving

from vedette.app.service import ServiceState
from vedette.contracts.errors import InputError
from vedette.contracts.words import Outcome, Risk
from vedette.operations.freshness import FreshnessQuestion, freshness, freshness_json
from vedette.operations.freshness_apart import FreshnessProcess
from vedette.operations.list_pages import change_page, row_page, watch_page
from vedette.store.promise_rows import receipts, time_slices
from vedette.store.views import ChangeFilter, WatchFilter
from vedette.surface.http.web_context import LONG_AGO_S, Web

READ_WHOLE = {"SCAN visits", "SCAN v", "SCAN changes", "SCAN ledger"}  # what no list may do


def plans(data: Path, ask: Callable[[sqlite3.Connection], object]) -> list[str]:
    """How SQLite goes through the tables for all that is asked."""
    asked: list[str] = []
    with an_installation(data).reading() as db:
        db.set_trace_callback(asked.append)
        ask(db)
        db.set_trace_callback(None)
        selects = [one for one in asked if one.lstrip().startswith("SELECT")]
        return [row[3] for one in selects for row in db.execute(f"EXPLAIN QUERY PLAN {one}")]


def test_a_number_of_a_change_stays_when_an_older_one_is_stored_later(tmp_path: Path):
    stock = stocked(tmp_path)
    stock.visit(RULES, at=NOW - HOUR / 2, body="PDV 23", change=a_change(number=50))
    page = change_page(an_installation(tmp_path), ChangeFilter(), 9, None)
    assert {one.view.change.id: one.number for one in page.changes} == {77: 1, 50: 2}


@pytest.mark.parametrize("ask", [
    lambda db: receipts(db, since=NOW - 24 * HOUR),
    lambda db: time_slices(db, since=NOW - 24 * HOUR, until=NOW, parts=24),
])  # fmt: skip
def test_figures_of_the_last_day_read_the_looks_of_the_last_day_alone(tmp_path: Path, ask):
    stocked(tmp_path)
    found = plans(tmp_path, ask)
    assert any("ix_visits_at" in line for line in found)
    assert not READ_WHOLE & set(found)


@pytest.mark.parametrize("which", [
    WatchFilter(only_kept=True), WatchFilter(risk=Risk.CRITICAL), WatchFilter(outcome=Outcome.OK),
    WatchFilter(only_unseen=True), WatchFilter(text="pdv"), WatchFilter(by_due=True, due_before=NOW),
    WatchFilter(source="rules", only_kept=True), WatchFilter(host="example.org"), WatchFilter(sources=("rules",)),
])  # fmt: skip
def test_however_watches_are_gone_through_a_list_holds_what_fits(tmp_path: Path, which: WatchFilter):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    with installation.queries() as queries:
        every = [one.url for one in queries.watches(which)]
    found = watch_page(installation, which, 50, None).found
    assert every
    assert [one.url for one in found.watches] == every
    with installation.queries() as queries:
        assert queries.count_watches(which) == len(every)


def test_a_list_that_is_at_hand_is_given_in_parts_that_hold_each_row_once():
    rows = [(n % 3, f"row {n}") for n in range(20)]
    seen, cursor = [], None
    while True:
        part = row_page(rows, lambda row: row, 7, cursor)
        seen += part.rows
        assert part.total == 20
        cursor = part.after
        if cursor is None:
            break
    assert seen == sorted(rows)
    with pytest.raises(InputError, match="no cursor of ours"):
        row_page(rows, lambda row: row, 7, "x")


async def test_lanes_and_sources_come_in_pages_and_can_be_filtered(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        first = (await client.ask("/api/v1/sources?limit=2")).json
        second = (await client.ask(f"/api/v1/sources?limit=2&cursor={first['next']}")).json
        assert [one["id"] for one in (*first["items"], *second["items"])] == ["rules", "news", "private"]
        assert (first["total"], second["next"]) == (3, None)
        assert [one["id"] for one in (await client.ask("/api/v1/sources?text=FEED")).json["items"]] == [
            "news"
        ]
        assert (await client.ask("/lanes?text=nowhere")).text.count("<tr>") == 0
        assert (await client.ask("/api/v1/lanes?cursor=x")).json["errors"][0]["field"] == "cursor"


async def test_a_figure_is_given_as_it_was_while_it_is_worked_out_anew(tmp_path: Path):
    web = Web(an_installation(tmp_path), ServiceState(no_metrics, lambda: True))
    answers = iter((1, 2, 3))

    def call(installation: object) -> int:
        return next(answers)

    try:
        assert web.at_hand("figure", call) is None
        assert await web.remembered("figure", call) == 1
        assert await web.remembered("figure", call) == 1  # not old yet
        web._kept["figure"] = (asyncio.get_running_loop().time() - LONG_AGO_S / 2, 0.0, 1)
        assert await web.remembered("figure", call) == 1  # old: given at once
        while web._renewals:
            await asyncio.sleep(0)
        assert await web.remembered("figure", call) == 2
        web.forget()  # something was changed here
        assert await web.remembered("figure", call) == 3
    finally:
        web.close()


async def test_a_figure_of_long_ago_is_worked_out_anew_before_it_is_given(tmp_path: Path):
    web = Web(an_installation(tmp_path), ServiceState(no_metrics, lambda: True), patience_s=60)
    try:
        web._kept["figure"] = (asyncio.get_running_loop().time() - 2 * LONG_AGO_S, 0.0, 1)
        assert await web.remembered("figure", lambda installation: 2) == 2
    finally:
        web.close()


async def test_a_figure_that_cannot_be_worked_out_anew_is_not_given_for_ever(tmp_path: Path):
    web = Web(an_installation(tmp_path), ServiceState(no_metrics, lambda: True))

    def broken(installation: object) -> int:
        raise InputError("no")

    try:
        web._kept["figure"] = (-1e9, 0.0, 1)
        assert await web.remembered("figure", broken) == 1
        while web._renewals:
            await asyncio.sleep(0)
        with pytest.raises(InputError):
            await web.remembered("figure", broken)
    finally:
        web.close()


def test_freshness_of_a_large_store_is_the_same_from_a_process_of_its_own(tmp_path: Path):
    stocked(tmp_path)
    installation = an_installation(tmp_path)
    here = freshness_json(freshness(installation, FreshnessQuestion()))
    assert freshness_json(FreshnessProcess(large=0).ask(installation)) == here


def test_a_process_that_finds_nothing_watched_says_so(tmp_path: Path):
    installation = an_installation(tmp_path)
    installation.new_store()
    with pytest.raises(InputError, match="nothing is watched"):
        FreshnessProcess(large=0).ask(installation)


def test_stores_of_before_number_their_changes_as_they_were_called(tmp_path: Path):
    stock = Stock(tmp_path)
    stock.source(RULES, name="rules")
    for number in (30, 10, 20):
        stock.visit(RULES, at=NOW - HOUR * number, body=str(number), change=a_change(number=number))
    stock.execute("DROP TABLE change_numbers")
    stock.execute("UPDATE alembic_version SET version_num = '0017'")
    installation = an_installation(tmp_path)
    installation.new_store()
    page = change_page(installation, ChangeFilter(), 9, None)
    assert {one.view.change.id: one.number for one in page.changes} == {10: 1, 20: 2, 30: 3}
