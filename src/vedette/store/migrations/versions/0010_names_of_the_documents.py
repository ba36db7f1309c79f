"""names of the documents: views for programs that know the tables of 000 and 001; likenesses"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Outcomes, as core/outcomes.py has them; a test holds the views to it.
GOOD = "('ok', 'not_modified', 'tool_missing')"
REFUSED = "('address_refused', 'scheme_refused', 'robots_refused', 'no_browser', 'type_refused', 'screened')"
BAD = (
    "('empty', 'gone', 'client_error', 'server_error', 'throttled', 'timeout', 'connect_error', 'dns_error', "
    "'tls_error', 'protocol_error', 'decode_error', 'too_large', 'truncated', 'redirect_error', 'parse_failed', "
    "'blocked_page', 'login_wall', 'soft_404', 'auth_error', 'quota_spent', 'overloaded', 'refused_content', "
    "'malformed_answer')"
)
REST = "SUBSTR(s.url, INSTR(s.url, '://') + 3)"  # of a URL after its scheme; a canonical one has a path
SAID = "v.outcome || CASE WHEN v.detail = '' THEN '' ELSE ': ' || v.detail END"
LAST_SAID = f"(SELECT {SAID} FROM visits v WHERE v.watch_id = w.id ORDER BY v.at DESC LIMIT 1)"
# 001 section 3.4; what is not set is not there.
METADATA = """NULLIF(JSON_PATCH('{}', JSON_OBJECT(
    'urlPattern', JSON_EXTRACT(s.options, '$.url_pattern'), 'startDate', JSON_EXTRACT(s.options, '$.start_date'),
    'endDate', JSON_EXTRACT(s.options, '$.end_date'), 'types', JSON_EXTRACT(s.options, '$.sitemap_types'),
    'maxDepth', JSON_EXTRACT(s.options, '$.max_depth'), 'maxUrls', JSON_EXTRACT(s.options, '$.max_urls'),
    'includePatterns', JSON_EXTRACT(s.options, '$.include'), 'excludePatterns', JSON_EXTRACT(s.options, '$.exclude'),
    'requiresHeadless', JSON(CASE JSON_EXTRACT(s.options, '$.requires_headless') WHEN 1 THEN 'true' END))), '{}')"""

# 001 section 3.2.  One row per source; what its own address met is in its watch.
DISCOVERY_ENDPOINT = f"""
CREATE VIEW "DiscoveryEndpoint" AS SELECT
  s.id AS "id",
  SUBSTR({REST}, 1, INSTR({REST}, '/') - 1) AS "domain",
  SUBSTR({REST}, INSTR({REST}, '/')) AS "path",
  s.name AS "name",
  CASE s.lister WHEN 'feed' THEN 'RSS_FEED' WHEN 'sitemap' THEN 'SITEMAP_XML' WHEN 'html_list' THEN 'HTML_LIST'
    WHEN 'pagination' THEN 'PAGINATION' WHEN 'crawl' THEN 'CRAWL' ELSE UPPER(s.lister) END AS "listingStrategy",
  CASE WHEN s.scrape_frequency_s IS NULL THEN NULL WHEN s.scrape_frequency_s < 86400 THEN 'EVERY_RUN'
    WHEN s.scrape_frequency_s < 302400 THEN 'DAILY' WHEN s.scrape_frequency_s < 604800 THEN 'TWICE_WEEKLY'
    WHEN s.scrape_frequency_s < 2592000 THEN 'WEEKLY' ELSE 'MONTHLY' END AS "scrapeFrequency",
  CASE s.tier WHEN 3 THEN 'CRITICAL' WHEN 2 THEN 'HIGH' WHEN 1 THEN 'NORMAL' ELSE 'LOW' END AS "priority",
  s.is_active AND s.paused_at IS NULL AS "isActive",
  JSON_EXTRACT(s.options, '$.url_pattern') AS "urlPattern",
  JSON_EXTRACT(s.options, '$.pagination_pattern') AS "paginationPattern",
  LOWER(HEX(w.seen_digest)) AS "lastContentHash",
  w.last_visit_at AS "lastScrapedAt",
  (SELECT COUNT(*) FROM visits v WHERE v.watch_id = w.id AND v.outcome IN {BAD} AND v.at > COALESCE(
    (SELECT MAX(g.at) FROM visits g WHERE g.watch_id = w.id AND g.outcome IN {GOOD}), -1)) AS "consecutiveErrors",
  CASE WHEN w.last_outcome IN {GOOD} THEN NULL ELSE {LAST_SAID} END AS "lastError",
  {METADATA} AS "metadata"
FROM sources s LEFT JOIN watches own ON own.source_id = s.id AND own.url = s.url
  LEFT JOIN watches w ON w.id = COALESCE(own.merged_into, own.id)
