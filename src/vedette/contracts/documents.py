"""The text of a PDF or office file, and what of it is kept beside its evidence."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.change import Block
from vedette.contracts.words import ContentClass


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a document says, in reading order: one block per heading, paragraph or table row."""

    content_class: ContentClass
    blocks: tuple[Block, ...] = ()  # "page[2]/p[3]", "p[7]", "table/tr[2]", "sheet[2]/tr[5]"
    pages: int = 0
    scans: tuple[int, ...] = ()  # pages from 0 whose text only OCR can give
    confidence: tuple[tuple[int, float], ...] = ()  # page that went through OCR, mean of its words, 0 to 100
    title: str = ""
    author: str = ""
    created_at: datetime | None = None
    modified_at: datetime | None = None
    language: str = ""
    problem: str = ""  # non-empty: no text could be made of it, and why
    missing: str = ""  # non-empty: the tool that is needed and not installed, and how to get it

    @property
    def is_whole(self) -> bool:
        """True where this is all that the document says."""
        return not (self.problem or self.missing or self.scans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """Text that was made from a piece of evidence.  It can be made again, so it can be dropped."""

    kind: str  # text | ocr | vector
    reader: str  # digest of the versions of what made it
    chars: int
    confidence: float | None  # of the words that OCR read, 0 to 100
    path: str  # under the data folder
