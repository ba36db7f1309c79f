"""HEADS as `verify` needs it: what was once written down about each segment."""

from __future__ import annotations

import struct
from collections import defaultdict
from pathlib import Path

from vedette.contracts.evidence import SEALS, Segment
from vedette.core.evidence.segments import SegmentName
from vedette.evidence.heads import HeadEvent, HeadLine, read_heads

_MARK = struct.Struct(">Q32s")  # packed: a year of HEADS is half a million lines


class Anchors:
    """All lines of HEADS, by segment."""

    def __init__(self, directory: Path) -> None:
        self.problems: list[str] = []
        self.latest: dict[str, HeadLine] = {}
        self._marks: defaultdict[str, bytearray] = defaultdict(bytearray)
        self._newest: dict[str, SegmentName] = {}  # by class
        self._tombstones: dict[str, Segment] = {}
        for line in read_heads(directory):
            if isinstance(line, HeadLine):
                self._add(line)
            else:
                hint = "; a crash can leave that, the next start repairs it" if line.is_torn else ""
                self.problems.append(f"line {line.number} of HEADS: {line.words}{hint}")
        self.is_missing = not self.latest
        for name in ("-", SEALS):
            self.latest.pop(name, None)

    def marks(self, name: str) -> dict[int, set[bytes]]:
        """The heads that were written down for a segment, by the number of visits they cover."""
        marks: dict[int, set[bytes]] = {}
        for count, head in _MARK.iter_unpack(self._marks.get(name, b"")):
            marks.setdefault(count, set()).add(head)
        return marks

    def tombstone(self, name: str) -> Segment | None:
        """The last state of a segment that retention dropped."""
        return self._tombstones.get(name)

    def skipped_end(self, segment: Segment) -> bool:
        """Did HEADS go on to later segments of the class without the last state of this one?

        The very last states may be missing: a stop between commit and HEADS leaves that until the next start.
        """
        name, line = SegmentName.parse(segment.name), self.latest.get(segment.name)
        newest = self._newest.get(segment.retention)
        is_passed = name is not None and newest is not None and name < newest
        return is_passed and (line is None or line.segment.count != segment.count)

    def _add(self, line: HeadLine) -> None:
        segment = line.segment
        self.latest[segment.name] = line
        self._marks[segment.name] += _MARK.pack(segment.count, segment.head)
        name = SegmentName.parse(segment.name)
        if name is not None and name >= self._newest.get(name.retention, name):
            self._newest[name.retention] = name
        if line.event is HeadEvent.EXPIRED:
            self._tombstones[segment.name] = segment
