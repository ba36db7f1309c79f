"""Who may ask over HTTP: tokens with scopes, sessions of browsers, and the record of what was changed by whom.

A token is shown once, when it is made; kept is its sha256.  A session ends with the token that it was opened with.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from vedette.contracts.errors import InputError
from vedette.contracts.watch import Decision, LedgerNote
from vedette.contracts.words import Reason
from vedette.core.text.nearest import unknown
from vedette.engine.settle.ids import Ids
from vedette.operations.installation import Installation
from vedette.store import access_rows as rows
from vedette.store.access_rows import AccessToken, AnsweredRequest
from vedette.store.rows import from_ms
from vedette.telemetry.wall_clock import random_words

SCOPES = ("read", "write", "admin")  # each includes those before it
PREFIX = "vdt_"  # so that a leaked one is found by who looks for them
MOST_NAME = 60  # characters
SESSION = timedelta(days=14)
AUDITOR = 1022  # a worker number of `engine/settle/ids.py` that no run has
# Of no watch: those alone are read.
_AUDIT = (
    "SELECT at, payload FROM ledger WHERE watch_id IS NULL AND run_id = ? ORDER BY at DESC, id DESC LIMIT ?"
)
_ids = Ids(AUDITOR)


@dataclass(frozen=True, slots=True)
class MadeToken:
    """A new token; nobody can read it again."""

    kept: AccessToken
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One request that changed something, or tried to."""

    at: datetime
    who: str
    method: str
    path: str
    status: int


def make_token(installation: Installation, name: str, scope: str) -> MadeToken:
    """A token with a name that no other in use has."""
    if scope not in SCOPES:
        raise InputError(f"--scope: {unknown('scope', scope, SCOPES)}")
    word = name.strip()
    if not word or len(word) > MOST_NAME or not word.isprintable():
        raise InputError(f"a token needs a name of 1 to {MOST_NAME} printable characters")
    token, now = PREFIX + random_words(), installation.now()
    with installation.operating(create=True) as db:
        if any(one.name == word and one.revoked_at is None for one in rows.tokens(db)):
            raise InputError(f"there is a token {word!r}; revoke it first, or use another name")
        number = rows.add_token(db, word, scope, digest_of(token), now=now)
    return MadeToken(AccessToken(id=number, name=word, scope=scope, created_at=now, revoked_at=None), token)


def list_tokens(installation: Installation, *, every: bool = False) -> list[AccessToken]:
    """Those that let somebody in; with `every` also those that were revoked."""
    with installation.reading() as db:
        return [one for one in rows.tokens(db) if every or one.revoked_at is None]


def revoke_token(installation: Installation, name: str) -> AccessToken:
    """It lets nobody in from now on; browsers that were logged in with it are logged out."""
    with installation.operating() as db:
        known = {one.name: one for one in rows.tokens(db) if one.revoked_at is None}
        if name not in known:
            raise InputError(f"{unknown('token', name, known)}; `vedette token list` shows them")
        rows.revoke_token(db, known[name].id, now=installation.now())
    return known[name]


def token_json(one: AccessToken) -> dict[str, object]:
    return {
        "id": one.id,
        "name": one.name,
        "scope": one.scope,
        "created_at": one.created_at,
        "revoked_at": one.revoked_at,
    }


def has_tokens(installation: Installation) -> bool:
    """Whether anybody must show one."""
    if not installation.has_store:
        return False
    with installation.reading() as db:
        return rows.has_tokens(db)


def owner_of_token(installation: Installation, token: str) -> AccessToken | None:
    with installation.reading() as db:
        return rows.token_of(db, digest_of(token))


def open_session(installation: Installation, token: str) -> str:
    """The cookie of a browser that showed this token."""
    cookie = random_words()
    with installation.operating() as db:
        now = installation.now()
        rows.open_session(db, digest_of(cookie), digest_of(token), now=now, lasts=SESSION)
    return cookie


def owner_of_session(installation: Installation, cookie: str, static: str | None) -> AccessToken | None:
    """Whose browser it is.  `static`: the token of the configuration."""
    with installation.reading() as db:
        token = rows.session_token(db, digest_of(cookie), now=installation.now())
        if token is None:
            return None
        if static is not None and token == digest_of(static):
            now = installation.now()
            return AccessToken(id=0, name="serve.token", scope="admin", created_at=now, revoked_at=None)
        return rows.token_of(db, token)


def end_session(installation: Installation, cookie: str) -> None:
    with installation.operating() as db:
        rows.end_session(db, digest_of(cookie))


def note_request(installation: Installation, entry: AuditEntry) -> None:
    """Into the ledger, sealed with its other rows."""
    said = {"who": entry.who, "method": entry.method, "path": entry.path}
    decision = Decision(
        action="request", reasons=(Reason("asked_over_http"),), inputs=dict(said), output=entry.status
    )
    number = _ids.next(entry.at)
    with installation.operating() as db:
        rows.note_request(db, LedgerNote(id=number, at=entry.at, kind="operator", decision=decision))


def list_audit(installation: Installation, *, most: int) -> list[AuditEntry]:
    """Requests that changed something, newest first."""
    with installation.reading() as db:
        found = db.execute(_AUDIT, (rows.AUDIT_RUN, most)).fetchall()
    return [_entry(from_ms(at), json.loads(payload)[0]) for at, payload in found]


def _entry(at: datetime, said: dict[str, object]) -> AuditEntry:
    inputs = said["inputs"]
    assert isinstance(inputs, dict)  # noqa: S101  we wrote it
    return AuditEntry(
        at=at,
        **{name: str(inputs[name]) for name in ("who", "method", "path")},
        status=int(str(said["output"])),
    )


def answered_request(installation: Installation, key: str) -> AnsweredRequest | None:
    """What a write with this key was told; None: it was not asked yet."""
    with installation.reading() as db:
        return rows.answered(db, key)


def keep_answer(installation: Installation, key: str, done: AnsweredRequest) -> None:
    with installation.operating() as db:
        rows.keep_answer(db, key, done, now=installation.now())


def digest_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
