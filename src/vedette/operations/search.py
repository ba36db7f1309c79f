"""Full-text search over all evidence, and the index that it needs.

Pieces are indexed behind the looks: by the server as long as it runs, and by whoever searches, for a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.words import EvidenceId
from vedette.core.text.snippets import Part, Term, snippet, terms_of
from vedette.operations.evidence import text_of
from vedette.operations.installation import Installation
from vedette.store.queries import Queries
from vedette.store.sqlite import Reader
from vedette.store.text_index import IndexedText, TextIndex, opened
from vedette.store.text_index_postgres import PostgresTextIndex
from vedette.store.views import EvidenceView

AT_ONCE = 50  # pieces of one transaction
MOST_READ = 10  # pieces that are read for each page that is shown: versions of one page stand together


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A page that says it: the newest version that does, and how many older ones do among those that were read."""

    evidence: EvidenceView
    title: str
    parts: tuple[Part, ...]  # of its text, those that were looked for marked
    older: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    hits: tuple[SearchHit, ...]
    after: int | None  # the last piece that was read; None: there are no more


@dataclass(frozen=True, slots=True)
class Indexed:
    added: int
    dropped: int
    waiting: int


def search(installation: Installation, typed: str, *, limit: int, after: int | None = None) -> SearchPage:
    """Pages that say all of it, the one that was seen last first."""
    terms = _terms(typed)
    with _opened(installation) as index, installation.queries() as queries:
        found = index.find(terms, before=after, most=limit * MOST_READ)
        by_watch: dict[int, tuple[EvidenceView, int]] = {}
        last = after
        for number in found:
            view = queries.evidence_by_id(EvidenceId(number))
            if view is not None and view.watch not in by_watch and len(by_watch) == limit:
                break
            last = number
            if view is not None:
                newest, count = by_watch.get(view.watch, (view, -1))
                by_watch[view.watch] = (newest, count + 1)
        texts = index.texts([one.id for one, _ in by_watch.values()])
        is_last = not found or (last == found[-1] and len(found) < limit * MOST_READ)
        hits = tuple(_hit(one, older, texts.get(one.id, ("", "")), terms) for one, older in by_watch.values())
        return SearchPage(hits=hits, after=None if is_last else last)


def index_evidence(
    installation: Installation,
    *,
    limit: timedelta | None = None,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> Indexed:
    """Takes in what is not in the index, newest first, for so long; None: all of it.  What expired goes."""
    with (
        _opened(installation) as index,
        installation.queries() as queries,
        closing(Reader(installation.store())) as reader,
    ):
        watch, added, dropped = installation.clock.stopwatch(), 0, 0
        while some := index.drop_gone():
            dropped += some
        whole = index.count_missing()
        while ids := index.missing(AT_ONCE):
            added += index.add([_text(installation, queries, reader, number) for number in ids])
            progress(added, whole)
            if limit is not None and watch() >= limit:
                break
        return Indexed(added, dropped, max(0, whole - added))


def count_waiting(installation: Installation) -> int:
    """Pieces that are not in the index yet."""
    with _opened(installation) as index:
        return index.count_missing()


def _opened(installation: Installation) -> closing[TextIndex] | closing[PostgresTextIndex]:
    """The index is a file beside a store in a file, and a table beside one on a server."""
    place = installation.store()
    return (
        opened(installation.loaded.data, place)
        if isinstance(place, Path)
        else closing(PostgresTextIndex(place))
    )


def search_json(found: SearchPage, waiting: int) -> dict[str, object]:
    return {
        "items": [
            {
                "url": hit.evidence.url,
                "title": hit.title,
                "evidence": hit.evidence.id,
                "at": hit.evidence.at,
                "older": hit.older,
                "snippet": [{"text": text, "is_hit": is_hit} for is_hit, text in hit.parts],
            }
            for hit in found.hits
        ],
        "next": None if found.after is None else str(found.after),
        "total": None,
        "waiting": waiting,
    }


def _terms(typed: str) -> tuple[Term, ...]:
    terms = terms_of(typed)
    if not any(not term.is_unwanted for term in terms):
        raise InputError(
            'write a word to look for; "words in quotes" stand side by side, word* may go on, -word is unwanted'
        )
    return terms


def _hit(view: EvidenceView, older: int, said: tuple[str, str], terms: tuple[Term, ...]) -> SearchHit:
    title, text = said
    return SearchHit(evidence=view, title=title, parts=snippet(text, terms), older=older)


def _text(installation: Installation, queries: Queries, reader: Reader, number: int) -> IndexedText:
    """What cannot be read, or says nothing, is in the index without words, so that it is not tried again and again."""
    view = queries.evidence_by_id(EvidenceId(number))
    if view is None:
        return IndexedText(number, b"", "", "")
    watch = queries.watch(view.watch)
    try:
        text = text_of(installation.loaded, view, reader=reader)
    except VedetteError:
        text = ""
    return IndexedText(number, view.digest, watch.title if watch else "", text)
