"""verdicts"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "verdicts",
        sa.Column(
            "evidence_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("text_key", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("traits", sa.Text(), nullable=True),
        sa.Column("word", sa.String(), nullable=True),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("reasons", sa.Text(), server_default="[]", nullable=False),
        sa.Column("rule", sa.String(), server_default="", nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("evidence_id", name=op.f("pk_verdicts")),
    )
    with op.batch_alter_table("verdicts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_verdicts_text_key"), ["text_key"], unique=False)
    op.add_column("jobs", sa.Column("stack", sa.Text(), server_default="", nullable=False))
