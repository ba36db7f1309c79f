"""learning"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "clocks",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_clocks")),
    )
    op.create_table(
        "hosts",
        sa.Column(
            "lane_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("counts", sa.LargeBinary(), nullable=False),
        sa.Column("named", sa.Float(), nullable=False),
        sa.Column("missed", sa.Float(), nullable=False),
        sa.Column("invented", sa.Float(), nullable=False),
        sa.Column("room", sa.Float(), nullable=False),
        sa.Column("dates_good", sa.Float(), nullable=False),
        sa.Column("dates_bad", sa.Float(), nullable=False),
        sa.Column("streak", sa.Integer(), nullable=False),
        sa.Column("failed_at", sa.Float(), nullable=False),
        sa.Column("dear", sa.Float(), nullable=False),
        sa.Column("clock_id", sa.BigInteger(), nullable=True),
        sa.Column("fresh", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("lane_id", name=op.f("pk_hosts")),
    )
    op.create_table(
        "hubs",
        sa.Column(
            "watch_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("leaves", sa.Float(), nullable=False),
        sa.Column("listed_at", sa.Float(), nullable=True),
        sa.Column("every", sa.Float(), nullable=False),
        sa.Column("pull", sa.Float(), nullable=False),
        sa.Column("births", sa.Float(), nullable=False),
        sa.Column("since", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("pk_hubs")),
    )
    op.create_table(
        "published",
        sa.Column(
            "version",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("clock_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("version", name=op.f("pk_published")),
    )
    op.create_table(
        "scheduler",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("running", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_scheduler")),
    )
    with op.batch_alter_table("watches", schema=None) as batch_op:
        batch_op.add_column(sa.Column("belief", sa.LargeBinary(), nullable=True))
