"""What is measured of a text before anyone reads it, and what is made of that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vedette.contracts.copies import quick
from vedette.contracts.documents import Artifact
from vedette.contracts.source import ListerKind
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, Reason, Risk, WatchId


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """Figures of one text, taken at the look that brought it.  They say nothing of what it says."""

    chars: int = 0  # of the compared text
    words: int = 0
    visible_chars: int = 0  # of everything a reader sees; more than `chars` where navigation was left out
    link_chars: int = 0  # of the compared text, inside links
    sentences: int = 0  # ends of sentences in the sample
    sample_words: int = 0  # what the figures below were taken of
    function_words: int = 0  # small words of the language that has more of them
    distinct_words: int = 0
    figures: int = 0  # words that begin with a digit and are longer than a page number
    language: str = ""  # hr | en by its small words, else as the page says
    asks_password: bool = False
    signs: tuple[str, ...] = ()  # codes of `core/judging/traits.py`: under construction, no results, ...
    text_key: int = 0  # xxh3 of the compared text, signed; 0: no text


class VerdictWord(StrEnum):
    SKIP = "skip"  # worth nothing more; the evidence stays
    PERSIST = "persist"  # goes on
    ESCALATE = "escalate"  # goes on, and is worth the analyst


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the scout says of a piece of evidence.  Points of the reasons add up to the score, 0 to 100."""

    evidence: EvidenceId
    word: VerdictWord
    score: float
    reasons: tuple[Reason, ...]
    rule: str  # version of the rule that decided
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """Evidence of another target that says nearly the same (spec 001/9.2).  It never keeps evidence out."""

    evidence: EvidenceId
    other: EvidenceId
    share: float  # cosine of their vectors, up to 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFacts:
    """A piece of evidence as the stages after the look know it."""

    evidence: EvidenceId
    watch: WatchId
    url: str
    risk: Risk
    outcome: Outcome  # of the look that brought it
    content_class: ContentClass
    content_type: str
    digest: bytes
    text_chars: int | None
    traits: Traits | None  # None: no text was made of it
    lister: ListerKind | None = None  # how its target is read as a list of others
    vector: bytes | None = None  # of its text, `core/judging/embedding.py`
    twin: EvidenceId | None = None  # the oldest other evidence with the same text
    artifacts: tuple[Artifact, ...] = ()
