"""What a body lists: new watches, refused sightings, and signals about watches that we have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TypeVar

import xxhash

from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.source import ListerKind, Listing, Source
from vedette.contracts.watch import Decision, LedgerNote, Raised, Refused, Signal, Watch
from vedette.contracts.words import ContentClass, NodeType, Reason, Risk, SourceId, WatchId
from vedette.core.settled_watch import is_new_document
from vedette.core.text.redact import redact
from vedette.core.urls.admission import CAPS, Candidate, admit, followed, observe_content
from vedette.core.urls.canonical import MAX_URL, TOO_LONG, clipped, host_of, lane_of, origin_of, watch_id
from vedette.core.urls.classify import Classification, Homes, classify_url, inherit_risk
from vedette.core.urls.trap_counters import CrawlDepths
from vedette.core.urls.url_shape import PART_NOTE, shape_key
from vedette.discover import ListingDocument, read_listing
from vedette.discover.crawl import LinkReader
from vedette.engine.crawl.content_reader import ReadBody
from vedette.engine.crawl.source_runtime import SourceRuntime
from vedette.engine.settle.ids import Ids
from vedette.extract import Page

_T = TypeVar("_T")
MOST_LINKED = 1_000_000  # ids that CRITICAL pages name; beyond it the pages name them again
KNOWN = 5_000_000  # ids remembered; beyond it the store is asked again
ONION = ".onion"
AT_ONCE = 500  # sightings taken before others have their turn on the loop; about 15 us each
REFUSALS = 10_000  # rows per source and run: a trap refuses without end


@dataclass(slots=True)
class FoundUrls:
    """What one listing gave."""

    found: list[Watch] = field(default_factory=list)
    sources: list[Source] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    linked: list[WatchId] = field(default_factory=list)  # of a CRITICAL or hunted page: all that it names
    nearer: list[tuple[WatchId, int]] = field(default_factory=list)  # a shorter way to them was seen
    became: ListerKind | None = None
    problem: str = ""
    notes: tuple[Reason, ...] = ()
    listed: int = 0
    is_dated: bool = False  # most entries say when they changed
    is_cut: bool = False  # the run had no room for the rest: the listing must be read again
    capped: int = 0  # addresses that a limit of the source left out


@dataclass(frozen=True, slots=True)
class _Seen:
    """One sighting on its way to become a watch.  Internal; links of a crawl stay tuples until here."""

    url: str
    title: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None
    lister: ListerKind | None = None
    depth: int = 0
    is_filtered: bool = False


@dataclass(slots=True, kw_only=True)
class RiskHeirs:
    """A document that a CRITICAL page links to is CRITICAL itself, whoever found it first (spec 000/2).

    Knows what such pages link to, as far as this run has read them.
    """

    peer: Callable[[WatchId], Watch | None]
    has_own_risk: Callable[[SourceId], bool]  # the operator set one for the source: nothing is inherited
    ids: Ids
    linked: set[WatchId] = field(default_factory=set)

    def raised(self, page: Watch, links: Iterable[WatchId], now: datetime) -> tuple[Raised, ...]:
        """The documents among these links whose risk goes up.  Each link is asked about once."""
        if len(self.linked) > MOST_LINKED:
            self.linked.clear()
        fresh = [i for i in dict.fromkeys(links) if i not in self.linked]
        self.linked.update(fresh)
        found = (self.peer(i) for i in fresh)
        return tuple(self._raise(one, page, now) for one in found if one is not None and self._may_rise(one))

    def has(self, watch: Watch, content_class: ContentClass) -> bool:
        """Is it a document that inherits the risk of a page?"""
        is_new = is_new_document(watch, content_class)
        if not is_new and watch.node_type is not NodeType.ASSET:
            return False
        parent = self.peer(watch.parent) if is_new and watch.parent is not None else None
        is_linked = watch.id in self.linked or (parent is not None and parent.risk is Risk.CRITICAL)
        return is_linked and not self.has_own_risk(watch.source)

    def _may_rise(self, one: Watch) -> bool:
        is_lower = one.node_type is NodeType.ASSET and one.risk is not Risk.CRITICAL
        return is_lower and not self.has_own_risk(one.source)

    def _raise(self, one: Watch, page: Watch, now: datetime) -> Raised:
        reason = Reason("linked_from_critical", note=page.url)
        inputs: dict[str, object] = {"before": one.risk.name, "parent": page.url}
        decision = Decision(action="raise", reasons=(reason,), inputs=inputs, output=Risk.CRITICAL.name)
        note = LedgerNote(id=self.ids.next(now), at=now, kind="risk", decision=decision, watch=one.id)
        return Raised(watch=one.id, lane=one.lane, due_at=now, note=note)


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """What a run takes in of what it finds."""

    most: int | None = None  # new targets; None: any number
    homes: Homes | None = (
        None  # hosts without a source get one; None: a page belongs to the source that found it
    )
    refuses: Callable[[str], bool] | None = None  # addresses of which no row is made, not even a refusal


class Finder:
    """Turns listings into watches.  Knows which ids exist, so that a link seen before costs nothing."""

    def __init__(
        self,
        *,
        known: Callable[[Sequence[WatchId]], set[WatchId]],
        sitemaps: Callable[[str], tuple[str, ...]] = lambda origin: (),
        classify: Callable[[str], Classification] = classify_url,
        intake: Intake | None = None,
    ) -> None:
        self._ask_store = known
        self._sitemaps = sitemaps
        self.classify = classify
        self._known: set[WatchId] = set()
        self._absent: set[WatchId] = set()  # refused, and in no store when they were: not asked about again
        self._refused: dict[SourceId, set[WatchId]] = {}
        self._links: dict[SourceId, LinkReader] = {}
        self._depths: dict[SourceId, CrawlDepths] = {}
        intake = intake or Intake()
        self._most, self._homes, self._refuses = intake.most, intake.homes, intake.refuses
        self.taken = 0

    async def find(
        self, watch: Watch, fetched: Fetched, read: ReadBody, runtime: SourceRuntime, now: datetime
    ) -> FoundUrls:
        """What this watch's body lists.  A watch without a lister lists nothing."""
        if watch.lister is None or watch.lister is ListerKind.PAGE:
            return FoundUrls()
        if watch.lister is ListerKind.CRAWL:
            if watch.seen is None:
                text_key = xxhash.xxh3_64_intdigest(read.extraction.text.encode()) >> 1
                observe_content(runtime.tally, shape_key(watch.url), text_key)
            return await self._crawl(watch, fetched, read.extraction, runtime, now)
        listing = read_listing(watch.lister, self.document(watch, read.page, runtime, now))
        return await self.listed(watch, listing, runtime, now)

    def document(self, watch: Watch, page: Page, runtime: SourceRuntime, now: datetime) -> ListingDocument:
        """The body as its lister takes it."""
        return ListingDocument(
            url=page.url,
            body=page.body,
            content_type=page.content_type,
            page=page,
            options=runtime.source.options,
            depth=watch.depth,
            now=now,
            sitemaps=self._sitemaps(origin_of(page.url)) if watch.lister is ListerKind.AUTO else (),
        )

    async def variant(
        self, watch: Watch, url: str, runtime: SourceRuntime, findings: FoundUrls, now: datetime
    ) -> WatchId:
        """Another address of the same page: it becomes a watch too, until both showed the same text."""
        i = watch_id(url)
        if i not in self._known:
            lister = watch.lister if watch.lister is ListerKind.CRAWL else None
            before = len(findings.found)
            await self._take({i: _Seen(url, lister=lister, depth=watch.depth)}, watch, runtime, findings, now)
            taken = findings.found[before:]
            findings.found[before:] = [
                replace(one, parent=watch.parent) for one in taken
            ]  # a peer, not a child
        return i

    async def _crawl(
        self, watch: Watch, fetched: Fetched, extraction: Extraction, runtime: SourceRuntime, now: datetime
    ) -> FoundUrls:
        links, notes = followed(
            extraction,
            fetched.headers,
            runtime.settings.robots_agent,
            honours=runtime.source.options.honour_nofollow,
        )
        findings = FoundUrls(listed=len(extraction.hrefs), notes=notes)
        reader, depths = self._reader(runtime.source), self._depths_of(runtime)
        base, known, left_out = extraction.base or fetched.url, self._known, reader.too_long
        for hrefs in _parts(links):
            found = dict(reader.links(fetched.url, base, hrefs))
            ids = list(found)
            if watch.risk is Risk.CRITICAL or runtime.source.options.hunt:
                findings.linked += ids
            nearer = depths.read(watch.id, watch.depth, ids)
            findings.nearer += nearer.pages
            if not nearer.within and known.issuperset(ids):
                continue  # most pages of a site name nothing new
            depth = depths.of(watch.id) + 1
            named = [*((i, url, depth) for i, url in found.items()), *nearer.within]
            seen = {
                i: _Seen(url, lister=ListerKind.CRAWL, depth=at) for i, url, at in named if i not in known
            }
            if seen:
                await self._take(seen, watch, runtime, findings, now)
        for i, url in reader.parts():
            reason = Reason("page_part", note=PART_NOTE)
            self._refuse(Refused(url=url, id=i, source=runtime.source.id, reason=reason, at=now), findings)
        if left := reader.too_long - left_out:
            note = f"{left} links over {MAX_URL} characters"
            findings.notes = (*findings.notes, Reason(TOO_LONG, left, note))
        _note_capped(watch, runtime, findings)
        return findings

    def _reader(self, source: Source) -> LinkReader:
        reader = self._links.get(source.id)
        if reader is None:
            reader = self._links[source.id] = LinkReader(source.url, source.options.follow_hosts)
        return reader

    def _depths_of(self, runtime: SourceRuntime) -> CrawlDepths:
        source = runtime.source
        return self._depths.setdefault(source.id, CrawlDepths(source.options.max_depth))

    async def listed(
        self, watch: Watch, listing: Listing, runtime: SourceRuntime, now: datetime
    ) -> FoundUrls:
        findings = FoundUrls(
            problem=listing.problem, became=listing.became, notes=listing.notes, listed=len(listing.sightings)
        )
        seen = _sighted(listing)
        seen.pop(watch.id, None)
        for url, reason in listing.refused:
            refusal = Refused(url=url, id=watch_id(url), source=runtime.source.id, reason=reason, at=now)
            self._refuse(refusal, findings)
        findings.signals += _signals(watch, seen, now)
        findings.linked += seen if watch.risk is Risk.CRITICAL else ()
        findings.is_dated = 2 * sum(s.modified_at is not None for s in seen.values()) > len(seen)
        for part in _parts(list(seen)):
            fresh = {i: seen[i] for i in part if i not in self._known}
            if fresh:
                await self._take(fresh, watch, runtime, findings, now)
        _note_capped(watch, runtime, findings)
        return findings

    async def _take(
        self,
        seen: dict[WatchId, _Seen],
        parent: Watch,
        runtime: SourceRuntime,
        findings: FoundUrls,
        now: datetime,
    ) -> None:
        """Those that the store does not have either, and that may come in; then others have their turn."""
        before = len(findings.found)
        if any(ONION in one.url for one in seen.values()):  # where Tor is used, aliases stand for such names
            seen = {i: one for i, one in seen.items() if not host_of(one.url).endswith(ONION)}
        if self._refuses is not None:
            seen = {i: one for i, one in seen.items() if not self._refuses(one.url)}
        existing = self._existing([i for i in seen if i not in self._absent])
        rules = runtime.crawl_rules if parent.lister is ListerKind.CRAWL else runtime.rules
        for i, sighting in seen.items():
            if i in existing:
                continue
            candidate = Candidate(
                url=sighting.url,
                depth=sighting.depth,
                published_at=sighting.published_at,
                is_listing=sighting.lister not in (None, ListerKind.CRAWL),
                is_filtered=sighting.is_filtered,
            )
            left = None if self._most is None else self._most - self.taken - len(findings.found) + before
            verdict = admit(rules, runtime.tally, candidate, now=now, left_in_run=left)
            if isinstance(verdict, Reason):
                self._absent.add(i)
                refusal = Refused(
                    url=clipped(sighting.url), id=i, source=runtime.source.id, reason=verdict, at=now
                )
                self._refuse(refusal, findings)
                if verdict.code == "max_depth":
                    self._depths_of(runtime).too_deep(parent.id, i, sighting.url)
                continue
            if i in self._absent and self._existing([i]):
                continue  # somebody else took it meanwhile
            runtime.tally.take(verdict)
            runtime.is_dirty = True
            watch = self._watch(i, sighting, parent, runtime, now)
            if sighting.lister is ListerKind.CRAWL:
                self._depths_of(runtime).found(i, sighting.depth)
            findings.found.append(self._at_home(watch, runtime, findings))
        taken = findings.found[before:]
        self._remember({watch.id for watch in taken})
        self.taken += len(taken)
        if len(seen) >= AT_ONCE // 2:
            await asyncio.sleep(0)

    def _watch(
        self, i: WatchId, sighting: _Seen, parent: Watch, runtime: SourceRuntime, now: datetime
    ) -> Watch:
        kind = inherit_risk(self.classify(sighting.url), parent.risk)
        is_listing = sighting.lister not in (None, ListerKind.CRAWL)
        return Watch(
            id=i,
            url=sighting.url,
            lane=lane_of(sighting.url),
            source=runtime.source.id,
            lister=sighting.lister,
            depth=sighting.depth,
            parent=parent.id,
            title=(redact(sighting.title) if runtime.source.options.redacts else sighting.title)[:500],
            node_type=NodeType.HUB if is_listing else kind.node_type,
            node_role=kind.node_role,
            risk=runtime.source.risk if runtime.source.risk is not None else kind.risk,
            due_at=None if runtime.source.options.hunt and sighting.lister is ListerKind.CRAWL else now,
            created_at=now,
            published_at=sighting.published_at,
            modified_at=sighting.modified_at,
        )

    def _at_home(self, watch: Watch, runtime: SourceRuntime, findings: FoundUrls) -> Watch:
        """On a host that no source has, the page gets a source of its own.  A hunt keeps what it finds."""
        if self._homes is None or runtime.source.options.hunt:
            return watch
        source, made = self._homes.home(watch.url, runtime.source.id)
        if made is not None:
            findings.sources.append(made)
        return watch if source == watch.source else replace(watch, source=source)

    def _refuse(self, refusal: Refused, findings: FoundUrls) -> None:
        """Once per run and URL, and not without end per source."""
        is_hidden = ONION in refusal.url or (self._refuses is not None and self._refuses(refusal.url))
        if is_hidden:
            return
        findings.is_cut = findings.is_cut or refusal.reason.code == "run_limit"
        findings.capped += refusal.reason.code in CAPS
        told = self._refused.setdefault(refusal.source, set())
        if refusal.id not in told and len(told) < REFUSALS:
            told.add(refusal.id)
            findings.refused.append(refusal)

    def forget(self, source: SourceId) -> None:
        """The operator changed it: what was refused may be told again, and links are read by its new options."""
        self._refused.pop(source, None)
        self._links.pop(source, None)
        self._depths.pop(source, None)
        self._absent.clear()

    def _existing(self, ids: list[WatchId]) -> set[WatchId]:
        """Those of them that are watched already."""
        existing = self._ask_store(ids) if ids else set()
        self._remember(existing)
        return existing

    def _remember(self, ids: set[WatchId]) -> None:
        for some in (self._known, self._absent):
            if len(some) > KNOWN:
                some.clear()
        self._known |= ids


