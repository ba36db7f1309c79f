"""visits of lanes, and the workers that make them"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "lane_visits",
        sa.Column("lane_id", ID, autoincrement=False, nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.String(), server_default="", nullable=False),
        sa.Column("token", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("lane_id", name=op.f("pk_lane_visits")),
        if_not_exists=True,
    )
    op.create_index(
        op.f("ix_lane_visits_due_at"), "lane_visits", ["due_at"], unique=False, if_not_exists=True
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("roles", sa.String(), nullable=False),
        sa.Column("place", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("beat_at", sa.BigInteger(), nullable=False),
        sa.Column("figures", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
        if_not_exists=True,
    )
