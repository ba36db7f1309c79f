"""the panel"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "crawl_batches",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("status", sa.String(), server_default="running", nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("target_at", sa.BigInteger(), nullable=True),
        sa.Column("hard_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("heartbeat_at", sa.BigInteger(), nullable=True),
        sa.Column("stop_asked_at", sa.BigInteger(), nullable=True),
        sa.Column("eta_at", sa.BigInteger(), nullable=True),
        sa.Column("plan", sa.Text(), nullable=True),
        sa.Column("cells", sa.BigInteger(), nullable=True),
        sa.Column("settled", sa.BigInteger(), nullable=True),
        sa.Column("answered", sa.BigInteger(), nullable=True),
        sa.Column("under_way", sa.Integer(), nullable=True),
        sa.Column("waiting", sa.BigInteger(), nullable=True),
        sa.Column("dropped_from", sa.Integer(), nullable=True),
        sa.Column("dropped", sa.Text(), nullable=True),
        sa.Column("budget_usd", sa.Float(), nullable=True),
        sa.Column("spent_usd", sa.Float(), nullable=True),
        sa.Column("written_to", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_crawl_batches")),
    )
    op.create_table(
        "domain_responses",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("domain_id", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_type", sa.Text(), nullable=True),
        sa.Column("prompt", sa.Text(), nullable=True),
        sa.Column("response", sa.Text(), nullable=True),
        sa.Column("batch_id", sa.Text(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=True),
        sa.Column("quality_flag", sa.Text(), nullable=True),
        sa.Column("retry_count", sa.Integer(), nullable=True),
        sa.Column("chars", sa.Integer(), nullable=True),
        sa.Column("words", sa.Integer(), nullable=True),
        sa.Column("mentions", sa.Integer(), nullable=True),
        sa.Column("citations", sa.Integer(), nullable=True),
        sa.Column("own_citations", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain_responses")),
        sa.UniqueConstraint(
            "domain_id", "model", "prompt_type", name=op.f("uq_domain_responses_domain_id_model_prompt_type")
        ),
    )
    with op.batch_alter_table("domain_responses", schema=None) as batch_op:
        batch_op.create_index("ix_domain_responses_batch_id", ["batch_id"], unique=False)
        batch_op.create_index("ix_domain_responses_created_at", ["created_at"], unique=False)
        batch_op.create_index("ix_domain_responses_model", ["model"], unique=False)

    op.create_table(
        "domains",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("active", sa.Boolean(), server_default=sa.text("1"), nullable=False),
        sa.Column("added_by", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domains")),
        sa.UniqueConstraint("domain", name=op.f("uq_domains_domain")),
    )
    op.create_table(
        "panel_answers",
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("cell", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("domain_id", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_type", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("prompt_version", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("response_time_ms", sa.Integer(), nullable=False),
        sa.Column("retry_count", sa.Integer(), nullable=False),
        sa.Column("quality_flag", sa.String(), nullable=True),
        sa.Column("chars", sa.Integer(), nullable=True),
        sa.Column("words", sa.Integer(), nullable=True),
        sa.Column("mentions", sa.Integer(), nullable=True),
        sa.Column("citations", sa.Integer(), nullable=True),
        sa.Column("own_citations", sa.Integer(), nullable=True),
        sa.Column("meta", sa.Text(), server_default="{}", nullable=False),
        sa.Column("tokens_in", sa.Integer(), server_default="0", nullable=False),
        sa.Column("tokens_out", sa.Integer(), server_default="0", nullable=False),
        sa.Column("cost_usd", sa.Float(), server_default="0", nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.PrimaryKeyConstraint("batch_id", "cell", name=op.f("pk_panel_answers")),
        sa.UniqueConstraint(
            "domain_id",
            "model",
            "prompt_type",
            "batch_id",
            "repeat",
            name=op.f("uq_panel_answers_domain_id_model_prompt_type_batch_id_repeat"),
        ),
    )
    op.create_table(
        "panel_domains",
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("domain_id", sa.Text(), nullable=False),
        sa.Column("domain", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("batch_id", "n", name=op.f("pk_panel_domains")),
    )
    op.create_table(
        "panel_leases",
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("cell", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("batch_id", "cell", name=op.f("pk_panel_leases")),
    )
    op.create_table(
        "provider_metrics",
        sa.Column("batch_id", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=True),
        sa.Column("calls", sa.BigInteger(), nullable=True),
        sa.Column("ok", sa.BigInteger(), nullable=True),
        sa.Column("throttled", sa.BigInteger(), nullable=True),
        sa.Column("errors", sa.BigInteger(), nullable=True),
        sa.Column("retries", sa.BigInteger(), nullable=True),
        sa.Column("parked", sa.BigInteger(), nullable=True),
        sa.Column("tokens_in", sa.BigInteger(), nullable=True),
        sa.Column("tokens_out", sa.BigInteger(), nullable=True),
        sa.Column("p50_ms", sa.BigInteger(), nullable=True),
        sa.Column("p95_ms", sa.BigInteger(), nullable=True),
        sa.Column("p99_ms", sa.BigInteger(), nullable=True),
        sa.Column("under_way", sa.BigInteger(), nullable=True),
        sa.Column("at_once", sa.BigInteger(), nullable=True),
        sa.Column("success_rate", sa.Float(), nullable=True),
        sa.Column("throttle_rate", sa.Float(), nullable=True),
        sa.Column("error_rate", sa.Float(), nullable=True),
        sa.Column("cost_usd", sa.Float(), nullable=True),
        sa.Column("per_minute", sa.Float(), nullable=True),
        sa.Column("breaker", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("batch_id", "model", name=op.f("pk_provider_metrics")),
    )
