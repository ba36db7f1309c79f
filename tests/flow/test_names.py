"""A living web, watched for a day, read back by the queries of the documents."""

from __future__ import annotations

import asyncio

import pytest
from watching import clock_of, judge, living, living_web

from vedette.livingweb import FaultRule, HostSpec, Robots, World
from vedette.livingweb.process import Poisson

DAY = 86_400.0
# 000 section 5, step 1; the order of the risk is spelled out because words have none.
MANIFEST = """
SELECT "url", "freshnessRisk" FROM "DiscoveredItem" WHERE "nextScanDue" <= ? AND "status" <> 'SKIPPED'
ORDER BY CASE "freshnessRisk" WHEN 'CRITICAL' THEN 0 WHEN 'HIGH' THEN 1 WHEN 'MEDIUM' THEN 2 ELSE 3 END,
  "nextScanDue" LIMIT 500
"""
# 001 section 6.1.
ENDPOINTS = """
SELECT "domain" FROM "DiscoveryEndpoint" WHERE "isActive" AND "consecutiveErrors" < 5 ORDER BY "lastScrapedAt"
"""


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """One run for all tests here: they only read."""
    return asyncio.run(_lived(tmp_path_factory.mktemp("names")))


async def _lived(data):
    often = Poisson(per_day=4)
    hosts = [
        HostSpec(pages=3, documents=1, document_kinds=("pdf",), changes=often),
        HostSpec(pages=5, forbidden=2, robots=Robots("rules"), changes=often),
        HostSpec(pages=4, faults=(FaultRule(name="bad_gateway", on="listings"),)),
    ]
    world = World(hosts, seed=3)
    clock = clock_of(world)
    async with living_web(world, clock) as web:
        found = living(world, web, data, clock=clock)
        await found.run(seconds=DAY)
    return found


def test_a_day_of_a_web_is_read_by_the_queries_of_the_documents(watched):
    rows = watched.rows
    assert judge(watched).true > 5
    by_status = dict(rows('SELECT "status", COUNT(*) FROM "DiscoveredItem" GROUP BY 1'))
    assert by_status == {
        "PROCESSED": rows("SELECT COUNT(*) FROM watches WHERE last_outcome IN ('ok', 'not_modified')")[0][0],
        "SKIPPED": 2,  # what robots.txt forbids
        "FAILED": 1,  # the listing of the host that is down
    }
    assert rows("SELECT COUNT(*) FROM watches")[0][0] == sum(by_status.values())
    looks = rows(
        'SELECT i."scanCount", COUNT(v.id) FROM "DiscoveredItem" i JOIN visits v ON v.watch_id = i."id" '
        'WHERE i."status" = \'PROCESSED\' GROUP BY i."id"'
    )
    assert all(0 < scans <= visits for scans, visits in looks)
    assert {row[0] for row in rows('SELECT "domain" FROM "DiscoveryEndpoint"')} == set(
        rows_of_domains(watched)
    )
    healthy = [domain for (domain,) in rows(ENDPOINTS)]
    assert len(healthy) == 2
    assert rows(MANIFEST, 2**60)[0][1] == max(
        (risk for _, risk in rows(MANIFEST, 2**60)), key=["LOW", "MEDIUM", "HIGH", "CRITICAL"].index
    )
    assert rows(MANIFEST, 0) == []


def test_evidence_is_linked_to_its_item_source_change_and_text(watched):
    rows = watched.rows
    linked = rows(
        'SELECT e."contentHash" = i."contentHash", e."sourceId" = i."endpointId" FROM "DiscoveredItem" i '
        'JOIN "RegulatoryEvidence" e ON e."id" = i."evidenceId"'
    )
    assert set(linked) == {(1, 1)}
    changed = rows('SELECT "id", "changeSummary" FROM "RegulatoryEvidence" WHERE "hasChanged"')
    told = rows("SELECT DISTINCT after_evidence FROM changes WHERE state = 'reported'")
    assert {int(i) for i, _ in changed} == {i for (i,) in told if i is not None}
    assert all(summary for _, summary in changed)
    assert len(changed) > 5
    texts = rows(
        'SELECT e."contentType", a."kind" FROM "RegulatoryEvidence" e '
        'JOIN "EvidenceArtifact" a ON a."id" = e."primaryTextArtifactId"'
    )
    documents = rows("SELECT COUNT(*) FROM evidence WHERE content_class LIKE 'PDF%'")[0][0]
    assert len(texts) == documents > 0
    files = rows('SELECT DISTINCT "rawContentFile" FROM "RegulatoryEvidence"')
    assert all((watched.data / "archive" / name).exists() for (name,) in files)


def rows_of_domains(watched) -> list[str]:
    return [source.url.split("/")[2] for source in watched.config.sources]
