"""From what came back to what it settles: outcome, change, findings, next look.

Cheap layers first.  A 304 and equal bytes touch no parser; a page is parsed once; blocks are made only when the
compared text differs from what was seen before.
"""

from __future__ import annotations

import asyncio
import errno
import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from vedette.contracts.errors import ConfigError
from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.ports import Clock
from vedette.contracts.schedule import Asked, Lesson
from vedette.contracts.source import ListerKind, Listing
from vedette.contracts.watch import Job, Parked, Release, Seen, Settlement, Watch
from vedette.contracts.words import (
    DOCUMENTS,
    ContentClass,
    NodeType,
    Outcome,
    Reason,
    Risk,
    VisitId,
    WatchId,
)
from vedette.core.change.gate import gate
from vedette.core.change.layers import text_keys
from vedette.core.evidence.ledger import admit_decision, retry_decision, schedule_decision
from vedette.core.evidence.screen import ScreenTable, screen
from vedette.core.lanes.outcomes import MEANING, OWN_LACK
from vedette.core.lanes.retry import Failure, Retry, RetryParams, next_attempt
from vedette.core.schedule.audit import Lot, audited
from vedette.core.schedule.due import LEARNED, DueParams, LookFacts, decide
from vedette.core.urls.canonical import host_of, origin_of, watch_id
from vedette.core.urls.classify import becomes_hub, inherit_risk
from vedette.discover import read_listing
from vedette.engine.crawl.compare_states import Comparer, only_lists
from vedette.engine.crawl.content_reader import ContentReader
from vedette.engine.crawl.document_reader import TOO_MUCH, how_read
from vedette.engine.crawl.find_urls import Finder, FoundUrls
from vedette.engine.crawl.inherited_risk import RiskHeirs, targets_of
from vedette.engine.crawl.look import Looker, Reached
from vedette.engine.crawl.look_record import KEPT, LookRecord
from vedette.engine.crawl.observation import good_look, what_changed
from vedette.engine.crawl.source_runtime import SourceBook, SourceRuntime
from vedette.engine.settle.ids import Ids
from vedette.engine.workers.pool import LARGE
from vedette.engine.workers.turns import Rank

