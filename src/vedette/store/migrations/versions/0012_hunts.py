"""hunts"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "prospects",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("chosen_at", sa.BigInteger(), index=True),
    )
    op.create_table(
        "yields",
        sa.Column("place", sa.Text(), nullable=False, primary_key=True),
        sa.Column("looks", sa.Integer(), nullable=False),
        sa.Column("found", sa.Float(), nullable=False),
        sa.Column("errors", sa.Integer(), nullable=False),
    )
    op.create_table(
        "hunts",
        sa.Column("id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("empty_at", sa.BigInteger()),
        sa.Column("after", sa.BigInteger(), nullable=False),
    )
