"""Judges the pages that a hunt looked at, in the order in which it ordered their looks.

The background is what all looks before taught.  It is kept as a snapshot now and then, and the figures of every page
are kept with its look; so a start reads the snapshot, learns what came after it again, and goes on as if there had been
no stop.  Nothing here is random and nothing reads a clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from vedette.contracts.hunt import EndedLook
from vedette.contracts.oddness import FeatureSet, OddFacts, OddPage, OddWeights, ScoreDecision
from vedette.contracts.words import WatchId
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.background import Background, NotedPage, Twins
from vedette.core.oddness.features import (
    FEATURES,
    PROFILE,
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


class OddSide(Protocol):
    """What the judge reads of the store."""

    def background(self) -> tuple[int, bytes] | None: ...
    def facts(self, after: int, most: int) -> list[OddFacts]: ...
    def shown(self, until: int) -> list[tuple[int, int]]: ...
    def page(self, watch: WatchId) -> OddPage | None: ...


class OddJudge:
    """Features and score of one page after the other.  Pure but for what it has learned."""

    def __init__(self, weights: OddWeights, background: Background | None = None) -> None:
        self.weights = weights
        self.background = background or Background(len(FEATURES))
        self.twins = Twins()
        self.level: float | None = None  # from which score on a page is kept, as of the last one
        self.risen: list[int] = []  # watches that were not kept before and are since the last page

    def judge(self, facts: OddFacts) -> tuple[FeatureSet, ScoreDecision]:
        """What is odd about this page, and then learns it."""
        place = place_key(facts.place)
        subject = OddSubject(
            page=facts.page,
            background=self.background,
            place=place,
            memory=self.background.place(place),
            at=facts.at,
            phrases=self.background.phrases(facts.page),
            pull=facts.pull,
            cosines=self.background.cosines(unpack_vector(facts.page.vector)),
        )
        evidence = evidence_of(subject, values_of(subject))
        features = feature_set(subject, evidence, facts.digest)
        twin = self.twins.twin(facts.page.simhash, facts.watch)
        self.level = kept_from(self.background, self.weights)
        decision = decide(features, self.weights, twin=twin, level=self.level)
        judged = NotedPage(evidence.values, evidence.alone, decision.score, decision.found)
        self.background.note(facts.page, place, profile_of(facts.page), judged)
        self.twins.note(facts.page.simhash, facts.watch)
        if not twin and self.weights.persist_at - self.weights.lower <= decision.score < (self.level or 0.0):
            self.background.keep_in_mind(facts.watch, decision.score)
        self.risen = risen(self.background, self.level)
        return features, decision

    def decide_again(self, features: FeatureSet) -> ScoreDecision:
        """A page that was not kept, by the level of now."""
        return decide(features, self.weights, level=self.level)


class OddPages:
    def __init__(self, store: OddSide, weights: OddWeights) -> None:
        self._store = store
        kept = store.background()
        number, background = (0, None) if kept is None else (kept[0], read_background(kept[1]))
        if background is None or not background.seen:
            number, background = 0, None
        self._judge = OddJudge(weights, background)
        self._judge.twins = Twins(store.shown(number))
        self.number = self._kept_at = number
        self._fresh: dict[WatchId, OddPage] = {}  # of this group: the store does not have them yet
        self._risen: list[OddPage] = []
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
        return found

    def risen(self) -> list[OddPage]:
        """Pages that were not kept at their look and are by now, since the last call."""
        risen, self._risen, self._fresh = self._risen, [], {}
        return risen

    def _rise(self, watch: WatchId) -> None:
        page = self._fresh.get(watch) or self._store.page(watch)
        if page is not None:
            self._risen.append(replace(page, decision=self._judge.decide_again(page.features)))

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


def judged_again(
    rows: Sequence[OddFacts], weights: OddWeights
) -> list[tuple[OddFacts, FeatureSet, ScoreDecision]]:
    """All pages from the first look on, as if they were looked at now."""
    judge = OddJudge(weights)
    found: dict[int, tuple[OddFacts, FeatureSet, ScoreDecision]] = {}
    for facts in rows:
        found[facts.watch] = (facts, *judge.judge(facts))
        for watch in judge.risen:
            known, features, _ = found[watch]
            found[watch] = (known, features, judge.decide_again(features))
    return list(found.values())
