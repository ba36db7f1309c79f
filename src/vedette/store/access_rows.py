"""Tokens, sessions, feed addresses and answered writes of those who ask over HTTP.

Functions of a transaction that the caller owns.  Tokens, cookies and secrets are long and random, so a plain sha256 of
them is all that is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.watch import LedgerNote
from vedette.contracts.words import Risk, RunId
from vedette.store import statements as sql
from vedette.store.group import note_row
from vedette.store.rows import from_ms, opt_at, to_ms
from vedette.store.seal_rows import seal

_TOKENS = "SELECT id, name, scope, created_at, revoked_at FROM access_tokens"
_OF_SESSION = "SELECT token FROM access_sessions WHERE digest = ? AND ends_at > ?"
AUDIT_RUN = RunId("http")  # of ledger rows about requests
KEPT = timedelta(days=1)  # answered writes; a client that was cut off asks again within seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessToken:
    id: int
    name: str
    scope: str  # read | write | admin
    created_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class AnsweredRequest:
    """What a write with this key was, and what it was told."""

    request: bytes
    status: int
    answer: str


def add_token(db: SqlConnection, name: str, scope: str, digest: bytes, *, now: datetime) -> int:
    row = (name, scope, digest, to_ms(now))
    new = "INSERT INTO access_tokens (name, scope, digest, created_at) VALUES (?, ?, ?, ?) RETURNING id"
    return int(db.execute(new, row).fetchone()[0])


def tokens(db: SqlConnection) -> list[AccessToken]:
    """All that were ever made, oldest first."""
    return [_token(row) for row in db.execute(f"{_TOKENS} ORDER BY id")]


def token_of(db: SqlConnection, digest: bytes) -> AccessToken | None:
    """None: there is no such token, or it was revoked."""
    row = db.execute(f"{_TOKENS} WHERE digest = ? AND revoked_at IS NULL", (digest,)).fetchone()
    return None if row is None else _token(row)


def has_tokens(db: SqlConnection) -> bool:
    return db.execute("SELECT 1 FROM access_tokens WHERE revoked_at IS NULL LIMIT 1").fetchone() is not None


def revoke_token(db: SqlConnection, number: int, *, now: datetime) -> None:
    """It lets nobody in from now on, and its sessions end."""
    db.execute("UPDATE access_tokens SET revoked_at = ? WHERE id = ?", (to_ms(now), number))
    ended = "DELETE FROM access_sessions WHERE token = (SELECT digest FROM access_tokens WHERE id = ?)"
    db.execute(ended, (number,))


def open_session(db: SqlConnection, digest: bytes, token: bytes, *, now: datetime, lasts: timedelta) -> None:
    db.execute("DELETE FROM access_sessions WHERE ends_at <= ?", (to_ms(now),))
    row = (digest, token, to_ms(now), to_ms(now + lasts))
    db.execute("INSERT INTO access_sessions (digest, token, created_at, ends_at) VALUES (?, ?, ?, ?)", row)


def end_session(db: SqlConnection, digest: bytes) -> None:
    db.execute("DELETE FROM access_sessions WHERE digest = ?", (digest,))


def session_token(db: SqlConnection, digest: bytes, *, now: datetime) -> bytes | None:
    """The digest of the token that a session was opened with; None: there is none, or its time is over."""
    row = db.execute(_OF_SESSION, (digest, to_ms(now))).fetchone()
    return None if row is None else bytes(row[0])


def answered(db: SqlConnection, key: str) -> AnsweredRequest | None:
    row = db.execute("SELECT request, status, answer FROM answered_requests WHERE key = ?", (key,)).fetchone()
    return None if row is None else AnsweredRequest(*row)


def keep_answer(db: SqlConnection, key: str, one: AnsweredRequest, *, now: datetime) -> None:
    db.execute("DELETE FROM answered_requests WHERE at < ?", (to_ms(now - KEPT),))
    row = (key, to_ms(now), one.request, one.status, one.answer)
    db.execute(sql.upsert("answered_requests", "key at request status answer".split(), "key"), row)


def note_request(db: SqlConnection, note: LedgerNote) -> None:
    """A row of the ledger, sealed as every other."""
    db.execute(sql.NEW_LEDGER, note_row(note, AUDIT_RUN))
    seal(db, {"ledger": [note.id]})


def _token(row: tuple[int, str, str, int, int | None]) -> AccessToken:
    number, name, scope, created, revoked = row
    return AccessToken(
        id=number, name=name, scope=scope, created_at=from_ms(created), revoked_at=opt_at(revoked)
    )


# Secret addresses of feeds: who knows one reads the changes that it names, and nothing else.

_FEEDS = "SELECT id, name, tag, source, url, risk, created_at, revoked_at FROM feed_addresses"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedScope:
    """Which changes a feed holds; what is not given does not filter."""

    tag: str | None = None
    source: str | None = None
    url: str | None = None
    risk: Risk | None = None  # this and graver


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedAddress:
    id: int
    name: str
    scope: FeedScope
    created_at: datetime
    revoked_at: datetime | None


def add_feed(db: SqlConnection, name: str, scope: FeedScope, digest: bytes, *, now: datetime) -> int:
    columns = "name, digest, tag, source, url, risk, created_at"
    row = (name, digest, scope.tag, scope.source, scope.url, scope.risk, to_ms(now))
    made = db.execute(
        f"INSERT INTO feed_addresses ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id", row
    )
    return int(made.fetchone()[0])


def feeds(db: SqlConnection) -> list[FeedAddress]:
    """All that were ever made, oldest first."""
    return [_feed(row) for row in db.execute(f"{_FEEDS} ORDER BY id")]


def feed_of(db: SqlConnection, digest: bytes) -> FeedAddress | None:
    """None: there is no such address, or it was revoked."""
    row = db.execute(f"{_FEEDS} WHERE digest = ? AND revoked_at IS NULL", (digest,)).fetchone()
    return None if row is None else _feed(row)


def revoke_feed(db: SqlConnection, number: int, *, now: datetime) -> None:
    db.execute("UPDATE feed_addresses SET revoked_at = ? WHERE id = ?", (to_ms(now), number))


def _feed(
    row: tuple[int, str, str | None, str | None, str | None, int | None, int, int | None],
) -> FeedAddress:
    number, name, tag, source, url, risk, created, revoked = row
    return FeedAddress(
        id=number,
        name=name,
        scope=FeedScope(tag=tag, source=source, url=url, risk=None if risk is None else Risk(risk)),
        created_at=from_ms(created),
        revoked_at=opt_at(revoked),
    )
