"""odd pages: figures, features, findings, marks, weights and the background of hunts; failures of prospects"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.add_column("prospects", sa.Column("pull", sa.Float(), nullable=False, server_default="0"))
    op.add_column("prospects", sa.Column("place", sa.Text()))
    op.add_column("prospects", sa.Column("not_before", sa.BigInteger()))
    op.create_index("ix_prospects_pull", "prospects", ["pull"])
    op.create_index("ix_prospects_place", "prospects", ["place"])
    op.create_table(
        "odd_pages",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False, unique=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("pull", sa.Float(), nullable=False),
        sa.Column("simhash", sa.BigInteger(), nullable=False),
        sa.Column("figures", sa.LargeBinary(), nullable=False),
        sa.Column("features", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("twin", sa.BigInteger(), nullable=False),
        sa.Column("weights", sa.String(), nullable=False),
    )
    op.create_table(
        "findings",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False, index=True),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("contributions", sa.Text(), nullable=False),
        sa.Column("weights", sa.String(), nullable=False),
        sa.Column("found_at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "marks",
        sa.Column("watch_id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "odd_weights",
        sa.Column("version", sa.String(), nullable=False, primary_key=True),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )
    op.create_table(
        "backgrounds",
        sa.Column("id", ID, autoincrement=False, nullable=False, primary_key=True),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )
