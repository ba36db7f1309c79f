"""What a stage job is told to do, and what it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.contracts.documents import Artifact
from vedette.contracts.jobs import Data, NewJob
from vedette.contracts.verdict import Likeness, Verdict
from vedette.contracts.watch import LedgerNote
from vedette.contracts.words import EvidenceId, RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class StageOrder:
    """What every stage job of spec 001/4.3 names."""

    evidence: EvidenceId
    run: RunId


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What a stage job gives: its result in the documents' words, and what is to be written with it."""

    result: Data
    then: tuple[NewJob, ...] = ()
    verdict: Verdict | None = None
    note: tuple[RunId, LedgerNote] | None = None  # the decision behind the verdict
    artifact: tuple[EvidenceId, Artifact] | None = None
    vector: tuple[EvidenceId, bytes] | None = None
    likeness: Likeness | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Why a stage job could not be done this time: weather, or a payload that nobody can read."""

    error: str
    stack: str = ""  # of a bug of ours
