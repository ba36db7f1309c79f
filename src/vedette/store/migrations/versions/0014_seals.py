"""seals: covered rows are sealed; what a kept answer is to whoever asks for evidence"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# Outcomes as core/outcomes.py has them; a test holds the views to it.
GOOD = "('ok', 'not_modified')"
REFUSED = "('address_refused', 'scheme_refused', 'robots_refused', 'no_browser', 'type_refused', 'screened')"
SAID = "v.outcome || CASE WHEN v.detail = '' THEN '' ELSE ': ' || v.detail END"
LAST_SAID = f"(SELECT {SAID} FROM visits v WHERE v.watch_id = w.id ORDER BY v.at DESC LIMIT 1)"
# The evidence of a state: itself, or what it differs from by noise alone.
SHOWN = "COALESCE((SELECT k.same_as FROM evidence k WHERE k.id = w.seen_evidence), w.seen_evidence)"

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
  NULLIF(LOWER(HEX(COALESCE((SELECT s.digest FROM evidence s WHERE s.id = {SHOWN}), w.seen_digest))), '')
    AS "contentHash",
  CAST({SHOWN} AS TEXT) AS "evidenceId",
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
FROM watches w LEFT JOIN parked p ON p.watch_id = w.id LEFT JOIN verdicts j ON j.evidence_id = {SHOWN}
  LEFT JOIN watches u ON u.id = w.parent_id
"""

# 001 section 4.1: content only, each state once.  A view cannot read the archive: rawContent is filled by
# `vedette evidence export --as-001`, and given out by `vedette evidence cat`.
MINE = "c.after_evidence = e.id OR c.after_evidence IN (SELECT k.id FROM evidence k WHERE k.same_as = e.id)"
REGULATORY_EVIDENCE = f"""
CREATE VIEW "RegulatoryEvidence" AS SELECT
  CAST(e.id AS TEXT) AS "id",
  COALESCE(e.source_id, w.source_id) AS "sourceId",
  e.url AS "url",
  NULL AS "rawContent",
  e.segment || '.warc.gz' AS "rawContentFile",
  e.offset AS "rawContentOffset",
  e.length AS "rawContentLength",
  LOWER(HEX(e.digest)) AS "contentHash",
  CASE WHEN e.content_class LIKE 'PDF%' THEN 'pdf' ELSE LOWER(e.content_class) END AS "contentType",
  e.content_class AS "contentClass",
  EXISTS (SELECT 1 FROM changes c WHERE c.watch_id = e.watch_id AND c.state = 'reported' AND ({MINE}))
    AS "hasChanged",
  (SELECT c.summary FROM changes c WHERE c.watch_id = e.watch_id AND c.state = 'reported' AND ({MINE})
    ORDER BY c.observed_at DESC LIMIT 1) AS "changeSummary",
  e.at AS "fetchedAt",
  (SELECT a.evidence_id || '-' || a.kind FROM artifacts a WHERE a.evidence_id = e.id
    AND a.kind IN ('text', 'ocr') ORDER BY a.kind DESC LIMIT 1) AS "primaryTextArtifactId"
FROM evidence e LEFT JOIN watches w ON w.id = e.watch_id WHERE e.standing = 'content'
"""


def upgrade() -> None:
    op.create_table(
        "seals",
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("entries", sa.LargeBinary(), nullable=False),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_seals")),
    )
    op.add_column("evidence", sa.Column("standing", sa.String(), nullable=False, server_default="content"))
    op.add_column("evidence", sa.Column("same_as", sa.BigInteger()))
    op.add_column("evidence", sa.Column("source_id", sa.String()))
    op.create_index(
        "ix_evidence_same_as", "evidence", ["same_as"], sqlite_where=sa.text("same_as IS NOT NULL")
    )
    for name, view in (("DiscoveredItem", DISCOVERED_ITEM), ("RegulatoryEvidence", REGULATORY_EVIDENCE)):
        op.execute(f'DROP VIEW IF EXISTS "{name}"')
        op.execute(view)
    _tell_missing_readers()


def _tell_missing_readers() -> None:
    """A document whose reader is missing was not read: `DiscoveryEndpoint` of revision 0010 called that good."""
    found = op.get_bind().execute(
        sa.text("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = 'DiscoveryEndpoint'")
    )
    for (view,) in found.all():
        op.execute('DROP VIEW "DiscoveryEndpoint"')
        op.execute(view.replace("('ok', 'not_modified', 'tool_missing')", GOOD))
