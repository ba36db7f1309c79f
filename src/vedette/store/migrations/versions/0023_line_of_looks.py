"""the line of looks that a hunt ordered: what it learns from, in the order of its choices"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "hunt_looks",
        sa.Column("turn", ID, autoincrement=False, nullable=False),
        sa.Column("watch_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("seed", sa.String(), nullable=False),
        sa.Column("pull", sa.Float(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("is_prospect", sa.Boolean(), nullable=False),
        sa.Column("facts", sa.Text()),
        sa.Column("figures", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("turn", name=op.f("pk_hunt_looks")),
        sa.UniqueConstraint("watch_id", name=op.f("uq_hunt_looks_watch_id")),
        if_not_exists=True,
    )
    op.add_column("prospects", sa.Column("seed", sa.String()))
    op.add_column("prospects", sa.Column("words", sa.Text()))
    op.execute(
        "UPDATE prospects SET seed = (SELECT w.source_id FROM watches w WHERE w.id = prospects.watch_id)"
    )
    for name in ("turn", "learned"):
        op.add_column("hunts", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("hunts", sa.Column("weighed", sa.BigInteger(), nullable=False, server_default="-1"))
