"""Brings the states together that `core/change` compares: the new one from the fetch, the old ones from the archive.

Blocks are made only when the compared text differs; a page whose noise is known needs no archive either.  A state that
waits for its second look stays in memory as it was read, so that neither its bytes nor its markup are read again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol, runtime_checkable

from vedette.contracts.change import Block, Change, ChangeKind, Comparison, Noise
from vedette.contracts.errors import StoreError, StoreWaitError
from vedette.contracts.fetch import MIB, Extraction
from vedette.contracts.filters import NO_FILTERS, PageFilters
from vedette.contracts.watch import Judged, Located, Seen, Watch
from vedette.contracts.words import DOCUMENTS, ChangeId, EvidenceId, Outcome, Reason, SourceId, WatchId
from vedette.core.change.diff import with_headings
from vedette.core.change.judged import Mark, judged_by_keys, judged_equal, judged_gone, judged_step, new_state
from vedette.core.change.life import (
    CLOSE,
    Confirm,
    LookState,
    Nothing,
    Observe,
    Past,
    Pending,
    Reject,
    Step,
    advance,
)
from vedette.core.change.page_cache import SECOND_LOOK
from vedette.core.filters.line_steps import filter_lines
from vedette.core.filters.report_rules import States, told
from vedette.core.text.redact import redacted_document
from vedette.evidence.files import ArchivePlace
from vedette.evidence.read_records import read_payload
from vedette.evidence.text_cache import TextCache
from vedette.extract import Page
from vedette.extract.documents import read_document
from vedette.extract.outline import CELLS, common_scope
from vedette.extract.scope import MAIN
from vedette.fetch.decode import DecodeLimits, codings_of, make_decoder
from vedette.fetch.faults import Fault

Blocks = tuple[Block, ...]
Body = tuple[bytes, str, str]  # bytes, content type, url
MOST_WORK = 2_000  # blocks of all states, long ones counted more; above that a worker compares, not the loop
LONG_BLOCK = 500  # characters that cost as much as a block
MOST_KEPT = 16 * MIB  # bytes of pages that wait for their second look


def never(source: SourceId) -> bool:
    """A function of a module can be sent to another process."""
    return False


def always(source: SourceId) -> bool:
    return True


def unfiltered(watch: Watch) -> PageFilters:
    return NO_FILTERS


@dataclass(frozen=True, slots=True)
class SameFilters:
    """Those of one watch, fit to be sent to another process."""

    filters: PageFilters

    def __call__(self, watch: Watch) -> PageFilters:
        return self.filters


class StateReader(Protocol):
    """What was seen before, as the store and the archive have it."""

    def body(self, evidence: EvidenceId) -> Body | None: ...
    def change(self, change: ChangeId) -> Change | None: ...
    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]: ...


@runtime_checkable
class ArchiveReader(StateReader, Protocol):
    """A memory that can be taken along into another process."""

    def snapshot(self, watch: Watch) -> StateReader: ...


class WaitingPages:
    """Pages that a second look will ask for within seconds, without their trees.  The oldest go first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._size = 0
        self._by_digest: OrderedDict[bytes, Page] = OrderedDict()
        self._digests: dict[EvidenceId, bytes] = {}

    def put(self, evidence: EvidenceId, digest: bytes, page: Page) -> None:
        if digest not in self._by_digest:
            self._by_digest[digest] = page
            self._size += len(page.body)
        self._digests[evidence] = digest
        while self._size > self._most:
            _, oldest = self._by_digest.popitem(last=False)
            self._size -= len(oldest.body)
        if len(self._digests) > 2 * len(self._by_digest) + 100:
            self._digests = {i: one for i, one in self._digests.items() if one in self._by_digest}

    def of(self, evidence: EvidenceId) -> Page | None:
        return self._by_digest.get(self._digests.get(evidence, b""))

    def read(self, body: bytes, digest: bytes, url: str, content_type: str) -> Page | None:
        """The page with these bytes, if it came from the same address with the same declared type."""
        page = self._by_digest.get(digest)
        is_same = page is not None and (page.url, page.content_type, page.body) == (url, content_type, body)
        return page if is_same else None


