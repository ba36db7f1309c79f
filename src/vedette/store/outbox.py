"""What waits to be sent, in SQLite.  Implements `contracts.ports.Outbox`; every call is one transaction."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

from vedette.contracts.alerts import ChannelName, Message, Notice, NoticeKind
from vedette.contracts.lane import LaneState
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.words import LaneKey, Risk
from vedette.store import statements as sql
from vedette.store.connection import StorePlace, connect, marks, transaction
from vedette.store.row_columns import Part, reader
from vedette.store.rows import from_ms, lane_id, lane_row, opt_at, read_lane, to_ms
from vedette.store.text_columns import dump_json

_READ_COLUMNS = "body channel due_at attempts".split()
_NOTICE_COLUMNS = [*_READ_COLUMNS, *"state created_at sent_at error".split()]
_READ = f"SELECT {', '.join(_READ_COLUMNS)} FROM outbox"
_DUE = (
    f"{_READ} WHERE channel = ? AND state = 'waiting' AND due_at <= ? ORDER BY risk DESC, due_at, id LIMIT 1"
)
_NEXT = "SELECT MIN(due_at) FROM outbox WHERE channel = ? AND state IN ('waiting', 'digest')"
_COUNT = (
    "SELECT COUNT(*) FROM outbox WHERE channel = ? AND sent_at >= ? AND kind NOT IN ('digest', 'test') "
    "AND digest_id IS NULL"
)
_WINDOWS = "SELECT DISTINCT due_at FROM outbox WHERE channel = ? AND state = 'digest' AND due_at <= ?"
_MEMBERS = f"{_READ} WHERE channel = ? AND state = 'digest' AND due_at = ? ORDER BY id"
_NUMBER = "SELECT number FROM change_numbers WHERE change_id = ?"
_JOIN = "UPDATE outbox SET state = 'sent', digest_id = ? WHERE notice_id = ? AND channel = ?"
_SENT = "UPDATE outbox SET state = 'sent', sent_at = ?, attempts = ?, error = '' WHERE notice_id = ? AND channel = ?"
_LATER = "UPDATE outbox SET due_at = ?, attempts = ?, error = ? WHERE notice_id = ? AND channel = ?"
_PARK = "UPDATE outbox SET state = 'parked', attempts = ?, error = ? WHERE notice_id = ? AND channel = ?"
_HOLD = "UPDATE outbox SET state = 'digest', due_at = ? WHERE notice_id = ? AND channel = ?"


class SqliteOutbox:
    def __init__(self, path: StorePlace) -> None:
        self._db = connect(path)
        self._path = path

    def due(self, channel: ChannelName, *, now: datetime) -> Message | None:
        """The gravest that is due, then the oldest.  A change that is stored comes with its number."""
        row = self._db.execute(_DUE, (channel, to_ms(now))).fetchone()
        return None if row is None else self._numbered(read_message(row))

    def next_due(self, channel: ChannelName) -> datetime | None:
        return opt_at(self._db.execute(_NEXT, (channel,)).fetchone()[0])

    def sent_since(self, channel: ChannelName, since: datetime) -> int:
        """How many went out by themselves: digests, and what they carried, do not count."""
        return int(self._db.execute(_COUNT, (channel, to_ms(since))).fetchone()[0])

    def sent(self, message: Message, *, at: datetime) -> None:
        self._write(_SENT, to_ms(at), message.attempts + 1, *_key(message))

    def later(self, message: Message, *, at: datetime, error: str) -> None:
        self._write(_LATER, to_ms(at), message.attempts + 1, error, *_key(message))

    def park(self, message: Message, *, error: str) -> None:
        self._write(_PARK, message.attempts + 1, error, *_key(message))

    def hold(self, message: Message, *, until: datetime) -> None:
        self._write(_HOLD, to_ms(until), *_key(message))

    def gather(
        self, channel: ChannelName, *, now: datetime, make: Callable[[datetime, Sequence[Notice]], Notice]
    ) -> None:
        """A digest and its members are tied together in one step: a restart sends the same digest, not another."""
        windows = [row[0] for row in self._db.execute(_WINDOWS, (channel, to_ms(now))).fetchall()]
        for window in windows:
            with transaction(self._db, self._path) as db:
                members = [read_message(row).notice for row in db.execute(_MEMBERS, (channel, window))]
                digest = make(from_ms(window), members)
                message = Message(notice=digest, channel=channel, due_at=now)
                db.execute(sql.NEW_MESSAGE, message_row(message))
                db.executemany(_JOIN, [(digest.id, member.id, channel) for member in members])

    def lane(self, key: LaneKey) -> LaneState:
        row = self._db.execute(sql.LANE, (lane_id(key),)).fetchone()
        return LaneState() if row is None else read_lane(row)[1]

    def save_lane(self, key: LaneKey, state: LaneState) -> None:
        self._write(sql.SAVE_LANE, *lane_row(key, state))

    def close(self) -> None:
        self._db.close()

    def _numbered(self, message: Message) -> Message:
        """With the number that `vedette changes` shows and `diff` takes."""
        notice = message.notice
        found = self._db.execute(_NUMBER, (int(str(notice.facts.get("change", 0))),)).fetchone()
        if found is None:
            return message
        return replace(message, notice=replace(notice, facts={**notice.facts, "number": found[0]}))

    def _write(self, statement: str, *values: Any) -> None:
        with transaction(self._db, self._path) as db:
            db.execute(statement, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingNotice:
    """A row of the outbox, for people."""

    message: Message
    state: str
    created_at: datetime
    sent_at: datetime | None
    error: str


def put(db: SqlConnection, messages: Sequence[Message]) -> None:
    """Within the caller's transaction.  What was told before is not told again."""
    db.executemany(sql.NEW_MESSAGE, [message_row(message) for message in messages])


