"""`fetchIntervalHours` is the interval that is obeyed: `every`, else `scrape_frequency`; minutes are fractions."""

from __future__ import annotations

from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

REGULATORY_SOURCE = """
CREATE VIEW "RegulatorySource" AS SELECT
  s.id AS "id",
  s.id AS "slug",
  s.name AS "name",
  s.url AS "url",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.hierarchy'), 5) AS "hierarchy",
  CASE
    WHEN JSON_EXTRACT(s.options, '$.every') < 60 THEN 60 / 3600.0
    WHEN JSON_EXTRACT(s.options, '$.every') IS NOT NULL THEN JSON_EXTRACT(s.options, '$.every') / 3600.0
    WHEN s.scrape_frequency_s % 3600 = 0 THEN s.scrape_frequency_s / 3600
    ELSE s.scrape_frequency_s / 3600.0 END AS "fetchIntervalHours",
  CASE s.tier WHEN 3 THEN 'critical' WHEN 2 THEN 'high' WHEN 1 THEN 'medium' ELSE 'low' END AS "priority",
  COALESCE(JSON_EXTRACT(s.options, '$.registered.domains'), '[]') AS "domains",
  s.is_active AND s.paused_at IS NULL AS "isActive"
FROM sources s
"""


def upgrade() -> None:
    op.execute('DROP VIEW "RegulatorySource"')
    op.execute(REGULATORY_SOURCE)
