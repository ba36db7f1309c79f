"""the stream"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "changes",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("watch_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("before_visit", sa.BigInteger(), nullable=False),
        sa.Column("after_visit", sa.BigInteger(), nullable=False),
        sa.Column("before_evidence", sa.BigInteger(), nullable=True),
        sa.Column("after_evidence", sa.BigInteger(), nullable=True),
        sa.Column("observed_at", sa.BigInteger(), nullable=False),
        sa.Column("decided_at", sa.BigInteger(), nullable=True),
        sa.Column("layer", sa.String(), nullable=False),
        sa.Column("similarity", sa.Float(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("diff", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), server_default="[]", nullable=False),
        sa.Column("seal", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changes")),
    )
    with op.batch_alter_table("changes", schema=None) as batch_op:
        batch_op.create_index("ix_changes_state_observed_at", ["state", "observed_at"], unique=False)
        batch_op.create_index(batch_op.f("ix_changes_watch_id"), ["watch_id"], unique=False)

    op.create_table(
        "evidence",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("watch_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("content_class", sa.String(), nullable=False),
        sa.Column("content_type", sa.Text(), server_default="", nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=False),
        sa.Column("length", sa.BigInteger(), nullable=False),
        sa.Column("stored_by", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_evidence")),
        sa.UniqueConstraint("watch_id", "digest", name=op.f("uq_evidence_watch_id_digest")),
    )
    with op.batch_alter_table("evidence", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_evidence_digest"), ["digest"], unique=False)

    op.create_table(
        "lanes",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("next_start_at", sa.BigInteger(), nullable=True),
        sa.Column("bucket_at", sa.BigInteger(), nullable=True),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("recent", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("recent_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("closed_until", sa.BigInteger(), nullable=True),
        sa.Column("held_until", sa.BigInteger(), nullable=True),
        sa.Column("blocked_by", sa.Text(), server_default="", nullable=False),
        sa.Column("crawl_delay_ms", sa.BigInteger(), nullable=True),
        sa.Column("word", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lanes")),
        sa.UniqueConstraint("key", name=op.f("uq_lanes_key")),
    )
    op.create_table(
        "leases",
        sa.Column(
            "watch_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("worker", sa.String(), nullable=False),
        sa.Column("taken_at", sa.BigInteger(), nullable=False),
        sa.Column("until_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("pk_leases")),
    )
    op.create_table(
        "ledger",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("watch_id", sa.BigInteger(), nullable=True),
        sa.Column("visit_id", sa.BigInteger(), nullable=True),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger")),
    )
    with op.batch_alter_table("ledger", schema=None) as batch_op:
        batch_op.create_index("ix_ledger_watch_id_at", ["watch_id", "at"], unique=False)

    op.create_table(
        "orders",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orders")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "parked",
        sa.Column(
            "watch_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            autoincrement=False,
            nullable=False,
        ),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("watch_id", name=op.f("pk_parked")),
    )
    op.create_table(
        "refusals",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("reason", sa.String(), nullable=False),
        sa.Column("note", sa.Text(), server_default="", nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), server_default="1", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_refusals")),
    )
    op.create_table(
        "robots",
        sa.Column("origin", sa.String(), nullable=False),
        sa.Column("fetched_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("verdict", sa.String(), nullable=False),
        sa.Column("crawl_delay", sa.Float(), nullable=True),
        sa.Column("sitemaps", sa.Text(), server_default="[]", nullable=False),
        sa.PrimaryKeyConstraint("origin", name=op.f("pk_robots")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("policy", sa.String(), nullable=False),
        sa.Column("config_digest", sa.String(), nullable=False),
        sa.Column("ended_by", sa.String(), nullable=True),
        sa.Column("tally", sa.Text(), server_default="{}", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_table(
        "segments",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("retention", sa.String(), nullable=False),
        sa.Column("day", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("count", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.String(), server_default="open", nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_segments")),
    )
    op.create_table(
        "sources",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("lister", sa.String(), nullable=False),
        sa.Column("options", sa.Text(), server_default="{}", nullable=False),
        sa.Column("risk", sa.Integer(), nullable=True),
        sa.Column("tier", sa.Integer(), server_default="1", nullable=False),
        sa.Column("is_active", sa.Boolean(), server_default="1", nullable=False),
        sa.Column("scrape_frequency_s", sa.BigInteger(), nullable=True),
        sa.Column("retention", sa.String(), server_default="standard", nullable=False),
        sa.Column("fetch", sa.Text(), server_default="{}", nullable=False),
        sa.Column("origin", sa.String(), server_default="cli", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("last_success_at", sa.BigInteger(), nullable=True),
        sa.Column("closed_until", sa.BigInteger(), nullable=True),
        sa.Column("tally", sa.Text(), server_default="{}", nullable=False),
        sa.Column("paused_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sources")),
    )
    op.create_table(
        "visits",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("watch_id", sa.BigInteger(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("took_ms", sa.Integer(), nullable=False),
        sa.Column("outcome", sa.String(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("changed", sa.Boolean(), server_default="0", nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=True),
        sa.Column("evidence_id", sa.BigInteger(), nullable=True),
        sa.Column("text_chars", sa.Integer(), nullable=True),
        sa.Column("wire_bytes", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("detail", sa.Text(), server_default="", nullable=False),
        sa.Column("segment", sa.String(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("offset", sa.BigInteger(), nullable=True),
        sa.Column("length", sa.BigInteger(), nullable=True),
        sa.Column("record_digest", sa.LargeBinary(), nullable=True),
        sa.Column("chain", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_visits")),
        sa.UniqueConstraint("segment", "seq", name=op.f("uq_visits_segment_seq")),
        sa.UniqueConstraint("watch_id", "at", name=op.f("uq_visits_watch_id_at")),
    )
    op.create_table(
        "watches",
        sa.Column(
            "id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False
        ),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("lane_id", sa.BigInteger(), nullable=False),
        sa.Column("source_id", sa.String(), nullable=False),
        sa.Column("lister", sa.String(), nullable=True),
        sa.Column("depth", sa.Integer(), server_default="0", nullable=False),
        sa.Column("parent_id", sa.BigInteger(), nullable=True),
        sa.Column("title", sa.Text(), server_default="", nullable=False),
        sa.Column("node_type", sa.String(), server_default="LEAF", nullable=False),
        sa.Column("node_role", sa.String(), nullable=True),
        sa.Column("risk", sa.Integer(), server_default="1", nullable=False),
        sa.Column("velocity", sa.Float(), server_default="0.5", nullable=False),
        sa.Column("scan_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_changed_at", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.BigInteger(), nullable=True),
        sa.Column("interval_s", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("published_at", sa.BigInteger(), nullable=True),
        sa.Column("modified_at", sa.BigInteger(), nullable=True),
        sa.Column("last_visit_at", sa.BigInteger(), nullable=True),
        sa.Column("last_outcome", sa.String(), nullable=True),
        sa.Column("attempt", sa.Integer(), server_default="0", nullable=False),
        sa.Column("etag", sa.Text(), nullable=True),
        sa.Column("last_modified", sa.Text(), nullable=True),
        sa.Column("seen_visit", sa.BigInteger(), nullable=True),
        sa.Column("seen_evidence", sa.BigInteger(), nullable=True),
        sa.Column("seen_at", sa.BigInteger(), nullable=True),
        sa.Column("seen_digest", sa.LargeBinary(), nullable=True),
        sa.Column("text_key", sa.BigInteger(), nullable=True),
        sa.Column("masked_key", sa.BigInteger(), nullable=True),
        sa.Column("simhash", sa.BigInteger(), nullable=True),
        sa.Column("text_chars", sa.Integer(), nullable=True),
        sa.Column("content_class", sa.String(), nullable=True),
        sa.Column("mask", sa.Text(), nullable=True),
        sa.Column("pending_change", sa.BigInteger(), nullable=True),
        sa.Column("canonical_id", sa.BigInteger(), nullable=True),
        sa.Column("merged_into", sa.BigInteger(), nullable=True),
        sa.Column("is_gone", sa.Boolean(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_watches")),
    )
    with op.batch_alter_table("watches", schema=None) as batch_op:
        batch_op.create_index("ix_watches_queue", ["lane_id", "risk", "due_at", "interval_s"], unique=False)
        batch_op.create_index(
            "ix_watches_second_looks",
            ["lane_id", "due_at"],
            unique=False,
            sqlite_where=sa.text("pending_change IS NOT NULL"),
            postgresql_where=sa.text("pending_change IS NOT NULL"),
        )
        batch_op.create_index(batch_op.f("ix_watches_source_id"), ["source_id"], unique=False)
