"""A corrected configuration takes effect at the next run: what it could heal is due, changed listings are read anew."""

from __future__ import annotations

import json
from dataclasses import fields
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from settlements import HOUR
from test_engine_app import Station

from vedette.config.model import Loaded, parse
from vedette.config.rules import settings_in_force
from vedette.contracts.fetch import Fetched, FetchRequest, FetchSettings
from vedette.contracts.source import ListerOptions
from vedette.contracts.words import Outcome, SourceId
from vedette.core.health.remedies import REMEDIES, healed_by
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.engine.crawl.loop import Mode
from vedette.store.operator import operating, reset_source

PAGE = "https://a.example/page"
LIST = "https://a.example/news/"
LINKS = "".join(f"<li><a href='/news/{n}.html'>News number {n} of the town</a></li>" for n in range(8, 14))
LIST_PAGE = f"<html><body><main><ul>{LINKS}</ul></main></body></html>".encode()
FAILS = [o for o in Outcome if o not in SEEN and MEANING[o].is_look]
TOOLS = (
    Outcome.NO_BROWSER,
    Outcome.TOOL_MISSING,
)  # these heal when the tool is there, whatever the file says
# One other value for every setting that a file can have.
OTHER: dict[str, Any] = {
    "connect_timeout": "3s", "read_timeout": "3s", "total_timeout": "3s", "wire_limit": "1MB", "body_limit": "1MB",
    "redirects": 3, "allow_networks": ["10.0.0.0/8"], "allow_ports": [81], "nameservers": ["127.0.0.1:5353"],
    "user_agent": "Another/1.0", "robots_agent": "another", "accept_language": "de",
    "headers": {"X-Key": "1"}, "proxy": "http://127.0.0.1:3128", "respect_robots": False,
}  # fmt: skip


class TellingWeb:
    """Answers every look with one outcome, or with a list page that supports validators."""

    def __init__(self, crawl_run: Station) -> None:
        self.clock = crawl_run.clock
        self.outcome = Outcome.OK
        self.asked: list[str] = []

    async def fetch(self, request: FetchRequest) -> Fetched:
        is_robots = request.url.endswith("/robots.txt")
        self.asked += [] if is_robots else [request.url]
        outcome = Outcome.GONE if is_robots else self.outcome
        status = 404 if is_robots else 200
        if outcome is Outcome.OK and request.etag == '"1"':
            outcome, status = Outcome.NOT_MODIFIED, 304
        body = LIST_PAGE if outcome is Outcome.OK else b""
        return Fetched(
            url=request.url, outcome=outcome, at=self.clock.now(), took=timedelta(milliseconds=20),
            status=status if outcome in SEEN or is_robots else None, body=body, wire=body, etag='"1"',
            content_type="text/html", detail="as told",
        )  # fmt: skip

    async def close(self) -> None:
        pass


class Corrected(Station):
    def __init__(self, data: Path, **fields: Any) -> None:
        super().__init__(data)
        self.web = TellingWeb(self)  # type: ignore[assignment]
        self.set(**fields)

    def set(self, *, source: dict[str, Any] | None = None, **sections: Any) -> None:
        row = {"url": PAGE, "lister": "page", "id": "it"} | (source or {})
        config = parse({"sources": [row], **sections})
        self.loaded = Loaded(config=config, path=None, data=self.data, digest="d")

    async def looks(self, **given: Any) -> int:
        self.clock.advance(timedelta(minutes=1))
        return (await self.run(**({"mode": Mode.ONCE} | given))).tally.visits

    def pages(self) -> set[str]:
        return {url for (url,) in self.rows("SELECT url FROM watches WHERE parent_id IS NOT NULL")}


@pytest.fixture
def corrected(tmp_path: Path) -> Corrected:
    return Corrected(tmp_path)


def test_every_setting_that_a_file_can_have_is_compared_between_runs():
    config = parse({})
    before = settings_in_force(config)
    assert {field.name for field in fields(FetchSettings)} <= set(before)
    for name, value in OTHER.items():
        after = settings_in_force(parse({"fetch": {name: value}}))
        assert {key for key in before if before[key] != after[key]} == {name}
    for name, value in {"scope": "all", "render": "asked", "ocr_languages": "deu"}.items():
        after = settings_in_force(parse({"extract": {name: value}}))
        assert {key for key in before if before[key] != after[key]} == {name}


