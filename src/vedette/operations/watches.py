"""Watches: one by its URL, those that fit a filter, every look at one, and evidence by its URL, number or digest."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from vedette.config.model import Loaded
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.source import Source
from vedette.contracts.watch import SourceState, Visit, Watch
from vedette.contracts.words import ChangeId, EvidenceId, Risk, VisitId, WatchId
from vedette.core.lanes.outcomes import MEANING, SEEN
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import host_of, watch_id
from vedette.operations.arguments import TOLD, a_url
from vedette.operations.installation import Installation
from vedette.store.connection import connect
from vedette.store.queries import Queries
from vedette.store.rows import opt_iso, to_ms
from vedette.store.views import ChangeFilter, EvidenceView, SourceView, WatchFilter, WatchLine


@dataclass(frozen=True, kw_only=True)
class WatchList:
    watches: tuple[WatchLine, ...]
    total: int  # that fit, shown or not
    asking: Mapping[str, Source]  # by URL, the source that asks for an interval
    resting: Mapping[str, Source]  # by its id, every source that is paused or muted
    now: datetime

    @cached_property
    def paused(self) -> frozenset[str]:
        """The sources that are."""
        return frozenset(name for name, source in self.resting.items() if not source.is_active)

    @cached_property
    def muted(self) -> frozenset[str]:
        """The sources that are."""
        until = ((name, source.muted_until) for name, source in self.resting.items())
        return frozenset(name for name, end in until if end is not None and end > self.now)

    @property
    def unseen(self) -> list[WatchLine]:
        return [watch for watch in self.watches if is_unseen(watch)]


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchHistory:
    watch: Watch
    visits: tuple[Visit, ...]  # newest first
    changes: Mapping[VisitId, tuple[ChangeId, int]]  # what a look was the first to show, with its number


def list_watches(installation: Installation, which: WatchFilter, limit: int) -> WatchList:
    """Those that fit, at most `limit` of them; 0: all."""
    with installation.queries() as queries:
        found = queries.watch_lines(which, most=limit)
        is_part = which.after is not None or (limit and len(found) == limit)
        total = queries.count_watches(replace(which, after=None)) if is_part else len(found)
        asking, resting = (queries.asking(), queries.resting()) if found else ({}, {})
    return WatchList(
        watches=tuple(found), total=total, asking=asking, resting=resting, now=installation.now()
    )


def history_of(installation: Installation, url: str, limit: int) -> WatchHistory:
    """Every look at a URL, at most `limit` of them; 0: all."""
    with installation.queries() as queries:
        watch = known_watch(installation, queries, url)
        visits = queries.visits(watch.id, most=limit)
        changes = first_shown(queries, watch.id)
    return WatchHistory(watch=watch, visits=tuple(visits), changes=changes)


def first_shown(queries: Queries, watch: WatchId) -> dict[VisitId, tuple[ChangeId, int]]:
    """By the look that was the first to show it: every change that was told, with its number."""
    told = [view.change for view in queries.changes(ChangeFilter(watch=watch, states=TOLD))]
    numbers = queries.change_numbers([change.id for change in told])
    return {change.after_visit: (change.id, numbers[change.id]) for change in told}


def watched_host(installation: Installation, word: str) -> str:
    """A host that is watched, in any spelling; the error names the nearest."""
    host = host_of(a_url(f"http://{word.strip()}/"))
    with installation.queries() as queries:
        known = {lane.removeprefix("host:") for lane in queries.host_lanes()}
    if host not in known:
        raise InputError(f"--host: {unknown('host', word, known)}; `vedette lanes` lists them")
    return host


def is_unseen(watch: WatchLine) -> bool:
    return watch.last_outcome is not None and watch.last_outcome not in SEEN


def watches_json(found: WatchList) -> list[dict[str, object]]:
    """All at once: a list of all watches has tens of thousands."""
    why = {outcome.value: "" if outcome in SEEN else said.words for outcome, said in MEANING.items()}
    risks = {risk.value: risk.name for risk in Risk}
    paused, muted = found.paused, found.muted
    return [
        {
            "url": watch.url,
            "title": watch.title,
            "source": watch.source,
            "lister": watch.lister,
            "node_type": watch.node_type,
            "role": watch.node_role,
            "risk": risks[watch.rank],
            "velocity": watch.velocity,
            "interval": float(watch.interval_s),
            "every": source.every if source else None,
            "scrape_frequency": source.scrape_frequency if source else None,
            "due_at": opt_iso(watch.due_ms),
            "is_paused": watch.source in paused,
            "is_muted": watch.source in muted,
            "outcome": watch.outcome or None,
            "why": why[watch.outcome] if watch.outcome else "",
            "last_visit_at": opt_iso(watch.visited_ms),
            "last_changed_at": opt_iso(watch.changed_ms),
        }
        for watch in found.watches
        for source in (found.asking.get(watch.url),)
    ]


def known_watch(installation: Installation, queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed."""
    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is None and written_url(installation, wanted) is not None:
        raise VedetteError(f"{wanted} stands in vedette.yaml and was not looked at yet; type: vedette run")
    if watch is None:
        raise VedetteError(f"{wanted} is not watched; `vedette why-not {wanted}` says why")
    return watch


