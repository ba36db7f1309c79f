"""Features of oddness: each has a name, a version, a family and one pure function of a page and the crawl behind it.

Two things make evidence of a value: that there is enough of it (between `low` and `high`, in its own unit), and that
few pages of this crawl have as much.  What every page of a crawl has says nothing in it.
A feature with `unit` SPREAD is measured from the middle of the crawl, in robust standard deviations.
Addresses and names of hosts are features too, for weights that an operator fits; by default they count nothing.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from datetime import datetime
from enum import Enum, auto
from typing import NamedTuple

import numpy as np

from vedette.contracts.oddness import Family, FeatureSet, FeatureValue, PageFigures, Provenance
from vedette.core.judging.embedding import VERSION as EMBEDDING
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.background import Background, PhraseShares, PlaceMemory, cosine, place_shape
from vedette.core.oddness.page_figures import AT

LEAST_OF_PLACE = 3  # pages before a place has a look of its own
RARE = 1.7  # decimal places: of what one page in fifty has, all counts
USUAL_HERE = 0.25  # so much of what all pages of a place have is taken off
FEW_OF_PLACE = 6.0  # pages that weigh against its style
YOUNG = 24.0  # pages of which nothing can be rare yet: a crawl of so many makes half of the evidence
TOGETHER = 0.7  # power of their product: what is a little of both is not nothing
KNOWN = 4  # places that link to a place that is not small any more


class Unit(Enum):
    OWN = auto()
    SPREAD = auto()  # above the middle of the crawl
    EITHER = auto()  # above or below it


class OddSubject(NamedTuple):
    """What a feature may look at."""

    page: PageFigures
    background: Background
    place: int  # key of its registrable domain
    memory: PlaceMemory
    at: datetime
    phrases: PhraseShares
    pull: float  # the oddness of the best page that links to it, 0 to 1
    cosines: np.ndarray  # how near its text is to pages of the crawl
    peers: np.ndarray  # which of these are nearest

    def figure(self, name: str) -> float:
        return self.page.figures[AT[name]]


class Feature(NamedTuple):
    name: str
    version: int
    family: Family
    low: float
    high: float
    measure: Callable[[OddSubject], float]
    words: str  # for people: what it means when there is much of it
    unit: Unit = Unit.OWN


def _figure(name: str) -> Callable[[OddSubject], float]:
    return lambda one: one.figure(name)


def _log(name: str) -> Callable[[OddSubject], float]:
    return lambda one: math.log1p(one.figure(name))


def _hand_made(one: OddSubject) -> float:
    if one.figure("tags") < 3:
        return 0.0
    classes = one.figure("classes") / one.figure("tags")
    return 1.0 / (1.0 + 0.5 * one.figure("modern") + 6.0 * classes)


def _old_markup(one: OddSubject) -> float:
    return math.log1p(one.figure("old_tags") + 0.5 * one.figure("old_attributes"))


def _bare(one: OddSubject) -> float:
    if one.figure("tags") < 3:
        return 0.0
    return 1.0 / (1.0 + one.figure("navigation") + one.figure("scripts"))


def _abandoned(one: OddSubject) -> float:
    newest = one.figure("newest_year")
    return max(0.0, one.at.year - newest) if newest else 0.0


def _broken_lines(one: OddSubject) -> float:
    return one.figure("short_lines") / (2.0 + one.figure("words") / 8.0)


def _drawn(one: OddSubject) -> float:
    return one.figure("pre_chars") / (200.0 + one.figure("text_chars"))


def _apart_in_markup(one: OddSubject) -> float:
    if one.memory.looks < LEAST_OF_PLACE:
        return 0.0
    return 1.0 - cosine(one.memory.shape, place_shape(one.page))


def _apart_in_words(one: OddSubject) -> float:
    if one.memory.looks < LEAST_OF_PLACE:
        return 0.0
    return 1.0 - cosine(one.memory.centre, unpack_vector(one.page.vector))


def _apart_in_figures(one: OddSubject) -> float:
    if one.memory.looks < LEAST_OF_PLACE or one.memory.profile is None:
        return 0.0
    return float(np.abs(profile_of(one.page) - one.memory.profile / one.memory.looks).mean())


def _prose(one: OddSubject) -> float:
    """The share of the text that is no link: a list of links says nothing in its own words."""
    return 1.0 - one.figure("link_share")


def _small_places(one: OddSubject) -> float:
    out = np.frombuffer(one.page.out, np.uint64).tolist()
    return math.log1p(sum(one.background.links_in[other] < KNOWN for other in out))


def _to_findings(one: OddSubject) -> float:
    """What was found at the places that it links to; of many links each says little."""
    out = [place for place in np.frombuffer(one.page.out, np.uint64).tolist() if place != one.place]
    return math.fsum(one.background.found.get(place, 0.0) for place in out) / math.sqrt(1.0 + len(out))


def _reciprocal(one: OddSubject) -> float:
    out = np.frombuffer(one.page.out, np.uint64).tolist()
    return float(sum((other, one.place) in one.background.linked for other in out))


M, A, F, W, P, L = Family.MARKUP, Family.AGE, Family.FORM, Family.WORDS, Family.PLACE, Family.LINKS
S = Family.PHRASES
FEATURES: tuple[Feature, ...] = (
    Feature("hand_made", 1, M, 0.25, 0.8, _hand_made, "made by hand: none of what site builders put into a page"),
    Feature("old_markup", 1, M, 0.6, 2.5, _old_markup, "markup of the nineties"),
    Feature("capital_tags", 1, M, 0.2, 0.8, _figure("capital_tags"), "tags in capital letters"),
    Feature("bare", 1, M, 0.3, 1.0, _bare, "no navigation and no scripts"),
    Feature("hidden_notes", 1, M, 3.5, 6.0, _log("comment_chars"), "notes in the source that no reader sees"),
    Feature("customs", 1, A, 0.0, 3.0, _figure("customs"), "customs of an older web: guestbook, counter, ring"),
    Feature("abandoned", 1, A, 6.0, 20.0, _abandoned, "the newest year that it names is long ago"),
    Feature("symbols", 1, F, 1.5, 6.0, _figure("symbols"), "drawn or written with signs", Unit.SPREAD),
    Feature("digits", 1, F, 1.5, 6.0, _figure("digits"), "numbers instead of words", Unit.SPREAD),
    Feature("capitals", 1, F, 1.5, 6.0, _figure("capitals"), "written in capitals", Unit.SPREAD),
    Feature("single_letters", 1, F, 1.5, 6.0, _figure("single"), "letters that stand alone", Unit.SPREAD),
    Feature("broken_lines", 1, F, 0.15, 0.9, _broken_lines, "lines that the author broke"),
    Feature("drawn", 1, F, 0.15, 0.8, _drawn, "a page that is set in type, sign by sign"),
    Feature("runs", 1, F, 0.3, 2.0, _log("run"), "rows of one sign"),
    Feature("packed", 1, F, 1.5, 5.0, _figure("packed"), "repeats itself, or never does", Unit.EITHER),
    Feature("sentences", 1, F, 2.0, 6.0, _log("sentence"), "sentences of another length", Unit.EITHER),
    Feature("vocabulary", 1, F, 1.5, 5.0, _figure("distinct"), "many or few different words", Unit.EITHER),
    Feature("word_length", 1, F, 1.5, 5.0, _figure("word_length"), "long or short words", Unit.EITHER),
    Feature("rare_words", 1, W, 1.0, 3.5, lambda one: one.background.surprise("words", one.page.words),
            "words that the crawl hardly has", Unit.SPREAD),
    Feature("unseen_words", 1, W, 1.0, 3.5, lambda one: one.background.unseen("words", one.page.words),
            "words that only this page has", Unit.SPREAD),
    Feature("rare_letters", 1, W, 1.0, 3.5, lambda one: one.background.surprise("grams", one.page.grams),
            "letters in an order that the crawl hardly has", Unit.SPREAD),
    Feature("unlike_any", 1, W, 1.0, 3.5, lambda one: one.background.distance(one.cosines),
            "a text that is near no other", Unit.SPREAD),
    Feature("no_stock_phrases", 2, S, 0.7, 2.5, lambda one: one.phrases.own * _prose(one),
            "without the phrases that everybody has", Unit.SPREAD),
    Feature("strange_phrases", 2, S, 0.7, 2.5, lambda one: one.phrases.strange * _prose(one),
            "usual words, put together as nobody else does", Unit.SPREAD),
    Feature("unheard_turns", 2, S, 0.7, 3.0, lambda one: one.phrases.unheard * _prose(one),
            "small words in an order that is hardly heard", Unit.SPREAD),
    Feature("rare_markup", 1, P, 1.0, 3.5, lambda one: one.background.surprise("shape", one.page.shape),
            "built as no other page of the crawl is", Unit.SPREAD),
    Feature("apart_in_markup", 1, P, 0.25, 0.7, _apart_in_markup, "built unlike the pages beside it"),
    Feature("apart_in_words", 1, P, 1.0, 3.5, _apart_in_words, "says what its place does not speak of", Unit.SPREAD),
    Feature("apart_in_figures", 1, P, 1.0, 3.5, _apart_in_figures, "shaped unlike the pages beside it", Unit.SPREAD),
    Feature("from_findings", 2, L, 0.25, 0.65, lambda one: one.pull, "a find links to it"),
    Feature("to_findings", 1, L, 0.1, 0.5, _to_findings, "links to places where something was found"),
    Feature("small_places", 1, L, 0.5, 1.8, _small_places, "links to places that hardly anybody links to"),
    Feature("reciprocal", 1, L, 0.5, 2.0, _reciprocal, "places that it links to link back"),
    Feature("few_links", 1, L, 0.05, 0.4, lambda one: 1.0 / (1.0 + one.figure("links")), "hardly a way on"),
    Feature("deep_path", 1, L, 3.0, 8.0, _figure("depth"), "far below its host"),
    Feature("personal_path", 1, L, 0.0, 1.0, _figure("tilde"), "in somebody's own folder"),
)  # fmt: skip
ISOLATED = "isolated"  # said by an isolation forest, where one was grown
WORDS = {one.name: one.words for one in FEATURES} | {ISOLATED: "told from all other pages by few questions"}
VERSION = hashlib.sha256(" ".join(f"{one.name}/{one.version}" for one in FEATURES).encode()).hexdigest()[:12]
_OWN = np.array([one.unit is Unit.OWN for one in FEATURES])
_EITHER = np.array([one.unit is Unit.EITHER for one in FEATURES])
_LINKS = np.array([one.family is Family.LINKS for one in FEATURES])
_LOW = np.array([one.low for one in FEATURES])
_HIGH = np.array([one.high for one in FEATURES])
_PROFILE = (
    "tags", "classes", "breaks", "images", "scripts", "text_chars", "links", "links_out", "words", "old_tags",
    "short_lines", "pre_chars",
)  # fmt: skip
_SHARES = ("digits", "symbols", "capitals", "single", "distinct", "link_share")
PROFILE = len(_PROFILE) + len(_SHARES)


def profile_of(page: PageFigures) -> np.ndarray:
    """A page as a few numbers of one size, to be compared with those of its place."""
    figures = page.figures
    return np.array(
        [math.log1p(figures[AT[name]]) for name in _PROFILE] + [5.0 * figures[AT[name]] for name in _SHARES]
    )


def values_of(subject: OddSubject) -> np.ndarray:
    """What each feature measures, in order."""
    return np.array([feature.measure(subject) for feature in FEATURES])


class Evidence(NamedTuple):
    """What the values of a page say."""

    values: np.ndarray
    rarity: np.ndarray
    alone: np.ndarray  # of each value by itself
    told: np.ndarray  # less what is usual at its place


def evidence_of(subject: OddSubject, values: np.ndarray) -> Evidence:
    """A value has to stand out from the crawl and from the pages whose text is nearest, whichever is harder."""
    background = subject.background
    apart = _apart(values, *background.middle())
    among = _apart(values, *background.among_peers(subject.peers))
    told = np.where(_OWN, values, np.minimum(apart, among))
    enough = np.clip((told - _LOW) / (_HIGH - _LOW), 0.0, 1.0)
    rarity = np.clip(-np.log10(background.shares(values)) / RARE, 0.0, 1.0)
    rarity = np.where(_EITHER, 1.0, rarity)
    both = enough * rarity
    alone = np.where(_OWN, both, both**TOGETHER) * (background.looks / (background.looks + YOUNG))
    return Evidence(values, rarity, alone, alone * (1.0 - USUAL_HERE * _usual(subject.memory)))


def _apart(values: np.ndarray, centre: np.ndarray, spread: np.ndarray) -> np.ndarray:
    apart = (values - centre) / spread
    found: np.ndarray = np.where(_EITHER, np.abs(apart), apart)
    return found


def _usual(memory: PlaceMemory) -> np.ndarray:
    """How much of each feature the pages of this place have, 0 to 1: what all of them have is its style."""
    if memory.told is None:
        return np.zeros(len(FEATURES))
    return np.where(_LINKS, 0.0, memory.told / (memory.looks + FEW_OF_PLACE))


def feature_set(subject: OddSubject, evidence: Evidence, digest: bytes) -> FeatureSet:
    """The evidence in each value, and what it was made from."""
    columns = (column.tolist() for column in (evidence.values, evidence.rarity, evidence.told))
    found = zip(FEATURES, *columns, strict=True)
    return FeatureSet(
        features=tuple(
            FeatureValue(
                name=one.name, version=one.version, family=one.family,
                value=round(value, 9), rarity=round(rare, 9), evidence=round(told, 9),
            )
            for one, value, rare, told in found
        ),
        provenance=Provenance(
            page=digest.hex(), figures=subject.page.version, features=VERSION, embedding=EMBEDDING,
            looks=subject.background.looks,
        ),
    )  # fmt: skip
