"""audits"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("visits", schema=None) as batch_op:
        batch_op.add_column(sa.Column("audit_s", sa.BigInteger(), nullable=True))

    with op.batch_alter_table("watches", schema=None) as batch_op:
        batch_op.add_column(sa.Column("audit_s", sa.BigInteger(), nullable=True))
