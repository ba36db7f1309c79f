"""What is measured of a page that a hunt looked at, what is odd about it, and what is done with it (spec 004)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from vedette.contracts.copies import quick
from vedette.contracts.words import SourceId, WatchId


class Family(StrEnum):
    """Kinds of signals that do not follow from each other.  One of them alone never makes a finding."""

    MARKUP = "markup"  # how the page is made
    AGE = "age"  # how long nobody touched it, and the customs of another time
    FORM = "form"  # how the text stands on the page
    WORDS = "words"  # its words, against those of others
    PHRASES = "phrases"  # how it puts usual words together
    PLACE = "place"  # how far it stands apart from its host and the crawl
    LINKS = "links"  # who links to it, and whom it links to


class Action(StrEnum):
    """What triage does with a page."""

    SKIP = "skip"
    PERSIST = "persist"
    LLM = "llm"


@quick
@dataclass(frozen=True, slots=True, kw_only=True)
class PageFigures:
    """Everything that the features need of one page.  Deterministic in its bytes, its text and its address."""

    figures: tuple[float, ...]  # by `core/oddness/page_figures.py:NAMES`
    words: bytes  # a sample of its words, as hashes: uint32
    grams: bytes  # the same of its letters, four at a time
    phrases: bytes  # of words that follow each other: pairs, firsts, seconds
    shape: bytes  # and of its markup: tags that follow each other, names of classes
    out: bytes  # places that it links to, as hashes: uint64
    vector: bytes  # `core/judging/embedding.py`
    simhash: int
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureValue:
    """One feature of one page."""

    name: str
    version: int
    family: Family
    value: float
    rarity: float  # 1: hardly any page of the crawl has so much of it; 0: most have
    evidence: float  # 0 to 1: how much this says that the page is odd


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """What a feature set was made from."""

    page: str  # sha256 of the decoded body, hexadecimal
    figures: str  # version of the figures
    features: str  # digest of the names and versions of all features
    embedding: str
    looks: int  # pages of the crawl that were known


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSet:
    """All features of a page, in a fixed order."""

    features: tuple[FeatureValue, ...]
    provenance: Provenance

    def family(self, family: Family) -> tuple[FeatureValue, ...]:
        return tuple(one for one in self.features if one.family is family)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What one feature adds to a score."""

    feature: str
    version: int
    family: Family
    points: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Forest:
    """An isolation forest that was grown on pages of a crawl (`core/oddness/isolation.py`)."""

    asks: tuple[str, ...]  # features whose values it asks for, in order
    roots: tuple[int, ...]  # of its trees, places in the table of nodes
    nodes: str  # that table, packed
    usual: float  # questions that a usual page needs
    shares: tuple[float, ...]  # scores of the pages that it was grown on, in steps of equal shares
    pages: int  # how many these were
    by: str  # library and version that grew it


@dataclass(frozen=True, slots=True, kw_only=True)
class OddWeights:
    """What features and families count, and from which score on something is done.  Part of the configuration."""

    version: str
    caps: Mapping[Family, float]  # points that a family can give at most; they add up to 100
    weights: Mapping[str, float]  # of a feature in its family, 0 to 1
    persist_at: float
    llm_at: float
    earned_at: float = 0.0  # points of the other families from which on links count whole
    lower: float = 0.0  # by so much the crawl may move `persist_at` down,
    higher: float = 0.0  # or up
    forest: Forest | None = None  # says one more feature of each page


@dataclass(frozen=True, slots=True, kw_only=True)
class Triage:
    """What the operator sets: from which score on a page is kept and asked about, and what does not count."""

    persist_at: float | None = None  # None: as the weights say
    llm_at: float | None = None
    without: tuple[str, ...] = ()  # families that are switched off
    has_forest: bool = False  # the isolation forest counts, where one was grown


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDecision:
    """The oddness of a page, 0 to 100, and what follows.  The points of the contributions add up to the score."""

    score: float
    reasons: tuple[Contribution, ...]
    thresholds_hit: tuple[str, ...]
    action: Action
    weights: str  # version of the weights
    twin: int = 0  # not 0: it says what this watch says, so it is no find
    level: float | None = None  # the score from which on it would be kept; None: as the weights say
    added: tuple[FeatureValue, ...] = ()  # features that the weights say themselves, by a forest

    @property
    def adds_up(self) -> bool:
        return abs(math.fsum(one.points for one in self.reasons) - self.score) <= 1e-9

    @property
    def found(self) -> float:
        """What the look found, from 0 to 1: the oddness after triage."""
        return 0.0 if self.action is Action.SKIP else min(1.0, max(0.0, self.score / 100.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class OddPage:
    """A page that a hunt looked at, with everything that its score was made from."""

    number: int  # the order in which looks were settled
    watch: WatchId
    url: str
    place: str  # its registrable domain
    source: SourceId
    at: datetime
    digest: bytes  # sha256 of the decoded body
    pull: float  # the oddness of the best page that linked to it before, 0 to 1
    page: PageFigures
    features: FeatureSet
    decision: ScoreDecision

    @property
    def all_features(self) -> tuple[FeatureValue, ...]:
        """With those that the weights added."""
        names = {one.name for one in self.decision.added}
        return (*(one for one in self.features.features if one.name not in names), *self.decision.added)


@dataclass(frozen=True, slots=True, kw_only=True)
class OddFacts:
    """What the background learns from a page, as the store keeps it."""

    number: int
    watch: WatchId
    place: str
    at: datetime
    digest: bytes
    pull: float
    page: PageFigures
    links: bytes = b""  # watches that it links to: int64, little-endian


@dataclass(frozen=True, slots=True, kw_only=True)
class OddFinding:
    """A page that triage kept."""

    watch: WatchId
    number: int
    url: str
    place: str
    source: SourceId
    score: float
    action: Action
    reasons: tuple[Contribution, ...]
    weights: str
    found_at: datetime
    mark: str = ""  # odd | plain: what the operator says
