"""A group of settlements as rows, in the order in which they are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from vedette.contracts.change import Change, ChangeState, Comparison
from vedette.contracts.copies import replace
from vedette.contracts.watch import (
    ChangeMove,
    Decision,
    Group,
    LedgerNote,
    Payload,
    Placed,
    Refused,
    SourceState,
    Standing,
    Watch,
)
from vedette.contracts.words import EvidenceId, Outcome, RunId
from vedette.core.judging.verdict import scout_job
from vedette.store import statements as sql
from vedette.store.hunt_rows import hunt_statements
from vedette.store.outbox import message_row
from vedette.store.row_columns import CHANGE_COLUMNS, EVIDENCE_COLUMNS, VISIT_COLUMNS, writer
from vedette.store.rows import (
    job_row,
    lane_row,
    moved_row,
    opt_ms,
    opt_seconds,
    robots_row,
    segment_row,
    source_row,
    to_ms,
    watch_row,
    word_of,
)
from vedette.store.schedule_rows import schedule_statements
from vedette.store.seal_rows import Touched
from vedette.store.text_columns import dump_json, measure_row

Row = tuple[Any, ...]


def _columns_of(names: str) -> Callable[[Row], Row]:
    return itemgetter(*map(CHANGE_COLUMNS.index, names.split()))


_SEALED = _columns_of(
    "id watch_id kind before_visit after_visit before_evidence after_evidence observed_at layer similarity summary diff"
)
_REFINED = _columns_of("layer similarity summary diff seal")  # what a second look may say better
_NEVER_PARKED = (Outcome.OK, Outcome.NOT_MODIFIED, None)  # a watch whose last look ended so is not parked


@dataclass(slots=True)
class GroupRows:
    """Rows by statement."""

    visits: list[Row] = field(default_factory=list)
    evidence: list[Row] = field(default_factory=list)
    confirmed: list[Row] = field(default_factory=list)  # evidence that waited for this look, its job
    artifacts: list[Row] = field(default_factory=list)
    screenshots: list[Row] = field(default_factory=list)
    measures: list[Row] = field(default_factory=list)
    jobs: list[Row] = field(default_factory=list)  # what follows from new evidence
    moved: list[Row] = field(default_factory=list)
    homes: list[Row] = field(default_factory=list)  # sources of hosts that had none
    found: list[Row] = field(default_factory=list)
    signals: list[Row] = field(default_factory=list)
    raised: list[Row] = field(default_factory=list)
    nearer: list[Row] = field(default_factory=list)
    changes: list[Row] = field(default_factory=list)
    moves: list[Row] = field(default_factory=list)
    ledger: list[Row] = field(default_factory=list)
    refusals: list[Row] = field(default_factory=list)
    parked: list[Row] = field(default_factory=list)
    unparked: list[Row] = field(default_factory=list)
    ended: list[Row] = field(default_factory=list)
    lanes: list[Row] = field(default_factory=list)
    sources: list[Row] = field(default_factory=list)
    robots: list[Row] = field(default_factory=list)
    segments: list[Row] = field(default_factory=list)
    schedule: list[tuple[str, list[Row]]] = field(default_factory=list)
    hunt: list[tuple[str, list[Row]]] = field(default_factory=list)
    messages: list[Row] = field(default_factory=list)

    def statements(self) -> Iterable[tuple[str, list[Row]]]:
        """New watches before moved ones: a watch found and visited in one group must end as visited."""
        yield sql.FOUND_SOURCE, self.homes
        yield sql.NEW_WATCH, self.found
        yield sql.NEW_VISIT, self.visits
        yield sql.NEW_EVIDENCE, self.evidence
        yield sql.CONFIRMED_JOB, [(*job, number) for number, job in self.confirmed]
        yield sql.CONFIRM_EVIDENCE, [(number,) for number, _ in self.confirmed]
        yield sql.NEW_ARTIFACT, self.artifacts
        yield sql.NEW_SCREENSHOT, self.screenshots
        yield sql.NEW_MEASURE, self.measures
        yield sql.NEW_JOB, self.jobs
        yield sql.MOVE_WATCH, self.moved
        yield from self.schedule
        yield from self.hunt
        yield sql.SIGNAL, self.signals
        yield sql.RAISE_WATCH, self.raised
        yield sql.COME_NEARER, self.nearer
        yield sql.NEW_CHANGE, self.changes
        yield sql.NUMBER_CHANGE, [row[:1] for row in self.changes]
        yield sql.MOVE_CHANGE, self.moves
        yield sql.NEW_LEDGER, self.ledger
        yield sql.REFUSE, self.refusals
        yield sql.PARK, self.parked
        yield sql.UNPARK, self.unparked
        yield sql.END_LEASE, self.ended
        yield sql.SAVE_LANE, self.lanes
        yield sql.SAVE_SOURCE_STATE, self.sources
        yield sql.SAVE_ROBOTS, self.robots
        yield sql.SAVE_SEGMENT, self.segments
        yield sql.NEW_MESSAGE, self.messages

    def touched(self) -> Touched:
        """The rows that are sealed, by table."""
        return {
            "visits": [row[0] for row in self.visits],
            "evidence": [row[0] for row in (*self.evidence, *self.confirmed)],
            "changes": [*(row[0] for row in self.changes), *(row[-1] for row in self.moves)],
            "ledger": [row[0] for row in self.ledger],
            "segments": [row[0] for row in self.segments],
            "sources": [row[0] for row in self.homes],
        }


def rows_of(group: Group) -> GroupRows:
    rows = GroupRows()
    for placed in group.placed:
        _add_settlement(rows, placed)
    rows.lanes = [lane_row(key, state) for key, state in group.lanes]
    rows.sources = [_source_row(state) for state in group.sources]
    rows.robots = [robots_row(rules) for rules in group.robots]
    rows.ledger += [note_row(note, group.run) for note in group.notes]
    rows.ended += [(job.watch.id,) for job in group.released]
    rows.segments = [segment_row(segment) for segment in group.segments]
    if group.schedule is not None:
        rows.schedule = schedule_statements(group.schedule)
    if group.hunt is not None:
        rows.hunt = hunt_statements(group.hunt)
    rows.messages = [message_row(message) for message in group.messages]
    return rows


def change_seal(row: Row) -> bytes:
    """sha256 over a change row: which visits it links and what differs.  Not its state, nor when it was decided."""
    # The standard library's JSON: a seal must come out the same with every version of every library.
    text = json.dumps([_hex(value) for value in _SEALED(row)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _add_settlement(rows: GroupRows, placed: Placed) -> None:
    settled = placed.settlement
    visit, watch = settled.visit, settled.watch
    rows.visits.append(_visit_row(placed))
    if placed.payload is not None:
        _add_evidence(rows, placed, placed.payload)
    made = settled.artifact
    if made is not None and placed.evidence is not None:
        said = (made.kind, made.reader, made.chars, made.confidence, made.path, to_ms(visit.at))
        rows.artifacts.append((placed.evidence, *said))
    shot = placed.screenshot
    if shot is not None:
        size = (shot.width, shot.height, shot.page_height, len(shot.png))
        rows.screenshots.append((visit.id, placed.evidence, *size))
    rows.moved.append(moved_row(_as_placed(placed)))
    rows.homes += [source_row(source, now=visit.at) for source in settled.sources]
    rows.found += [watch_row(found) for found in settled.found]
    rows.signals += [
        (to_ms(s.modified_at), *[to_ms(s.due_at)] * 3, s.watch, to_ms(s.modified_at)) for s in settled.signals
    ]
    rows.raised += [(*[to_ms(one.due_at)] * 3, one.watch) for one in settled.raised]
    rows.ledger += [note_row(one.note, visit.run) for one in settled.raised]
    rows.nearer += [(depth, watch, depth) for watch, depth in settled.nearer]
    if settled.change is not None:
        rows.changes.append(_change_row(settled.change, placed.evidence))
    rows.moves += [_move_row(move) for move in settled.moves]
    rows.confirmed += _confirmed(placed)
    payload = dump_json([_decision(d) for d in settled.decisions])
    rows.ledger.append((visit.id, to_ms(visit.at), watch.id, visit.id, visit.run, "visit", payload))
    rows.ledger += [note_row(note, visit.run) for note in settled.notes]
    rows.refusals += [_refusal_row(refused) for refused in settled.refused]
    if settled.parked is not None:
        p = settled.parked
        rows.parked.append((p.watch, p.url, p.outcome.value, p.detail, p.attempts, to_ms(p.at)))
    elif not watch.attempt and settled.job.watch.last_outcome not in _NEVER_PARKED:
        rows.unparked.append((watch.id,))
    rows.ended.append((watch.id,))


def _as_placed(placed: Placed) -> Watch:
    """The watch names the evidence under which the archive has what this look showed."""
    watch, evidence = placed.settlement.watch, placed.evidence
    seen = watch.seen
    if (
        seen is None
        or evidence is None
        or seen.evidence == evidence
        or seen.visit != placed.settlement.visit.id
    ):
        return watch
    return replace(watch, seen=replace(seen, evidence=evidence))


def _add_evidence(rows: GroupRows, placed: Placed, payload: Payload) -> None:
    """Stages hear of new content.  What waits for another look is measured, and heard of when that confirms it."""
    settled, visit = placed.settlement, placed.settlement.visit
    rows.evidence.append(_evidence_row(placed))
    if payload.standing in (Standing.CONTENT, Standing.WAITING):
        rows.measures.append(measure_row(payload.evidence, settled.traits, settled.vector))
    if payload.standing is Standing.CONTENT:
        rows.jobs.append(job_row(scout_job(payload.evidence, visit.run, visit.id), at=visit.at))


def _confirmed(placed: Placed) -> list[Row]:
    """Evidence that this look confirms, each with the job that follows from it."""
    settled, visit = placed.settlement, placed.settlement.visit
    changes = (move.change for move in settled.moves if move.state is ChangeState.REPORTED)
    found = [one.after_evidence for one in changes if one is not None and one.after_evidence is not None]
    if placed.payload is None and placed.evidence is not None and settled.standing is Standing.CONTENT:
        found.append(placed.evidence)  # a state that came back
    return [(number, job_row(scout_job(number, visit.run, visit.id), at=visit.at)) for number in found]


_visit_row = writer(
    VISIT_COLUMNS,
    id="settlement.visit.id",
    watch_id="settlement.visit.watch",
    run_id="settlement.visit.run",
    at=("settlement.visit.at", to_ms),
    took_ms=("settlement.visit.took", lambda took: int(took.total_seconds() * 1000)),
    outcome=("settlement.visit.outcome", word_of),
    url="settlement.visit.url",
    status="settlement.visit.status",
    changed="settlement.visit.changed",
    digest="settlement.visit.digest",
    evidence_id="evidence",
    text_chars="settlement.visit.text_chars",
    wire_bytes="settlement.visit.wire_bytes",
    detail="settlement.visit.detail",
    segment="written.segment",
    seq="written.seq",
    kind=("kind", word_of),
    offset="written.offset",
    length="written.length",
    record_digest="written.record_digest",
    chain="written.chain",
    audit_s=("settlement.visit.audit", opt_seconds),
)
_evidence_row = writer(
    EVIDENCE_COLUMNS,
    id="payload.evidence",
    watch_id="settlement.watch.id",
    digest="settlement.visit.digest",
    url="settlement.visit.url",
    at=("settlement.visit.at", to_ms),
    content_class=("settlement.content_class", word_of),
    content_type="settlement.content_type",
    size="settlement.body_bytes",
    segment="payload.segment",
    offset="payload.offset",
    length="payload.length",
    stored_by="payload.stored_by",
    standing=("payload.standing", word_of),
    same_as="payload.same_as",
    source_id="settlement.watch.source",
)


def _change_row(change: Change, evidence: EvidenceId | None) -> Row:
    compared = change.comparison
    row: Row = (
        change.id,
        change.watch,
        change.kind.value,
        change.state.value,
        change.before_visit,
        change.after_visit,
        change.before_evidence,
        evidence,
        to_ms(change.observed_at),
        None if change.state == "observed" else to_ms(change.observed_at),
        compared.layer.value,
        compared.similarity,
        compared.summary,
        _diff(compared),
        dump_json([[r.code, r.points, r.note] for r in compared.reasons]),
    )
    return (*row, change_seal(row))


def _diff(comparison: Comparison) -> str:
    return dump_json(
        [
            [op.op, op.before, op.after, op.words, *([op.headings] if op.headings else [])]
            for op in comparison.diff
        ]
    )


def _move_row(move: ChangeMove) -> Row:
    refined: Row = (None,) * 5
    if move.change is not None:
        row = _change_row(move.change, move.change.after_evidence)
        refined = _REFINED(row)
    return (
        move.state.value,
        to_ms(move.at),
        dump_json([[r.code, r.points, r.note] for r in move.reasons]),
        *refined,
        move.id,
    )


def _refusal_row(refused: Refused) -> Row:
    at = to_ms(refused.at)
    return (refused.id, refused.url, refused.source, refused.reason.code, refused.reason.note, at, at, 1)


def _source_row(state: SourceState) -> Row:
    return (
        state.failures,
        state.last_error,
        opt_ms(state.last_success_at),
        opt_ms(state.closed_until),
        state.tally,
        state.source,
    )


def note_row(note: LedgerNote, run: RunId) -> Row:
    payload = dump_json([_decision(note.decision)])
    return (note.id, to_ms(note.at), note.watch, None, run, note.kind, payload)


def _decision(decision: Decision) -> dict[str, object]:
    return {
        "action": decision.action,
        "reasons": [[r.code, r.points, r.note] for r in decision.reasons],
        "inputs": decision.inputs,
        "output": decision.output,
    }


def _hex(value: object) -> object:
    return value.hex() if isinstance(value, bytes) else value