def test_a_secret_and_a_certificate_that_change_under_the_same_name_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KEY", "one")
    ca = tmp_path / "ca.pem"
    ca.write_text("one")
    row = {"url": PAGE, "fetch": {"headers": {"X-Key": "env:KEY"}}}
    config = parse({"fetch": {"ca_file": str(ca)}, "sources": [row]})
    before = settings_in_force(config)
    assert "one" not in json.dumps(before)
    monkeypatch.setenv("KEY", "two")
    ca.write_text("two")
    after = settings_in_force(config)
    assert {key for key in before if before[key] != after[key]} == {"headers", "ca_file"}


@pytest.mark.parametrize("outcome", [o for o in FAILS if o not in TOOLS], ids=str)
async def test_exactly_the_looks_that_a_setting_could_heal_are_due_again(
    corrected: Corrected, outcome: Outcome
):
    """A6, for every outcome and every setting of `fetch`; nothing is due where nothing was changed."""
    corrected.web.outcome = outcome
    await corrected.run(mode=Mode.UNTIL_IDLE)
    assert await corrected.looks(mode=Mode.UNTIL_IDLE) == 0
    so_far: dict[str, object] = {}
    for name, value in OTHER.items():
        so_far[name] = value
        corrected.set(fetch=dict(so_far))
        is_healed = outcome in healed_by({name})
        assert (name, await corrected.looks(mode=Mode.UNTIL_IDLE) > 0) == (name, is_healed)
    assert await corrected.looks(mode=Mode.UNTIL_IDLE) == 0
    corrected.set()
    assert (await corrected.looks(mode=Mode.UNTIL_IDLE) > 0) == (outcome in healed_by(set(OTHER)))


async def test_a_setting_of_one_source_heals_that_source_and_one_that_it_overrides_does_not(
    corrected: Corrected,
):
    corrected.web.outcome = Outcome.ADDRESS_REFUSED
    assert await corrected.looks() == 1
    corrected.set(source={"fetch": {"allow_networks": ["10.0.0.0/8"]}})
    assert await corrected.looks() == 1
    corrected.set(source={"fetch": {"allow_networks": ["10.0.0.0/8"]}}, fetch=OTHER)
    assert await corrected.looks() == 1  # ports and name servers are not its own
    corrected.set(
        source={"fetch": {"allow_networks": ["10.0.0.0/8"]}},
        fetch=OTHER | {"allow_networks": ["127.0.0.0/8"]},
    )
    assert await corrected.looks() == 0


async def test_a_store_of_an_older_version_tries_once_what_could_be_healed(corrected: Corrected):
    corrected.web.outcome = Outcome.ADDRESS_REFUSED
    assert await corrected.looks() == 1
    with operating(corrected.data / "vedette.db") as db:
        db.execute("UPDATE runs SET rules = '{}'")
    assert [await corrected.looks(), await corrected.looks()] == [1, 0]


async def test_a_lane_that_the_mistake_closed_lets_the_corrected_look_through(corrected: Corrected):
    corrected.web.outcome = Outcome.DNS_ERROR
    corrected.set(fetch={"respect_robots": False})
    for _ in range(3):
        await corrected.run(mode=Mode.UNTIL_IDLE)
        corrected.clock.advance(48 * HOUR)
    assert corrected.rows("SELECT COUNT(*) FROM lanes WHERE closed_until IS NOT NULL") == [(1,)]
    await corrected.run(mode=Mode.UNTIL_IDLE)
    corrected.web.outcome = Outcome.OK
    corrected.set(fetch={"respect_robots": False, "nameservers": ["127.0.0.1:5353"]})
    assert await corrected.looks() == 1
    assert corrected.rows("SELECT last_outcome FROM watches") == [("ok",)]
    assert corrected.rows("SELECT * FROM parked") == []


# Listings.

FILTERED = {"url": LIST, "lister": "html_list", "include": ["/news/1[0-9]"]}


