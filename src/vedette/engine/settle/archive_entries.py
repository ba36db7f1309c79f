"""How looks are entered into the archive: as new payloads, or as revisits of what is there already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vedette.contracts.copies import replace
from vedette.contracts.watch import (
    ArchiveEntry,
    Payload,
    RecordKind,
    Settlement,
    Standing,
    WrittenRecord,
)
from vedette.contracts.words import EvidenceId
from vedette.core.evidence.segments import SegmentName

REVISITS = (RecordKind.IDENTICAL, RecordKind.NOT_MODIFIED)


def evidence_of(looks: Sequence[Settlement]) -> tuple[EvidenceId, ...]:
    """What these looks refer to."""
    shown = [s.visit.evidence for s in looks if s.entry.kind in REVISITS and s.visit.evidence]
    return (*shown, *(s.like for s in looks if s.like is not None))


def digests_of(looks: Sequence[Settlement]) -> tuple[bytes, ...]:
    """Of payloads that the archive may have already."""
    facts = (s.entry.facts for s in looks if s.entry.kind is RecordKind.RESPONSE)
    return tuple(one.digest for one in facts if one.digest is not None)


def keeps(twin: Payload, settled: Settlement) -> bool:
    """A payload of another retention class goes when that class does: it is not ours to rely on."""
    name = SegmentName.parse(twin.segment)
    return twin.watch == settled.watch.id or (name is not None and name.retention == settled.entry.retention)


def new_payload(settled: Settlement, written: WrittenRecord, twins: list[Payload]) -> Payload:
    """A new piece of evidence: its own record, or the place of a twin's payload."""
    evidence = EvidenceId(settled.visit.id)
    if twins:
        return replace(twins[0], evidence=evidence, watch=settled.watch.id)
    return Payload(
        evidence=evidence,
        watch=settled.watch.id,
        stored_by=settled.visit.id,
        url=settled.visit.url,
        at=settled.visit.at,
        segment=written.segment,
        offset=written.offset or 0,
        length=written.length or 0,
    )


def with_standing(payload: Payload, settled: Settlement, kept: Mapping[EvidenceId, Payload]) -> Payload:
    """What the new payload is.  Noise needs the evidence that it is like; when that has expired, it is evidence."""
    like = kept.get(settled.like) if settled.like is not None else None
    if settled.standing is not Standing.NOISE:
        return replace(payload, standing=settled.standing, same_as=None)
    if like is None:
        return replace(payload, standing=Standing.CONTENT, same_as=None)
    return replace(payload, standing=Standing.NOISE, same_as=like.same_as or like.evidence)


def referring(settled: Settlement, kept: Mapping[EvidenceId, Payload]) -> ArchiveEntry:
    """A look that showed a known state names the record with its payload, however many looks ago that was.

    When that record is gone (it expired) and the bytes came again, they are kept anew.
    """
    entry = settled.entry
    if entry.kind not in REVISITS:
        return entry
    payload = kept.get(settled.visit.evidence) if settled.visit.evidence else None
    if payload is not None:
        return revisit(entry, entry.kind, payload)
    is_there = entry.kind is RecordKind.IDENTICAL and entry.payload
    return replace(entry, kind=RecordKind.RESPONSE) if is_there else entry


def revisit(entry: ArchiveEntry, kind: RecordKind, payload: Payload) -> ArchiveEntry:
    record = (payload.segment, payload.stored_by)
    return replace(
        entry, kind=kind, payload=b"", refers_to=(payload.url, payload.at), refers_to_record=record
    )
