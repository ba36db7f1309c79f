"""The tables, once, for every dialect.  Times are integer milliseconds since 1970, UTC; ids are ours.

Columns that the evidence chain covers are marked in `core/chain.py`, not here.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    true,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# SQLite makes a rowid of INTEGER PRIMARY KEY only; BIGINT would cost a second index.
Id = BigInteger().with_variant(Integer, "sqlite")

sources = Table(
    "sources",
    metadata,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("url", Text, nullable=False),
    Column("lister", String, nullable=False),
    Column("options", Text, nullable=False, server_default="{}"),
    Column("risk", Integer),
    Column("tier", Integer, nullable=False, server_default="1"),
    Column("is_active", Boolean, nullable=False, server_default="1"),  # as configured
    Column("scrape_frequency_s", BigInteger),
    Column("retention", String, nullable=False, server_default="standard"),
    Column("fetch", Text, nullable=False, server_default="{}"),
    Column("origin", String, nullable=False, server_default="cli"),
    Column("created_at", BigInteger, nullable=False),
    Column("failures", Integer, nullable=False, server_default="0"),  # content failures in a row
    Column("last_error", Text),
    Column("last_success_at", BigInteger),
    Column("closed_until", BigInteger),
    Column("tally", Text, nullable=False, server_default="{}"),  # trap budgets, core/admission.py
    Column("paused_at", BigInteger),  # by the operator's hand; stands until they resume it
)

watches = Table(
    "watches",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("url", Text, nullable=False),
    Column("lane_id", BigInteger, nullable=False),
    Column("source_id", String, nullable=False, index=True),
    Column("lister", String),
    Column("depth", Integer, nullable=False, server_default="0"),
    Column("parent_id", BigInteger),
    Column("title", Text, nullable=False, server_default=""),
    Column("node_type", String, nullable=False, server_default="LEAF"),
    Column("node_role", String),
    Column("risk", Integer, nullable=False, server_default="1"),
    Column("velocity", Float, nullable=False, server_default="0.5"),
    Column("scan_count", Integer, nullable=False, server_default="0"),
    Column("last_changed_at", BigInteger),
    Column("due_at", BigInteger),  # null: not scheduled
    Column("interval_s", BigInteger, nullable=False, server_default="0"),
    Column("created_at", BigInteger, nullable=False),
    Column("published_at", BigInteger),
    Column("modified_at", BigInteger),  # what a listing said: a signal
    Column("last_visit_at", BigInteger),
    Column("last_outcome", String),
    Column("attempt", Integer, nullable=False, server_default="0"),
    Column("etag", Text),
    Column("last_modified", Text),
    Column("seen_visit", BigInteger),
    Column("seen_evidence", BigInteger),
    Column("seen_at", BigInteger),
    Column("seen_digest", LargeBinary),
    Column("text_key", BigInteger),
    Column("masked_key", BigInteger),
    Column("simhash", BigInteger),
    Column("text_chars", Integer),
    Column("content_class", String),
    Column("mask", Text),
    Column("pending_change", BigInteger),
    Column("canonical_id", BigInteger),
    Column("merged_into", BigInteger),
    Column("is_gone", Boolean, nullable=False, server_default="0"),
    Column("audit_s", BigInteger),  # not null: the next look is an audit in an interval of so many seconds
    # One queue per lane: within a lane, each risk class in order of due time (DESIGN section 1).
    Index("ix_watches_queue", "lane_id", "risk", "due_at", "interval_s"),
)
# Second looks go first in their lane: what differs between two looks is noise only when they are seconds apart.
Index(
    "ix_watches_second_looks",
    watches.c.lane_id,
    watches.c.due_at,
    sqlite_where=watches.c.pending_change.is_not(None),
    postgresql_where=watches.c.pending_change.is_not(None),
)

leases = Table(
    "leases",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("worker", String, nullable=False),
    Column("taken_at", BigInteger, nullable=False),
    Column("until_at", BigInteger, nullable=False),
)

lanes = Table(
    "lanes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False, unique=True),
    Column("next_start_at", BigInteger),
    Column("bucket_at", BigInteger),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("recent", BigInteger, nullable=False, server_default="0"),
    Column("recent_count", Integer, nullable=False, server_default="0"),
    Column("closed_until", BigInteger),
    Column("held_until", BigInteger),
    Column("blocked_by", Text, nullable=False, server_default=""),
    Column("crawl_delay_ms", BigInteger),
    Column("word", BigInteger, nullable=False, server_default="0"),  # how often the operator spoke
)

visits = Table(
    "visits",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("watch_id", BigInteger, nullable=False),
    Column("run_id", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("took_ms", Integer, nullable=False),
    Column("outcome", String, nullable=False),
    Column("url", Text, nullable=False),
    Column("status", Integer),
    Column("changed", Boolean, nullable=False, server_default="0"),
    Column("digest", LargeBinary),
    Column("evidence_id", BigInteger),
    Column("text_chars", Integer),
    Column("wire_bytes", BigInteger, nullable=False, server_default="0"),
    Column("detail", Text, nullable=False, server_default=""),
    Column("segment", String, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("kind", String, nullable=False),
    Column("offset", BigInteger),
    Column("length", BigInteger),
    Column("record_digest", LargeBinary),
    Column("chain", LargeBinary, nullable=False),
    Column("audit_s", BigInteger),  # not null: an audit in an interval of so many seconds
    UniqueConstraint("watch_id", "at"),  # (url_hash, fetched_at) of 004
    UniqueConstraint("segment", "seq"),
)

evidence = Table(
    "evidence",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),  # the first visit that showed it
    Column("watch_id", BigInteger, nullable=False),
    Column("digest", LargeBinary, nullable=False, index=True),
    Column("url", Text, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("content_class", String, nullable=False),
    Column("content_type", Text, nullable=False, server_default=""),
    Column("size", BigInteger, nullable=False),
    Column("segment", String, nullable=False),  # where the payload is; shared between URLs
    Column("offset", BigInteger, nullable=False),
    Column("length", BigInteger, nullable=False),
    Column("stored_by", BigInteger, nullable=False),  # the visit whose record holds the payload
    UniqueConstraint("watch_id", "digest"),
)

changes = Table(
    "changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("watch_id", BigInteger, nullable=False, index=True),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("before_visit", BigInteger, nullable=False),
    Column("after_visit", BigInteger, nullable=False),
    Column("before_evidence", BigInteger),
    Column("after_evidence", BigInteger),
    Column("observed_at", BigInteger, nullable=False),
    Column("decided_at", BigInteger),
    Column("layer", String, nullable=False),
    Column("similarity", Float, nullable=False),
    Column("summary", Text, nullable=False),
    Column("diff", Text, nullable=False),
    Column("reasons", Text, nullable=False, server_default="[]"),
    Column("seal", LargeBinary, nullable=False),  # sha256 over what never changes of this row
    Index("ix_changes_state_observed_at", "state", "observed_at"),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("watch_id", BigInteger),
    Column("visit_id", BigInteger),
    Column("run_id", String, nullable=False),
    Column("kind", String, nullable=False),  # visit | lane | run | operator
    Column("payload", Text, nullable=False),
    Index("ix_ledger_watch_id_at", "watch_id", "at"),
)

refusals = Table(
    "refusals",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),  # the watch id it would have had
    Column("url", Text, nullable=False),
    Column("source_id", String, nullable=False),
    Column("reason", String, nullable=False),
    Column("note", Text, nullable=False, server_default=""),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("count", BigInteger, nullable=False, server_default="1"),
)

parked = Table(
    "parked",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("url", Text, nullable=False),
    Column("outcome", String, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    Column("attempts", Integer, nullable=False),
    Column("at", BigInteger, nullable=False),
)

robots = Table(
    "robots",
    metadata,
    Column("origin", String, primary_key=True),
    Column("fetched_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("status", Integer),
    Column("outcome", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("verdict", String, nullable=False),
    Column("crawl_delay", Float),
    Column("sitemaps", Text, nullable=False, server_default="[]"),
)

segments = Table(
    "segments",
    metadata,
    Column("name", String, primary_key=True),
    Column("retention", String, nullable=False),
    Column("day", String, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("count", BigInteger, nullable=False),
    Column("head", LargeBinary, nullable=False),
    Column("state", String, nullable=False, server_default="open"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", String, primary_key=True),
    Column("started_at", BigInteger, nullable=False),
    Column("ended_at", BigInteger),
    Column("policy", String, nullable=False),
    Column("config_digest", String, nullable=False),
    Column("rules", Text, nullable=False, server_default="{}"),  # the configured rules, for `replay`
    Column("ended_by", String),  # idle | limit | stopped | killed
    Column("tally", Text, nullable=False, server_default="{}"),
)

panel_models = Table(  # what the providers say they have, and how often each model answered
    "panel_models",
    metadata,
    Column("name", String, primary_key=True),  # canonical: provider/model
    Column("provider", String, nullable=False),
    Column("wire_name", String, nullable=False),  # as the provider spells it
    Column("aliases", Text, nullable=False, server_default="[]"),  # JSON
    Column("first_seen_at", BigInteger),
    Column("last_seen_at", BigInteger),
    Column("retired_at", BigInteger),
    Column("successor", String, nullable=False, server_default=""),
    Column("answered", BigInteger, nullable=False, server_default="0"),
    Column("failed", BigInteger, nullable=False, server_default="0"),
)

orders = Table(  # words of the operator to an engine that is running in another process
    "orders",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("action", String, nullable=False),  # lane | due | source
    Column("subject", Text, nullable=False),
    sqlite_autoincrement=True,
)

# 003's tables, with its words: other programs read them.  In a database that has them already, only what is missing
# is added (`panel_brownfield.py`).
_SCORES = ("chars", "words", "mentions", "citations", "own_citations")  # core/panel/quality.py

domains = Table(
    "domains",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("domain", Text, nullable=False, unique=True),
    Column("active", Boolean, nullable=False, server_default=true()),
    Column("added_by", Text, nullable=False, server_default=""),  # a table that has it is ours to add to
)

crawl_batches = Table(
    "crawl_batches",
    metadata,
    Column("id", String, primary_key=True),
    Column("status", String, nullable=False, server_default="running"),  # running | the word it ended by
    Column("started_at", BigInteger),
    Column("target_at", BigInteger),  # soft cut
    Column("hard_at", BigInteger),  # hard stop
    Column("ended_at", BigInteger),
    Column("heartbeat_at", BigInteger),
    Column("stop_asked_at", BigInteger),  # the kill switch
    Column("eta_at", BigInteger),
    Column("plan", Text),  # JSON: models, prompts, repeats, domains
    Column("cells", BigInteger),
    Column("settled", BigInteger),
    Column("answered", BigInteger),
    Column("under_way", Integer),
    Column("waiting", BigInteger),
    Column("dropped_from", Integer),  # the tier
    Column("dropped", Text),  # JSON: model, tier, cells, reason
    Column("budget_usd", Float),
    Column("spent_usd", Float),
    Column("written_to", String),  # domain_responses, or SHADOW_TABLE
)

provider_metrics = Table(
    "provider_metrics",
    metadata,
    Column("batch_id", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("updated_at", BigInteger),
    *(Column(name, BigInteger) for name in "calls ok throttled errors retries parked".split()),
    *(
        Column(name, BigInteger)
        for name in "tokens_in tokens_out p50_ms p95_ms p99_ms under_way at_once".split()
    ),
    *(Column(name, Float) for name in "success_rate throttle_rate error_rate cost_usd per_minute".split()),
    Column("breaker", String),
)


def responses_table(name: str, home: MetaData) -> Table:
    """`domain_responses`, or one that shadows it."""
    return Table(
        name,
        home,
        Column("id", Integer, primary_key=True, autoincrement=True),
        Column("domain_id", Text, nullable=False),
        Column("model", Text, nullable=False, index=True),
        Column("prompt_type", Text),
        Column("prompt", Text),
        Column("response", Text),
        Column("batch_id", Text, index=True),
        Column("response_time_ms", Integer),
        Column("quality_flag", Text),
        Column("retry_count", Integer),
        *(Column(score, Integer) for score in _SCORES),
        Column("created_at", DateTime(timezone=True), index=True),
        UniqueConstraint("domain_id", "model", "prompt_type"),
    )


domain_responses = responses_table("domain_responses", metadata)

panel_answers = Table(
    "panel_answers",
    metadata,
    Column("batch_id", String, primary_key=True),
    Column("cell", BigInteger, primary_key=True, autoincrement=False),
    Column("domain_id", Text, nullable=False),
    Column("domain", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("prompt_type", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("prompt_version", Text, nullable=False),
    Column("outcome", String, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("text", Text),
    Column("response_time_ms", Integer, nullable=False),
    Column("retry_count", Integer, nullable=False),
    Column("quality_flag", String),
    *(Column(name, Integer) for name in _SCORES),
    Column("meta", Text, nullable=False, server_default="{}"),
    Column("tokens_in", Integer, nullable=False, server_default="0"),
    Column("tokens_out", Integer, nullable=False, server_default="0"),
    Column("cost_usd", Float, nullable=False, server_default="0"),
    Column("detail", Text, nullable=False, server_default=""),
    UniqueConstraint("domain_id", "model", "prompt_type", "batch_id", "repeat"),
)

panel_domains = Table(  # what a batch asks about, in order
    "panel_domains",
    metadata,
    Column("batch_id", String, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("domain_id", Text, nullable=False),
    Column("domain", Text, nullable=False),
)

panel_leases = Table(  # cells that may be under way: written before they are asked, gone with their row
    "panel_leases",
    metadata,
    Column("batch_id", String, primary_key=True),
    Column("cell", BigInteger, primary_key=True, autoincrement=False),
)