"""

# 001 sections 3.3 and 6.2.
REGULATORY_SOURCE = """
CREATE VIEW "RegulatorySource" AS SELECT
  s.id AS "id",
  s.id AS "slug",
  s.name AS "name",
  s.url AS "url",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.hierarchy'), 5) AS "hierarchy",
  s.scrape_frequency_s / 3600 AS "fetchIntervalHours",
  CASE s.tier WHEN 3 THEN 'critical' WHEN 2 THEN 'high' WHEN 1 THEN 'medium' ELSE 'low' END AS "priority",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.domains'), '[]') AS "domains",
  s.is_active AND s.paused_at IS NULL AS "isActive"
FROM sources s
"""

# 001 section 4.4, with what 000 section 1 adds.  A watch that goes on for ever has the status of its last look.
DISCOVERED_ITEM = f"""
CREATE VIEW "DiscoveredItem" AS SELECT
  CAST(w.id AS TEXT) AS "id",
  w.source_id AS "endpointId",
  w.url AS "url",
  NULLIF(w.title, '') AS "title",
  w.published_at AS "publishedAt",
  CASE
    WHEN w.merged_into IS NOT NULL OR w.last_outcome IN {REFUSED} THEN 'SKIPPED'
    WHEN p.watch_id IS NOT NULL THEN 'FAILED'
    WHEN w.attempt > 0 OR w.last_outcome IS NULL THEN 'PENDING'
    WHEN w.seen_evidence IS NULL THEN 'FAILED'
    WHEN j.word IS NULL THEN 'FETCHED'
    ELSE 'PROCESSED' END AS "status",
  LOWER(HEX(w.seen_digest)) AS "contentHash",
  CAST(w.seen_evidence AS TEXT) AS "evidenceId",
  w.attempt AS "retryCount",
  CASE WHEN w.last_outcome IS NULL OR w.last_outcome IN {GOOD} THEN NULL ELSE {LAST_SAID} END AS "errorMessage",
  j.at AS "processedAt",
  w.node_type AS "nodeType",
  w.node_role AS "nodeRole",
  u.url AS "parentUrl",
  w.depth AS "depth",
  CASE w.risk WHEN 3 THEN 'CRITICAL' WHEN 2 THEN 'HIGH' WHEN 1 THEN 'MEDIUM' ELSE 'LOW' END AS "freshnessRisk",
  w.velocity AS "changeFrequency",
  w.scan_count AS "scanCount",
  w.last_changed_at AS "lastChangedAt",
  w.due_at AS "nextScanDue"
FROM watches w LEFT JOIN parked p ON p.watch_id = w.id LEFT JOIN verdicts j ON j.evidence_id = w.seen_evidence
  LEFT JOIN watches u ON u.id = w.parent_id
"""

# 001 section 4.1.  SQLite does not tell "Evidence" from our table, so the view is named after its database.  The
# content itself is in the archive.
REGULATORY_EVIDENCE = """
CREATE VIEW "RegulatoryEvidence" AS SELECT
  CAST(e.id AS TEXT) AS "id",
  w.source_id AS "sourceId",
  e.url AS "url",
  NULL AS "rawContent",
  e.segment || '.warc.gz' AS "rawContentFile",
  e.offset AS "rawContentOffset",
  e.length AS "rawContentLength",
  LOWER(HEX(e.digest)) AS "contentHash",
  CASE WHEN e.content_class LIKE 'PDF%' THEN 'pdf' ELSE LOWER(e.content_class) END AS "contentType",
  e.content_class AS "contentClass",
  EXISTS (SELECT 1 FROM changes c WHERE c.watch_id = e.watch_id AND c.after_evidence = e.id
    AND c.state = 'reported') AS "hasChanged",
  (SELECT c.summary FROM changes c WHERE c.watch_id = e.watch_id AND c.after_evidence = e.id
    AND c.state = 'reported' ORDER BY c.observed_at DESC LIMIT 1) AS "changeSummary",
  e.at AS "fetchedAt",
  (SELECT a.evidence_id || '-' || a.kind FROM artifacts a WHERE a.evidence_id = e.id
    AND a.kind IN ('text', 'ocr') ORDER BY a.kind DESC LIMIT 1) AS "primaryTextArtifactId"
FROM evidence e LEFT JOIN watches w ON w.id = e.watch_id
"""

# 001 section 5.1.
EVIDENCE_ARTIFACT = """
CREATE VIEW "EvidenceArtifact" AS SELECT
  a.evidence_id || '-' || a.kind AS "id",
  CAST(a.evidence_id AS TEXT) AS "evidenceId",
  a.kind AS "kind",
  a.path AS "path",
  a.chars AS "chars",
  a.confidence AS "confidence",
  a.at AS "createdAt"
FROM artifacts a
"""

VIEWS = (DISCOVERY_ENDPOINT, REGULATORY_SOURCE, DISCOVERED_ITEM, REGULATORY_EVIDENCE, EVIDENCE_ARTIFACT)


def upgrade() -> None:
    op.create_table(
        "likenesses",
        sa.Column(
            "evidence_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("other_id", sa.BigInteger(), nullable=False),
        sa.Column("share", sa.Float(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("evidence_id", name=op.f("pk_likenesses")),
    )
    for view in VIEWS:
        op.execute(view)
