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
from vedette.contracts.fetching import Extraction, Fetched
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
from vedette.core.audit import Lot, audited
from vedette.core.change.gate import gate
from vedette.core.change.layers import text_keys
from vedette.core.classify import becomes_hub, inherit_risk
from vedette.core.ledger import admit_decision, retry_decision, schedule_decision
from vedette.core.outcomes import MEANING, OWN_LACK
from vedette.core.retry import Failure, Retry, RetryParams, next_attempt
from vedette.core.schedule.due import LEARNED, DueParams, Facts, decide
from vedette.core.screen import ScreenTable, screen
from vedette.core.urls import host_of, origin_of, watch_id
from vedette.discover import read_listing
from vedette.engine.compare import Comparer, only_lists
from vedette.engine.documents import TOO_MUCH, how_read
from vedette.engine.finding import Finder, Findings
from vedette.engine.ids import Ids
from vedette.engine.inheriting import RiskHeirs, targets_of
from vedette.engine.lessons import good_look, what_changed
from vedette.engine.look import Looker, Reached
from vedette.engine.reading import ReadingDesk
from vedette.engine.sheet import KEPT, Sheet
from vedette.engine.sources import SourceBook, SourceDesk
from vedette.engine.turns import Rank
from vedette.engine.workers import LARGE

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
    config_digest: str = ""


