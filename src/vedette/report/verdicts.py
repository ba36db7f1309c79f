"""Verdicts and parked jobs, in words and for programs."""

from __future__ import annotations

from datetime import UTC

from vedette.contracts.jobs import ParkedJob
from vedette.contracts.verdict import Verdict


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
    """DeadLetterJobData of 001 section 8.5, field by field."""
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
