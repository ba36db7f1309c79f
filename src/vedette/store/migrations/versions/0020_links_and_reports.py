"""links between pages of hunts, and what analysts say of findings"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "page_links",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False),
        sa.Column("targets", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("pk_page_links")),
        if_not_exists=True,
    )
    op.create_table(
        "page_reports",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False),
        sa.Column("author", sa.String(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("calls", sa.BigInteger(), nullable=False),
        sa.Column("usd", sa.Float(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("pk_page_reports")),
        if_not_exists=True,
    )
