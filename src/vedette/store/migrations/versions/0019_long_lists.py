"""long lists: numbers of changes are kept, and lists are read in their order"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "change_numbers",
        sa.Column("number", ID, autoincrement=True, nullable=False),
        sa.Column("change_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_change_numbers")),
        sa.UniqueConstraint("change_id", name=op.f("uq_change_numbers_change_id")),
        if_not_exists=True,
    )
    op.create_index("ix_changes_observed_at", "changes", ["observed_at"], if_not_exists=True)
    op.create_index("ix_visits_at", "visits", ["at"], if_not_exists=True)
    op.create_index("ix_watches_url", "watches", ["url"], if_not_exists=True)
