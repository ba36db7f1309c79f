"""The crawl behind a page: how common its words, letters and markup are, what pages of its place look like.

It learns in the order in which looks are settled, so the same looks give the same background.  The first pages of each
place count, not all: a place that is looked at often, because it gave much, must not become what is usual.
What was learned is a value that can be packed and read again; a restart goes on with it.
"""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vedette.contracts.oddness import PageFigures
from vedette.core.judging.embedding import DIMENSIONS, unpack_vector

VERSION = "background-4"
BITS = {"words": 18, "grams": 16, "shape": 16, "pairs": 20, "heads": 18}  # of the tables of counts
OF_PLACE = 12  # pages of a place that count
KEPT = 768  # pages that a value is ranked among, and whose vectors are compared
PEERS = 96  # of these, the pages whose text is nearest: its language, its topic; of few pages half
LEAST_KNOWN = 64  # pages before a page has peers
PLACE_BINS = 64
# Shares of the pages in the language of a page: those that have a small word, a pair that is hardly there, a pair
# that is a stock phrase.
USUAL, SELDOM, STOCK = 0.2, 0.015, 0.025
SPOKEN = (
    2.5  # pairs for each that has a small word: in a language that the crawl does not know there are more
)
SMALLEST_WORDS = 5  # its words that most pages have: about every page in its language has them
FEW = 12.0  # pairs; of fewer a share says little: it is drawn towards that of pages like this one
MOST_KEPT = 256  # findings that are judged again: the best
MOST_PULLED = 20_000  # pages that are remembered because a find links to them
AGAIN = 128  # looks after which findings are judged again; later an eighth of all
MOST_NEARLY = 4_096  # pages that are remembered in case that the level falls
SCORES = 201  # half points from 0 to 100
KNOWN_WORD = 4  # pages that have a word which is neither a name nor made up
MOST_PLACES = 60_000  # that are remembered with what they look like: some 90 MB
PRIOR, PRIOR_SHARE = (
    40.0,
    0.03,
)  # until much is known, three pages in a hundred are thought to be like this one


@dataclass(slots=True)
class PlaceMemory:
    """What pages of one place look like."""

    looks: int = 0
    shape: np.ndarray = field(default_factory=lambda: np.zeros(PLACE_BINS, np.float32))
    centre: np.ndarray = field(default_factory=lambda: np.zeros(DIMENSIONS, np.float32))
    profile: np.ndarray | None = None  # sums of figures
    told: np.ndarray | None = None  # sums of the evidence of each feature


class PhraseShares(NamedTuple):
    """What share of the pairs of words of a page is of which kind."""

    strange: float  # of those with a small word: words that the crawl has, and never has together
    unheard: float  # of those of two small words: pairs that hardly any page has
    own: float  # of those with a small word: no stock phrase of the crawl
    counted: np.ndarray  # what they were made from: strange, unheard, own, and of how many


class NotedPage(NamedTuple):
    """What was made of a page, as the background learns it."""

    values: np.ndarray  # of each feature
    evidence: np.ndarray  # of each feature, before what is usual at its place is taken off
    phrases: np.ndarray  # what was counted of its pairs of words
    score: float
    found: float  # its oddness if triage kept it, 0 to 1