async def test_a_changed_filter_reads_the_listing_again_though_it_answers_304(corrected: Corrected):
    """A7."""
    corrected.set(source=FILTERED)
    await corrected.run(mode=Mode.UNTIL_IDLE)
    assert len(corrected.pages()) == 4
    assert corrected.rows("SELECT COUNT(*), MIN(reason) FROM refusals") == [(2, "include")]
    corrected.set(source=FILTERED | {"include": ["/news/"]})
    await corrected.run(mode=Mode.UNTIL_IDLE)
    assert len(corrected.pages()) == 6
    assert corrected.rows("SELECT * FROM refusals") == []
    assert await corrected.looks() == 0  # said again it changes nothing


_CHANGES: dict[str, Any] = {
    "include": [], "exclude": ["/news/13"], "url_pattern": "/news/", "start_date": "2020-01-01",
    "end_date": "2030-01-01", "types": [1], "max_depth": 3, "max_urls": 2, "max_pages": 3, "max_sitemap_depth": 2,
    "pagination_pattern": "page=", "selectors": {"item": "main li"}, "follow_hosts": ["b.example"],
    "honour_nofollow": False, "traps": {"shape": 7}, "structured": {"formats": ["pdf"]}, "lister": "pagination",
    "redact": True,
}  # fmt: skip


@pytest.mark.parametrize("name", _CHANGES)
async def test_whatever_option_of_its_reading_changes_the_listing_is_asked_for_without_validators(
    corrected: Corrected, name: str
):
    corrected.set(source=FILTERED)
    await corrected.run(mode=Mode.UNTIL_IDLE)
    corrected.web.asked.clear()
    corrected.set(source=FILTERED | {name: _CHANGES[name]})
    assert await corrected.looks() >= 1
    assert corrected.web.asked[0] == LIST
    query = f"SELECT outcome FROM visits WHERE url = '{LIST}' ORDER BY at DESC LIMIT 1"
    assert corrected.rows(query) == [("ok",)]


def test_the_table_above_has_every_option_of_a_source():
    names = {field.name for field in fields(ListerOptions)}
    others = {
        "sitemap_types",
        "requires_headless",
        "screenshot",
        "hunt",
        "filters",
    }  # as below, or by a browser
    assert names - set(_CHANGES) - others == set()


async def test_a_reset_reads_the_listing_whatever_its_validators_and_bytes_say(corrected: Corrected):
    corrected.set(source=FILTERED)
    await corrected.run(mode=Mode.UNTIL_IDLE)
    with operating(corrected.data / "vedette.db") as db:
        db.execute("DELETE FROM watches WHERE url LIKE '%/news/11.html'")
        reset_source(db, SourceId("it"), now=corrected.clock.now())
    await corrected.run(mode=Mode.UNTIL_IDLE)
    assert len(corrected.pages()) == 4


async def test_a_run_that_reads_no_listings_does_not_spoil_a_crawl(corrected: Corrected):
    """F6: fetched twice without reading its links; the next ordinary run reads them, though the bytes are equal."""
    corrected.set(source={"url": LIST, "lister": "crawl"})
    await corrected.run(mode=Mode.UNTIL_IDLE, fetch_only=True)
    corrected.clock.advance(24 * HOUR)
    await corrected.run(mode=Mode.UNTIL_IDLE, fetch_only=True)
    assert corrected.pages() == set()
    assert await corrected.looks(mode=Mode.UNTIL_IDLE) > 1
    assert len(corrected.pages()) == 6
    assert corrected.rows("SELECT COUNT(*) FROM changes") == [(0,)]


async def test_a_source_that_lists_no_more_is_looked_at_as_a_page(corrected: Corrected):
    corrected.set(source=FILTERED)
    await corrected.run(mode=Mode.UNTIL_IDLE)
    corrected.set(source=FILTERED | {"lister": "page"})
    await corrected.looks()
    assert corrected.rows(f"SELECT lister FROM watches WHERE url = '{LIST}'") == [(None,)]


def test_every_outcome_that_is_no_success_has_a_remedy():
    assert set(REMEDIES) == set(Outcome) - SEEN
