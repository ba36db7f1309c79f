"""What stage workers read and write beside their jobs: exhibits, verdicts, artifacts.

A verdict and an artifact have the evidence as their key, so a job that is done twice leaves the same rows.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from vedette.contracts.documents import Artifact
from vedette.contracts.judging import Exhibit, Verdict, VerdictWord
from vedette.contracts.source import ListerKind
from vedette.contracts.stage_work import Handled
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Reason, Risk, WatchId
from vedette.store import statements as sql
from vedette.store.group import note_row
from vedette.store.measures import read_traits
from vedette.store.operator import operating
from vedette.store.rows import dump_json, from_ms, to_ms
from vedette.store.sqlite import connect

_EXHIBIT = (
    "SELECT e.id, e.url, COALESCE(w.risk, 1), v.outcome, e.content_class, e.content_type, e.digest, v.text_chars, "
    "s.traits, s.text_key, e.watch_id, w.lister FROM evidence e JOIN visits v ON v.id = e.id "
    "LEFT JOIN watches w ON w.id = e.watch_id LEFT JOIN verdicts s ON s.evidence_id = e.id WHERE e.id = ?"
)
# Another target that showed the same text before; the same target showing a text again is a state that came back.
_TWIN = (
    "SELECT s.evidence_id FROM verdicts s JOIN evidence e ON e.id = s.evidence_id "
    "WHERE s.text_key = ? AND s.evidence_id < ? AND e.watch_id <> ? ORDER BY s.evidence_id LIMIT 1"
)
_ARTIFACTS = "SELECT kind, reader, chars, confidence, path FROM artifacts WHERE evidence_id = ? ORDER BY kind"
_VERDICT = f"SELECT {', '.join(sql.VERDICT_COLUMNS)} FROM verdicts WHERE evidence_id = ? AND word IS NOT NULL"
_SAVE = (
    "INSERT INTO verdicts (evidence_id, word, score, reasons, rule, at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (evidence_id) DO UPDATE SET word = excluded.word, score = excluded.score, "
    "reasons = excluded.reasons, rule = excluded.rule, at = excluded.at"
)


class Exhibits:
    """Reads evidence for stage workers.  A connection of its own: what is committed is seen."""

    def __init__(self, path: Path) -> None:
        self._db = connect(path, read_only=True)

    def exhibit(self, evidence: EvidenceId) -> Exhibit | None:
        """None: there is no such evidence, or retention has dropped it."""
        row = self._db.execute(_EXHIBIT, (evidence,)).fetchone()
        if row is None:
            return None
        key, watch = row[9], row[10]
        twin = self._db.execute(_TWIN, (key, evidence, watch)).fetchone() if key else None
        return Exhibit(
            evidence=EvidenceId(row[0]),
            watch=WatchId(watch),
            url=row[1],
            risk=Risk(row[2]),
            outcome=Outcome(row[3]),
            content_class=ContentClass(row[4]),
            content_type=row[5],
            digest=row[6],
            text_chars=row[7],
            traits=read_traits(row[8]),
            lister=ListerKind(row[11]) if row[11] else None,
            twin=None if twin is None else EvidenceId(twin[0]),
            artifacts=tuple(_artifact(made) for made in self._db.execute(_ARTIFACTS, (evidence,))),
        )

    def close(self) -> None:
        self._db.close()


def save_handled(path: Path, handled: Sequence[Handled], *, at_ms: int) -> None:
    """What these jobs give beside their results, in one transaction."""
    verdicts = [one.verdict for one in handled if one.verdict is not None]
    artifacts = [one.artifact for one in handled if one.artifact is not None]
    if not verdicts and not artifacts:
        return
    with operating(path) as db:
        notes = [one.note for one in handled if one.note is not None]
        db.executemany(sql.NEW_LEDGER, [note_row(note, run) for run, note in notes])
        db.executemany(_SAVE, [_verdict_row(one) for one in verdicts])
        db.executemany(sql.NEW_ARTIFACT, _artifact_rows(artifacts, at_ms))


def verdict_of(path: Path, evidence: EvidenceId) -> Verdict | None:
    """What the scout said of it; None: nothing yet."""
    with closing(connect(path, read_only=True)) as db:
        return read_verdict(db, evidence)


def read_verdict(db: sqlite3.Connection, evidence: EvidenceId) -> Verdict | None:
    row = db.execute(_VERDICT, (evidence,)).fetchone()
    if row is None:
        return None
    number, _, _, word, score, reasons, rule, at = row
    return Verdict(
        evidence=EvidenceId(number),
        word=VerdictWord(word),
        score=score,
        reasons=tuple(Reason(*fields) for fields in json.loads(reasons)),
        rule=rule,
        at=from_ms(at),
    )


def _verdict_row(verdict: Verdict) -> tuple[Any, ...]:
    reasons = dump_json([[r.code, r.points, r.note] for r in verdict.reasons])
    return (verdict.evidence, verdict.word.value, verdict.score, reasons, verdict.rule, to_ms(verdict.at))


def _artifact_rows(made: Iterable[tuple[EvidenceId, Artifact]], at_ms: int) -> list[tuple[Any, ...]]:
    return [
        (evidence, one.kind, one.reader, one.chars, one.confidence, one.path, at_ms) for evidence, one in made
    ]


def _artifact(row: Sequence[Any]) -> Artifact:
    kind, reader, chars, confidence, path = row
    return Artifact(kind=kind, reader=reader, chars=chars, confidence=confidence, path=path)
