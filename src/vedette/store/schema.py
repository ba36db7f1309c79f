"""The tables, once, for every dialect.  Times are integer milliseconds since 1970, UTC; ids are ours.

Columns that the evidence chain covers are marked in `core/evidence/chain.py`, not here.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
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
    Column("tally", Text, nullable=False, server_default="{}"),  # trap budgets, core/urls/admission.py
    Column("paused_at", BigInteger),  # by the operator's hand; stands until they resume it
)

watches = Table(
    "watches",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("url", Text, nullable=False),
    Column("lane_id", BigInteger, nullable=False),
    Column("source_id", String, nullable=False),
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
    Column("belief", LargeBinary),  # of the learned policy, core/schedule/learned/beliefs.py
    # One queue per lane: within a lane, each risk class in order of due time (docs/architecture.md).
    Index("ix_watches_queue", "lane_id", "risk", "due_at", "interval_s"),
    Index("ix_watches_source_node", "source_id", "node_type"),  # spec 000/1
    Index("ix_watches_url", "url"),  # the order of lists
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
    UniqueConstraint("watch_id", "at"),  # (url_hash, fetched_at) of spec 004
    UniqueConstraint("segment", "seq"),
    Index("ix_visits_at", "at"),
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
    Column("standing", String, nullable=False, server_default="content"),  # contracts/watch.py Standing
    Column("same_as", BigInteger),  # the evidence that it differs from by noise alone
    Column("source_id", String),  # of its watch, when it was fetched
    UniqueConstraint("watch_id", "digest"),
)
Index("ix_evidence_same_as", evidence.c.same_as, sqlite_where=evidence.c.same_as.is_not(None))

verdicts = Table(  # what was measured of a text at its look, and what the scout made of it
    "verdicts",
    metadata,
    Column("evidence_id", Id, primary_key=True, autoincrement=False),
    Column("text_key", BigInteger, nullable=False, server_default="0", index=True),  # 0: no text
    Column("traits", Text),  # JSON; null: no text was made of it
    Column("vector", LargeBinary),  # 256 halves, `core/judging/embedding.py`
    Column("word", String),  # skip | persist | escalate; null: not judged yet
    Column("score", Float),
    Column("reasons", Text, nullable=False, server_default="[]"),
    Column("rule", String, nullable=False, server_default=""),
    Column("at", BigInteger),
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
    Index("ix_changes_observed_at", "observed_at"),
)

change_numbers = Table(  # what people call a change by: given once, in the order in which changes were stored
    "change_numbers",
    metadata,
    Column("number", Id, primary_key=True, autoincrement=True),
    Column("change_id", BigInteger, nullable=False, unique=True),
)

change_marks = Table(  # what people say of a change
    "change_marks",
    metadata,
    Column("change_id", Id, primary_key=True, autoincrement=False),
    Column("word", String, nullable=False, index=True),  # useful | noise
    Column("who", String, nullable=False),
    Column("at", BigInteger, nullable=False),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("watch_id", BigInteger),
    Column("visit_id", BigInteger),
    Column("run_id", String, nullable=False),
    Column("kind", String, nullable=False),  # visit | verdict | lane | run | operator
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

seals = Table(  # what each transaction wrote of the covered rows, chained: core/evidence/seals.py
    "seals",
    metadata,
    Column("number", Id, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),  # begun | upgraded | written
    Column("entries", LargeBinary, nullable=False),  # table, key and sha256 of each row
    Column("chain", LargeBinary, nullable=False),
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

# What the learned policy knows beside its watches.  Times of these three are hours of the schedule layer.
hosts = Table(
    "hosts",
    metadata,
    Column("lane_id", Id, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False),
    Column("counts", LargeBinary, nullable=False),  # changes by hour of a working day and of a weekend day
    Column("named", Float, nullable=False),  # changes that listings named,
    Column("missed", Float, nullable=False),  # and that they did not,
    Column("invented", Float, nullable=False),  # marks that were not true,
    Column("room", Float, nullable=False),  # in so many target hours
    Column("dates_good", Float, nullable=False),  # Last-Modified that could be true,
    Column("dates_bad", Float, nullable=False),  # and that could not
    Column("streak", Integer, nullable=False),  # failed looks in a row
    Column("failed_at", Float, nullable=False),
    Column("dear", Float, nullable=False),  # how many times the price a look costs there
    Column("clock_id", BigInteger),
    Column("fresh", Integer, nullable=False),  # changes counted since its clock was published
    # First changes of its targets: that looks found, and that an ordinary host would have shown.
    Column("firsts", Float, nullable=False, server_default="0"),
    Column("firsts_due", Float, nullable=False, server_default="0"),
)

hubs = Table(
    "hubs",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False),  # of its lane
    Column("leaves", Float, nullable=False),
    Column("listed_at", Float),
    Column("every", Float, nullable=False),
    Column("pull", Float, nullable=False),
    Column("births", Float, nullable=False),
    Column("since", Float),
)

clocks = Table(
    "clocks",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("data", LargeBinary, nullable=False),
)

published = Table(  # by the scheduler; `replay` needs every version
    "published",
    metadata,
    Column("version", Id, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
    Column("clock_id", BigInteger),
)

scheduler = Table(  # one row: its running sums
    "scheduler",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("running", Text, nullable=False),
)

prospects = Table(  # found, never looked at, and looked at only if a hunt chooses them
    "prospects",
    metadata,
    Column("watch_id", Id, primary_key=True, autoincrement=False),
    Column("chosen_at", BigInteger, index=True),  # null: open
    Column("pull", Float, nullable=False, server_default="0", index=True),  # the oddness of what links to it
    Column("place", Text, index=True),  # its neighbourhood
    Column("not_before", BigInteger),  # its look failed: open again from then on
    Column("seed", String),  # the source whose crawl came by it; null: nobody who links to it was judged yet
    Column("words", Text),  # of the link by which it was opened
)

yields = Table(  # what first looks of hunts came to
    "yields",
    metadata,
    Column(
        "place", Text, primary_key=True
    ),  # a place, a neighbourhood (with a slash), seed:x, link:, empty: the whole
    Column("looks", Integer, nullable=False),
    Column("found", Float, nullable=False),
    Column("errors", Integer, nullable=False),
)

hunts = Table(  # one row: where the hunt is
    "hunts",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=False),
    Column("number", BigInteger, nullable=False),  # looks chosen
    Column("empty_at", BigInteger),  # of the bucket of looks per day
    Column("after", BigInteger, nullable=False),  # open ones were read up to this watch
    Column("turn", BigInteger, nullable=False, server_default="0"),  # looks ordered
    Column(
        "learned", BigInteger, nullable=False, server_default="0"
    ),  # of these, those that were learned from
    Column("weighed", BigInteger, nullable=False, server_default="-1"),  # `learned` at the last choice
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

alarms = Table(  # what is remembered of each host and source, so that a flapping one is told of once
    "alarms",
    metadata,
    Column("subject", String, primary_key=True),  # host:x | source:id
    Column("is_raised", Boolean, nullable=False),
    Column("bad_since", BigInteger),
    Column("good_since", BigInteger),
    Column("relapses", Integer, nullable=False, server_default="0"),
    Column("settled_at", BigInteger),
    Column("alert_id", BigInteger),
)

alerts = Table(  # also readable as spec 001's WatchdogAlert
    "alerts",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),
    Column("kinds", Text, nullable=False),
    Column("subject", String, nullable=False, index=True),
    Column("risk", Integer, nullable=False),
    Column("sources", Text, nullable=False),
    Column("detail", Text, nullable=False, server_default=""),
    Column("opened_at", BigInteger, nullable=False),
    Column("recovered_at", BigInteger),
    Column("acked_at", BigInteger),
    Column("ack_note", Text, nullable=False, server_default=""),
    Column("relapses", Integer, nullable=False, server_default="0"),
    sqlite_autoincrement=True,
)
