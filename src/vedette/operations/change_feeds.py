"""Changes as a feed for readers: of all, of a tag, of a source or of one page; and the secret addresses of feeds.

Feed readers cannot send a token, so an address may hold a secret.  It is shown once, when it is made; kept is its
sha256.  Who knows it reads that feed and nothing else, until it is revoked.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import shown, watch_id
from vedette.operations.access_tokens import MOST_NAME, digest_of
from vedette.operations.arguments import TOLD, a_url
from vedette.operations.changes import NumberedChange, list_changes
from vedette.operations.installation import Installation
from vedette.operations.watches import known_watch
from vedette.report.feed_documents import ChangeFeed, FeedEntry
from vedette.store import access_rows as rows
from vedette.store.access_rows import FeedAddress, FeedScope
from vedette.store.views import ChangeFilter
from vedette.telemetry.wall_clock import random_words

ENTRIES = 50  # of a feed, the newest
_NEVER = datetime(1970, 1, 1, tzinfo=UTC)  # when a feed without entries was changed last


@dataclass(frozen=True, slots=True)
class MadeFeedAddress:
    """A new address; nobody can read its secret again."""

    kept: FeedAddress
    secret: str


def change_feed(installation: Installation, scope: FeedScope, *, most: int = ENTRIES) -> ChangeFeed:
    """The changes that people are told of, newest first.  A tag or source that is gone has none."""
    found = list_changes(installation, feed_filter(installation, scope), most)
    entries = tuple(map(_entry, found))
    at = max((one.updated_at for one in entries), default=_NEVER)
    return ChangeFeed(title=f"Vedette: {scope_words(scope)}", updated_at=at, entries=entries)


def check_scope(installation: Installation, scope: FeedScope) -> FeedScope:
    """The same in our spelling; InputError where it names what is not there."""
    installation.check_source(scope.source)
    installation.tagged(scope.tag)
    if scope.url is None:
        return scope
    with installation.queries() as queries:
        url = known_watch(installation, queries, scope.url).url
    return FeedScope(tag=scope.tag, source=scope.source, url=url, risk=scope.risk)


def scope_words(scope: FeedScope) -> str:
    """`changes of rules, HIGH and graver`."""
    said = (
        ("tagged", scope.tag),
        ("of", scope.source),
        ("of", scope.url and shown(scope.url)),
    )
    which = " ".join(f"{word} {value}" for word, value in said if value)
    grave = f", {scope.risk.name} and graver" if scope.risk is not None else ""
    return f"changes {which}{grave}" if which else f"all changes{grave}"


def make_feed_address(installation: Installation, name: str, scope: FeedScope) -> MadeFeedAddress:
    """An address with a name that no other in use has."""
    word = name.strip()
    if not word or len(word) > MOST_NAME or not word.isprintable():
        raise InputError(f"a feed needs a name of 1 to {MOST_NAME} printable characters")
    secret, now = random_words(), installation.now()
    kept = check_scope(installation, scope)
    with installation.operating() as db:
        if any(one.name == word and one.revoked_at is None for one in rows.feeds(db)):
            raise InputError(f"there is a feed {word!r}; revoke it first, or use another name")
        number = rows.add_feed(db, word, kept, digest_of(secret), now=now)
    return MadeFeedAddress(
        FeedAddress(id=number, name=word, scope=kept, created_at=now, revoked_at=None), secret
    )


def list_feed_addresses(installation: Installation, *, every: bool = False) -> list[FeedAddress]:
    """Those that are read; with `every` also those that were revoked."""
    with installation.reading() as db:
        return [one for one in rows.feeds(db) if every or one.revoked_at is None]


def revoke_feed_address(installation: Installation, name: str) -> FeedAddress:
    """Nobody reads it from now on."""
    with installation.operating() as db:
        known = {one.name: one for one in rows.feeds(db) if one.revoked_at is None}
        if name not in known:
            raise InputError(f"{unknown('feed', name, known)}; `vedette feed list` shows them")
        rows.revoke_feed(db, known[name].id, now=installation.now())
    return known[name]


def feed_of_secret(installation: Installation, secret: str) -> FeedAddress | None:
    """None: there is no such address, or it was revoked."""
    if not installation.has_store or not secret:
        return None
    with installation.reading() as db:
        return rows.feed_of(db, digest_of(secret))


def feed_address_json(one: FeedAddress) -> dict[str, object]:
    scope = one.scope
    return {
        "id": one.id,
        "name": one.name,
        "tag": scope.tag,
        "source": scope.source,
        "url": scope.url,
        "risk": None if scope.risk is None else scope.risk.name,
        "created_at": one.created_at,
        "revoked_at": one.revoked_at,
    }


def _entry(one: NumberedChange) -> FeedEntry:
    view = one.view
    seen = view.change.observed_at
    return FeedEntry(
        number=one.number,
        change=view.change,
        url=view.url,
        page=view.title,
        risk=view.risk,
        source=str(view.source),
        updated_at=max(view.decided_at or seen, seen),
    )


def feed_filter(installation: Installation, scope: FeedScope) -> ChangeFilter:
    """A tag that is gone has no changes."""
    sources = None
    if scope.tag is not None:
        with installation.queries() as queries:
            found = (view.source for view in queries.sources())
            sources = tuple(str(one.id) for one in found if scope.tag in one.registered.tags)
    return ChangeFilter(
        source=scope.source,
        sources=sources,
        risk=scope.risk,
        states=TOLD,
        watch=None if scope.url is None else watch_id(a_url(scope.url)),
    )