@dataclass(slots=True)
class Comparer:
    memory: StateReader
    scope: str
    confirm_after: timedelta = SECOND_LOOK
    most_work: int | None = MOST_WORK  # None: any, for whoever has the time
    text_cache: TextCache | None = None  # the text of documents
    waiting: WaitingPages | None = None
    redacts: Callable[[SourceId], bool] = never
    filters: Callable[[Watch], PageFilters] = unfiltered

    def packed(self, watch: Watch) -> Comparer:
        """The same for this watch alone, fit to be sent to another process."""
        memory = self.memory.snapshot(watch) if isinstance(self.memory, ArchiveReader) else self.memory
        redacts = always if self.redacts(watch.source) else never
        filters = SameFilters(self.filters(watch))
        return replace(self, memory=memory, most_work=None, waiting=None, redacts=redacts, filters=filters)

    @property
    def is_far(self) -> bool:
        """Evidence is in a bucket: whoever compares in the loop takes what is `near`."""
        return isinstance(self.memory, PastStates) and self.memory.is_far

    async def near(self, watch: Watch) -> Comparer:
        """With all that this watch may be compared with at hand.  It is fetched in a thread."""
        if not isinstance(self.memory, PastStates):
            return self
        far = self.memory.snapshot(watch)
        wanted = [one for one in far.places if self.waiting is None or self.waiting.of(one) is None]
        bodies = await asyncio.to_thread(lambda: {one: far.body(one) for one in wanted})
        return replace(self, memory=FetchedStates(far, bodies))

    def judge(self, watch: Watch, page: Page, extraction: Extraction, mark: Mark) -> Judged | None:
        """A body with content came that is not byte for byte the one before.  None: not here, it would take long."""
        quiet = judged_by_keys(watch, extraction, mark)
        if quiet is not None or watch.seen is None:
            return quiet
        new, before = new_state(extraction, mark), watch.seen
        states = _States(self, page, watch)
        look = LookState(outcome=Outcome.OK, at=mark.at, blocks=states.after(before.evidence))
        if states.is_unmatched(before.evidence):
            return judged_step(watch, _begun_anew(watch), new, mark, None)
        judged = self._compared(watch, before, states, look, _After(new, mark))
        if judged is not None and judged.look_again_at is not None and self.waiting is not None:
            states.keep(self.waiting, before, mark)
        return judged

    def judge_same(self, watch: Watch, seen: Seen, mark: Mark) -> Judged | None:
        """The same bytes as before, or the server's word for it.  None: not here, it would take long."""
        quiet = judged_equal(watch, seen)
        if quiet is not None:
            return quiet
        look = LookState(outcome=Outcome.NOT_MODIFIED, at=mark.at, is_equal=True)
        return self._compared(watch, seen, _States(self, None, watch), look, _After(seen, mark))

    def states_of(self, watch: Watch, before: EvidenceId, after: EvidenceId) -> States | None:
        """What is compared of two kept states; None: one of them cannot be read any more."""
        kept = self.memory.body(after)
        if kept is None:
            return None
        body, content_type, url = kept
        page = Page.of(body, url=url, content_type=content_type).redacting(redacts=self.redacts(watch.source))
        states = _States(self, page.filtering(self.filters(watch)), watch)
        new, old = states.after(before), states.of(before)
        return None if old is None else States(old, new)

    def judge_gone(self, watch: Watch, mark: Mark) -> Judged:
        return judged_gone(watch, mark, self._pending(watch))

    def _compared(
        self, watch: Watch, before: Seen, states: _States, look: LookState, after: _After
    ) -> Judged | None:
        known = self._pending(watch)
        past = self._past(watch, before, states, known)
        if states.is_long:
            return None
        filters = self.filters(watch)
        now = past.before if look.is_equal else look.blocks
        step = told(advance(look, past), States(past.before, now), filters, is_pending=known is not None)
        judged = judged_step(watch, states.headed(step), after.seen, after.mark, known)
        judged = replace(judged, noise=states.learned(judged.noise))
        if judged.look_again_at is None:
            return judged
        # The second look comes when the operator wants it, or later where a cache may keep the page.
        wait = judged.look_again_at - after.mark.at
        wait = self.confirm_after if wait <= SECOND_LOOK else max(wait, self.confirm_after)
        return replace(judged, look_again_at=after.mark.at + wait)

    def _pending(self, watch: Watch) -> Change | None:
        return self.memory.change(watch.pending) if watch.pending is not None else None

    def _past(self, watch: Watch, before: Seen, states: _States, change: Change | None) -> Past:
        pending: Pending | None = None
        if change is not None:
            looks = self.memory.looks_since(watch.id, change.observed_at)
            shown = [(b, at) for b, at in ((states.of(one), at) for one, at in looks) if b is not None]
            is_removal = change.kind is ChangeKind.REMOVED
            if shown or is_removal:
                blocks_of, ats = tuple(b for b, _ in shown), tuple(at for _, at in shown)
                pending = Pending(kind=change.kind, looks=blocks_of, ats=ats)
        return Past(
            before=states.of(before.evidence) or (),
            before_at=before.at,
            risk=watch.risk,
            noise=watch.noise,
            pending=pending,
            is_removed=watch.is_gone,
            age=max(1, watch.scan_count),
            close_within=max(CLOSE, 2 * self.confirm_after),
        )


