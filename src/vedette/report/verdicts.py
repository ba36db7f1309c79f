"""Verdicts, parked jobs and looks, and texts made of documents, in words and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from typing import TYPE_CHECKING

from vedette.report.plain import count

if TYPE_CHECKING:  # a list of looks need not load jobs and verdicts
    from vedette.contracts.documents import Artifact
    from vedette.contracts.jobs import ParkedJob
    from vedette.contracts.source import ActMetadata
    from vedette.contracts.verdict import Verdict
    from vedette.contracts.watch import Parked, Visit
    from vedette.contracts.words import ChangeId, VisitId


def verdict_words(verdict: Verdict) -> str:
    """`persist, 74 of 100 (scout-2)`."""
    return f"{verdict.word.value}, {verdict.score:g} of 100 ({verdict.rule})"


def verdict_json(verdict: Verdict) -> dict[str, object]:
    return {
        "evidence": verdict.evidence,
        "verdict": verdict.word.value,
        "score": verdict.score,
        "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in verdict.reasons],
        "rule": verdict.rule,
        "at": verdict.at,
    }


def parked_job_json(job: ParkedJob) -> dict[str, object]:
    """DeadLetterJobData of spec 001/8.5, field by field."""
    at = job.failed_at.astimezone(UTC)
    return {
        "originalQueue": job.queue,
        "originalJobId": job.id,
        "originalJobName": job.name,
        "originalJobData": job.data,
        "error": job.error,
        **({"stackTrace": job.stack} if job.stack else {}),
        "attemptsMade": job.attempts,
        "failedAt": f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
    }


# Text that was made of a document, in words and for programs.

_ONCE = frozenset(
    "title title_short type_document number date_document date_publication first_date_entry_in_force "
    "date_applicability date_no_longer_in_force in_force version passed_by publisher jurisdiction language".split()
)


def artifact_words(made: Artifact) -> str:
    """`ocr 1250 characters, 93 % sure`."""
    sure = "" if made.confidence is None else f", {made.confidence:.0f} % sure"
    return f"{made.kind} {count(made.chars, 'character')}{sure}"


def artifact_json(made: Artifact) -> dict[str, object]:
    return {
        "kind": made.kind,
        "reader": made.reader,
        "chars": made.chars,
        "confidence": made.confidence,
        "path": made.path,
    }


def act_json(act: ActMetadata) -> dict[str, object]:
    """In the names of the ELI ontology: a text where an act has one of it, a list where it may have several."""
    return {"eli": act.eli} | {
        name: values[0] if name in _ONCE and len(values) == 1 else list(values) for name, values in act.said
    }


# Looks and parked looks as JSON.


def changed_words(visit: Visit, number: int | None) -> str:
    """`number`: of the change that this look was the first to show.  Empty: it showed none."""
    if number is not None:
        return f"change {number}"
    return "confirmed" if visit.changed else ""


def visit_json(visit: Visit, changes: Mapping[VisitId, tuple[ChangeId, int]]) -> dict[str, object]:
    """`changes`: what a look was the first to show."""
    return {
        "visit": visit.id,
        "at": visit.at,
        "outcome": visit.outcome.value,
        "status": visit.status,
        "seconds": visit.took.total_seconds(),
        "changed": visit.changed,
        "change": changes[visit.id][0] if visit.id in changes else None,
        "digest": visit.digest,
        "text_chars": visit.text_chars,
        "url": visit.url,
        "evidence": visit.evidence,
        "wire_bytes": visit.wire_bytes,
        "detail": visit.detail,
        "run": visit.run,
    }


def parked_look_json(one: Parked) -> dict[str, object]:
    return {
        "url": one.url,
        "outcome": one.outcome.value,
        "detail": one.detail,
        "attempts": one.attempts,
        "at": one.at,
    }
