"""hashes and nodes: `lastContentHash` is null where nothing was fetched; items are found by endpoint and node type"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

BEFORE = 'LOWER(HEX(w.seen_digest)) AS "lastContentHash"'
# Of the evidence: a listing that must be read again has no digest of its own.
AFTER = (
    "NULLIF(LOWER(HEX(COALESCE((SELECT e.digest FROM evidence e WHERE e.id = w.seen_evidence), w.seen_digest))), '') "
    'AS "lastContentHash"'
)


def upgrade() -> None:
    found = op.get_bind().execute(
        sa.text("SELECT sql FROM sqlite_master WHERE type = 'view' AND name = 'DiscoveryEndpoint'")
    )
    for (view,) in found.all():
        op.execute('DROP VIEW "DiscoveryEndpoint"')
        op.execute(view.replace(BEFORE, AFTER))
    op.create_index("ix_watches_source_node", "watches", ["source_id", "node_type"], if_not_exists=True)
    op.drop_index("ix_watches_source_id", "watches", if_exists=True)  # the new one begins with it
