"""The tables of what waits: notices to people, jobs of stages, entries of cron, visits of lanes and who makes them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Index, Integer, String, Table, Text, UniqueConstraint

from vedette.store import hunt_schema
from vedette.store.schema import Id

metadata = hunt_schema.metadata  # of the stream and of these

outbox = Table(  # notices on their way to channels: written with what they tell of, sent at least once
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("notice_id", String, nullable=False),
    Column("channel", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("risk", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("state", String, nullable=False, server_default="waiting"),  # waiting | digest | sent | parked
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("sent_at", BigInteger),
    Column("error", Text, nullable=False, server_default=""),
    Column("digest_id", String),  # the digest that carries it
    UniqueConstraint("notice_id", "channel"),
    Index("ix_outbox_channel_state_due_at", "channel", "state", "due_at"),
    sqlite_autoincrement=True,
)

jobs = Table(  # the embedded JobBus: one row per job of any queue
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("queue", String, nullable=False),
    Column("id", String, nullable=False),
    Column("name", String, nullable=False),
    Column("data", Text, nullable=False),
    Column("state", String, nullable=False, server_default="waiting"),  # waiting | active | done | parked
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("added_at", BigInteger, nullable=False),
    Column("due_at", BigInteger, nullable=False),
    Column("started_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("worker", String),
    Column("until_at", BigInteger),  # end of the lease
    Column("result", Text),
    Column("error", Text, nullable=False, server_default=""),
    Column("stack", Text, nullable=False, server_default=""),
    Column("queued_at", BigInteger),  # since when BullMQ carries it; NULL: it does not
    UniqueConstraint("queue", "id"),
    Index("ix_jobs_queue_state_due_at", "queue", "state", "due_at"),
    Index("ix_jobs_queue_started_at", "queue", "started_at"),
    sqlite_autoincrement=True,
)

cron_marks = Table(  # when each entry fired last
    "cron_marks",
    metadata,
    Column("name", String, primary_key=True),
    Column("fired_at", BigInteger, nullable=False),
)

lane_visits = Table(  # of a store with several workers: whose lane it is, and when it is worth the next visit
    "lane_visits",
    metadata,
    Column("lane_id", Id, primary_key=True, autoincrement=False),
    Column("key", String, nullable=False),
    Column("due_at", BigInteger, index=True),  # of a lane that is held: when its holder counts as gone
    Column("worker", String, nullable=False, server_default=""),  # empty: nobody's
    Column("token", BigInteger, nullable=False, server_default="0"),  # rises with every holder
)
# Of millions of lanes few are held: whose worker is gone is found among these.
Index(
    "ix_lane_visits_held",
    lane_visits.c.due_at,
    sqlite_where=lane_visits.c.worker != "",
    postgresql_where=lane_visits.c.worker != "",
)

workers = Table(  # processes that share a store, as they last said
    "workers",
    metadata,
    Column("id", String, primary_key=True),
    Column("number", Integer, nullable=False),  # of its archive files; 0: it writes none
    Column("roles", String, nullable=False),
    Column("place", String, nullable=False),  # machine and process
    Column("state", String, nullable=False),  # running | draining | ended
    Column("started_at", BigInteger, nullable=False),
    Column("beat_at", BigInteger, nullable=False),
    Column("figures", Text, nullable=False, server_default="{}"),
)
