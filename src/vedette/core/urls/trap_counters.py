"""What a source has brought in so far, counted by shape, and how far from its front page.  Bounded, saved as JSON."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from math import inf, log
from typing import Protocol

import xxhash

from vedette.contracts.words import WatchId
from vedette.core.urls.url_shape import Query, UrlShape

MAX_COUNTERS = 4096  # of each sort; over it, the smallest half goes
MAX_CAPPED = 64  # listings whose left-out addresses are counted; one is enough to tell of it
MAX_NAMES = 16  # parameters kept per path
_BITS = 1024  # of the sketch that counts the values of a parameter


class Taken(Protocol):
    """What `admit` said yes to."""

    @property
    def shape(self) -> UrlShape | None: ...

    @property
    def marks(self) -> tuple[str, ...]: ...


@dataclass(slots=True)
class _Facets:
    count: int = 0
    values: dict[str, int] = field(default_factory=dict)  # name of a parameter: sketch of its values


@dataclass(slots=True)
class SourceTally:
    """Counts.  Changes only in `take`, `note_text` and `note_capped`."""

    admitted: int = 0
    _counts: dict[str, int] = field(default_factory=dict)
    _queries: dict[str, _Facets] = field(default_factory=dict)
    _texts: dict[str, tuple[int, int]] = field(default_factory=dict)  # shape: text key, pages in a row
    _capped: dict[str, int] = field(default_factory=dict)  # listing: addresses that a limit left out

    def take(self, admitted: Taken) -> None:
        """Counts one admitted address."""
        self.admitted += 1
        for mark in admitted.marks:
            self._counts[mark] = self._counts.get(mark, 0) + 1
        if admitted.shape is not None and len(admitted.shape.query) > 1:
            self._take_query(admitted.shape.path, admitted.shape.query)
        if len(self._counts) > MAX_COUNTERS:
            self._counts = dict(sorted(self._counts.items(), key=lambda pair: -pair[1])[: MAX_COUNTERS // 2])

    def count(self, mark: str) -> int:
        return self._counts.get(mark, 0)

    def facets(self, path: str) -> tuple[int, float]:
        """Query strings taken on this path, and the values of the parameter that has most (an estimate)."""
        facets = self._queries.get(path)
        if facets is None:
            return 0, 0.0
        return facets.count, max(map(_estimate, facets.values.values()), default=0.0)

    def streak(self, shape: str) -> int:
        return self._texts.get(shape, (0, 0))[1]

    def note_text(self, shape: str, text_key: int) -> int:
        """One more page of this shape had this text.  How many in a row that makes."""
        last, streak = self._texts.get(shape, (0, 0))
        streak = streak + 1 if streak and last == text_key else 1
        self._texts[shape] = (text_key, streak)
        if len(self._texts) > MAX_COUNTERS:
            self._texts = dict(sorted(self._texts.items(), key=lambda pair: -pair[1][1])[: MAX_COUNTERS // 2])
        return streak

    @property
    def capped(self) -> int:
        """Addresses that a limit left out when the listings were read last."""
        return sum(self._capped.values())

    def note_capped(self, listing: str, count: int) -> bool:
        """A listing was read, and a limit left out so many of its addresses.  True: that is news."""
        if self._capped.get(listing, 0) == count:
            return False
        self._capped.pop(listing, None)
        if count and len(self._capped) < MAX_CAPPED:
            self._capped[listing] = count
        return True

    def to_json(self) -> dict[str, object]:
        """Plain values; `from_json` gives a tally back that decides the same."""
        return {
            "admitted": self.admitted,
            "counts": dict(self._counts),
            "queries": {
                path: [facets.count, {name: f"{sketch:x}" for name, sketch in facets.values.items()}]
                for path, facets in self._queries.items()
            },
            "texts": {shape: list(pair) for shape, pair in self._texts.items()},
            "capped": dict(self._capped),
        }

    @classmethod
    def from_json(cls, saved: Mapping[str, object]) -> SourceTally:
        """What `to_json` gave.  Missing parts are empty."""
        tally = cls(admitted=_int(saved.get("admitted")))
        for mark, count in _mapping(saved.get("counts")).items():
            tally._counts[mark] = _int(count)
        for path, pair in _mapping(saved.get("queries")).items():
            count, values = pair if isinstance(pair, list) and len(pair) == 2 else (0, {})
            sketches = {name: int(str(sketch), 16) for name, sketch in _mapping(values).items()}
            tally._queries[path] = _Facets(_int(count), sketches)
        for shape, pair in _mapping(saved.get("texts")).items():
            key, streak = pair if isinstance(pair, list | tuple) and len(pair) == 2 else (0, 0)
            tally._texts[shape] = (_int(key), _int(streak))
        for listing, left_out in _mapping(saved.get("capped")).items():
            tally._capped[listing] = _int(left_out)
        return tally

    def _take_query(self, path: str, query: Query) -> None:
        facets = self._queries.setdefault(path, _Facets())
        facets.count += 1
        for name, value in query:
            if name in facets.values or len(facets.values) < MAX_NAMES:
                bit = 1 << (xxhash.xxh3_64_intdigest(value.encode("utf-8", "replace")) % _BITS)
                facets.values[name] = facets.values.get(name, 0) | bit
        if len(self._queries) > MAX_COUNTERS:
            kept = sorted(self._queries.items(), key=lambda pair: -pair[1].count)[: MAX_COUNTERS // 2]
            self._queries = dict(kept)


def _estimate(sketch: int) -> float:
    """Linear counting (Whang 1990): how many values set these bits.  A full one cannot tell."""
    zeros = _BITS - sketch.bit_count()
    return -_BITS * log(zeros / _BITS) if zeros else inf


def _int(value: object) -> int:
    return value if isinstance(value, int) else 0


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


# How many links a page is from the front page.  The shortest way counts, whichever was found first.
#
# Looks come in the order of their worth, so a page is often found by a long way before a short one.  When a shorter way
# is seen, the page and all that was found by it come nearer, and what was too deep before may be within the limit.

MOST = 200_000  # pages, and links beyond the limit, that are remembered of one source


@dataclass(slots=True)
class Nearer:
    """What follows from a shorter way."""

    pages: list[tuple[WatchId, int]] = field(default_factory=list)  # with their new depth
    within: list[tuple[WatchId, str, int]] = field(
        default_factory=list
    )  # links that were too deep, with theirs


@dataclass(slots=True)
class CrawlDepths:
    """The pages of one crawl, as far as this run has read them."""

    max_depth: int
    _depths: dict[WatchId, int] = field(default_factory=dict)
    _links: dict[WatchId, array[int]] = field(default_factory=dict)  # of a page that was read, to other pages
    _beyond: dict[WatchId, dict[WatchId, str]] = field(
        default_factory=dict
    )  # of a page, to what was too deep
    _count: int = 0

    def read(self, page: WatchId, depth: int, links: Sequence[WatchId]) -> Nearer:
        """A page was read.  Its links to pages that are known may be shorter ways to them."""
        nearer = Nearer()
        if depth < self._depths.get(page, depth + 1):
            self._depths[page] = depth
        depths, kept = self._depths, self._links.setdefault(page, array("q"))
        known = set(kept)
        fresh = [link for link in links if link not in known] if known else links
        if self._count + len(fresh) > MOST:
            fresh = fresh[: max(0, MOST - self._count)]
        kept.extend(fresh)
        self._count += len(fresh)
        below, depth_of = depths[page] + 1, depths.get
        if max(map(depth_of, fresh, repeat(0)), default=0) > below:  # seldom: most pages are no shorter way
            for link in [link for link in fresh if depth_of(link, 0) > below]:
                self._reach(link, below, nearer)
        return nearer

    def of(self, page: WatchId) -> int:
        return self._depths[page]

    def found(self, page: WatchId, depth: int) -> None:
        self._depths.setdefault(page, depth)

    def too_deep(self, page: WatchId, link: WatchId, url: str) -> None:
        """A link of this page is refused because of its depth."""
        if self._count < MOST:
            self._count += 1
            self._beyond.setdefault(page, {})[link] = url

    def _reach(self, page: WatchId, depth: int, nearer: Nearer) -> None:
        """With a stack of our own: ways can be as long as there are pages."""
        stack = [(page, depth)]
        while stack:
            one, at = stack.pop()
            if self._depths.get(one, 0) <= at:
                continue  # not known as a page of this crawl, or nearer already
            self._depths[one] = at
            nearer.pages.append((one, at))
            stack += [(WatchId(link), at + 1) for link in self._links.get(one, ())]
            if at < self.max_depth:
                nearer.within += [(i, url, at + 1) for i, url in self._beyond.pop(one, {}).items()]