def _begun_anew(watch: Watch) -> Step:
    """The state before has nothing of what other filters ask for: nothing can be said but what is there now."""
    reasons = (Reason("filters_changed", note="the state before has nothing that these filters match"),)
    if watch.pending is not None:
        return Reject(noise=watch.noise, reasons=reasons)
    return Nothing(noise=watch.noise, reasons=reasons)


@dataclass(frozen=True, slots=True)
class _After:
    """What this visit saw."""

    seen: Seen
    mark: Mark


class _States:
    """Blocks of several states of one target, cut by one rule."""

    def __init__(self, comparer: Comparer, new: Page | None, watch: Watch) -> None:
        self._memory = comparer.memory
        self._waiting = comparer.waiting
        self._scope = comparer.scope
        self._text_cache = comparer.text_cache
        self._new = new
        self._is_older = watch.noise.is_older
        self._is_glued = watch.noise.is_glued
        self._is_moved = False  # in the form of today a state reads otherwise
        self._redacts = comparer.redacts(watch.source)
        self._filters = comparer.filters(watch)
        self._most = comparer.most_work
        self.is_long = False  # together they would take the loop too long
        self._work = 0  # so far
        self._made: dict[EvidenceId | None, Blocks | None] = {}
        self._pages: dict[EvidenceId, Page | None] = {}  # that were read back

    def after(self, before: EvidenceId) -> Blocks:
        """The new state.  This and the one before are narrowed when one of the two would be."""
        if self._scope == MAIN:
            pages = [page for page in (self._kept(before), self._new) if page is not None and page.is_page]
            self._scope = common_scope(
                (page.cut(is_older=self._is_older) for page in pages), is_older=self._is_older
            )
        if None not in self._made:
            self._made[None] = self._cut(self._new) if self._new else ()
        return self._made[None] or ()

    def of(self, evidence: EvidenceId) -> Blocks | None:
        """A kept state; None when it is no longer there, or when a worker will have to read it."""
        if self.is_long:
            return None
        if evidence not in self._made:
            kept = self._kept(evidence)
            self._made[evidence] = None if kept is None else self._cut(kept)
        return self._made[evidence]

    def is_unmatched(self, evidence: EvidenceId) -> bool:
        """True where the filters leave nothing of a state that is kept."""
        return bool(self._filters.reads) and self.of(evidence) == () and not self.is_long

    def learned(self, noise: Noise) -> Noise:
        """What was learned of glued words holds as it is where all states read alike today."""
        return replace(noise, is_glued=False) if noise.is_glued and not self._is_moved else noise

    def keep(self, waiting: WaitingPages, before: Seen, mark: Mark) -> None:
        """Both states stay at hand for the second look."""
        kept = self._pages.get(before.evidence)
        if kept is not None and kept.is_page:
            kept.forget_trees()
            waiting.put(before.evidence, before.digest, kept)
        if self._new is not None and self._new.is_page:
            waiting.put(EvidenceId(mark.visit), mark.digest, self._new)

    def headed(self, step: Step) -> Step:
        """With the headings of the columns where rows of tables differ: for people, nothing is compared by them."""
        if not isinstance(step, Observe | Confirm):
            return step
        step = replace(step, comparison=self._headed(step.comparison))
        if isinstance(step, Confirm) and step.then is not None:
            return replace(step, then=self._headed(step.then))
        return step

    def _headed(self, comparison: Comparison) -> Comparison:
        if not any(
            CELLS in text for op in comparison.diff if op.op != "equal" for text in (*op.before, *op.after)
        ):
            return comparison
        headings: dict[str, tuple[str, ...]] = {}
        for page in (self._new, *self._pages.values()):
            headings |= page.headings if page is not None else {}
        return replace(comparison, diff=with_headings(comparison.diff, headings))

    def _kept(self, evidence: EvidenceId) -> Page | None:
        if evidence not in self._pages:
            self._pages[evidence] = self._read(evidence)
        return self._pages[evidence]

    def _read(self, evidence: EvidenceId) -> Page | None:
        page = self._waiting.of(evidence) if self._waiting is not None else None
        if page is not None and (page.redacts, page.filters) == (self._redacts, self._filters):
            return page
        kept = self._memory.body(evidence)
        if kept is None:
            return None
        body, content_type, url = kept
        page = Page.of(body, url=url, content_type=content_type).redacting(redacts=self._redacts)
        page = page.filtering(self._filters)
        if self._most is not None and page.takes_long:
            self.is_long = True
            return None
        return page

    def _cut(self, page: Page) -> Blocks:
        if page.content_class in DOCUMENTS:
            return self._document(page)
        found = page.blocks(self._scope, is_older=self._is_older, is_glued=self._is_glued)
        if self._is_glued and not self._is_moved:
            self._is_moved = found != page.blocks(self._scope)
        page.forget_fields()
        found = next((made for made in self._made.values() if made == found), found)  # held once
        self._work += len(found) + sum(len(text) for _, text in found) // LONG_BLOCK
        self.is_long = self.is_long or (self._most is not None and self._work > self._most)
        return found if found or self._filters.reads else _as_one_line(page.body)

    def _document(self, page: Page) -> Blocks:
        """From the text cache, which has what OCR read; read anew when it is not there, but never on the loop."""
        if self._most is not None:
            self.is_long = True
            return ()
        cache = self._text_cache.redacted() if self._text_cache and self._redacts else self._text_cache
        document = cache.get(hashlib.sha256(page.body).digest()) if cache else None
        if document is None:
            read = read_document(page.body, kind=page.content_class)
            document = redacted_document(read) if self._redacts else read
        if self._filters.reads:
            return filter_lines(document.blocks, self._filters).blocks
        return document.blocks or _as_one_line(page.body)


