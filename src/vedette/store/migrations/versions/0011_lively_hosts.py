"""lively hosts"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for name in ("firsts", "firsts_due"):
        op.add_column("hosts", sa.Column(name, sa.Float(), server_default="0", nullable=False))
