"""What is known of one look so far, until it is a Settlement."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import datetime

from vedette.contracts.documents import Artifact, Document
from vedette.contracts.evidence import ArchiveEntry, RecordKind, Standing, VisitFacts
from vedette.contracts.fetch import Extraction, Fetched
from vedette.contracts.schedule import Lesson
from vedette.contracts.watch import Decision, Job, Parked, Raised, Seen, Settlement, Visit, Watch
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Reason, VisitId, WatchId
from vedette.core.change.gate import Gated
from vedette.core.judging.embedding import embed, pack_vector
from vedette.core.judging.traits import measure
from vedette.engine.crawl.compare_states import Judged, Mark
from vedette.engine.crawl.find_urls import FoundUrls
from vedette.engine.crawl.look import Reached, may_be_conditional

# Answers that are kept as they came, though they are not content.
KEPT = frozenset(
    {Outcome.OK, Outcome.GONE, Outcome.CLIENT_ERROR, Outcome.SERVER_ERROR, Outcome.THROTTLED}
    | {Outcome.PARSE_FAILED, Outcome.BLOCKED_PAGE, Outcome.LOGIN_WALL, Outcome.SOFT_404, Outcome.DECODE_ERROR}
    | {Outcome.EMPTY, Outcome.TOOL_MISSING}
)
# Those of them that are content: evidence in the sense of spec 001/4.1.
CONTENT = frozenset({Outcome.OK, Outcome.PARSE_FAILED, Outcome.TOOL_MISSING})


class LookRecord:
    """What is known of one look so far.  Lives only while it is assessed."""

    __slots__ = (
        "artifact", "at", "canonical", "content_class", "decisions", "detail", "digest", "document", "embeds",
        "extraction", "fetched", "findings", "job", "judged", "lesson", "now", "outcome", "raised", "reached", "seen",
        "visit", "watch",
    )  # fmt: skip

    def __init__(self, job: Job, reached: Reached, visit: VisitId, now: datetime) -> None:
        self.job = job
        self.watch = job.watch
        self.reached = reached
        self.fetched = reached.fetched
        self.at = _whole_ms(reached.fetched.at)
        self.visit = visit
        self.now = now
        self.outcome = reached.fetched.outcome
        self.detail = reached.fetched.detail
        self.digest: bytes | None = None
        self.extraction: Extraction | None = None
        self.document: Document | None = None
        self.artifact: Artifact | None = None
        self.content_class = ContentClass.OTHER
        self.judged: Judged | None = None
        self.findings: FoundUrls | None = None
        self.raised: tuple[Raised, ...] = ()
        self.canonical: WatchId | None = None
        self.seen: Seen | None = None
        self.lesson: Lesson | None = None
        self.embeds = False
        self.decisions: list[Decision] = []
        self.decide("fetch", reached.reasons, inputs=self._fetch_inputs(), output=self.outcome.value)

    def decide(
        self,
        action: str,
        reasons: tuple[Reason, ...],
        *,
        inputs: dict[str, object] | None = None,
        output: object,
    ) -> None:
        self.decisions.append(Decision(action=action, reasons=reasons, inputs=inputs or {}, output=output))

    def mark(self) -> Mark:
        return Mark(self.visit, self.at, self.digest or b"")

    def note(self, decision: Decision) -> None:
        self.decisions.append(decision)

    def judge(self, judged: Judged) -> None:
        self.judged = judged
        self.decide("change", judged.reasons, output=judged.words)

    def judged_if(self, judged: Judged | None) -> bool:
        """None: not even a worker could tell, so it stays unknown whether the page changed."""
        if judged is None:
            self.outcome, self.detail = Outcome.PARSE_FAILED, "comparing it takes too much time or memory"
            self.decide("change", (Reason("not_compared", note=self.detail),), output="unknown")
            return False
        self.judge(judged)
        return True

    def shown(self, fetched: Fetched) -> None:
        """The same answer as scripts make it; what came plainly is not what is compared and kept."""
        self.fetched, self.outcome, self.detail = fetched, fetched.outcome, fetched.detail
        self.digest = None

    def gated(self, refused: Gated) -> None:
        """This answer is not the page, and why."""
        self.outcome = refused.outcome
        self.detail = "; ".join(reason.note or reason.code for reason in refused.reasons)
        self.decide("gate", refused.reasons, output=refused.outcome.value)

    def repeats(self, seen: Seen) -> None:
        """The same bytes as before: the state goes on, seen again now."""
        self.digest = seen.digest
        self.content_class = seen.content_class
        self.seen = replace(seen, visit=self.visit, at=self.at)

    def settlement(self, watch: Watch, parked: Parked | None, retention: str) -> Settlement:
        judged, findings, fetched = self.judged, self.findings, self.fetched
        entry = self._entry(retention)  # first: an answer that is kept gets its digest here
        standing, like = self._standing()
        text = self.extraction if entry.kind is RecordKind.RESPONSE else None  # what nobody has seen before
        return Settlement(
            job=self.job,
            visit=self._visit(),
            watch=watch,
            entry=entry,
            decisions=tuple(self.decisions),
            change=judged.change if judged else None,
            moves=judged.moves if judged else (),
            reports=judged.reports if judged else (),
            sources=tuple(findings.sources) if findings else (),
            found=tuple(findings.found) if findings else (),
            signals=tuple(findings.signals) if findings else (),
            raised=self.raised,
            nearer=tuple(findings.nearer) if findings else (),
            refused=tuple(findings.refused) if findings else (),
            parked=parked,
            content_class=self.content_class,
            content_type=fetched.content_type,
            body_bytes=len(fetched.body),
            standing=standing,
            like=like,
            artifact=self.artifact,
            traits=measure(text) if text else None,
            vector=pack_vector(embed(text.text)) if text and text.text and self.embeds else None,
            lesson=self.lesson,
        )

    def _visit(self) -> Visit:
        fetched = self.fetched
        seen = self.seen
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
            digest=self.digest,
            evidence=seen.evidence if seen else None,
            text_chars=chars,
            wire_bytes=len(fetched.wire),
            detail=self.detail[:1000],
            audit=self.watch.audit,
        )

    def _entry(self, retention: str) -> ArchiveEntry:
        fetched = self.fetched
        kind = self._kind()
        if kind is RecordKind.RESPONSE and self.digest is None:
            self.digest = hashlib.sha256(fetched.body).digest()
        facts = VisitFacts(
            visit=self.visit,
            watch=self.watch.id,
            url=fetched.url,
            at=self.at,
            outcome=self.outcome,
            status=fetched.status,
            digest=self.digest,
        )
        return ArchiveEntry(
            facts=facts,
            kind=kind,
            retention=retention,
            phrase=fetched.phrase,
            headers=fetched.headers,
            payload=fetched.wire if kind in (RecordKind.RESPONSE, RecordKind.IDENTICAL) else b"",
            payload_digest=self.digest if fetched.wire is fetched.body else None,
            address=fetched.address,
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

    def _fetch_inputs(self) -> dict[str, object]:
        fetched, watch = self.fetched, self.watch
        return {
            "value": round(self.job.value, 3),
            "due_at": watch.due_at.isoformat() if watch.due_at else None,
            "hops": list(self.reached.hops),
            "status": fetched.status,
            "conditional": bool(may_be_conditional(watch) and (watch.etag or watch.last_modified)),
        }


def _whole_ms(at: datetime) -> datetime:
    """As the store keeps it: what the chain covers must read back exactly."""
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