def _as_one_line(data: bytes) -> Blocks:
    """A document without text, as one line that differs when it differs."""
    return (("document", f"{len(data)} bytes sha256 {hashlib.sha256(data).hexdigest()}"),)


# Kept states, read back from store and archive and decoded as they were when they came.

# What was decoded once within its limits may be decoded again, whatever the limits were.
KEPT_LIMITS = DecodeLimits(body=256 * MIB, ratio=1_000_000, layers=8)


class Rows(Protocol):
    """What is asked of the store."""

    def located(self, evidence: EvidenceId) -> tuple[Located, str, str] | None: ...
    def change(self, change: ChangeId) -> Change | None: ...
    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]: ...


class PastStates:
    """What was seen before: rows from the store, bodies from the archive."""

    def __init__(self, rows: Rows, directory: ArchivePlace) -> None:
        self._rows = rows
        self._directory = directory
        self.is_far = not isinstance(directory, Path)  # each body is a request
        self.change = rows.change
        self.looks_since = rows.looks_since

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        """Body, content type and URL of a kept state; None when it expired or cannot be read."""
        return _body_at(self._directory, self._rows.located(evidence))

    def snapshot(self, watch: Watch) -> Snapshot:
        """All that a comparison of this watch may ask for, to be asked in another process."""
        rows, seen = self._rows, watch.seen
        change = rows.change(watch.pending) if watch.pending is not None else None
        looks = rows.looks_since(watch.id, change.observed_at) if change is not None else []
        named = [*(evidence for evidence, _ in looks), *([seen.evidence] if seen else [])]
        if change is not None and change.after_evidence is not None:
            named.append(change.after_evidence)
        places = {evidence: rows.located(evidence) for evidence in dict.fromkeys(named)}
        return Snapshot(self._directory, change, tuple(looks), places)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The rows of one watch, read beforehand; bodies are read from the archive when they are asked for."""

    directory: ArchivePlace
    pending: Change | None
    looks: tuple[tuple[EvidenceId, datetime], ...]
    places: Mapping[EvidenceId, tuple[Located, str, str] | None]

    def body(self, evidence: EvidenceId) -> tuple[bytes, str, str] | None:
        return _body_at(self.directory, self.places.get(evidence))

    def bodies(self) -> Iterator[tuple[bytes, str, str]]:
        """Every state that the comparison may ask for and that is still there."""
        yield from (body for body in map(self.body, self.places) if body is not None)

    def change(self, change: ChangeId) -> Change | None:
        return self.pending

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return list(self.looks)


@dataclass(frozen=True, slots=True)
class FetchedStates:
    """The same with bodies that were fetched; what is not among them is fetched when it is asked for."""

    far: Snapshot
    bodies: Mapping[EvidenceId, Body | None]

    def body(self, evidence: EvidenceId) -> Body | None:
        return self.bodies[evidence] if evidence in self.bodies else self.far.body(evidence)

    def change(self, change: ChangeId) -> Change | None:
        return self.far.change(change)

    def looks_since(self, watch: WatchId, at: datetime) -> list[tuple[EvidenceId, datetime]]:
        return self.far.looks_since(watch, at)


def _body_at(
    directory: ArchivePlace, place: tuple[Located, str, str] | None
) -> tuple[bytes, str, str] | None:
    if place is None:
        return None
    located, content_type, url = place
    body = read_body(directory, located)
    return None if body is None else (body, content_type, url)


def read_body(directory: ArchivePlace, located: Located) -> bytes | None:
    """The decoded body at this place.  None: expired, damaged, or not decodable any more."""
    try:
        payload = read_payload(directory, located)
    except StoreWaitError:  # it is there, and cannot be had just now
        raise
    except StoreError:
        return None
    decoder = make_decoder(codings_of((payload.content_encoding,)), KEPT_LIMITS)
    if decoder is None:
        return payload.wire
    if isinstance(decoder, Fault) or decoder.feed(payload.wire) or decoder.finish():
        return None
    return decoder.body()