IN_ONE_PIECE = frozenset({ListerKind.CRAWL, ListerKind.PAGE})  # the page is parsed once, its links are there
GZIP = b"\x1f\x8b"
NO_FILES = (errno.EMFILE, errno.ENFILE)
WALLS = (403, 503)  # what challenges and bans are sent with
STANDING = (Outcome.BLOCKED_PAGE, Outcome.LOGIN_WALL)
SELF_READ = frozenset({ListerKind.FEED, ListerKind.SITEMAP, ListerKind.AUTO})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessOptions:
    """Policy values of the assessor."""

    due: DueParams = field(default_factory=DueParams)
    retry: RetryParams = field(default_factory=RetryParams)
    audit_share: float = 0.0
    fetch_only: bool = False
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
    screen: ScreenTable
    peer: Callable[[WatchId], Watch | None]
    heirs: RiskHeirs
    options: AssessOptions

    async def serve(self, job: Job) -> Settlement | Release:
        """One look, from permit to settlement.  The only place where any exception ends: it parks the job."""
        try:
            reached = await self.looker.look(job)
            if not MEANING[reached.fetched.outcome].is_look and not _leads_elsewhere(job, reached):
                return Release(job)
            return await self._settle(job, reached)
        except ConfigError as error:
            return self._parked(job, Outcome.BAD_SETTINGS, str(error))
        except OSError as error:
            if error.errno not in NO_FILES:
                return self._parked(job, Outcome.BUG, f"{type(error).__name__}: {error}")
            return self._parked(job, Outcome.NO_SOCKETS, OWN_LACK[error.errno])  # tried again
        except Exception as error:  # noqa: BLE001  the edge of the engine loop
            return self._parked(job, Outcome.BUG, f"{type(error).__name__}: {error}")

    async def _settle(self, job: Job, reached: Reached) -> Settlement:
        record = LookRecord(job, reached, VisitId(self.ids.next(reached.fetched.at)), self.clock.now())
        record.embeds = self.options.embeds
        fetched = reached.fetched
        if fetched.outcome is Outcome.NOT_MODIFIED and job.watch.seen is not None:
            await self._same(record, job.watch.seen)
        elif fetched.outcome is Outcome.OK:
            await self._read(record)
        elif not await self._stands_in_front(record) and fetched.outcome is Outcome.GONE:
            self._gone(record)
        return self._close(record)

    async def _read(self, record: LookRecord) -> None:
        """A body came: is it content, and does it differ?"""
        fetched, watch = record.fetched, record.watch
        if await self._is_known(record):
            return
        extraction = await self.reading.read(record)
        if await self.reading.shows(record, extraction):
            if record.outcome is not Outcome.OK:
                self._is_screened(record, extraction, hashlib.sha256(fetched.body).digest())
                return
            if await self._is_known(record):
                return
            fetched, extraction = record.fetched, await self.reading.read(record)
        record.extraction = extraction
        record.content_class = extraction.content_class
        if self._is_screened(record, extraction, record.digest or b""):
            return
        refused = None
        if not _reads_itself(watch, extraction):
            refused = gate(status=fetched.status, extraction=extraction, url=fetched.url, seen=watch.seen)
        if refused is not None:
            record.gated(refused)
            return
        if record.document is not None:
            record.artifact = await self.reading.documents.keep(record.digest or b"", record.document)
            record.decide("read", how_read(record.document), output=extraction.content_class.value)
        if await self._judge(record, extraction):
            await self._find(record, extraction)
            await self._variant(record, extraction)
            self._raise(record, extraction)

    async def _is_known(self, record: LookRecord) -> bool:
        """The bytes are the ones that were seen last, so there is nothing to read."""
        fetched, watch = record.fetched, record.watch
        digest = record.digest = hashlib.sha256(fetched.body).digest()
        if watch.seen is None or digest != watch.seen.digest or watch.is_gone:
            return False
        await self._same(record, watch.seen)
        if watch.seen.content_class in DOCUMENTS:
            body = (fetched.body, fetched.content_type, fetched.url)
            record.artifact = await self.reading.documents.keep_again(digest, body)
        return True

    async def _judge(self, record: LookRecord, extraction: Extraction) -> bool:
        """Does it differ?  False: that could not be told, which is neither changed nor unchanged."""
        fetched, watch, comparer = record.fetched, record.watch, self.comparer
        judged = None
        if not self.reading.is_slow(fetched.body, watch.seen):
            judged = comparer.judge(watch, fetched, extraction, record.mark())
        else:
            keys = extraction.keys or await asyncio.to_thread(text_keys, extraction)
            extraction = replace(extraction, keys=keys)
            judged = comparer.judge_by_keys(watch, extraction, record.mark())
        if judged is None and await self.reading.recalls(packed := comparer.packed(watch), record):
            lean = replace(fetched, wire=b"", headers=())
            judged = await self.reading.workers.run(
                packed.judge, watch, lean, replace(extraction, hrefs=()), record.mark(),
                size=len(fetched.body), rank=Rank.BEGUN,
            )  # fmt: skip
        return record.judged_if(judged)

    async def _same(self, record: LookRecord, seen: Seen) -> None:
        record.repeats(seen)
        watch, comparer, seen = record.watch, self.comparer, record.seen or seen
        judged = None
        if not self.reading.is_slow(b"", seen) or (watch.pending is None and not watch.is_gone):
            judged = comparer.judge_same(watch, seen, record.mark())
        if judged is None and await self.reading.recalls(packed := comparer.packed(watch), record):
            judged = await self.reading.workers.run(
                packed.judge_same, watch, seen, record.mark(), rank=Rank.BEGUN
            )
        record.judged_if(judged)

    async def _stands_in_front(self, record: LookRecord) -> bool:
        """An error page is kept too, so the screen sees it; and it may be a wall that speaks of us, not of the URL."""
        fetched = record.fetched
        may_be_wall = fetched.status in WALLS and fetched.outcome in (
            Outcome.CLIENT_ERROR,
            Outcome.SERVER_ERROR,
        )
        if not fetched.body or record.outcome not in KEPT or (self.screen.is_empty and not may_be_wall):
            return False
        extraction = await self.reading.read(record)
        if self._is_screened(record, extraction, hashlib.sha256(fetched.body).digest()):
            return True
        refused = gate(status=fetched.status, extraction=extraction, url=fetched.url, seen=None)
        if not may_be_wall or refused is None or refused.outcome not in STANDING:
            return False
        record.gated(refused)
        return True

    def _is_screened(self, record: LookRecord, extraction: Extraction, digest: bytes) -> bool:
        """Before any byte reaches the disk.  Of a screened page no word goes on, not even its title."""
        if self.screen.is_empty:
            return False
        url = record.fetched.url
        said = f"{extraction.title}\n{extraction.text}"
        screened = screen(said, url, host_of(url), self.screen, digest=digest)
        if screened is None:
            return False
        record.extraction = record.document = None
        record.content_class = ContentClass.OTHER
        record.outcome, record.detail = Outcome.SCREENED, screened.reason.note
        record.decide("screen", (screened.reason,), output=screened.category)
        return True

    async def _find(self, record: LookRecord, extraction: Extraction) -> None:
        watch, fetched = record.watch, record.fetched
        if watch.lister is None or self.options.fetch_only:
            return
        runtime = self.book.runtime(watch.source)
        is_packed = fetched.body.startswith(GZIP)  # of a small body nobody knows how much comes out
        if watch.lister in IN_ONE_PIECE or not (is_packed or self.reading.is_slow(fetched.body, None)):
            findings = await self.finder.find(watch, fetched, extraction, runtime, record.now)
        else:
            document = self.finder.document(watch, fetched, runtime, record.now)
            listing = await self.reading.workers.run(
                read_listing, watch.lister, document, size=LARGE + 1, rank=Rank.BEGUN
            )
            listing = listing or Listing(problem=TOO_MUCH)
            findings = await self.finder.listed(watch, listing, runtime, record.now)
        record.findings = findings
        if findings.problem:
            record.outcome = Outcome.PARSE_FAILED
            record.detail = findings.problem
        reasons = (
            *findings.notes,
            Reason("new", len(findings.found)),
            Reason("refused", len(findings.refused)),
        )
        record.decide("list", reasons, output=findings.listed)
        for found in findings.found[:ADMITS]:
            kind = inherit_risk(self.finder.classify(found.url), watch.risk)
            record.note(admit_decision(found.url, watch.risk, kind))

    def _raise(self, record: LookRecord, extraction: Extraction) -> None:
        """Documents that this page links to are as critical as it is."""
        if record.watch.risk is Risk.CRITICAL:
            named = record.findings.linked if record.findings else []
            links = (*named, *targets_of(extraction.targets))
            record.raised = self.heirs.raised(record.watch, links, record.now)

    async def _variant(self, record: LookRecord, extraction: Extraction) -> None:
        """Does the page name another address of itself (canonical, permanent redirect; spec 001/12.4)?

        Not another host's, and not the front page, where sites send what they have taken away.
        """
        watch, fetched = record.watch, record.fetched
        url = extraction.canonical or (fetched.url if record.reached.is_permanent else None)
        if url is None or watch_id(url) == watch.id or host_of(url) != host_of(watch.url):
            return
        if url == f"{origin_of(url)}/":
            return
        findings = record.findings = record.findings or FoundUrls()
        runtime = self.book.runtime(watch.source)
        record.canonical = await self.finder.variant(watch, url, runtime, findings, record.now)

    def _merged(self, record: LookRecord, watch: Watch) -> Watch:
        """Once both addresses showed the same text they are one target, looked at there."""
        if watch.canonical is None or watch.seen is None or watch.lister not in (None, ListerKind.CRAWL):
            return watch
        other = self.peer(watch.canonical)
        if other is None or other.merged_into is not None or other.seen is None or other.is_gone:
            return watch
        if other.seen.text_key != watch.seen.text_key:
            return watch
        record.decide("merge", (Reason("same_text", note=f"as {other.url}"),), output=other.url)
        self.book.runtime(watch.source).merged(watch.id, other.id)
        return replace(watch, merged_into=other.id, due_at=None)

    def _gone(self, record: LookRecord) -> None:
        record.judge(self.comparer.judge_gone(record.watch, record.mark()))

    def _close(self, record: LookRecord) -> Settlement:
        watch, runtime = record.watch, self.book.runtime(record.watch.source)
        moved = self._moved(record, runtime)
        parked = None
        if MEANING[record.outcome].retry or record.outcome in _PARKS:
            moved, parked = self._failed(record, moved)
        else:
            moved = self._merged(record, self._scheduled(record, moved, runtime))
        if watch.lister is not None and watch.depth == 0:
            runtime.heard(record.outcome, record.detail, now=record.now)
        return record.settlement(moved, parked, runtime.source.retention)

    def _moved(self, record: LookRecord, runtime: SourceRuntime) -> Watch:
        """The watch after this look, without its next due time."""
        watch, fetched, judged = record.watch, record.fetched, record.judged
        extraction = record.extraction
        node_type, title, risk = watch.node_type, watch.title, watch.risk
        if extraction is not None:
            node_type, risk = self.heirs.after(watch, extraction.content_class)
            title = title or extraction.title[:500]
            if becomes_hub(node_type, len(extraction.hrefs), len(extraction.text)):
                node_type = NodeType.HUB
        # Validators belong to the state that is seen from now on, not to one that waits for its second look.
        is_cut = record.findings is not None and record.findings.is_cut
        is_unread = self._is_unread(record)
        is_taken = record.outcome is Outcome.OK and not (
            (judged and judged.look_again_at) or is_cut or is_unread
        )
        seen = judged.seen if judged else watch.seen
        return replace(
            watch,
            title=title,
            node_type=node_type,
            risk=risk,
            lister=record.findings.became if record.findings and record.findings.became else watch.lister,
            last_visit_at=fetched.at,
            last_outcome=record.outcome,
            attempt=0 if not MEANING[record.outcome].retry else watch.attempt,
            etag=fetched.etag if is_taken else watch.etag,
            last_modified=fetched.last_modified if is_taken else watch.last_modified,
            seen=_to_read_again(seen) if is_cut else _to_read_later(seen) if is_unread else seen,
            noise=judged.noise if judged else watch.noise,
            pending=judged.pending if judged else watch.pending,
            is_gone=judged.is_gone if judged else watch.is_gone,
            canonical=record.canonical if extraction is not None else watch.canonical,
            last_changed_at=fetched.at if judged and judged.reports else watch.last_changed_at,
        )

    def _is_unread(self, record: LookRecord) -> bool:
        """A run that reads no listings saw a page whose links somebody has to read."""
        lists = record.watch.lister not in (None, ListerKind.PAGE)
        return (
            self.options.fetch_only and lists and record.extraction is not None and record.judged is not None
        )

    def _scheduled(self, record: LookRecord, watch: Watch, runtime: SourceRuntime) -> Watch:
        judged, meaning = record.judged, MEANING[record.outcome]
        if self.options.due.policy == LEARNED:
            return self._left_to_the_scheduler(record, watch, runtime)
        facts = LookFacts(
            velocity=watch.velocity,
            scan_count=watch.scan_count,
            risk=watch.risk,
            changed=what_changed(record),
            now=record.now,
            jitter=self.clock.chance(),
            asked=runtime.asked(watch, record.outcome),
            is_parked=not meaning.keeps_schedule,
        )
        plain = decide(facts, self.options.due)
        lot = self._lot(facts, watch, plain.scan_count)
        due = plain if lot is None else audited(plain, lot)
        due_at: datetime | None = due.due_at
        if judged is not None and judged.look_again_at is not None:
            due_at = judged.look_again_at
            record.decide("second_look", judged.reasons, output=due_at.isoformat())
        if runtime.closed_until is not None and watch.lister is not None and watch.depth == 0:
            due_at = max(due.due_at, runtime.closed_until)
        record.note(schedule_decision(facts, due, self.options.due.policy, lot=lot))
        return replace(
            watch,
            audit=plain.interval if due is not plain and due_at == due.due_at else None,
            velocity=due.velocity,
            scan_count=due.scan_count,
            interval=due.interval,
            due_at=due_at if runtime.source.is_active else None,
        )

    def _left_to_the_scheduler(self, record: LookRecord, watch: Watch, runtime: SourceRuntime) -> Watch:
        """It decides for the whole group; only a second look is arranged here, and teaches with its outcome."""
        record.lesson = good_look(record, watch, runtime, self.options.audit_share)
        due_at, judged = record.now, record.judged
        if judged is not None and judged.look_again_at is not None:
            due_at = judged.look_again_at
            record.decide("second_look", judged.reasons, output=due_at.isoformat())
        return replace(watch, audit=None, due_at=due_at if runtime.source.is_active else None)

    def _lot(self, facts: LookFacts, watch: Watch, looks: int) -> Lot | None:
        """Audits follow looks that taught something; a look that failed is tried again as soon as it may."""
        if self.options.audit_share <= 0 or facts.changed is None or facts.is_parked:
            return None
        return Lot(watch.id, looks, self.options.audit_share)

    def _failed(self, record: LookRecord, watch: Watch) -> tuple[Watch, Parked | None]:
        """Tried again soon, or parked: the watch stays and is tried at its long interval."""
        attempt = record.watch.attempt + 1
        failure = Failure(record.outcome, attempt, record.fetched.retry_after)
        jitter = self.clock.chance()
        step = next_attempt(failure, now=record.now, jitter=jitter, params=self.options.retry)
        record.note(retry_decision(failure, step, now=record.now, jitter=jitter))
        if isinstance(step, Retry):
            if self.options.due.policy == LEARNED:
                record.lesson = Lesson(
                    now=record.now, host_ok=MEANING[record.outcome].lane_verdict, has_due=True
                )
            return replace(watch, attempt=attempt, due_at=step.at, audit=None), None
        if MEANING[record.outcome].is_ours:
            moved = self._scheduled(record, watch, self.book.runtime(watch.source))
            return replace(moved, attempt=0), None
        parked = Parked(
            watch=watch.id,
            url=watch.url,
            outcome=record.outcome,
            detail=record.detail,
            attempts=attempt,
            at=record.now,
        )
        # The attempts stay: a failure at the long interval parks at once, a good look ends that.
        return replace(self._put_off(record, watch, attempt), attempt=attempt, audit=None), parked

    def _put_off(self, record: LookRecord, watch: Watch, attempt: int) -> Watch:
        """A watch whose job is parked, with its next look."""
        asked = Asked()
        if MEANING[record.outcome].retry:
            asked = self.book.runtime(watch.source).asked(watch, record.outcome)
        if self.options.due.policy == LEARNED:
            host_ok = MEANING[record.outcome].lane_verdict
            failures = attempt - self.options.retry.attempts + 1 if host_ok is False else 0
            record.lesson = Lesson(
                now=record.now, host_ok=host_ok, failures=max(failures, 0), is_parked=True, asked=asked
            )
            return replace(watch, due_at=record.now)
        facts = LookFacts(
            velocity=watch.velocity,
            scan_count=watch.scan_count,
            risk=watch.risk,
            changed=None,
            now=record.now,
            jitter=self.clock.chance(),
            asked=asked,
            is_parked=True,
        )
        due = decide(facts, self.options.due)
        record.note(schedule_decision(facts, due, self.options.due.policy))
        return replace(watch, due_at=due.due_at, interval=due.interval)

    def _parked(self, job: Job, outcome: Outcome, detail: str) -> Settlement:
        """Our code failed on this one, or was given what it cannot use.  The job is parked; the others go on."""
        now = self.clock.now()
        fetched = Fetched(
            url=job.watch.url,
            outcome=outcome,
            at=now,
            took=timedelta(0),
            detail=detail[:500],
        )
        record = LookRecord(job, Reached(fetched=fetched), VisitId(self.ids.next(now)), now)
        record.outcome = outcome
        moved, parked = self._failed(record, replace(job.watch, last_visit_at=now, last_outcome=outcome))
        return record.settlement(moved, parked, "standard")


ADMITS = 50  # new watches whose classification one visit records
_PARKS = frozenset({Outcome.BUG, Outcome.BAD_SETTINGS, Outcome.TOOL_MISSING, Outcome.NO_BROWSER})


def _leads_elsewhere(job: Job, reached: Reached) -> bool:
    """Another host's lane is shut.  Released, the watch would be asked again at once: its own lane is open."""
    return reached.shut not in (None, job.watch.lane)


def _to_read_again(seen: Seen | None) -> Seen | None:
    """A listing that was cut short must not look unchanged next time."""
    return None if seen is None else replace(seen, digest=b"", text_key=0)


def _to_read_later(seen: Seen | None) -> Seen | None:
    """The page was compared, its links were not read: the next run must not take it for known."""
    return None if seen is None else replace(seen, digest=b"")


def _reads_itself(watch: Watch, extraction: Extraction) -> bool:
    """A feed or sitemap is read by its lister, which takes what it can of a broken one.  A page instead is gated."""
    kind = extraction.content_class
    return (watch.lister in SELF_READ and kind is not ContentClass.HTML) or only_lists(watch, kind)
