"""From what came back to what it settles: the facts of a look in their order, cheap ones first.

A 304 and equal bytes touch no parser; a page is parsed once; blocks are made only when the compared text differs from
what was seen before.  What the facts mean for the watch is decided in `core/settled_watch.py`.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from vedette.contracts.copies import replace
from vedette.contracts.errors import ConfigError, StoreWaitError, short_stack
from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.ports import Clock
from vedette.contracts.source import SELECTOR_UNMATCHED, ListerKind, Listing
from vedette.contracts.watch import Job, Judged, Release, Seen, Settlement, Watch
from vedette.contracts.words import DOCUMENTS, ContentClass, Outcome, Reason, Risk, VisitId, WatchId
from vedette.core.change.gate import gate
from vedette.core.change.judged import Mark, judged_by_keys, judged_equal, only_lists
from vedette.core.change.layers import text_keys
from vedette.core.evidence.ledger import admit_decision
from vedette.core.evidence.screen import screen
from vedette.core.lanes.outcomes import MEANING, OWN_LACK
from vedette.core.settled_watch import LookRules, LookSource, SettledWatch, needs_jitter, settle, variant_of
from vedette.core.urls.canonical import host_of, watch_id
from vedette.core.urls.classify import inherit_risk
from vedette.discover import read_listing
from vedette.engine.crawl.answer_screen import AnswerScreen
from vedette.engine.crawl.compare_states import Comparer
from vedette.engine.crawl.content_reader import TOO_MUCH, ContentReader, ReadBody, how_read
from vedette.engine.crawl.find_urls import Finder, FoundUrls, RiskHeirs
from vedette.engine.crawl.look import Looker, Reached
from vedette.engine.crawl.look_record import KEPT, LookRecord
from vedette.engine.crawl.source_runtime import SourceBook
from vedette.engine.settle.ids import Ids
from vedette.engine.workers.pool import LARGE, Rank

IN_ONE_PIECE = frozenset({ListerKind.CRAWL, ListerKind.PAGE})  # the page is parsed once, its links are there
GZIP = b"\x1f\x8b"
NO_FILES = (errno.EMFILE, errno.ENFILE)
WALLS = (403, 503)  # what challenges and bans are sent with
WALLED = (Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR)
STANDING = (Outcome.BLOCKED_PAGE, Outcome.LOGIN_WALL)
SELF_READ = frozenset({ListerKind.FEED, ListerKind.SITEMAP, ListerKind.AUTO})
ADMITS = 50  # new watches whose classification one visit records


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessOptions:
    """Policy values of the assessor."""

    rules: LookRules = field(default_factory=LookRules)
    embeds: bool = False  # a vector of every new text


@dataclass(slots=True, kw_only=True)
class Assessor:
    looker: Looker
    finder: Finder
    comparer: Comparer
    book: SourceBook
    ids: Ids
    clock: Clock
    reading: ContentReader
    screen: AnswerScreen
    peer: Callable[[WatchId], Watch | None]
    heirs: RiskHeirs
    options: AssessOptions

    async def serve(self, job: Job) -> Settlement | Release:
        """One look, from permit to settlement.  The only place where any exception ends: it parks the job."""
        try:
            reached = await self.looker.look(job)
            if not MEANING[reached.fetched.outcome].is_look and not _leads_elsewhere(job, reached):
                return Release(job)
            return await self._assessed(job, reached)
        except ConfigError as error:
            return self._parked(job, Outcome.BAD_SETTINGS, str(error))
        except OSError as error:
            if error.errno not in NO_FILES:
                return self._parked(job, Outcome.BUG, f"{type(error).__name__}: {error}", error)
            return self._parked(job, Outcome.NO_SOCKETS, OWN_LACK[error.errno])  # tried again
        except StoreWaitError:
            return Release(job)  # a server that is away: what was seen cannot be compared
        except Exception as error:  # noqa: BLE001  the edge of the engine loop
            if getattr(error, "may_wait", False):  # the same, of a session that was cut off
                return Release(job)
            return self._parked(job, Outcome.BUG, f"{type(error).__name__}: {error}", error)

    async def _assessed(self, job: Job, reached: Reached) -> Settlement:
        record = self._begun(job, reached)
        fetched, seen = reached.fetched, job.watch.seen
        if fetched.outcome is Outcome.NOT_MODIFIED and seen is not None:
            record = await self._same(record, seen)
        elif fetched.outcome is Outcome.OK and (known := _known(record)) is not None:
            record = await self._known_bytes(record, known)
        elif fetched.outcome is Outcome.OK:
            record = await self._content(record)
        else:
            record = await self._without_content(record)
        shot = record.fetched.screenshot
        return self._settled(record if shot is None else record.pictured(shot))

    def _begun(self, job: Job, reached: Reached) -> LookRecord:
        visit = VisitId(self.ids.next(reached.fetched.at))
        return LookRecord.begun(job, reached, visit, self.clock.now())

    async def _content(self, record: LookRecord) -> LookRecord:
        """A body came that is not the last one: is it content, and does it differ?"""
        read = await self.reading.read(record.fetched, record.watch, record.digest or b"")
        shown = await self.reading.shown(record.fetched, record.watch, read.extraction)
        if shown is not None:
            record = record.decided("render", (shown.reason,), output=shown.words)
        if shown is None or shown.fetched is None:
            return await self._read(record, read)
        return await self._rendered(record, read, shown.fetched)

    async def _rendered(self, record: LookRecord, plain: ReadBody, shown: Fetched) -> LookRecord:
        """The same answer as scripts make it; what came plainly is not what is compared and kept."""
        digest = hashlib.sha256(shown.body).digest()
        record = replace(record, fetched=shown, outcome=shown.outcome, detail=shown.detail, digest=None)
        if shown.outcome is not Outcome.OK:
            return self._screened(record, plain.extraction, digest) or record
        record = replace(record, digest=digest)
        if (seen := _known(record)) is not None:
            return await self._known_bytes(record, seen)
        return await self._read(record, await self.reading.read(shown, record.watch, record.digest or b""))

    async def _read(self, record: LookRecord, read: ReadBody) -> LookRecord:
        """What the body says is here.  Nothing of it reaches the disk before the screen has seen it."""
        watch, fetched, extraction = record.watch, record.fetched, read.extraction
        screened = self._screened(record, extraction, record.digest or b"")
        if screened is not None:
            return screened
        record = replace(record, extraction=extraction, content_class=extraction.content_class)
        refused = None
        if not _reads_itself(watch, extraction):
            refused = gate(status=fetched.status, extraction=extraction, url=fetched.url, seen=watch.seen)
        if refused is not None:
            record = record.gated(refused)
            goes_on = refused.outcome is Outcome.FILTER_UNMATCHED and watch.lister is not None
            return await self._linked(record, read) if goes_on else record
        if read.document is not None:
            documents = self.reading.documents_of(watch)
            artifact = await documents.keep(record.digest or b"", read.document)
            reasons, output = how_read(read.document), extraction.content_class.value
            record = record.decided("read", reasons, output=output, artifact=artifact)
        record = record.judged_as(await self._judged(record, read))
        if record.judged is not None:
            record = await self._linked(record, read)
        read.page.forget_trees()
        return record

    async def _known_bytes(self, record: LookRecord, seen: Seen) -> LookRecord:
        record = await self._same(record, seen)
        if seen.content_class not in DOCUMENTS:
            return record
        fetched = record.fetched
        body = (fetched.body, fetched.content_type, fetched.url)
        documents = self.reading.documents_of(record.watch)
        artifact = await documents.keep_again(seen.digest, body, seen.content_class)
        return replace(record, artifact=artifact)

    async def _same(self, record: LookRecord, seen: Seen) -> LookRecord:
        """The same bytes as before: the state goes on, seen again now."""
        again, mark = (
            replace(seen, visit=record.visit, at=record.at),
            Mark(record.visit, record.at, seen.digest),
        )
        watch, comparer, judged = record.watch, self.comparer, None
        if not self.reading.is_long(again) or (watch.pending is None and not watch.is_gone):
            if comparer.is_far and judged_equal(watch, again) is None:
                comparer = await comparer.near(watch)
            judged = comparer.judge_same(watch, again, mark)
        if judged is None and await self.reading.recalls(packed := self.comparer.packed(watch), watch):
            judged = await self.reading.workers.run(packed.judge_same, watch, again, mark, rank=Rank.BEGUN)
        return record.judged_as(judged, digest=seen.digest, content_class=seen.content_class, seen=again)

    async def _judged(self, record: LookRecord, read: ReadBody) -> Judged | None:
        """Does it differ?  None: that could not be told, which is neither changed nor unchanged."""
        watch, comparer, extraction, mark = record.watch, self.comparer, read.extraction, record.mark
        if not self.reading.is_slow(read.page, watch.seen):
            if comparer.is_far and judged_by_keys(watch, extraction, mark) is None:
                comparer = await comparer.near(watch)
            judged = comparer.judge(watch, read.page, extraction, mark)
        else:
            keys = extraction.keys or await asyncio.to_thread(text_keys, extraction)
            extraction = replace(extraction, keys=keys)
            judged = judged_by_keys(watch, extraction, mark)
        if judged is not None:
            return judged
        packed = self.comparer.packed(watch)
        if not await self.reading.recalls(packed, watch, read.document):
            return None
        return await self.reading.workers.run(
            packed.judge, watch, read.page, replace(extraction, hrefs=()), mark,
            size=len(read.page.body), rank=Rank.BEGUN,
        )  # fmt: skip

    async def _without_content(self, record: LookRecord) -> LookRecord:
        """An error page is kept too, so the screen sees it; and it may be a wall that speaks of us, not of the URL."""
        fetched = record.fetched
        may_be_wall = fetched.status in WALLS and fetched.outcome in WALLED
        if fetched.body and record.outcome in KEPT and (may_be_wall or not self.screen.is_empty):
            refused = await self._in_front(record, may_be_wall=may_be_wall)
            if refused is not None:
                return refused
        if fetched.outcome is Outcome.GONE:
            return record.judged_as(self.comparer.judge_gone(record.watch, record.mark))
        return record

    async def _in_front(self, record: LookRecord, *, may_be_wall: bool) -> LookRecord | None:
        """None: it is an error page that may be kept, and no wall."""
        fetched = record.fetched
        read = await self.reading.read(fetched, replace(record.watch, seen=None, lister=None))
        screened = self._screened(record, read.extraction, hashlib.sha256(fetched.body).digest())
        if screened is not None or not may_be_wall:
            return screened
        refused = gate(status=fetched.status, extraction=read.extraction, url=fetched.url, seen=None)
        is_wall = refused is not None and refused.outcome in STANDING
        return record.gated(refused) if refused is not None and is_wall else None

    def _screened(self, record: LookRecord, extraction: Extraction, digest: bytes) -> LookRecord | None:
        """None: it may be kept.  Of a screened page no word goes on, not even its title."""
        if self.screen.is_empty:
            return None
        url = record.fetched.url
        said = f"{extraction.title}\n{extraction.text}"
        screened = screen(said, url, host_of(url), self.screen.table, digest=digest)
        if screened is None:
            return None
        self.screen.block(replace(screened, at=record.now))
        reason, nothing = (
            screened.reason,
            Fetched(url=url, outcome=Outcome.SCREENED, at=record.fetched.at, took=record.fetched.took),
        )
        kept = {"fetched": nothing, "digest": None, "extraction": None, "artifact": None}
        return record.decided(
            "screen",
            (reason,),
            output=screened.category,
            outcome=Outcome.SCREENED,
            detail=reason.note,
            **kept,
        )

    async def _linked(self, record: LookRecord, read: ReadBody) -> LookRecord:
        """What the page leads to: what it lists, its other address, documents that are as critical as it is."""
        watch = record.watch
        if watch.lister is not None and not self.options.rules.fetch_only:
            record = self._listed(record, await self._found(record, read))
        moved_to = record.fetched.url if record.reached.is_permanent else None
        url = variant_of(watch, read.extraction.canonical, moved_to)
        if url is not None:
            findings, runtime = record.findings or FoundUrls(), self.book.runtime(watch.source)
            canonical = await self.finder.variant(watch, url, runtime, findings, record.now)
            record = replace(record, findings=findings, canonical=canonical)
        if watch.risk is Risk.CRITICAL:
            named = record.findings.linked if record.findings else []
            links = (*named, *map(watch_id, read.extraction.targets))
            record = replace(record, raised=self.heirs.raised(watch, links, record.now))
        return record

    async def _found(self, record: LookRecord, read: ReadBody) -> FoundUrls:
        watch, page, now = record.watch, read.page, record.now
        runtime = self.book.runtime(watch.source)
        is_packed = page.body.startswith(GZIP)  # of a small body nobody knows how much comes out
        if watch.lister in IN_ONE_PIECE or not (is_packed or self.reading.is_slow(page)):
            return await self.finder.find(watch, record.fetched, read, runtime, now)
        document = replace(self.finder.document(watch, page, runtime, now), page=None)
        listing = await self.reading.workers.run(
            read_listing, watch.lister, document, size=LARGE + 1, rank=Rank.BEGUN
        )
        return await self.finder.listed(watch, listing or Listing(problem=TOO_MUCH), runtime, now)

    def _listed(self, record: LookRecord, findings: FoundUrls) -> LookRecord:
        new, refused = len(findings.found), len(findings.refused)
        reasons = (*findings.notes, Reason("new", new), Reason("refused", refused))
        record = record.decided("list", reasons, output=findings.listed, findings=findings)
        if findings.problem:
            # What cannot be read is no state of the page: a difference in it would ask for second looks for ever.
            judged = record.judged if record.judged is not None and record.judged.changed is False else None
            record = replace(record, outcome=Outcome.PARSE_FAILED, detail=findings.problem, judged=judged)
        elif guessed := next((note.note for note in findings.notes if note.code == SELECTOR_UNMATCHED), ""):
            record = replace(record, detail=f"{SELECTOR_UNMATCHED}: {guessed}")
        risk, classify = record.watch.risk, self.finder.classify
        admitted = [
            admit_decision(found.url, risk, inherit_risk(classify(found.url), risk))
            for found in findings.found[:ADMITS]
        ]
        return replace(record, decisions=(*record.decisions, *admitted)) if admitted else record

    def _settled(self, record: LookRecord) -> Settlement:
        watch, runtime = record.watch, self.book.runtime(record.watch.source)
        settled = self._decided(record, runtime.facts())
        if settled.watch.merged_into is not None:
            runtime.merged(watch.id, settled.watch.merged_into)
        if watch.lister is not None and watch.depth == 0:
            runtime.heard(record.outcome, record.detail, now=record.now)
        source, embeds = runtime.source, self.options.embeds
        return record.settlement(settled, source.retention, embeds=embeds, is_hunted=source.options.hunt)

    def _decided(self, record: LookRecord, source: LookSource | None) -> SettledWatch:
        """The facts that only the store and the clock have, and what all of them mean."""
        watch, rules, text = record.watch, self.options.rules, record.extraction
        canonical = watch.canonical if text is None else record.canonical
        look = record.shown(
            source,
            peer=None if canonical is None else self.peer(canonical),
            is_heir=text is not None and self.heirs.has(watch, text.content_class),
            jitter=self.clock.chance() if needs_jitter(record.outcome, rules) else 0.0,
        )
        return settle(watch, look, rules)

    def _parked(
        self, job: Job, outcome: Outcome, detail: str, bug: BaseException | None = None
    ) -> Settlement:
        """Our code failed on this one, or was given what it cannot use.  The job is parked; the others go on."""
        now, url = self.clock.now(), job.watch.url
        fetched = Fetched(url=url, outcome=outcome, at=now, took=timedelta(0), detail=detail[:500])
        record = self._begun(job, Reached(fetched=fetched))
        if bug is not None:
            record = record.decided("bug", (Reason("stack", note=short_stack(bug)),), output=outcome.value)
        source = self.book.runtime(job.watch.source).facts() if outcome is Outcome.NO_SOCKETS else None
        return record.settlement(self._decided(record, source), "standard")


def _known(record: LookRecord) -> Seen | None:
    """The state that was seen last, where the bytes are the same: then there is nothing to read."""
    watch = record.watch
    is_known = watch.seen is not None and record.digest == watch.seen.digest and not watch.is_gone
    return watch.seen if is_known else None


def _leads_elsewhere(job: Job, reached: Reached) -> bool:
    """Another host's lane is shut.  Released, the watch would be asked again at once: its own lane is open."""
    return reached.shut not in (None, job.watch.lane)


def _reads_itself(watch: Watch, extraction: Extraction) -> bool:
    """A feed or sitemap is read by its lister, which takes what it can of a broken one.  A page instead is gated."""
    kind = extraction.content_class
    return (watch.lister in SELF_READ and kind is not ContentClass.HTML) or only_lists(watch, kind)
