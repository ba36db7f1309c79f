"""A source is saved with its first watch; what stands in vedette.yaml too, before the first run."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

from vedette.config.policies import another_id, classifier, sources_of
from vedette.contracts.errors import RefusedError
from vedette.contracts.source import Source
from vedette.core.urls.canonical import host_of, watch_id
from vedette.operations.installation import Installation
from vedette.store import operator


def save_source(installation: Installation, db: sqlite3.Connection, source: Source) -> tuple[Source, bool]:
    """Save a source and make its first watch due; gives it as it is kept, and whether it is new.

    A URL that is known keeps its source; an id that is taken is made unique.
    """
    known = operator.source_of_url(db, source.url)
    if known is not None:
        source = replace(source, id=known.id, url=known.url)
    else:
        holder = operator.source_by_id(db, source.id)
        if holder is not None and watch_id(holder.url) != watch_id(source.url):
            source = replace(source, id=another_id(source, operator.source_ids(db)))
    now, classify = installation.now(), classifier(installation.loaded.config)
    is_new = operator.save_source(db, source, now=now, classify=classify)
    operator.make_due(db, watch_id(source.url), now=now)
    return source, is_new


def save_configured(installation: Installation) -> None:
    """What stands in vedette.yaml is watched, before the first run too."""
    config = installation.loaded.config
    with installation.operating(create=True) as db:
        for source in sources_of(config):
            operator.save_source(db, source, now=installation.now(), classify=classifier(config))


def refuse_blocked(installation: Installation, url: str) -> None:
    """RefusedError where `discover.blocked_words` has a word of the host."""
    word = installation.blocked_word(url)
    if word is not None:
        raise RefusedError(
            f"{host_of(url)} is blocked by the word {word!r}; change `discover.blocked_words` to watch it"
        )
