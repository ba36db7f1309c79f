"""alerts"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


# 001 section 10.3, for programs that read the table under its name.
WATCHDOG_ALERT = """
CREATE VIEW "WatchdogAlert" AS SELECT
  id, kind AS "type", risk AS "severity", subject AS "entityId", detail AS "message",
  opened_at AS "occurredAt", recovered_at AS "resolvedAt", acked_at AS "acknowledgedAt"
FROM alerts
"""


def upgrade() -> None:
    op.create_table(
        "alarms",
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("is_raised", sa.Boolean(), nullable=False),
        sa.Column("bad_since", sa.BigInteger(), nullable=True),
        sa.Column("good_since", sa.BigInteger(), nullable=True),
        sa.Column("relapses", sa.Integer(), server_default="0", nullable=False),
        sa.Column("settled_at", sa.BigInteger(), nullable=True),
        sa.Column("alert_id", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_alarms")),
    )
    op.create_table(
        "alerts",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("kinds", sa.Text(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("risk", sa.Integer(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("opened_at", sa.BigInteger(), nullable=False),
        sa.Column("recovered_at", sa.BigInteger(), nullable=True),
        sa.Column("acked_at", sa.BigInteger(), nullable=True),
        sa.Column("ack_note", sa.Text(), server_default="", nullable=False),
        sa.Column("relapses", sa.Integer(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_alerts")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("alerts", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_alerts_subject"), ["subject"], unique=False)

    op.create_table(
        "cron_marks",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("fired_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_cron_marks")),
    )
    op.create_table(
        "jobs",
        sa.Column("number", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("queue", sa.String(), nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), server_default="waiting", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("worker", sa.String(), nullable=True),
        sa.Column("until_at", sa.BigInteger(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_jobs")),
        sa.UniqueConstraint("queue", "id", name=op.f("uq_jobs_queue_id")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("jobs", schema=None) as batch_op:
        batch_op.create_index("ix_jobs_queue_started_at", ["queue", "started_at"], unique=False)
        batch_op.create_index("ix_jobs_queue_state_due_at", ["queue", "state", "due_at"], unique=False)

    op.create_table(
        "outbox",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("notice_id", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("risk", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(), server_default="waiting", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("sent_at", sa.BigInteger(), nullable=True),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("digest_id", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outbox")),
        sa.UniqueConstraint("notice_id", "channel", name=op.f("uq_outbox_notice_id_channel")),
        sqlite_autoincrement=True,
    )
    with op.batch_alter_table("outbox", schema=None) as batch_op:
        batch_op.create_index("ix_outbox_channel_state_due_at", ["channel", "state", "due_at"], unique=False)

    op.execute(WATCHDOG_ALERT)
