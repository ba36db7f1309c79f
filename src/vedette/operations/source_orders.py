"""What an operator says of one source or page, by id or by URL.  A running engine hears of it within a second."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from vedette.contracts.errors import InputError
from vedette.contracts.words import SourceId
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.configured_sources import not_taken_in
from vedette.operations.installation import Installation
from vedette.operations.save_sources import save_configured, save_source
from vedette.operations.source_keys import page_keys, source_of
from vedette.store import operator

FOREVER = datetime(9999, 1, 1, tzinfo=UTC)
MOST_NOTE = 500  # characters
_Do = Callable[..., int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOrdered:
    source: SourceId
    watches: int | None = None  # that were stopped or scheduled; None: the order is not about them
    comes_back: bool = False  # it stands in vedette.yaml and returns with the next run


def pause_source(installation: Installation, what: str) -> SourceOrdered:
    """Look at it no more until it is resumed.  A page that a listing found becomes a source of its own."""
    return _ordered(installation, what, operator.pause_source, finds=True)


def resume_source(installation: Installation, what: str) -> SourceOrdered:
    """Schedule it again."""
    return _ordered(installation, what, operator.resume_source)


def reset_source(installation: Installation, what: str) -> SourceOrdered:
    """Forget its failures and the trap budgets it has used; read its listing now."""
    return _ordered(installation, what, operator.reset_source)


def remove_source(installation: Installation, what: str) -> SourceOrdered:
    """Stop watching it; its history stays."""
    done = _ordered(installation, what, operator.remove_source, finds=True)
    left = not_taken_in(installation)  # it was in the store until now
    comes_back = any(what in (source.id, source.url) for source in left)
    return SourceOrdered(source=done.source, watches=done.watches, comes_back=comes_back)


def mute_source(installation: Installation, what: str, until: datetime | None) -> SourceOrdered:
    """Tell nobody of its changes until then; None: tell of them again."""
    return _ordered(installation, what, partial(operator.mute_source, until=until), finds=True)


def note_source(installation: Installation, what: str, words: str) -> SourceOrdered:
    """A note of the operator's own; empty: the note goes."""
    if len(words) > MOST_NOTE:
        raise InputError(f"a note has at most {MOST_NOTE} characters, this one {len(words)}")
    return _ordered(installation, what, partial(operator.note_source, words=words), finds=True)


def _ordered(installation: Installation, what: str, do: _Do, *, finds: bool = False) -> SourceOrdered:
    """`finds`: a page that a listing found may be named too."""
    if not_taken_in(installation):
        save_configured(installation)
    if "://" not in what:
        installation.check_source(what, "")
    with installation.operating() as db:
        source = _source(installation, db, what, finds=finds)
        number = do(db, source, now=installation.now())
    return SourceOrdered(source=source, watches=number)


def _source(installation: Installation, db: sqlite3.Connection, what: str, *, finds: bool) -> SourceId:
    """The source of that id or URL.  A page that a listing found gets one of its own, so that it can rest alone."""
    if "://" not in what:
        return SourceId(what)
    url = a_url(what)
    known = operator.source_of_url(db, url)
    if known is not None:
        return known.id
    row = db.execute("SELECT source_id FROM watches WHERE id = ?", (watch_id(url),)).fetchone()
    if row is None:
        raise InputError(f"{url} is not watched; `vedette list` shows what is")
    if not finds:
        raise InputError(f"{url} is a page of source {row[0]}; name that one")
    return save_source(installation, db, source_of(page_keys(url), origin="cli"))[0].id
