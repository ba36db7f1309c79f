"""What stage workers read and write beside their jobs: exhibits, verdicts, artifacts.

A verdict and an artifact have the evidence as their key, so a job that is done twice leaves the same rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from typing import Any

from vedette.contracts.copies import replace
from vedette.contracts.documents import Artifact
from vedette.contracts.jobs import Handled
from vedette.contracts.sql_connection import SqlConnection
from vedette.contracts.verdict import EvidenceFacts, Likeness, Verdict, VerdictWord
from vedette.contracts.words import DOCUMENTS, EvidenceId, Reason
from vedette.store import statements as sql
from vedette.store.connection import StorePlace, connect, transaction
from vedette.store.group import note_row
from vedette.store.row_columns import VERDICT_COLUMNS, reader
from vedette.store.rows import CLASSES, LISTERS, OUTCOMES, RISKS, from_ms, to_ms
from vedette.store.seal_rows import seal
from vedette.store.text_columns import dump_json, read_traits

VectorRow = tuple[int, int, str, bytes]
# The twin is another target that showed the same text before; the same target showing a text again is a state that
# came back.
_FACTS = {
    "evidence": "e.id",
    "watch": "e.watch_id",
    "url": "e.url",
    "risk": "COALESCE(w.risk, 1)",
    "outcome": "v.outcome",
    "content_class": "e.content_class",
    "content_type": "e.content_type",
    "digest": "e.digest",
    "text_chars": "v.text_chars",
    "traits": "s.traits",
    "lister": "w.lister",
    "vector": "s.vector",
    "twin": (
        "CASE WHEN s.text_key <> 0 THEN (SELECT t.evidence_id FROM verdicts t JOIN evidence o ON o.id = t.evidence_id "
        "WHERE t.text_key = s.text_key AND t.evidence_id < e.id AND o.watch_id <> e.watch_id "
        "ORDER BY t.evidence_id LIMIT 1) END"
    ),
}
_EXHIBIT = (
    f"SELECT {', '.join(_FACTS.values())} FROM evidence e JOIN visits v ON v.id = e.id "
    "LEFT JOIN watches w ON w.id = e.watch_id LEFT JOIN verdicts s ON s.evidence_id = e.id WHERE e.id = ?"
)
_AS_THEY_ARE = ("evidence", "watch", "url", "content_type", "digest", "text_chars", "vector", "twin")
_read_facts = reader(
    EvidenceFacts,
    list(_FACTS),
    **{name: name for name in _AS_THEY_ARE},
    risk=("risk", RISKS),
    outcome=("outcome", OUTCOMES),
    content_class=("content_class", CLASSES),
    traits=("traits", read_traits),
    lister=("lister", LISTERS),
)
_ARTIFACTS = "SELECT kind, reader, chars, confidence, path FROM artifacts WHERE evidence_id = ? ORDER BY kind"
_VERDICT = f"SELECT {', '.join(VERDICT_COLUMNS)} FROM verdicts WHERE evidence_id = ? AND word IS NOT NULL"
_SAVE = (
    "INSERT INTO verdicts (evidence_id, word, score, reasons, rule, at) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (evidence_id) DO UPDATE SET word = excluded.word, score = excluded.score, "
    "reasons = excluded.reasons, rule = excluded.rule, at = excluded.at"
)
# What goes on, newest first.
_VECTORS = (
    "SELECT s.evidence_id, e.watch_id, e.content_class, s.vector FROM verdicts s "
    "JOIN evidence e ON e.id = s.evidence_id WHERE s.evidence_id > ? AND s.vector IS NOT NULL AND s.word <> 'skip' "
    "ORDER BY s.evidence_id DESC LIMIT ?"
)
_ALIKE = sql.upsert("likenesses", ["evidence_id", "other_id", "share", "at"], "evidence_id")
_VECTOR = (
    "INSERT INTO verdicts (evidence_id, vector) VALUES (?, ?) "
    "ON CONFLICT (evidence_id) DO UPDATE SET vector = excluded.vector"
)


class EvidenceFactsReader:
    """Reads evidence for stage workers.  A connection of its own: what is committed is seen."""

    def __init__(self, path: StorePlace) -> None:
        self._db = connect(path, read_only=True)

    def facts(self, evidence: EvidenceId) -> EvidenceFacts | None:
        """None: there is no such evidence, or retention has dropped it."""
        row = self._db.execute(_EXHIBIT, (evidence,)).fetchone()
        if row is None:
            return None
        facts = _read_facts(row)
        if facts.content_class not in DOCUMENTS:
            return facts
        made = self._db.execute(_ARTIFACTS, (evidence,))
        return replace(facts, artifacts=tuple(_artifact(one) for one in made))

    def vectors(self, after: int, most: int) -> list[VectorRow]:
        """Evidence, watch, content class and vector of what goes on, newest first."""
        return self._db.execute(_VECTORS, (after, most)).fetchall()

    def close(self) -> None:
        self._db.close()


class StageFindings:
    """Writes what stage jobs give beside their results.  A connection of its own, kept open."""

    def __init__(self, path: StorePlace) -> None:
        self._db = connect(path)
        self._path = path

    def save(self, handled: Sequence[Handled], *, at_ms: int) -> None:
        """All of it in one transaction."""
        if any(_leaves_rows(one) for one in handled):
            with transaction(self._db, self._path) as db:
                _write(db, handled, at_ms)

    def close(self) -> None:
        self._db.close()


def verdict_of(path: StorePlace, evidence: EvidenceId) -> Verdict | None:
    """What the scout said of it; None: nothing yet."""
    with closing(connect(path, read_only=True)) as db:
        return read_verdict(db, evidence)


def likeness_of(path: StorePlace, evidence: EvidenceId) -> Likeness | None:
    """Evidence of another target that says nearly the same; None: none was found when it was judged."""
    with closing(connect(path, read_only=True)) as db:
        row = db.execute(
            "SELECT other_id, share FROM likenesses WHERE evidence_id = ?", (evidence,)
        ).fetchone()
    return None if row is None else Likeness(evidence=evidence, other=EvidenceId(row[0]), share=row[1])


def read_verdict(db: SqlConnection, evidence: EvidenceId) -> Verdict | None:
    row = db.execute(_VERDICT, (evidence,)).fetchone()
    if row is None:
        return None
    number, _, _, _, word, score, reasons, rule, at = row
    return Verdict(
        evidence=EvidenceId(number),
        word=VerdictWord(word),
        score=score,
        reasons=tuple(Reason(*fields) for fields in json.loads(reasons)),
        rule=rule,
        at=from_ms(at),
    )


def _leaves_rows(one: Handled) -> bool:
    return any(part is not None for part in (one.verdict, one.artifact, one.vector, one.likeness))


def _write(db: SqlConnection, handled: Sequence[Handled], at_ms: int) -> None:
    notes = [one.note for one in handled if one.note is not None]
    verdicts = [one.verdict for one in handled if one.verdict is not None]
    artifacts = [one.artifact for one in handled if one.artifact is not None]
    likenesses = [one.likeness for one in handled if one.likeness is not None]
    db.executemany(sql.NEW_LEDGER, [note_row(note, run) for run, note in notes])
    seal(db, {"ledger": [note.id for _, note in notes]})
    db.executemany(_SAVE, [_verdict_row(one) for one in verdicts])
    db.executemany(_VECTOR, [one.vector for one in handled if one.vector is not None])
    db.executemany(sql.NEW_ARTIFACT, _artifact_rows(artifacts, at_ms))
    db.executemany(_ALIKE, [(one.evidence, one.other, one.share, at_ms) for one in likenesses])


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
