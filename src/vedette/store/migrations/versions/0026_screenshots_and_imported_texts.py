"""screenshots of browsers, and texts that another program kept before"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "screenshots",
        sa.Column("visit_id", ID, autoincrement=False, nullable=False),
        sa.Column("evidence_id", sa.BigInteger(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("height", sa.Integer(), nullable=False),
        sa.Column("page_height", sa.Integer(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("visit_id", name=op.f("pk_screenshots")),
        if_not_exists=True,
    )
    op.create_index(op.f("ix_screenshots_evidence_id"), "screenshots", ["evidence_id"], if_not_exists=True)
    op.create_table(
        "imported_texts",
        sa.Column("watch_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("imported_at", sa.BigInteger(), nullable=False),
        sa.Column("chars", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", "at", name=op.f("pk_imported_texts")),
        if_not_exists=True,
    )
