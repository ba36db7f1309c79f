"""The store under the names of 000 and 001: views with their columns, statuses and words, which nobody can write to."""

from __future__ import annotations

import json
import sqlite3
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from stocked import HOUR, NOW, Stock

from vedette.contracts.source import ListerKind, ListerOptions, Registered
from vedette.contracts.words import Outcome, Risk
from vedette.core.health.source_health import is_success
from vedette.core.lanes.outcomes import MEANING
from vedette.store.rows import to_ms
from vedette.store.sqlite import connect

PAGE = "https://porezna-uprava.gov.hr/HR_Porezni_sustav/Stranice/pausalno.aspx"
# The documents' own fields, in their order.  rawContent is in the archive: beside it stands where.
COLUMNS = {
    "DiscoveryEndpoint": (
        "id domain path name listingStrategy scrapeFrequency priority isActive urlPattern paginationPattern "
        "lastContentHash lastScrapedAt consecutiveErrors lastError metadata"
    ),
    "RegulatorySource": "id slug name url hierarchy fetchIntervalHours priority domains isActive",
    "DiscoveredItem": (
        "id endpointId url title publishedAt status contentHash evidenceId retryCount errorMessage processedAt "
        "nodeType nodeRole parentUrl depth freshnessRisk changeFrequency scanCount lastChangedAt nextScanDue"
    ),
    "RegulatoryEvidence": (
        "id sourceId url rawContent rawContentFile rawContentOffset rawContentLength contentHash contentType "
        "contentClass hasChanged changeSummary fetchedAt primaryTextArtifactId"
    ),
    "EvidenceArtifact": "id evidenceId kind path chars confidence createdAt",
    "WatchdogAlert": "id type severity entityId message occurredAt resolvedAt acknowledgedAt",
}


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return Stock(tmp_path)


def one(stock: Stock, view: str) -> dict[str, Any]:
    """The only row of this view."""
    db = connect(stock.path, read_only=True)
    db.row_factory = sqlite3.Row
    try:
        (row,) = db.execute(f'SELECT * FROM "{view}"').fetchall()
        return dict(row)
    finally:
        db.close()


@pytest.mark.parametrize("view", COLUMNS)
def test_a_view_has_the_fields_of_the_document(stock: Stock, view: str):
    db = connect(stock.path, read_only=True)
    assert [column[0] for column in db.execute(f'SELECT * FROM "{view}"').description] == COLUMNS[
        view
    ].split()
    db.close()


@pytest.mark.parametrize("view", COLUMNS)
def test_a_view_can_only_be_read(stock: Stock, view: str):
    db = connect(stock.path)
    with pytest.raises(sqlite3.OperationalError, match="cannot modify"):
        db.execute(f'DELETE FROM "{view}"')
    db.close()


def test_a_hash_is_null_until_there_is_content_and_then_it_is_the_content_s(stock: Stock):
    stock.source(PAGE)
    assert one(stock, "DiscoveryEndpoint")["lastContentHash"] is None
    assert one(stock, "DiscoveredItem")["contentHash"] is None
    stock.visit(PAGE, outcome=Outcome.TIMEOUT)
    assert one(stock, "DiscoveryEndpoint")["lastContentHash"] is None
    stock.visit(PAGE)
    evidence = one(stock, "RegulatoryEvidence")
    stock.execute(
        f"UPDATE watches SET seen_evidence = {evidence['id']}, seen_digest = x''"
    )  # a listing cut short
    assert len(evidence["contentHash"]) == 64
    assert one(stock, "DiscoveryEndpoint")["lastContentHash"] == evidence["contentHash"]
    assert one(stock, "DiscoveredItem")["contentHash"] == evidence["contentHash"]


def test_items_of_an_endpoint_and_a_node_type_are_found_by_an_index(stock: Stock):
    """000 section 1: `@@index([endpointId, nodeType])`."""
    query = """SELECT "id" FROM "DiscoveredItem" WHERE "endpointId" = 'a' AND "nodeType" = 'ASSET'"""
    db = connect(stock.path, read_only=True)
    plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}")]
    db.close()
    assert any("(source_id=? AND node_type=?)" in step for step in plan), plan


LOOKED_AT = [outcome for outcome in Outcome if MEANING[outcome].is_look]


def expected(outcome: Outcome, *, was_seen: bool) -> str:
    if MEANING[outcome].is_refusal:
        return "SKIPPED"
    return "FETCHED" if was_seen or outcome is Outcome.OK else "FAILED"


@pytest.mark.parametrize("outcome", LOOKED_AT)
def test_every_outcome_has_a_status_and_an_error_unless_it_was_good(stock: Stock, outcome: Outcome):
    stock.source(PAGE)
    assert one(stock, "DiscoveredItem")["status"] == "PENDING"
    stock.visit(PAGE, outcome=outcome, detail="why")
    stock.execute("UPDATE watches SET seen_evidence = NULL")
    item = one(stock, "DiscoveredItem")
    assert item["status"] == ("FAILED" if outcome is Outcome.OK else expected(outcome, was_seen=False))
    assert item["errorMessage"] == (None if is_success(outcome) else f"{outcome.value}: why")
    stock.execute("UPDATE watches SET seen_evidence = 7")
    assert one(stock, "DiscoveredItem")["status"] == expected(outcome, was_seen=True)
    errors = MEANING[outcome].counts_against_lane or MEANING[outcome].counts_against_source
    endpoint = one(stock, "DiscoveryEndpoint")
    assert endpoint["consecutiveErrors"] == int(errors)
    assert endpoint["lastError"] == item["errorMessage"]


def test_errors_in_a_row_are_counted_from_the_last_good_look(stock: Stock):
    stock.source(PAGE)
    for hours, outcome in enumerate(("timeout", "ok", "timeout", "robots_refused", "gone"), start=-6):
        stock.visit(PAGE, outcome=Outcome(outcome), at=NOW + hours * HOUR)
    endpoint = one(stock, "DiscoveryEndpoint")
    assert (endpoint["consecutiveErrors"], endpoint["lastError"]) == (2, "gone")
    stock.visit(PAGE, at=NOW)
    endpoint = one(stock, "DiscoveryEndpoint")
    assert (endpoint["consecutiveErrors"], endpoint["lastError"]) == (0, None)


def test_an_item_is_pending_while_it_is_tried_again_and_failed_when_its_job_is_parked(stock: Stock):
    stock.source(PAGE)
    stock.visit(PAGE, outcome=Outcome.TIMEOUT, at=NOW - 2 * HOUR, attempt=1)
    item = one(stock, "DiscoveredItem")
    assert (item["status"], item["retryCount"]) == ("PENDING", 1)
    stock.visit(PAGE, outcome=Outcome.TIMEOUT, at=NOW - HOUR, attempt=3)
    watch = stock.watch(PAGE)
    stock.execute(
        "INSERT INTO parked (watch_id, url, outcome, attempts, at) VALUES (?, ?, 'timeout', 3, 0)",
        watch.id,
        PAGE,
    )
    item = one(stock, "DiscoveredItem")
    assert (item["status"], item["retryCount"]) == ("FAILED", 3)


def test_an_item_is_processed_when_the_scout_has_judged_its_evidence_and_skipped_when_it_is_another(
    stock: Stock,
):
    stock.source(PAGE)
    visit = stock.visit(PAGE)
    stock.execute("UPDATE watches SET seen_evidence = ?", visit.id)
    assert one(stock, "DiscoveredItem")["status"] == "FETCHED"
    stock.execute(
        "INSERT INTO verdicts (evidence_id, word, at) VALUES (?, 'persist', 5) "
        "ON CONFLICT (evidence_id) DO UPDATE SET word = 'persist', at = 5",
        visit.id,
    )
    item = one(stock, "DiscoveredItem")
    assert (item["status"], item["processedAt"], item["evidenceId"]) == ("PROCESSED", 5, str(visit.id))
    stock.execute("UPDATE watches SET merged_into = 1")
    assert one(stock, "DiscoveredItem")["status"] == "SKIPPED"