def resend(db: SqlConnection, *, now: datetime) -> int:
    """Everything that was parked is tried again.  Gives how many."""
    statement = "UPDATE outbox SET state = 'waiting', attempts = 0, due_at = ? WHERE state = 'parked'"
    return db.execute(statement, (to_ms(now),)).rowcount


def trim(db: SqlConnection, *, before: datetime) -> int:
    """Forgets what was sent long ago.  Gives how many."""
    return db.execute("DELETE FROM outbox WHERE state = 'sent' AND created_at < ?", (to_ms(before),)).rowcount


def listing(db: SqlConnection, *, states: Sequence[str], most: int) -> list[WaitingNotice]:
    """Newest first."""
    limit = f" LIMIT {int(most)}" if most else ""
    where = f"state IN ({marks(states)})"
    rows = db.execute(
        f"SELECT {', '.join(_NOTICE_COLUMNS)} FROM outbox WHERE {where} ORDER BY id DESC{limit}",
        tuple(states),
    )
    return [_read_waiting(row) for row in rows]


def depths(db: SqlConnection) -> list[tuple[str, str, int]]:
    """Channel, state and how many, of what is not sent."""
    query = "SELECT channel, state, COUNT(*) FROM outbox WHERE state <> 'sent' GROUP BY channel, state"
    return [(channel, state, int(count)) for channel, state, count in db.execute(query)]


def _key(message: Message) -> tuple[str, str]:
    return message.notice.id, message.channel


# A notice on its way to one channel, as a row of the outbox and back.


def message_row(message: Message) -> tuple[Any, ...]:
    """In the order of statements.MESSAGE_COLUMNS."""
    notice = message.notice
    at = (to_ms(notice.at), to_ms(message.due_at))
    return (notice.id, message.channel, notice.kind.value, int(notice.risk), _dump_notice(notice), *at)


def _read_notice(body: str) -> Notice:
    raw = json.loads(body)
    return Notice(
        id=raw["id"],
        kind=NoticeKind(raw["kind"]),
        at=datetime.fromisoformat(raw["at"]),
        risk=Risk(raw["risk"]),
        title=raw["title"],
        summary=raw["summary"],
        url=raw["url"],
        sources=tuple(raw["sources"]),
        excerpt=tuple(raw["excerpt"]),
        why=tuple(raw["why"]),
        facts=raw["facts"],
        tags=tuple(raw.get("tags", ())),
    )


_MESSAGE = Part(
    Message, notice=("body", _read_notice), channel="channel", due_at=("due_at", from_ms), attempts="attempts"
)
read_message = reader(Message, _READ_COLUMNS, **_MESSAGE.fields)
_read_waiting = reader(
    WaitingNotice,
    _NOTICE_COLUMNS,
    message=_MESSAGE,
    state="state",
    created_at=("created_at", from_ms),
    sent_at=("sent_at", opt_at),
    error="error",
)


def _dump_notice(notice: Notice) -> str:
    return dump_json({field.name: getattr(notice, field.name) for field in fields(notice)})
