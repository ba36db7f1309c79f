"""batches of the panel that workers share"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "panel_visits",
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("worker", sa.String(), server_default="", nullable=False),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("until_at", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("batch_id", sa.String(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("provider", name=op.f("pk_panel_visits")),
    )
    op.create_table(
        "panel_shares",
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("provider", sa.String(), nullable=False),
        sa.Column("free_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_by", sa.String(), server_default="", nullable=False),
        sa.Column("under_way", sa.Integer(), server_default="0", nullable=False),
        sa.Column("waiting", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("eta_at", sa.BigInteger(), nullable=True),
        sa.Column("allotted_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("lost_usd", sa.Float(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("batch_id", "provider", name=op.f("pk_panel_shares")),
    )