# Evidence by a URL, a number or a digest.

LEAST = 6  # digits of a sha256 that are taken for it
AMBIGUOUS = 3  # contents that an error names
_DIGEST = re.compile(r"^(?:sha256:)?([0-9a-fA-F]{64})$")
_SEEN = (
    "SELECT evidence_id FROM visits WHERE watch_id = ? AND at <= ? AND evidence_id IS NOT NULL "
    "AND outcome IN ('ok', 'not_modified', 'parse_failed', 'tool_missing') ORDER BY at DESC LIMIT 1"
)
_HEX = re.compile(rf"^(?:sha256:)?[0-9a-fA-F]{{{LEAST},64}}$")


def is_piece(what: str) -> bool:
    """True where it names one piece of evidence, and not a URL."""
    return "://" not in what and bool(_DIGEST.match(what) or what.isdigit() or "." not in what)


def find_evidence(installation: Installation, queries: Queries, what: str, most: int) -> list[EvidenceView]:
    """The pieces of evidence of a URL, newest first, or the one with this number or digest."""
    if not is_piece(what):
        return queries.evidence(known_watch(installation, queries, what).id, most=most)
    found = _numbered(queries, what)
    if not found and _HEX.match(what):
        found = queries.evidence_by_digest(_whole_digest(queries, what.removeprefix("sha256:").lower()))
    elif not found and not what.isdigit():
        raise InputError(f"{what!r} is neither a URL, a number nor a sha256 (at least {LEAST} digits of it)")
    if not found:
        raise VedetteError(f"there is no evidence {what}")
    return found


def _numbered(queries: Queries, what: str) -> list[EvidenceView]:
    """That of a whole digest, or of a number."""
    digest = _DIGEST.match(what)
    if digest:
        return queries.evidence_by_digest(bytes.fromhex(digest[1]))
    is_number = what.isascii() and what.isdigit() and int(what) < 2**63
    one = queries.evidence_by_id(EvidenceId(int(what))) if is_number else None
    return [] if one is None else [one]


def shown_at(loaded: Loaded, watch: WatchId, at: datetime) -> EvidenceId | None:
    """What the last look before that moment showed; None: nothing was seen by then, or it expired."""
    with closing(connect(loaded.store, read_only=True)) as db:
        row = db.execute(_SEEN, (watch, to_ms(at))).fetchone()
    return None if row is None else EvidenceId(row[0])


def _whole_digest(queries: Queries, digits: str) -> bytes:
    """The one sha256 that begins so."""
    found = queries.digests(digits, most=AMBIGUOUS + 1)
    if len(found) > 1:
        names = ", ".join(one.hex() for one in found[:AMBIGUOUS])
        many = str(len(found)) if len(found) <= AMBIGUOUS else f"more than {AMBIGUOUS}"
        raise InputError(f"{many} contents begin with {digits}; write more digits: {names}")
    return found[0] if found else b""


# Sources of vedette.yaml, which are watched from the moment they are written down; the store has them from the next
# run on.


def not_taken_in(installation: Installation) -> list[Source]:
    """Those that the store does not know yet."""
    config = installation.loaded.config
    if not config.sources:
        return []  # at no cost, for every verb asks
    written = installation.written_sources()
    if not installation.has_store:
        return written
    with installation.queries() as queries:
        known = set(queries.source_ids())
    return [source for source in written if source.id not in known]


def views_not_taken_in(installation: Installation) -> list[SourceView]:
    """The same as the store would show them."""
    now = installation.now()
    return [
        SourceView(source=source, state=SourceState(source=source.id), created_at=now)
        for source in not_taken_in(installation)
    ]


def written_url(installation: Installation, url: str) -> Source | None:
    """The source of vedette.yaml with this address that the store does not know yet."""
    number = watch_id(url)
    return next((source for source in not_taken_in(installation) if watch_id(source.url) == number), None)
