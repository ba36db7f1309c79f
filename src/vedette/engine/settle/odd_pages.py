"""Judges the pages that a hunt looked at, in the order in which it ordered their looks.

The background is what all looks before taught.  It is kept as a snapshot now and then, and the figures of every page
are kept with its look; so a start reads the snapshot, learns what came after it again, and goes on as if there had been
no stop.  Nothing here is random and nothing reads a clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

import numpy as np

from vedette.contracts.hunt import EndedLook
from vedette.contracts.oddness import FeatureSet, OddFacts, OddPage, OddWeights, ScoreDecision
from vedette.contracts.words import WatchId
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.background import Background, NotedPage, Twins
from vedette.core.oddness.features import (
    FEATURES,
    PROFILE,
    Evidence,
    OddSubject,
    evidence_of,
    feature_set,
    profile_of,
    values_of,
)
from vedette.core.oddness.level import kept_from, risen
from vedette.core.oddness.odd_score import decide
from vedette.core.oddness.page_figures import place_key
from vedette.core.urls.canonical import host_of
from vedette.discover.sitemap import site_of

SNAPSHOT = (
    256  # looks; later an eighth of all: what is written in all grows with the crawl, not with its square
)
AT_ONCE = 500  # rows that are learned again at a time
MOST_LINKS = 300  # of a page that are kept for the graph
NEARLY = 20.0  # points from which on a page that was not kept is kept in mind
MOVED = 0.5  # points by which the score of a finding has to differ to be written anew


class OddSide(Protocol):
    """What the judge reads of the store."""

    def background(self) -> tuple[int, bytes] | None: ...
    def facts(self, after: int, most: int) -> list[OddFacts]: ...
    def shown(self, until: int) -> list[tuple[int, int]]: ...
    def page(self, watch: WatchId) -> OddPage | None: ...


class JudgedAgain(NamedTuple):
    """A finding, by what the crawl knows by now."""

    watch: WatchId
    features: FeatureSet
    decision: ScoreDecision


class OddJudge:
    """Features and score of one page after the other.  Pure but for what it has learned.

    Findings are judged again now and then: what was rare in a young crawl may be usual by now, and finds that link
    to each other are seen one after the other.
    """

    def __init__(
        self,
        weights: OddWeights,
        background: Background | None = None,
        *,
        recall: Callable[[WatchId], OddFacts | None] = lambda watch: None,
    ) -> None:
        """`recall`: a page that was judged before."""
        self.weights = weights
        self._recall = recall
        self.background = background or Background(len(FEATURES))
        self.twins = Twins()
        self.level: float | None = None  # from which score on a page is kept, as of the last one
        self.risen: list[int] = []  # watches that were not kept before and are since the last page
        self.again: list[JudgedAgain] = []  # findings whose score moved, since the last page

    def judge(self, facts: OddFacts) -> tuple[FeatureSet, ScoreDecision]:
        """What is odd about this page, and then learns it."""
        place = place_key(facts.place)
        features, evidence, phrases = self._measured(facts, facts.pull)
        twin = self.twins.twin(facts.page.simhash, facts.watch)
        self.level = kept_from(self.background, self.weights)
        decision = decide(features, self.weights, twin=twin, level=self.level)
        judged = NotedPage(evidence.values, evidence.alone, phrases, decision.score, decision.found)
        self.background.note(facts.page, place, profile_of(facts.page), judged)
        self.twins.note(facts.page.simhash, facts.watch)
        least = self.weights.persist_at if self.level is None else self.level
        if not twin and NEARLY <= decision.score < least:
            self.background.keep_in_mind(facts.watch, decision.score)
        if decision.found:
            self.background.keep(facts.watch, decision.score)
            self.background.pull(np.frombuffer(facts.links, "<i8").tolist(), place, decision.found)
        self.risen = risen(self.background, self.level)
        is_time = self.background.is_time_to_judge_again()
        self.again = list(self._judged_again(facts)) if is_time else []
        return features, decision

    def decide_again(self, watch: int, features: FeatureSet) -> ScoreDecision:
        """A page that was not kept, by the level of now."""
        decision = decide(features, self.weights, level=self.level)
        if decision.found:
            self.background.keep(watch, decision.score)
        return decision

    def _judged_again(self, last: OddFacts) -> Iterator[JudgedAgain]:
        """What was a finding once, and what finds link to by now; those whose score moved are told."""
        background = self.background
        for watch in sorted(background.kept.keys() | (background.nearly.keys() & background.pulls.keys())):
            facts = last if watch == last.watch else self._recall(WatchId(watch))
            if facts is None:
                continue
            pull = max(facts.pull, background.pull_of(watch, place_key(facts.place)))
            score, was_found = background.kept.get(watch, (0.0, False))
            if watch not in background.kept and pull <= facts.pull:
                continue
            features, _, _ = self._measured(facts, pull)
            decision = decide(features, self.weights, level=self.level)
            if self._is_told(decision, score, was_found):
                background.keep(watch, decision.score, is_found=bool(decision.found))
                yield JudgedAgain(WatchId(watch), features, decision)

    @staticmethod
    def _is_told(decision: ScoreDecision, score: float, was_found: bool) -> bool:
        if not decision.found:
            return was_found
        return not was_found or abs(decision.score - score) >= MOVED

    def _measured(self, facts: OddFacts, pull: float) -> tuple[FeatureSet, Evidence, np.ndarray]:
        place = place_key(facts.place)
        cosines = self.background.cosines(unpack_vector(facts.page.vector))
        peers = self.background.nearest(cosines)
        subject = OddSubject(
            page=facts.page,
            background=self.background,
            place=place,
            memory=self.background.place(place),
            at=facts.at,
            phrases=self.background.phrases(facts.page, peers),
            pull=pull,
            cosines=cosines,
            peers=peers,
        )
        evidence = evidence_of(subject, values_of(subject))
        return feature_set(subject, evidence, facts.digest), evidence, subject.phrases.counted


class OddPages:
    def __init__(self, store: OddSide, weights: OddWeights) -> None:
        self._store = store
        self._fresh: dict[WatchId, OddPage] = {}  # of this group: the store does not have them yet
        self._risen: list[OddPage] = []
        kept = store.background()
        number, background = (0, None) if kept is None else (kept[0], read_background(kept[1]))
        if background is None or not background.seen:
            number, background = 0, None
        self._judge = OddJudge(weights, background, recall=self._recall)
        self._judge.twins = Twins(store.shown(number))
        self.number = self._kept_at = number
        while rows := store.facts(self.number, AT_ONCE):
            for facts in rows:
                self._judge.judge(facts)
                self.number = facts.number

    def judge(self, look: EndedLook, pull: float) -> OddPage | None:
        """None: there is nothing to judge, no page came or it was judged before."""
        page = look.page
        if page is None:
            return None
        self.number += 1
        place = site_of(host_of(look.shown_url))
        facts = OddFacts(
            number=self.number,
            watch=look.watch,
            place=place,
            at=look.at,
            digest=look.digest,
            pull=pull,
            page=page,
            links=packed_links(look.watch, look.links),
        )
        features, decision = self._judge.judge(facts)
        found = OddPage(
            number=facts.number,
            watch=facts.watch,
            url=look.url,
            place=place,
            source=look.source,
            at=facts.at,
            digest=facts.digest,
            pull=pull,
            page=page,
            features=features,
            decision=decision,
        )
        self._fresh[found.watch] = found
        for watch in self._judge.risen:
            self._rise(WatchId(watch))
        for again in self._judge.again:
            known = self._page(again.watch)
            if known is not None:
                self._put(replace(known, features=again.features, decision=again.decision))
        return self._fresh[look.watch]

    def risen(self) -> list[OddPage]:
        """Pages that are held for something else than at their look, since the last call."""
        last = {page.watch: page for page in self._risen}
        self._risen, self._fresh = [], {}
        return list(last.values())

    def _rise(self, watch: WatchId) -> None:
        page = self._page(watch)
        if page is not None:
            self._put(replace(page, decision=self._judge.decide_again(watch, page.features)))

    def _put(self, page: OddPage) -> None:
        self._fresh[page.watch] = page
        self._risen.append(page)

    def _page(self, watch: WatchId) -> OddPage | None:
        return self._fresh.get(watch) or self._store.page(watch)

    def _recall(self, watch: WatchId) -> OddFacts | None:
        page = self._page(watch)
        return None if page is None else facts_of(page)

    def snapshot(self) -> tuple[int, bytes] | None:
        """What was learned so far, where it is time to keep it."""
        if self.number - self._kept_at < max(SNAPSHOT, self._kept_at // 8):
            return None
        self._kept_at = self.number
        return self.number, packed_background(self._judge.background)


def packed_background(background: Background) -> bytes:
    return zlib.compress(background.dump(), 1)


def read_background(data: bytes) -> Background:
    return Background.load(zlib.decompress(data), len(FEATURES), PROFILE)


def facts_of(page: OddPage) -> OddFacts:
    return OddFacts(
        number=page.number,
        watch=page.watch,
        place=page.place,
        at=page.at,
        digest=page.digest,
        pull=page.pull,
        page=page.page,
    )


def packed_links(watch: WatchId, links: Sequence[WatchId]) -> bytes:
    """Without itself, as the store keeps them."""
    others = [other for other in links if other != watch][:MOST_LINKS]
    return np.array(sorted(others), "<i8").tobytes()


def judged_again(
    rows: Sequence[OddFacts], weights: OddWeights
) -> list[tuple[OddFacts, FeatureSet, ScoreDecision]]:
    """All pages from the first look on, as if they were looked at now."""
    found: dict[int, tuple[OddFacts, FeatureSet, ScoreDecision]] = {}
    judge = OddJudge(weights, recall=lambda watch: found[watch][0] if watch in found else None)
    for facts in rows:
        found[facts.watch] = (facts, *judge.judge(facts))
        for watch in judge.risen:
            known, features, _ = found[watch]
            found[watch] = (known, features, judge.decide_again(watch, features))
        for again in judge.again:
            found[again.watch] = (found[again.watch][0], again.features, again.decision)
    return list(found.values())
