"""change_marks: what people say of a change"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "change_marks",
        sa.Column("change_id", ID, autoincrement=False, nullable=False),
        sa.Column("word", sa.String(), nullable=False),
        sa.Column("who", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("change_id", name=op.f("pk_change_marks")),
        if_not_exists=True,
    )
    op.create_index("ix_change_marks_word", "change_marks", ["word"], if_not_exists=True)
