"""How many links a page is from the front page.  The shortest way counts, whichever was found first.

Looks come in the order of their worth, so a page is often found by a long way before a short one.  When a shorter way
is seen, the page and all that was found by it come nearer, and what was too deep before may be within the limit.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from vedette.contracts.words import WatchId

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
        fresh = fresh[: max(0, MOST - self._count)]
        kept.extend(fresh)
        self._count += len(fresh)
        below, depth_of = depths[page] + 1, depths.get
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
