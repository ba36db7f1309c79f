"""Long lists on the command line go on by a cursor, as those of the API do; ids of the API survive a browser."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from cli_call import Cli
from hypothesis import given
from hypothesis import strategies as st
from stocked import HOUR, NOW, a_change, stocked
from web_kit import an_installation, serving

from vedette.contracts.events import Changed
from vedette.contracts.words import ChangeId, Risk
from vedette.operations.freshness_apart import FreshnessProcess
from vedette.report.plain import exact_numbers
from vedette.surface.http import api_reads
from vedette.surface.http.web_context import Web

LARGE_ID = 910_836_829_631_021_059


def pages(cli: Cli, *words: str, key: str, most: int) -> list[list[str]]:
    """URLs of each page, until there is no next one."""
    found, cursor = [], None
    for _ in range(20):
        more = () if cursor is None else ("--cursor", cursor)
        told = cli(*words, "--json", "--limit", str(most), *more)
        assert told.code == 0, told.err
        found.append([one["url"] for one in told.json[key]])
        cursor = told.json["next"]
        if cursor is None:
            return found
    raise AssertionError("it never ends")


@pytest.mark.parametrize("words", [("list",), ("due", "--within", "900d")])
def test_every_watch_is_on_one_page_however_many_are_on_each(tmp_path: Path, words: tuple[str, ...]):
    stock = stocked(tmp_path)
    for number in range(7):
        url = f"https://example.org/n{number}"
        stock.source(url)
        stock.visit(url, at=NOW - number * HOUR)
    cli = Cli(tmp_path)
    whole = [one["url"] for one in cli(*words, "--json", "--limit", "0").json["watches"]]
    assert len(whole) >= 7
    for most in (1, 3, len(whole)):
        found = pages(cli, *words, key="watches", most=most)
        assert [url for page in found for url in page] == whole
        assert max(map(len, found)) <= most
    last = cli(
        *words, "--json", "--limit", "4", "--cursor", cli(*words, "--json", "--limit", "4").json["next"]
    )
    assert last.json["total"] == len(whole), "the total is of the whole list on every page"


def test_every_change_is_on_one_page(tmp_path: Path):
    stock = stocked(tmp_path)
    url = "https://example.org/often"
    stock.source(url)
    for number in range(6):
        stock.visit(
            url, at=NOW - (20 - number) * HOUR, change=a_change(number=50 + number), body=f"n {number}"
        )
    cli = Cli(tmp_path)
    whole = [one["url"] for one in cli("changes", "--json", "--limit", "0").json["changes"]]
    found = pages(cli, "changes", key="changes", most=2)
    assert [one for page in found for one in page] == whole
    assert len(found) >= 3


@pytest.mark.parametrize("words", [("list",), ("due",), ("changes",)])
@pytest.mark.parametrize("cursor", ["", "x", "bnVsbA", "WzEsMl0", "W251bGwsbnVsbF0", "-" * 30])
def test_a_cursor_that_is_none_of_ours_is_told(tmp_path: Path, words: tuple[str, ...], cursor: str):
    stocked(tmp_path)
    told = Cli(tmp_path)(*words, f"--cursor={cursor}")
    assert "Traceback" not in told.err
    if told.code:
        assert "--cursor" in told.err


_ATOMS = st.integers() | st.text() | st.booleans() | st.none()
_VALUES = st.recursive(_ATOMS, lambda one: st.lists(one) | st.dictionaries(st.text(), one))


@given(_VALUES)
def test_no_number_is_rounded_by_a_reader_that_holds_doubles(value: object):
    """Read back with doubles for all numbers, every whole number is what it was."""
    read = json.loads(json.dumps(exact_numbers(value)), parse_int=lambda text: int(float(text)))
    assert _as_words(read) == _as_words(json.loads(json.dumps(value)))


def _as_words(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_words(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_words(one) for one in value]
    return value if value is None or isinstance(value, bool) else str(value)


def test_an_id_in_the_event_stream_is_a_string():
    event = Changed(at=NOW, url="https://example.org/", change=ChangeId(LARGE_ID), risk=Risk.HIGH)
    data = api_reads._event_lines(event).partition("data: ")[2]
    assert json.loads(data)["change"] == str(LARGE_ID)
    assert data.endswith("\n\n")
    assert "\n" not in data[:-2]


async def test_the_first_figures_of_a_large_store_are_waited_for(tmp_path: Path, monkeypatch):
    stocked(tmp_path)
    monkeypatch.setattr(FreshnessProcess, "takes_long", lambda self, installation: True)
    asked, free = [], asyncio.Event()

    async def held(self, name, call, *, is_asked=True):
        asked.append(name)
        await free.wait()
        return await kept(self, name, call, is_asked=is_asked)

    kept = Web._renewed
    monkeypatch.setattr(Web, "_renewed", held)
    monkeypatch.setattr(api_reads, "FIRST_FIGURES_S", 0.05)
    async with serving(an_installation(tmp_path)) as client:
        early = await client.ask("/api/v1/freshness")
        monkeypatch.setattr(api_reads, "FIRST_FIGURES_S", 25.0)
        waiting = asyncio.create_task(client.ask("/api/v1/freshness"))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        free.set()
        answer = await waiting
    assert (early.status, int(early.headers["Retry-After"]) > 0) == (503, True)
    assert answer.status == 200
    assert "freshness" in asked


async def test_the_description_of_the_api_keeps_its_numbers(tmp_path: Path):
    stocked(tmp_path)
    async with serving(an_installation(tmp_path)) as client:
        described = (await client.ask("/api/v1/openapi.json")).json

    def limits(value: object) -> list[object]:
        if isinstance(value, dict):
            own = [one for name, one in value.items() if name in ("maximum", "exclusiveMaximum")]
            return own + [found for one in value.values() for found in limits(one)]
        return [found for one in value for found in limits(one)] if isinstance(value, list) else []

    assert 2**63 in limits(described)
    assert {type(one) for one in limits(described)} <= {int, float}
