"""What `verify` has to say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

MAX_PROBLEMS = 1000  # listed; all are counted


class ProblemKind(StrEnum):
    ALTERED = "altered"  # the bytes are not the ones that were written
    UNREADABLE = "unreadable"  # the bytes are, but they are no whole record
    MISSING = "missing"  # a file, or part of it, is gone and did not expire
    STRANGE = "strange"  # bytes that no row accounts for
    ROW = "row"  # a row is not what was chained or sealed, or is gone, added or moved
    SEGMENT = "segment"  # the row of a segment does not fit its visits or its neighbours
    BLOB = "blob"  # a blob points to something else
    HEADS = "heads"  # HEADS was changed, or remembers something else
    SEAL = "seal"  # the chain of sealed rows was changed


@dataclass(frozen=True, slots=True)
class EvidenceProblem:
    kind: ProblemKind
    segment: str
    seq: int | None  # None: the segment as a whole
    words: str
    row: str = ""  # table and key, of a row that is no visit of a segment


@dataclass(slots=True)
class Report:
    """What was looked at and what was wrong."""

    segments: int = 0
    expired: int = 0
    visits: int = 0
    records: int = 0
    bytes_read: int = 0
    bytes_decoded: int = 0
    bytes_uncommitted: int = 0  # after the end of an open segment: normal while running and after a crash
    sealed_late: int = 0  # rows that were sealed at an upgrade, and not when they were written
    problems: list[EvidenceProblem] = field(default_factory=list)
    found: Counter[ProblemKind] = field(default_factory=Counter)

    @property
    def is_whole(self) -> bool:
        return not self.found

    def add(self, kind: ProblemKind, segment: str, seq: int | None, words: str, row: str = "") -> None:
        self.found[kind] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(EvidenceProblem(kind, segment, seq, words, row))
