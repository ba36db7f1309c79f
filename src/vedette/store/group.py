"""A group of settlements as rows, in the order in which they are written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from vedette.contracts.change import Change, ChangeState, Comparison
from vedette.contracts.evidence import Standing
from vedette.contracts.fetch import RobotsRules
from vedette.contracts.watch import (
    ChangeMove,
    Decision,
    Group,
    LedgerNote,
    Payload,
    Placed,
    Refused,
    Settlement,
    SourceState,
)
from vedette.contracts.words import EvidenceId, Outcome, RunId
from vedette.core.judging.verdict import scout_job
from vedette.store import statements as sql
from vedette.store.hunt_rows import hunt_statements
from vedette.store.measures import measure_row
from vedette.store.outbox import message_row
from vedette.store.rows import (
    WATCH_COLUMNS,
    dump_json,
    job_row,
    lane_row,
    opt_ms,
    opt_seconds,
    segment_row,
    source_row,
    to_ms,
    watch_row,
)
from vedette.store.schedule_rows import schedule_statements
from vedette.store.seal_rows import Touched

Row = tuple[Any, ...]
_MOVING = [WATCH_COLUMNS.index(name) for name in sql.MOVING_WATCH_COLUMNS]
_NEVER_PARKED = (Outcome.OK, Outcome.NOT_MODIFIED, None)  # a watch whose last look ended so is not parked
_SEEN_EVIDENCE = WATCH_COLUMNS.index("seen_evidence")


@dataclass(slots=True)
class GroupRows:
    """Rows by statement."""

    visits: list[Row] = field(default_factory=list)
    evidence: list[Row] = field(default_factory=list)
    confirmed: list[Row] = field(default_factory=list)  # evidence that waited for this look, its job
    artifacts: list[Row] = field(default_factory=list)
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
        yield sql.NEW_MEASURE, self.measures
        yield sql.NEW_JOB, self.jobs
        yield sql.MOVE_WATCH, self.moved
        yield from self.schedule
        yield from self.hunt
        yield sql.SIGNAL, self.signals
        yield sql.RAISE_WATCH, self.raised
        yield sql.COME_NEARER, self.nearer
        yield sql.NEW_CHANGE, self.changes
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
    rows.robots = [_robots_row(rules) for rules in group.robots]
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
    fixed = (*row[:3], *row[4:9], *row[10:14])
    # The standard library's JSON: a seal must come out the same with every version of every library.
    text = json.dumps([_hex(value) for value in fixed], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).digest()


def _add_settlement(rows: GroupRows, placed: Placed) -> None:
    settled = placed.settlement
    visit, watch = settled.visit, settled.watch
    rows.visits.append(_visit_row(placed))
    if placed.payload is not None:
        _add_evidence(rows, settled, placed.payload)
    made = settled.artifact
    if made is not None and placed.evidence is not None:
        said = (made.kind, made.reader, made.chars, made.confidence, made.path, to_ms(visit.at))
        rows.artifacts.append((placed.evidence, *said))
    row = list(watch_row(watch))
    if watch.seen is not None and watch.seen.visit == visit.id:
        row[_SEEN_EVIDENCE] = placed.evidence
    rows.moved.append((*[row[i] for i in _MOVING], watch.id))
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


def _add_evidence(rows: GroupRows, settled: Settlement, payload: Payload) -> None:
    """Stages hear of new content.  What waits for another look is measured, and heard of when that confirms it."""
    visit = settled.visit
    rows.evidence.append(_evidence_row(settled, payload))
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


def _visit_row(placed: Placed) -> Row:
    visit, written = placed.settlement.visit, placed.written
    return (
        visit.id,
        visit.watch,
        visit.run,
        to_ms(visit.at),
        int(visit.took.total_seconds() * 1000),
        visit.outcome.value,
        visit.url,
        visit.status,
        visit.changed,
        visit.digest,
        placed.evidence,
        visit.text_chars,
        visit.wire_bytes,
        visit.detail,
        written.segment,
        written.seq,
        placed.kind.value,
        written.offset,
        written.length,
        written.record_digest,
        written.chain,
        opt_seconds(visit.audit),
    )


def _evidence_row(settled: Settlement, payload: Payload) -> Row:
    return (
        payload.evidence,
        settled.watch.id,
        settled.visit.digest,
        settled.visit.url,
        to_ms(settled.visit.at),
        settled.content_class.value,
        settled.content_type,
        settled.body_bytes,
        payload.segment,
        payload.offset,
        payload.length,
        payload.stored_by,
        payload.standing.value,
        payload.same_as,
        settled.watch.source,
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
        refined = (*row[10:14], row[15])
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


def _robots_row(rules: RobotsRules) -> Row:
    return (
        rules.origin,
        to_ms(rules.fetched_at),
        to_ms(rules.expires_at),
        rules.status,
        rules.outcome.value,
        rules.text,
        rules.verdict,
        rules.crawl_delay,
        dump_json(rules.sitemaps),
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
