"""What the tests of the spine share: watches, jobs and settled looks, made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from vedette.contracts.watch import (
    ArchiveEntry,
    Decision,
    Group,
    Job,
    Payload,
    Placed,
    RecordKind,
    Seen,
    Segment,
    Settlement,
    Visit,
    VisitFacts,
    Watch,
    WrittenRecord,
)
from vedette.contracts.words import (
    ContentClass,
    EvidenceId,
    LaneKey,
    Outcome,
    Reason,
    RunId,
    SourceId,
    VisitId,
)
from vedette.core.urls.canonical import lane_of, watch_id

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
RUN = RunId("run-1")
ALL = LaneKey("all")
SEGMENT = "standard-20261115-0001"


def a_watch(url: str = "https://a.example/1", **fields: Any) -> Watch:
    """Due since an hour, never looked at."""
    given: dict[str, Any] = {"due_at": NOON - HOUR, "created_at": NOON - 48 * HOUR, "source": SourceId("a")}
    return Watch(id=watch_id(url), url=url, lane=lane_of(url), **(given | fields))


def a_job(watch: Watch) -> Job:
    return Job(watch=watch, lanes=(watch.lane, ALL), run=RUN, value=1.0, leased_until=NOON + 5 * SECOND)


def a_look(
    watch: Watch,
    number: int,
    body: bytes | None = b"body",
    *,
    at: datetime | None = None,
    outcome: Outcome = Outcome.OK,
    **fields: Any,
) -> Settlement:
    """A look that settled: the body of the page came, or nothing (None).  `fields` are the settlement's."""
    at = at or NOON + number * SECOND
    digest = None if body is None else sha256(body).digest()
    seen = watch.seen
    if digest is not None:
        seen = Seen(
            visit=VisitId(number),
            evidence=EvidenceId(number),
            at=at,
            digest=digest,
            text_chars=len(body or b""),
            content_class=ContentClass.HTML,
        )
    moved = replace(watch, seen=seen, last_visit_at=at, last_outcome=outcome, due_at=at + 4 * HOUR)
    visit = Visit(
        id=VisitId(number),
        watch=watch.id,
        run=RUN,
        at=at,
        took=timedelta(milliseconds=120),
        outcome=outcome,
        url=watch.url,
        status=None if body is None else 200,
        digest=digest,
        wire_bytes=len(body or b""),
    )
    facts = VisitFacts(
        visit=visit.id,
        watch=watch.id,
        url=watch.url,
        at=at,
        outcome=outcome,
        status=visit.status,
        digest=digest,
    )
    kind = RecordKind.NONE if body is None else RecordKind.RESPONSE
    given: dict[str, Any] = {
        "job": a_job(watch),
        "visit": visit,
        "watch": moved,
        "entry": ArchiveEntry(facts=facts, kind=kind, payload=body or b"", phrase="OK"),
        "decisions": (Decision(action="fetch", reasons=(Reason("due", 1.0),), output=outcome.value),),
        "content_class": ContentClass.HTML,
        "content_type": "text/html",
        "body_bytes": len(body or b""),
    }
    return Settlement(**(given | fields))


def a_place(settled: Settlement, *, seq: int | None = None) -> Placed:
    """As if the archive had taken it as a record of its own."""
    number = settled.visit.id
    has_body = settled.entry.kind is RecordKind.RESPONSE
    written = WrittenRecord(
        visit=number,
        segment=SEGMENT,
        seq=seq or number,
        offset=number * 100 if has_body else None,
        length=90 if has_body else None,
        record_digest=sha256(settled.entry.payload).digest() if has_body else None,
        chain=sha256(str(number).encode()).digest(),
    )
    payload = Payload(
        evidence=EvidenceId(number),
        watch=settled.watch.id,
        stored_by=settled.visit.id,
        url=settled.visit.url,
        at=settled.visit.at,
        segment=SEGMENT,
        offset=number * 100,
        length=90,
    )
    return Placed(
        settlement=settled,
        kind=settled.entry.kind,
        written=written,
        evidence=EvidenceId(number) if has_body else settled.visit.evidence,
        payload=payload if has_body else None,
    )


def a_group(*settled: Settlement, **parts: Any) -> Group:
    count = max((s.visit.id for s in settled), default=0)
    segment = Segment(
        name=SEGMENT,
        retention="standard",
        day="2026-11-15",
        size=count * 100,
        count=count,
        head=sha256(str(count).encode()).digest(),
    )
    given: dict[str, Any] = {"run": RUN, "placed": tuple(map(a_place, settled)), "segments": (segment,)}
    return Group(**(given | parts))
