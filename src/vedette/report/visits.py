"""Looks and parked looks as JSON."""

from __future__ import annotations

from vedette.contracts.watch import Parked, Visit


def visit_json(visit: Visit) -> dict[str, object]:
    return {
        "visit": visit.id,
        "at": visit.at,
        "outcome": visit.outcome.value,
        "status": visit.status,
        "seconds": visit.took.total_seconds(),
        "changed": visit.changed,
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