def test_an_endpoint_has_the_words_of_the_document(stock: Stock):
    options = ListerOptions(
        url_pattern="/2026/",
        include=("/propisi/",),
        sitemap_types=(1, 2),
        max_depth=2,
        requires_headless=True,
    )
    registered = Registered(hierarchy=2, domains=("pausalni", "pdv"))
    stock.source(
        PAGE, name="porezna-pausalno", lister=ListerKind.SITEMAP, tier=Risk.MEDIUM, options=options,
        scrape_frequency=timedelta(days=1), registered=registered,
    )  # fmt: skip
    stock.visit(PAGE, at=NOW)
    endpoint = one(stock, "DiscoveryEndpoint")
    assert (endpoint["domain"], endpoint["path"]) == (
        "porezna-uprava.gov.hr",
        "/HR_Porezni_sustav/Stranice/pausalno.aspx",
    )
    words = [endpoint[name] for name in ("listingStrategy", "scrapeFrequency", "priority", "isActive")]
    assert words == ["SITEMAP_XML", "DAILY", "NORMAL", 1]
    assert (endpoint["urlPattern"], endpoint["lastScrapedAt"]) == ("/2026/", to_ms(NOW))
    assert json.loads(endpoint["metadata"]) == {
        "urlPattern": "/2026/", "types": [1, 2], "maxDepth": 2, "includePatterns": ["/propisi/"],
        "requiresHeadless": True,
    }  # fmt: skip
    source = one(stock, "RegulatorySource")
    assert (source["slug"], source["hierarchy"], source["fetchIntervalHours"]) == ("porezna-pausalno", 2, 24)
    assert (source["priority"], json.loads(source["domains"])) == ("medium", ["pausalni", "pdv"])
    stock.execute("UPDATE sources SET paused_at = 1")
    assert one(stock, "DiscoveryEndpoint")["isActive"] == 0


def test_a_source_without_options_has_the_defaults_of_the_document(stock: Stock):
    stock.source(PAGE)
    assert one(stock, "DiscoveryEndpoint")["metadata"] is None
    source = one(stock, "RegulatorySource")
    assert (source["hierarchy"], source["domains"], source["fetchIntervalHours"]) == (5, "[]", None)


@pytest.mark.parametrize(
    ("hours", "word"),
    [(0, "EVERY_RUN"), (24, "DAILY"), (84, "TWICE_WEEKLY"), (168, "WEEKLY"), (720, "MONTHLY")],
)
def test_a_frequency_is_told_by_its_word(stock: Stock, hours: int, word: str):
    stock.source(PAGE, scrape_frequency=timedelta(hours=hours))
    assert one(stock, "DiscoveryEndpoint")["scrapeFrequency"] == word


@pytest.mark.parametrize(
    ("asked", "hours"),
    [
        ({"scrape_frequency": timedelta(hours=84)}, 84),
        ({"scrape_frequency": timedelta(minutes=90)}, 1.5),
        ({"every": timedelta(minutes=15), "scrape_frequency": timedelta(days=1)}, 0.25),
        ({"every": timedelta(seconds=5)}, 1 / 60),
    ],
)
def test_the_interval_of_a_source_is_the_one_that_is_obeyed(
    stock: Stock, asked: dict[str, timedelta], hours: float
):
    stock.source(PAGE, **asked)
    assert one(stock, "RegulatorySource")["fetchIntervalHours"] == pytest.approx(hours)


def test_a_new_item_has_the_defaults_of_000(stock: Stock):
    """000 section 1."""
    stock.source("https://ured.hr/o-nama")
    item = one(stock, "DiscoveredItem")
    assert {name: item[name] for name in ("nodeType", "nodeRole", "parentUrl", "depth")} == {
        "nodeType": "LEAF", "nodeRole": None, "parentUrl": None, "depth": 0,
    }  # fmt: skip
    assert (item["changeFrequency"], item["scanCount"], item["lastChangedAt"]) == (0.5, 0, None)
    assert (item["freshnessRisk"], item["nextScanDue"]) == (
        "MEDIUM",
        to_ms(NOW - 48 * HOUR),
    )  # when it was made
