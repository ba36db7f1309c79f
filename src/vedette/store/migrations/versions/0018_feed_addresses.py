"""feed_addresses: secret addresses under which changes are read as a feed"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "feed_addresses",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("tag", sa.String(), nullable=True),
        sa.Column("source", sa.String(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("risk", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("revoked_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feed_addresses")),
        sa.UniqueConstraint("digest", name=op.f("uq_feed_addresses_digest")),
        if_not_exists=True,
    )
