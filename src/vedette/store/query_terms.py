"""What the rows of an answer must fulfil: SQL with its values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from vedette.contracts.words import LaneKey
from vedette.core.lanes.outcomes import SEEN
from vedette.core.urls.canonical import spellings, watch_id
from vedette.store import views
from vedette.store.connection import marks
from vedette.store.rows import lane_id, to_ms

_T = TypeVar("_T")
_WATCHES = "SELECT id FROM watches"
MARKS = ("useful", "noise")  # what people say of a change


@dataclass(slots=True)
class QueryTerms:
    """What a row must fulfil: SQL with its values, all of it."""

    parts: list[str] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)

    def add(self, part: str, *values: Any) -> None:
        self.parts.append(part)
        self.values += values

    def any_of(self, column: str, values: Sequence[Any], *, but: bool = False) -> None:
        self.add(f"{column} {'NOT IN' if but else 'IN'} ({marks(values)})", *values)

    @property
    def where(self) -> str:
        return f" WHERE {' AND '.join(self.parts)}" if self.parts else ""


def watch_terms(which: views.WatchFilter) -> QueryTerms:
    terms = QueryTerms()
    exactly = (
        ("source_id = ?", which.source),
        ("lane_id = ?", which.host and lane_id(LaneKey(f"host:{which.host}"))),
        ("risk = ?", which.risk),
        ("last_outcome = ?", which.outcome),
        ("source_id IN (SELECT id FROM sources WHERE tier = ?)", which.tier),
    )
    for part, value in exactly:
        if value is not None:
            terms.add(part, getattr(value, "value", value))
    if which.sources is not None:
        terms.any_of("source_id", which.sources)
    if which.text:
        likes = [f"%{_escaped(word.lower())}%" for word in (which.text, *spellings(which.text))]
        urls = " OR url LIKE ? ESCAPE '!'" * (len(likes) - 1)  # LIKE folds the case of ASCII, as lower() does
        terms.add(f"(title LIKE ? ESCAPE '!'{urls})", *likes)
    if which.due_before is not None:
        terms.add("due_at IS NOT NULL AND due_at <= ?", to_ms(which.due_before))
    wanted = (
        ("lister IS NOT NULL", which.only_listings),
        ("due_at IS NOT NULL", which.only_scheduled),
        ("+source_id IN (SELECT id FROM sources)", which.only_kept),  # plus: no index is chosen for it
    )
    for part, is_wanted in wanted:
        if is_wanted:
            terms.add(part)
    if which.only_unseen:
        terms.add(" AND ".join(["last_outcome <> ?"] * len(SEEN)), *(outcome.value for outcome in SEEN))
    if which.after is not None:
        _add_after(terms, *which.after, by_due=which.by_due)
    return terms


# Without statistics SQLite takes an index that narrows a little, and sorts.  Lists are read in their order instead, or,
# where a filter has no index, row by row: a fifth of the time of 100,000 steps from an index to its row.
BY_URL = " INDEXED BY ix_watches_url"
BY_TIME = " INDEXED BY ix_changes_observed_at"
ROW_BY_ROW = " NOT INDEXED"


def reading_order(which: views.WatchFilter) -> str:
    """How the watches of a list are gone through; empty: by whatever index narrows them."""
    if which.by_due or which.source or which.host or which.sources is not None or which.tier is not None:
        return ""
    is_filtered = which.risk is not None or which.outcome or which.text or which.only_unseen
    return ROW_BY_ROW if is_filtered or which.only_listings else BY_URL


def _add_after(terms: QueryTerms, due_ms: int | None, url: str, *, by_due: bool) -> None:
    """What comes behind this one in the order of the list."""
    if by_due:
        terms.add("due_at >= ? AND (due_at > ? OR id > ?)", due_ms, due_ms, watch_id(url))
    else:
        terms.add("url > ?", url)


def ledger_terms(which: views.LedgerFilter) -> QueryTerms:
    terms = QueryTerms()
    if which.watch is not None:
        terms.add("watch_id = ?", which.watch)
    if which.since is not None:
        terms.add("at >= ?", to_ms(which.since))
    return terms


def change_terms(which: views.ChangeFilter) -> QueryTerms:
    terms = QueryTerms()
    exactly = (
        ("changes.observed_at >= ?", which.since and to_ms(which.since)),
        ("changes.observed_at < ?", which.until and to_ms(which.until)),
        ("watches.risk >= ?", None if which.risk is None else int(which.risk)),
        ("changes.watch_id = ?", which.watch),
    )
    for part, value in exactly:
        if value is not None:
            terms.add(part, value)
    if which.states:
        terms.any_of("+changes.state", [state.value for state in which.states])
    if which.mark is not None:
        terms.add(*_marked(which.mark))
    if which.source is not None:
        terms.add(f"changes.watch_id IN ({_WATCHES} WHERE source_id = ?)", which.source)
    if which.sources is not None:
        one_of = f"source_id IN ({marks(which.sources)})"
        terms.add(f"changes.watch_id IN ({_WATCHES} WHERE {one_of})", *which.sources)
    if which.text:
        like = f"%{_escaped(which.text.lower())}%"
        pages = f"{_WATCHES}{ROW_BY_ROW} WHERE url LIKE ? ESCAPE '!' OR title LIKE ? ESCAPE '!'"
        terms.add(f"(changes.summary LIKE ? ESCAPE '!' OR changes.watch_id IN ({pages}))", like, like, like)
    if which.after is not None:
        at, number = which.after
        terms.add("changes.observed_at <= ? AND (changes.observed_at < ? OR changes.id > ?)", at, at, number)
    return terms


def _marked(word: str) -> tuple[str, ...]:
    if word in MARKS:
        return "changes.id IN (SELECT change_id FROM change_marks WHERE word = ?)", word
    return ("NOT EXISTS (SELECT 1 FROM change_marks WHERE change_id = changes.id)",)


def limit(most: int) -> str:
    return f" LIMIT {most}" if most else ""


def _escaped(text: str) -> str:
    """For LIKE ... ESCAPE '!': a percent sign is no wildcard."""
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
