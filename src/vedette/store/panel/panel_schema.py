"""The tables of the panel.  spec 003's keep its words: other programs read them.

In a database that has spec 003's tables already, only what is missing is added (`existing_tables.py`).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    DateTime,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    true,
)

from vedette.store import queue_schema

metadata = queue_schema.metadata  # of all tables

_SCORES = ("chars", "words", "mentions", "citations", "own_citations")  # core/panel/quality.py

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

panel_visits = Table(  # of a store with several workers: whose provider it is
    "panel_visits",
    metadata,
    Column("provider", String, primary_key=True),
    Column("worker", String, nullable=False, server_default=""),  # empty: nobody's
    Column("token", BigInteger, nullable=False, server_default="0"),  # rises with every holder
    Column("until_at", BigInteger, nullable=False, server_default="0"),  # when its holder counts as gone
    Column("batch_id", String, nullable=False, server_default=""),  # that is asked now
)

panel_shares = Table(  # what a batch that workers ask has with one provider
    "panel_shares",
    metadata,
    Column("batch_id", String, primary_key=True),
    Column("provider", String, primary_key=True),
    Column("free_at", BigInteger, nullable=False),  # since when it could be asked, where nobody asks it
    Column("ended_by", String, nullable=False, server_default=""),  # empty: it is open
    Column("under_way", Integer, nullable=False, server_default="0"),
    Column("waiting", BigInteger, nullable=False, server_default="0"),
    Column("eta_at", BigInteger),
    Column("allotted_usd", Float, nullable=False, server_default="0"),  # that its worker may spend
    Column("lost_usd", Float, nullable=False, server_default="0"),  # allotted to workers that are gone
)
