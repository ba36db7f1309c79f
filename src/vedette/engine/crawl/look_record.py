"""What is known of one look so far, until it is a Settlement.  A value: each step gives a new one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from vedette.contracts.change import Noise
from vedette.contracts.copies import quick, replace
from vedette.contracts.documents import Artifact
from vedette.contracts.fetch import Extraction, Fetched, Screenshot
from vedette.contracts.oddness import PageFigures
from vedette.contracts.watch import (
    ArchiveEntry,
    Decision,
    Job,
    Judged,
    Raised,
    RecordKind,
    Seen,
    Settlement,
    Standing,
    Visit,
    VisitFacts,
    Watch,
)
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Reason, VisitId, WatchId
from vedette.core.change.gate import Gated
from vedette.core.change.judged import Mark
from vedette.core.judging.embedding import embed, pack_vector
from vedette.core.judging.traits import measure
from vedette.core.oddness.page_figures import measure_page
from vedette.core.settled_watch import LookSource, SettledWatch, ShownLook
from vedette.core.text.charset import as_utf8
from vedette.core.urls.canonical import canonical, watch_id
from vedette.core.urls.link_words import said_links
from vedette.discover.sitemap import site_of
from vedette.engine.crawl.find_urls import FoundUrls
from vedette.engine.crawl.look import Reached, may_be_conditional

# Answers that are kept as they came, though they are not content.
KEPT = frozenset(
    {Outcome.OK, Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.THROTTLED}
    | {Outcome.PARSE_FAILED, Outcome.BLOCKED_PAGE, Outcome.LOGIN_WALL, Outcome.SOFT_404, Outcome.DECODE_ERROR}
    | {Outcome.EMPTY, Outcome.TOOL_MISSING, Outcome.FILTER_UNMATCHED}
)
# Those of them that are content: evidence in the sense of spec 001/4.1.
CONTENT = frozenset({Outcome.OK, Outcome.PARSE_FAILED, Outcome.TOOL_MISSING, Outcome.FILTER_UNMATCHED})


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class LookRecord:
    """What is known of one look so far."""

    job: Job
    watch: Watch  # as it was before
    reached: Reached
    visit: VisitId
    now: datetime
    at: datetime  # as the store keeps it
    fetched: Fetched  # what is compared and kept: as it came, or as scripts make it
    outcome: Outcome
    detail: str = ""
    digest: bytes | None = None
    extraction: Extraction | None = None
    artifact: Artifact | None = None
    content_class: ContentClass = ContentClass.OTHER
    judged: Judged | None = None
    findings: FoundUrls | None = None
    raised: tuple[Raised, ...] = ()
    canonical: WatchId | None = None
    seen: Seen | None = None  # not None: the same bytes as before, seen again
    decisions: tuple[Decision, ...] = ()

    @staticmethod
    def begun(job: Job, reached: Reached, visit: VisitId, now: datetime) -> LookRecord:
        """Of a body that may be content the digest is known from the start."""
        fetched = reached.fetched
        asked = Decision(
            action="fetch",
            reasons=reached.reasons,
            inputs=_fetch_inputs(job, reached),
            output=fetched.outcome.value,
        )
        return LookRecord(
            job=job,
            watch=job.watch,
            reached=reached,
            visit=visit,
            now=now,
            at=_whole_ms(fetched.at),
            fetched=fetched,
            outcome=fetched.outcome,
            detail=fetched.detail,
            digest=hashlib.sha256(fetched.body).digest() if fetched.outcome is Outcome.OK else None,
            decisions=(asked,),
        )

    @property
    def mark(self) -> Mark:
        return Mark(self.visit, self.at, self.digest or b"")

    def decided(
        self, action: str, reasons: tuple[Reason, ...], *, output: object, **now_known: Any
    ) -> LookRecord:
        """With what was decided, and what is known by that."""
        told = Decision(action=action, reasons=reasons, output=output)
        return replace(self, decisions=(*self.decisions, told), **now_known)

    def judged_as(self, judged: Judged | None, **now_known: Any) -> LookRecord:
        """None: not even a worker could tell, so it stays unknown whether the page changed."""
        if judged is not None:
            return self.decided("change", judged.reasons, output=judged.words, judged=judged, **now_known)
        detail = "comparing it takes too much time or memory"
        reasons = (Reason("not_compared", note=detail),)
        failed = {"outcome": Outcome.PARSE_FAILED, "detail": detail}
        return self.decided("change", reasons, output="unknown", **(now_known | failed))

    def gated(self, refused: Gated) -> LookRecord:
        """This answer is not the page, and why."""
        detail = "; ".join(reason.note or reason.code for reason in refused.reasons)
        return self.decided(
            "gate", refused.reasons, output=refused.outcome.value, outcome=refused.outcome, detail=detail
        )

    def pictured(self, shot: Screenshot) -> LookRecord:
        """Tells what became of the screenshot."""
        if shot.problem:
            return self.decided("screenshot", (Reason("no_screenshot", note=shot.problem),), output="failed")
        said = f"{shot.width} x {shot.height} px, {len(shot.png)} bytes"
        cut = f"; the page is {shot.page_height} px high" if shot.page_height > shot.height else ""
        return self.decided("screenshot", (Reason("screenshot", note=said + cut),), output="taken")

    def shown(self, source: LookSource | None, **facts: Any) -> ShownLook:
        """What is known of the look, as far as its watch is concerned."""
        fetched, found = self.fetched, self.findings or _NOTHING
        return ShownLook(
            now=self.now,
            at=fetched.at,
            outcome=self.outcome,
            detail=self.detail,
            etag=fetched.etag,
            last_modified=fetched.last_modified,
            retry_after=fetched.retry_after,
            source=source,
            extraction=self.extraction,
            judged=self.judged,
            canonical=self.canonical,
            became=found.became,
            is_cut=found.is_cut,
            is_dated=found.is_dated,
            **facts,
        )

    def settlement(
        self, settled: SettledWatch, retention: str, *, embeds: bool = False, is_hunted: bool = False
    ) -> Settlement:
        judged, found, fetched = self.judged or _NOT_JUDGED, self.findings or _NOTHING, self.fetched
        kind = self._kind()
        digest = self.digest
        if kind is RecordKind.RESPONSE and digest is None:  # an answer that is kept though it is no content
            digest = hashlib.sha256(fetched.body).digest()
        standing, like = self._standing()
        text = self.extraction if kind is RecordKind.RESPONSE else None  # what nobody has seen before
        return Settlement(
            job=self.job,
            visit=self._visit(digest),
            watch=settled.watch,
            entry=self._entry(kind, digest, retention),
            decisions=(*self.decisions, *settled.decisions),
            change=judged.change,
            moves=judged.moves,
            reports=judged.reports,
            sources=tuple(found.sources),
            found=tuple(found.found),
            signals=tuple(found.signals),
            raised=self.raised,
            nearer=tuple(found.nearer),
            refused=tuple(found.refused),
            parked=settled.parked,
            content_class=self.content_class,
            content_type=fetched.content_type,
            body_bytes=len(fetched.body),
            standing=standing,
            like=like,
            artifact=self.artifact,
            traits=measure(text) if text else None,
            vector=pack_vector(embed(text.text)) if text and text.text and embeds else None,
            figures=self._figures(text) if text and is_hunted else None,
            linked=tuple(found.linked) if is_hunted else (),
            said=self._said(text) if text and is_hunted else (),
            lesson=settled.lesson,
        )

    def _figures(self, text: Extraction) -> PageFigures | None:
        """Of what a page shows the first time."""
        if self.outcome is not Outcome.OK or self.watch.seen is not None:
            return None
        is_page = text.content_class is ContentClass.HTML
        markup = as_utf8(self.fetched.body, self.fetched.content_type)[0] if is_page else b""
        return measure_page(markup, text, self.fetched.url, site_of)

    def _said(self, text: Extraction) -> tuple[tuple[WatchId, tuple[str, ...]], ...]:
        """The words of the links of a page that is shown the first time."""
        if self.outcome is not Outcome.OK or self.watch.seen is not None or self.findings is None:
            return ()
        markup = as_utf8(self.fetched.body, self.fetched.content_type)[0].decode("utf-8", "replace")
        linked, base = set(self.findings.linked), text.base or self.fetched.url
        said: dict[WatchId, tuple[str, ...]] = {}
        for href, words in said_links(markup).items():
            url = canonical(href, base)
            if url is not None and (target := watch_id(url)) in linked:
                said.setdefault(target, words)
        return tuple(said.items())

    def _visit(self, digest: bytes | None) -> Visit:
        fetched, seen = self.fetched, self.seen
        chars = len(self.extraction.text) if self.extraction else (seen.text_chars if seen else None)
        return Visit(
            id=self.visit,
            watch=self.watch.id,
            run=self.job.run,
            at=self.at,
            took=fetched.took,
            outcome=self.outcome,
            url=fetched.url,
            status=fetched.status,
            changed=bool(self.judged and self.judged.changed and self.watch.seen is not None),
            digest=digest,
            evidence=seen.evidence if seen else None,
            text_chars=chars,
            wire_bytes=len(fetched.wire),
            detail=self.detail[:1000],
            audit=self.watch.audit,
        )

    def _entry(self, kind: RecordKind, digest: bytes | None, retention: str) -> ArchiveEntry:
        fetched = self.fetched
        facts = VisitFacts(
            visit=self.visit,
            watch=self.watch.id,
            url=fetched.url,
            at=self.at,
            outcome=self.outcome,
            status=fetched.status,
            digest=digest,
        )
        return ArchiveEntry(
            facts=facts,
            kind=kind,
            retention=retention,
            phrase=fetched.phrase,
            headers=fetched.headers,
            payload=fetched.wire if kind in (RecordKind.RESPONSE, RecordKind.IDENTICAL) else b"",
            payload_digest=digest if fetched.wire is fetched.body else None,
            address=fetched.address,
            screenshot=None if fetched.screenshot is None else _kept_with(fetched.screenshot, kind),
        )

    def _standing(self) -> tuple[Standing, EvidenceId | None]:
        """Is this answer new evidence of content, and if not, which evidence does it differ from by noise alone?"""
        judged, before = self.judged, self.watch.seen
        if self.outcome not in CONTENT:
            return Standing.NO_CONTENT, None
        if judged is None or before is None:
            return Standing.CONTENT, None
        if judged.changed is None:
            return Standing.WAITING, None
        if not judged.changed:
            return Standing.NOISE, before.evidence
        confirmed = [move.change for move in judged.moves if move.change is not None]
        if judged.change is None and confirmed:  # the look before showed it first
            return Standing.NOISE, confirmed[-1].after_evidence
        return Standing.CONTENT, None

    def _kind(self) -> RecordKind:
        if self.outcome is Outcome.NOT_MODIFIED:
            return RecordKind.NOT_MODIFIED
        if self.seen is not None:
            return RecordKind.IDENTICAL
        return RecordKind.RESPONSE if self.outcome in KEPT and self.fetched.status else RecordKind.NONE


_NOT_JUDGED = Judged(changed=None, seen=None, noise=Noise())
_NOTHING = FoundUrls()


def _kept_with(shot: Screenshot, kind: RecordKind) -> Screenshot | None:
    """Only with a record of what the picture shows."""
    return shot if shot.png and kind in (RecordKind.RESPONSE, RecordKind.IDENTICAL) else None


def _fetch_inputs(job: Job, reached: Reached) -> dict[str, object]:
    watch = job.watch
    return {
        "value": round(job.value, 3),
        "due_at": watch.due_at.isoformat() if watch.due_at else None,
        "hops": list(reached.hops),
        "status": reached.fetched.status,
        "conditional": bool(may_be_conditional(watch) and (watch.etag or watch.last_modified)),
    }


def _whole_ms(at: datetime) -> datetime:
    """As the store keeps it: what the chain covers must read back exactly."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