def _sighted(listing: Listing) -> dict[WatchId, _Seen]:
    """All that a listing names: pages, listings below it, the one that it became."""
    seen: dict[WatchId, _Seen] = {}
    for s in listing.sightings:
        seen[s.id] = _Seen(s.url, s.title, s.published_at, s.modified_at, is_filtered=True)
    for f in listing.follow:
        seen[watch_id(f.url)] = _Seen(f.url, modified_at=f.modified_at, lister=f.lister, depth=f.depth)
    if listing.became_url is not None and listing.became is not None:
        seen[watch_id(listing.became_url)] = _Seen(listing.became_url, lister=listing.became)
    return seen


def _note_capped(watch: Watch, runtime: SourceRuntime, findings: FoundUrls) -> None:
    """Whoever asks how the source fares is told that it finds less than there is."""
    count = findings.capped + sum(note.code in CAPS for note in findings.notes)
    runtime.is_dirty = runtime.tally.note_capped(str(watch.id), count) or runtime.is_dirty


def _parts(many: Sequence[_T]) -> Iterator[Sequence[_T]]:
    return (many[at : at + AT_ONCE] for at in range(0, len(many), AT_ONCE))


def _signals(watch: Watch, seen: dict[WatchId, _Seen], now: datetime) -> list[Signal]:
    """Entries whose stated date is newer than our last reading of this listing.  Day-only dates count whole."""
    if watch.seen is None:
        return []
    since = watch.seen.at
    day = since.replace(hour=0, minute=0, second=0, microsecond=0)
    return [
        Signal(watch=i, lane=lane_of(s.url), modified_at=s.modified_at, due_at=now)
        for i, s in seen.items()
        if s.modified_at is not None
        and (s.modified_at > since or s.modified_at == day)
        and s.modified_at <= now
    ]