@dataclass(slots=True, kw_only=True)
class Assessor:
    looker: Looker
    finder: Finder
    comparer: Comparer
    book: SourceBook
    ids: Ids
    clock: Clock
    reading: ReadingDesk
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
        sheet = Sheet(job, reached, VisitId(self.ids.next(reached.fetched.at)), self.clock.now())
        sheet.embeds = self.options.embeds
        fetched = reached.fetched
        if fetched.outcome is Outcome.NOT_MODIFIED and job.watch.seen is not None:
            await self._same(sheet, job.watch.seen)
        elif fetched.outcome is Outcome.OK:
            await self._read(sheet)
        elif not await self._stands_in_front(sheet) and fetched.outcome is Outcome.GONE:
            self._gone(sheet)
        return self._close(sheet)

    async def _read(self, sheet: Sheet) -> None:
        """A body came: is it content, and does it differ?"""
        fetched, watch = sheet.fetched, sheet.watch
        if await self._is_known(sheet):
            return
        extraction = await self.reading.read(sheet)
        if await self.reading.shows(sheet, extraction):
            if sheet.outcome is not Outcome.OK:
                self._is_screened(sheet, extraction, hashlib.sha256(fetched.body).digest())
                return
            if await self._is_known(sheet):
                return
            fetched, extraction = sheet.fetched, await self.reading.read(sheet)
        sheet.extraction = extraction
        sheet.content_class = extraction.content_class
        if self._is_screened(sheet, extraction, sheet.digest or b""):
            return
        refused = None
        if not _reads_itself(watch, extraction):
            refused = gate(status=fetched.status, extraction=extraction, url=fetched.url, seen=watch.seen)
        if refused is not None:
            sheet.gated(refused)
            return
        if sheet.document is not None:
            sheet.artifact = await self.reading.documents.keep(sheet.digest or b"", sheet.document)
            sheet.decide("read", how_read(sheet.document), output=extraction.content_class.value)
        if await self._judge(sheet, extraction):
            await self._find(sheet, extraction)
            await self._variant(sheet, extraction)
            self._raise(sheet, extraction)

    async def _is_known(self, sheet: Sheet) -> bool:
        """The bytes are the ones that were seen last, so there is nothing to read."""
        fetched, watch = sheet.fetched, sheet.watch
        digest = sheet.digest = hashlib.sha256(fetched.body).digest()
        if watch.seen is None or digest != watch.seen.digest or watch.is_gone:
            return False
        await self._same(sheet, watch.seen)
        if watch.seen.content_class in DOCUMENTS:
            body = (fetched.body, fetched.content_type, fetched.url)
            sheet.artifact = await self.reading.documents.keep_again(digest, body)
        return True

    async def _judge(self, sheet: Sheet, extraction: Extraction) -> bool:
        """Does it differ?  False: that could not be told, which is neither changed nor unchanged."""
        fetched, watch, comparer = sheet.fetched, sheet.watch, self.comparer
        judged = None
        if not self.reading.is_slow(fetched.body, watch.seen):
            judged = comparer.judge(watch, fetched, extraction, sheet.mark())
        else:
            keys = extraction.keys or await asyncio.to_thread(text_keys, extraction)
            extraction = replace(extraction, keys=keys)
            judged = comparer.judge_by_keys(watch, extraction, sheet.mark())
        if judged is None and await self.reading.recalls(packed := comparer.packed(watch), sheet):
            lean = replace(fetched, wire=b"", headers=())
            judged = await self.reading.workers.run(
                packed.judge, watch, lean, replace(extraction, hrefs=()), sheet.mark(),
                size=len(fetched.body), rank=Rank.BEGUN,
            )  # fmt: skip
        return sheet.judged_if(judged)

    async def _same(self, sheet: Sheet, seen: Seen) -> None:
        sheet.repeats(seen)
        watch, comparer, seen = sheet.watch, self.comparer, sheet.seen or seen
        judged = None
        if not self.reading.is_slow(b"", seen) or (watch.pending is None and not watch.is_gone):
            judged = comparer.judge_same(watch, seen, sheet.mark())
        if judged is None and await self.reading.recalls(packed := comparer.packed(watch), sheet):
            judged = await self.reading.workers.run(
                packed.judge_same, watch, seen, sheet.mark(), rank=Rank.BEGUN
            )
        sheet.judged_if(judged)

    async def _stands_in_front(self, sheet: Sheet) -> bool:
        """An error page is kept too, so the screen sees it; and it may be a wall that speaks of us, not of the URL."""
        fetched = sheet.fetched
        may_be_wall = fetched.status in WALLS and fetched.outcome in (
            Outcome.CLIENT_ERROR,
            Outcome.SERVER_ERROR,
        )
        if not fetched.body or sheet.outcome not in KEPT or (self.screen.is_empty and not may_be_wall):
            return False
        extraction = await self.reading.read(sheet)
        if self._is_screened(sheet, extraction, hashlib.sha256(fetched.body).digest()):
            return True
        refused = gate(status=fetched.status, extraction=extraction, url=fetched.url, seen=None)
        if not may_be_wall or refused is None or refused.outcome not in STANDING:
            return False
        sheet.gated(refused)
        return True

    def _is_screened(self, sheet: Sheet, extraction: Extraction, digest: bytes) -> bool:
        """Before any byte reaches the disk.  Of a screened page no word goes on, not even its title."""
        if self.screen.is_empty:
            return False
        url = sheet.fetched.url
        said = f"{extraction.title}\n{extraction.text}"
        screened = screen(said, url, host_of(url), self.screen, digest=digest)
        if screened is None:
            return False
        sheet.extraction = sheet.document = None
        sheet.content_class = ContentClass.OTHER
        sheet.outcome, sheet.detail = Outcome.SCREENED, screened.reason.note
        sheet.decide("screen", (screened.reason,), output=screened.category)
        return True

    async def _find(self, sheet: Sheet, extraction: Extraction) -> None:
        watch, fetched = sheet.watch, sheet.fetched
        if watch.lister is None or self.options.fetch_only:
            return
        desk = self.book.desk(watch.source)
        is_packed = fetched.body.startswith(GZIP)  # of a small body nobody knows how much comes out
        if watch.lister in IN_ONE_PIECE or not (is_packed or self.reading.is_slow(fetched.body, None)):
            findings = await self.finder.find(watch, fetched, extraction, desk, sheet.now)
        else:
            document = self.finder.document(watch, fetched, desk, sheet.now)
            listing = await self.reading.workers.run(
                read_listing, watch.lister, document, size=LARGE + 1, rank=Rank.BEGUN
            )
            listing = listing or Listing(problem=TOO_MUCH)
            findings = await self.finder.listed(watch, listing, desk, sheet.now)
        sheet.findings = findings
        if findings.problem:
            sheet.outcome = Outcome.PARSE_FAILED
            sheet.detail = findings.problem
        reasons = (
            *findings.notes,
            Reason("new", len(findings.found)),
            Reason("refused", len(findings.refused)),
        )
        sheet.decide("list", reasons, output=findings.listed)
        for found in findings.found[:ADMITS]:
            kind = inherit_risk(self.finder.classify(found.url), watch.risk)
            sheet.note(admit_decision(found.url, watch.risk, kind))

    def _raise(self, sheet: Sheet, extraction: Extraction) -> None:
        """Documents that this page links to are as critical as it is."""
        if sheet.watch.risk is Risk.CRITICAL:
            named = sheet.findings.linked if sheet.findings else []
            links = (*named, *targets_of(extraction.targets))
            sheet.raised = self.heirs.raised(sheet.watch, links, sheet.now)

    async def _variant(self, sheet: Sheet, extraction: Extraction) -> None:
        """Does the page name another address of itself (canonical, permanent redirect; 001 section 12.4)?

        Not another host's, and not the front page, where sites send what they have taken away.
        """
        watch, fetched = sheet.watch, sheet.fetched
        url = extraction.canonical or (fetched.url if sheet.reached.is_permanent else None)
        if url is None or watch_id(url) == watch.id or host_of(url) != host_of(watch.url):
            return
        if url == f"{origin_of(url)}/":
            return
        findings = sheet.findings = sheet.findings or Findings()
        desk = self.book.desk(watch.source)
        sheet.canonical = await self.finder.variant(watch, url, desk, findings, sheet.now)

    def _merged(self, sheet: Sheet, watch: Watch) -> Watch:
        """Once both addresses showed the same text they are one target, looked at there."""
        if watch.canonical is None or watch.seen is None or watch.lister not in (None, ListerKind.CRAWL):
            return watch
        other = self.peer(watch.canonical)
        if other is None or other.merged_into is not None or other.seen is None or other.is_gone:
            return watch
        if other.seen.text_key != watch.seen.text_key:
            return watch
        sheet.decide("merge", (Reason("same_text", note=f"as {other.url}"),), output=other.url)
        self.book.desk(watch.source).merged(watch.id, other.id)
        return replace(watch, merged_into=other.id, due_at=None)

    def _gone(self, sheet: Sheet) -> None:
        sheet.judge(self.comparer.judge_gone(sheet.watch, sheet.mark()))

    def _close(self, sheet: Sheet) -> Settlement:
        watch, desk = sheet.watch, self.book.desk(sheet.watch.source)
        moved = self._moved(sheet, desk)
        parked = None
        if MEANING[sheet.outcome].retry or sheet.outcome in _PARKS:
            moved, parked = self._failed(sheet, moved)
        else:
            moved = self._merged(sheet, self._scheduled(sheet, moved, desk))
        if watch.lister is not None and watch.depth == 0:
            desk.heard(sheet.outcome, sheet.detail, now=sheet.now)
        return sheet.settlement(moved, parked, desk.source.retention)

    def _moved(self, sheet: Sheet, desk: SourceDesk) -> Watch:
        """The watch after this look, without its next due time."""
        watch, fetched, judged = sheet.watch, sheet.fetched, sheet.judged
        extraction = sheet.extraction
        node_type, title, risk = watch.node_type, watch.title, watch.risk
        if extraction is not None:
            node_type, risk = self.heirs.after(watch, extraction.content_class)
            title = title or extraction.title[:500]
            if becomes_hub(node_type, len(extraction.hrefs), len(extraction.text)):
                node_type = NodeType.HUB
        # Validators belong to the state that is seen from now on, not to one that waits for its second look.
        is_cut = sheet.findings is not None and sheet.findings.is_cut
        is_unread = self._is_unread(sheet)
        is_taken = sheet.outcome is Outcome.OK and not (
            (judged and judged.look_again_at) or is_cut or is_unread
        )
        seen = judged.seen if judged else watch.seen
        return replace(
            watch,
            title=title,
            node_type=node_type,
            risk=risk,
            lister=sheet.findings.became if sheet.findings and sheet.findings.became else watch.lister,
            last_visit_at=fetched.at,
            last_outcome=sheet.outcome,
            attempt=0 if not MEANING[sheet.outcome].retry else watch.attempt,
            etag=fetched.etag if is_taken else watch.etag,
            last_modified=fetched.last_modified if is_taken else watch.last_modified,
            seen=_to_read_again(seen) if is_cut else _to_read_later(seen) if is_unread else seen,
            noise=judged.noise if judged else watch.noise,
            pending=judged.pending if judged else watch.pending,
            is_gone=judged.is_gone if judged else watch.is_gone,
            canonical=sheet.canonical if extraction is not None else watch.canonical,
            last_changed_at=fetched.at if judged and judged.reports else watch.last_changed_at,
        )

    def _is_unread(self, sheet: Sheet) -> bool:
        """A run that reads no listings saw a page whose links somebody has to read."""
        lists = sheet.watch.lister not in (None, ListerKind.PAGE)
        return self.options.fetch_only and lists and sheet.extraction is not None and sheet.judged is not None

    def _scheduled(self, sheet: Sheet, watch: Watch, desk: SourceDesk) -> Watch:
        judged, meaning = sheet.judged, MEANING[sheet.outcome]
        if self.options.due.policy == LEARNED:
            return self._left_to_the_scheduler(sheet, watch, desk)
        facts = Facts(
            velocity=watch.velocity,
            scan_count=watch.scan_count,
            risk=watch.risk,
            changed=what_changed(sheet),
            now=sheet.now,
            jitter=self.clock.chance(),
            asked=desk.asked(watch, sheet.outcome),
            is_parked=not meaning.keeps_schedule,
        )
        plain = decide(facts, self.options.due)
        lot = self._lot(facts, watch, plain.scan_count)
        due = plain if lot is None else audited(plain, lot)
        due_at: datetime | None = due.due_at
        if judged is not None and judged.look_again_at is not None:
            due_at = judged.look_again_at
            sheet.decide("second_look", judged.reasons, output=due_at.isoformat())
        if desk.closed_until is not None and watch.lister is not None and watch.depth == 0:
            due_at = max(due.due_at, desk.closed_until)
        sheet.note(schedule_decision(facts, due, self.options.due.policy, lot=lot))
        return replace(
            watch,
            audit=plain.interval if due is not plain and due_at == due.due_at else None,
            velocity=due.velocity,
            scan_count=due.scan_count,
            interval=due.interval,
            due_at=due_at if desk.source.is_active else None,
        )

    def _left_to_the_scheduler(self, sheet: Sheet, watch: Watch, desk: SourceDesk) -> Watch:
        """It decides for the whole group; only a second look is arranged here, and teaches with its outcome."""
        sheet.lesson = good_look(sheet, watch, desk, self.options.audit_share)
        due_at, judged = sheet.now, sheet.judged
        if judged is not None and judged.look_again_at is not None:
            due_at = judged.look_again_at
            sheet.decide("second_look", judged.reasons, output=due_at.isoformat())
        return replace(watch, audit=None, due_at=due_at if desk.source.is_active else None)

    def _lot(self, facts: Facts, watch: Watch, looks: int) -> Lot | None:
        """Audits follow looks that taught something; a look that failed is tried again as soon as it may."""
        if self.options.audit_share <= 0 or facts.changed is None or facts.is_parked:
            return None
        return Lot(watch.id, looks, self.options.audit_share)

    def _failed(self, sheet: Sheet, watch: Watch) -> tuple[Watch, Parked | None]:
        """Tried again soon, or parked: the watch stays and is tried at its long interval."""
        attempt = sheet.watch.attempt + 1
        failure = Failure(sheet.outcome, attempt, sheet.fetched.retry_after)
        jitter = self.clock.chance()
        step = next_attempt(failure, now=sheet.now, jitter=jitter, params=self.options.retry)
        sheet.note(retry_decision(failure, step, now=sheet.now, jitter=jitter))
        if isinstance(step, Retry):
            if self.options.due.policy == LEARNED:
                sheet.lesson = Lesson(
                    now=sheet.now, host_ok=MEANING[sheet.outcome].lane_verdict, has_due=True
                )
            return replace(watch, attempt=attempt, due_at=step.at, audit=None), None
        if MEANING[sheet.outcome].is_ours:
            moved = self._scheduled(sheet, watch, self.book.desk(watch.source))
            return replace(moved, attempt=0), None
        parked = Parked(
            watch=watch.id,
            url=watch.url,
            outcome=sheet.outcome,
            detail=sheet.detail,
            attempts=attempt,
            at=sheet.now,
        )
        # The attempts stay: a failure at the long interval parks at once, a good look takes it off the shelf.
        return replace(self._put_off(sheet, watch, attempt), attempt=attempt, audit=None), parked

    def _put_off(self, sheet: Sheet, watch: Watch, attempt: int) -> Watch:
        """A watch whose job is parked, with its next look."""
        asked = Asked()
        if MEANING[sheet.outcome].retry:
            asked = self.book.desk(watch.source).asked(watch, sheet.outcome)
        if self.options.due.policy == LEARNED:
            host_ok = MEANING[sheet.outcome].lane_verdict
            failures = attempt - self.options.retry.attempts + 1 if host_ok is False else 0
            sheet.lesson = Lesson(
                now=sheet.now, host_ok=host_ok, failures=max(failures, 0), is_parked=True, asked=asked
            )
            return replace(watch, due_at=sheet.now)
        facts = Facts(
            velocity=watch.velocity,
            scan_count=watch.scan_count,
            risk=watch.risk,
            changed=None,
            now=sheet.now,
            jitter=self.clock.chance(),
            asked=asked,
            is_parked=True,
        )
        due = decide(facts, self.options.due)
        sheet.note(schedule_decision(facts, due, self.options.due.policy))
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
        sheet = Sheet(job, Reached(fetched=fetched), VisitId(self.ids.next(now)), now)
        sheet.outcome = outcome
        moved, parked = self._failed(sheet, replace(job.watch, last_visit_at=now, last_outcome=outcome))
        return sheet.settlement(moved, parked, "standard")


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
