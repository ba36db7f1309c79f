"""an index of the lanes that workers hold"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

HELD = sa.text("worker <> ''")


def upgrade() -> None:
    op.create_index(
        "ix_lane_visits_held",
        "lane_visits",
        ["due_at"],
        sqlite_where=HELD,
        postgresql_where=HELD,
        if_not_exists=True,
    )