class Background:
    """Changes only in `note`."""

    def __init__(self, values: int) -> None:
        """`values`: how many numbers of each page are ranked."""
        self.looks = 0  # pages that counted
        self.seen = 0  # pages that were noted
        self.counts = {name: np.zeros(1 << bits, np.uint32) for name, bits in BITS.items()}
        self.ring = np.zeros((KEPT, values))
        self.vectors = np.zeros((KEPT, DIMENSIONS), np.float32)
        self.phrased = np.zeros((KEPT, 6))  # what was counted of the pairs of words of each
        self.scores = np.zeros(SCORES, np.uint32)  # pages by score, in half points
        self.found: dict[int, float] = {}  # places with a finding: the best
        self.nearly: dict[int, float] = {}  # watches that the level of now keeps out, with their scores
        self.kept: dict[
            int, tuple[float, bool]
        ] = {}  # watches that were findings: their scores, and if they still are
        self.pulls: dict[
            int, dict[int, float]
        ] = {}  # watches that finds of these places link to: the best of each
        self.again_at = AGAIN  # looks
        self.places: dict[int, PlaceMemory] = {}
        self.links_in: Counter[int] = Counter()  # places that link to a place
        self.linked: set[tuple[int, int]] = set()
        self._ranked: np.ndarray | None = None
        self._ranked_at = -1

    def place(self, key: int) -> PlaceMemory:
        return self.places.get(key) or PlaceMemory()

    def note(self, page: PageFigures, place: int, profile: np.ndarray, judged: NotedPage) -> None:
        """One look was settled."""
        self.seen += 1
        self.scores[min(SCORES - 1, int(2.0 * judged.score))] += 1
        if judged.found and (place in self.found or len(self.found) < MOST_PLACES):
            self.found[place] = max(judged.found, self.found.get(place, 0.0))
        for other in np.frombuffer(page.out, np.uint64).tolist():
            if (place, other) not in self.linked and len(self.linked) < 20 * MOST_PLACES:
                self.linked.add((place, other))
                self.links_in[other] += 1
        memory = self.places.get(place)
        if memory is None:
            memory = PlaceMemory()
            if len(self.places) < MOST_PLACES:
                self.places[place] = memory
        _remember(memory, page, profile, judged.evidence)
        if memory.looks > OF_PLACE:
            return
        for name, sample in (("words", page.words), ("grams", page.grams), ("shape", page.shape)):
            self.counts[name][_bins(name, sample)] += 1
        pairs, firsts, seconds = _phrases(page)
        self.counts["pairs"][pairs] += 1
        self.counts["heads"][np.unique(np.concatenate((firsts, seconds)))] += 1
        self.ring[self.looks % KEPT] = judged.values
        self.vectors[self.looks % KEPT] = unpack_vector(page.vector)
        self.phrased[self.looks % KEPT] = judged.phrases
        self.looks += 1

    def keep_in_mind(self, watch: int, score: float) -> None:
        """Not odd enough for the crawl as it is known by now.  The best are remembered."""
        self.nearly[watch] = score
        if len(self.nearly) > MOST_NEARLY:
            best = sorted(self.nearly, key=lambda one: (-self.nearly[one], one))[: MOST_NEARLY // 2]
            self.nearly = {one: self.nearly[one] for one in sorted(best)}

    def keep(self, watch: int, score: float, *, is_found: bool = True) -> None:
        """A finding, to be judged again, or one that was.  The best are remembered."""
        self.kept[watch] = score, is_found
        self.nearly.pop(watch, None)
        if len(self.kept) > MOST_KEPT:
            del self.kept[min(self.kept, key=lambda one: (self.kept[one][0], one))]

    def pull(self, watches: Iterable[int], place: int, found: float) -> None:
        """A find of this place links to these."""
        for watch in watches:
            if watch in self.pulls or len(self.pulls) < MOST_PULLED:
                best = self.pulls.setdefault(watch, {})
                best[place] = max(found, best.get(place, 0.0))

    def pull_of(self, watch: int, place: int) -> float:
        """The oddness of the best find of another place that links there: whoever links to himself proves nothing."""
        return max(
            (found for other, found in self.pulls.get(watch, {}).items() if other != place), default=0.0
        )

    def is_time_to_judge_again(self) -> bool:
        """At fixed numbers of looks: true once at each."""
        if self.seen < self.again_at:
            return False
        self.again_at = self.seen + max(AGAIN, self.seen // 8)
        return True

    def surprise(self, name: str, sample: bytes) -> float:
        """Bits per part of the sample: how little it was to be expected."""
        bins = _bins(name, sample)
        if not len(bins):
            return 0.0
        counts = self.counts[name][bins].astype(np.float64)
        return float(np.mean(np.log2((self.looks + 8.0) / (counts + 1.0))))

    def unseen(self, name: str, sample: bytes) -> float:
        """The share of the sample that at most one page had."""
        bins = _bins(name, sample)
        return float(np.mean(self.counts[name][bins] <= 1)) if len(bins) else 0.0

    def phrases(self, page: PageFigures, peers: np.ndarray) -> PhraseShares:
        """How the page puts words together that the crawl has often."""
        counted, unknown = self._counted(page)
        known = self.phrased[: min(self.looks, KEPT)]
        usual = (known[peers] if len(peers) else known).sum(axis=0)
        shares = usual[:3] / np.maximum(1.0, usual[3:])
        few = FEW + unknown
        strange, unheard, own = (counted[:3] + few * shares) / (counted[3:] + few)
        return PhraseShares(float(strange), float(unheard), float(own), counted)

    def _counted(self, page: PageFigures) -> tuple[np.ndarray, float]:
        """What is counted, and how many pairs are too many to be of a language that the crawl knows."""
        pairs, firsts, seconds = _phrases(page)
        if not len(pairs):
            return np.zeros(6), 0.0
        together, heads = self.counts["pairs"][pairs], self.counts["heads"]
        one, other = heads[firsts], heads[seconds]
        spoken = self._spoken(firsts, seconds)
        known, usual = np.minimum(one, other) >= KNOWN_WORD, max(3.0, USUAL * spoken)
        small, both = np.maximum(one, other) >= usual, np.minimum(one, other) >= usual
        seldom = together <= max(1.0, SELDOM * spoken)
        own = together < max(2.0, STOCK * spoken)
        few, many = float(small.sum()), float(both.sum())
        parts = ((small & known & seldom).sum(), (both & seldom).sum(), (small & own).sum(), few, many, few)
        return np.array(parts, np.float64), max(0.0, len(pairs) - SPOKEN * few)

    def _spoken(self, firsts: np.ndarray, seconds: np.ndarray) -> float:
        """Pages of the crawl in the language of a page, about: how many have its smallest words."""
        counts = self.counts["heads"][np.unique(np.concatenate((firsts, seconds)))]
        return float(np.sort(counts)[-SMALLEST_WORDS:].mean()) if len(counts) >= SMALLEST_WORDS else 0.0

    def cosines(self, vector: np.ndarray) -> np.ndarray:
        """How near its text is to each page that is kept."""
        known = self.vectors[: min(self.looks, KEPT)]
        found: np.ndarray = np.einsum("ij,j->i", known, vector.astype(np.float32))
        return found

    def distance(self, cosines: np.ndarray) -> float:
        """1 minus the cosine to the fifth nearest page: one or two of its kind do not make it usual."""
        if len(cosines) < 8 or not cosines.any():
            return 0.5
        return float(1.0 - np.partition(cosines, -5)[-5])

    def nearest(self, cosines: np.ndarray) -> np.ndarray:
        """Where the pages are kept whose text is nearest; none, until enough are known."""
        if len(cosines) < LEAST_KNOWN or not cosines.any():
            return np.zeros(0, np.int64)
        many = min(PEERS, len(cosines) // 2)
        nearest: np.ndarray = np.argpartition(-cosines, many)[:many]
        return nearest

    def among_peers(self, peers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Median and spread of each value among these; of all, where there are none."""
        return _middle(self.ring[peers]) if len(peers) else self.middle()

    def middle(self) -> tuple[np.ndarray, np.ndarray]:
        """Median and spread of each value in the crawl."""
        known = self.ring[: min(self.looks, KEPT)]
        if self._ranked is None or self.looks - self._ranked_at >= 16 or self.looks < 64:
            if not len(known):
                return np.zeros(self.ring.shape[1]), np.ones(self.ring.shape[1])
            self._ranked, self._ranked_at = np.vstack(_middle(known)), self.looks
        return self._ranked[0], self._ranked[1]

    def shares(self, values: np.ndarray) -> np.ndarray:
        """For each value the share of pages that have as much; with few pages known, about as many as usual."""
        known = self.ring[: min(self.looks, KEPT)]
        as_much = (known >= values).sum(axis=0) if len(known) else np.zeros(len(values))
        shares: np.ndarray = (as_much + PRIOR * PRIOR_SHARE) / (len(known) + PRIOR)
        return shares

    def dump(self) -> bytes:
        """All that was learned.  The same bytes for the same looks."""
        keys = sorted(self.places)
        memories = [self.places[key] for key in keys]
        width = len(memories[0].profile) if memories and memories[0].profile is not None else 0
        head = {
            "version": VERSION, "looks": self.looks, "seen": self.seen, "values": self.ring.shape[1],
            "in": sorted(self.links_in.items()), "linked": sorted(self.linked), "keys": keys,
            "middle": None if self._ranked is None else self._ranked.tolist(), "middle_at": self._ranked_at,
            "of_place": [one.looks for one in memories], "found": sorted(self.found.items()),
            "nearly": list(self.nearly.items()), "again_at": self.again_at,
            "kept": [[watch, *one] for watch, one in self.kept.items()],
            "pulls": [[watch, list(best.items())] for watch, best in self.pulls.items()],
        }  # fmt: skip
        out = io.BytesIO()
        text = json.dumps(head, separators=(",", ":")).encode()
        out.write(len(text).to_bytes(8, "little") + text)
        arrays = [*(self.counts[name] for name in BITS), self.ring, self.vectors, self.phrased, self.scores]
        arrays += [one.shape for one in memories] + [one.centre for one in memories]
        arrays += [one.profile if one.profile is not None else np.zeros(width) for one in memories]
        features = self.ring.shape[1]
        arrays += [one.told if one.told is not None else np.zeros(features) for one in memories]
        for array in arrays:
            out.write(np.ascontiguousarray(array).tobytes())
        return out.getvalue()

    @staticmethod
    def load(data: bytes, values: int, profile: int) -> Background:
        """Of another version: empty, and everything is learned again."""
        size = int.from_bytes(data[:8], "little")
        head = json.loads(data[8 : 8 + size])
        found = Background(values)
        if head["version"] != VERSION or head["values"] != values:
            return found
        read = _Reader(data, 8 + size)
        found.looks, found.seen = head["looks"], head["seen"]
        found.links_in = Counter(dict(head["in"]))
        found.linked = {(one, other) for one, other in head["linked"]}
        found.counts = {name: read.array(1 << bits, np.uint32) for name, bits in BITS.items()}
        found.ring = read.array(KEPT * values, np.float64).reshape(KEPT, values)
        found.found, found.nearly = dict(head["found"]), dict(head["nearly"])
        found.vectors = read.array(KEPT * DIMENSIONS, np.float32).reshape(KEPT, DIMENSIONS)
        found.phrased = read.array(KEPT * 6, np.float64).reshape(KEPT, 6)
        found.scores = read.array(SCORES, np.uint32)
        found.places = _read_places(read, head, profile)
        found.kept = {watch: (score, is_found) for watch, score, is_found in head["kept"]}
        found.again_at = head["again_at"]
        found.pulls = {watch: dict(best) for watch, best in head["pulls"]}
        if head["middle"] is not None:
            found._ranked, found._ranked_at = np.array(head["middle"]), head["middle_at"]
        return found


def _read_places(read: _Reader, head: dict[str, Any], profile: int) -> dict[int, PlaceMemory]:
    many = len(head["keys"])
    shapes = read.array(many * PLACE_BINS, np.float32).reshape(many, PLACE_BINS)
    centres = read.array(many * DIMENSIONS, np.float32).reshape(many, DIMENSIONS)
    profiles = read.array(many * profile, np.float64).reshape(many, profile)
    told = read.array(many * head["values"], np.float64).reshape(many, head["values"])
    return {
        key: PlaceMemory(looks, shapes[at].copy(), centres[at].copy(), profiles[at].copy(), told[at].copy())
        for at, (key, looks) in enumerate(zip(head["keys"], head["of_place"], strict=True))
    }


def _middle(known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median and spread (1.4826 MAD, or the mean deviation where more than half are equal), never 0."""
    centre = np.median(known, axis=0)
    apart = np.abs(known - centre)
    spread = np.maximum(1.4826 * np.median(apart, axis=0), apart.mean(axis=0))
    return centre, np.maximum(spread, 1e-6)


class _Reader:
    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    def array(self, count: int, kind: type[np.generic]) -> np.ndarray:
        size = count * np.dtype(kind).itemsize
        found = np.frombuffer(self._data, kind, count, self._at).copy()
        self._at += size
        return found


def _remember(memory: PlaceMemory, page: PageFigures, profile: np.ndarray, evidence: np.ndarray) -> None:
    memory.looks += 1
    memory.shape += place_shape(page)
    memory.centre += unpack_vector(page.vector)
    memory.profile = profile.copy() if memory.profile is None else memory.profile + profile
    memory.told = evidence.copy() if memory.told is None else memory.told + evidence


def place_shape(page: PageFigures) -> np.ndarray:
    """Its markup in few bins, of length 1."""
    bins = np.frombuffer(page.shape, np.uint32) % PLACE_BINS
    found = np.bincount(bins, minlength=PLACE_BINS).astype(np.float32)
    length = math.sqrt(float(found @ found))
    return found / np.float32(length) if length else found


def cosine(one: np.ndarray, other: np.ndarray) -> float:
    size = math.sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / size if size else 0.0


def _bins(name: str, sample: bytes) -> np.ndarray:
    hashes = np.frombuffer(sample, np.uint32)
    found: np.ndarray = (hashes * np.uint32(0x85EBCA6B)) >> np.uint32(32 - BITS[name])
    return found


def _phrases(page: PageFigures) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bins of pairs, firsts and seconds."""
    pairs, firsts, seconds = np.frombuffer(page.phrases, np.uint32).reshape(3, -1)
    return (
        _bins("pairs", pairs.tobytes()),
        _bins("heads", firsts.tobytes()),
        _bins("heads", seconds.tobytes()),
    )


class Twins:
    """Texts that were shown, by simhash: nearly the same text on another page is no find."""

    NEAR = 4  # bits of 64

    def __init__(self, shown: Iterable[tuple[int, int]] = ()) -> None:
        """`shown`: simhash and watch of each page, in the order of the looks."""
        rows = list(shown)
        self._count = len(rows)
        self._hashes = np.zeros(max(1024, 2 * len(rows)), np.uint64)
        self._watches = np.zeros(len(self._hashes), np.int64)
        if rows:
            self._hashes[: len(rows)] = [one & 0xFFFFFFFFFFFFFFFF for one, _ in rows]
            self._watches[: len(rows)] = [watch for _, watch in rows]

    def twin(self, simhash: int, watch: int) -> int:
        """The first watch of another page that shows nearly this text; 0: none."""
        if not simhash:
            return 0
        apart = np.bitwise_count(self._hashes[: self._count] ^ np.uint64(simhash & 0xFFFFFFFFFFFFFFFF))
        near = np.flatnonzero(apart <= self.NEAR)
        others = [int(self._watches[at]) for at in near[:8]]
        return next((other for other in others if other != watch), 0)

    def note(self, simhash: int, watch: int) -> None:
        if not simhash:
            return
        if self._count == len(self._hashes):
            self._hashes = np.concatenate((self._hashes, np.zeros_like(self._hashes)))
            self._watches = np.concatenate((self._watches, np.zeros_like(self._watches)))
        self._hashes[self._count], self._watches[self._count] = simhash & 0xFFFFFFFFFFFFFFFF, watch
        self._count += 1
