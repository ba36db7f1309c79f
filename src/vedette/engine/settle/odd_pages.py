"""Judges the pages that a hunt looked at, in the order in which their looks are settled.

The background is what all looks before taught.  It is kept as a snapshot now and then, and the figures of every page
are kept with its look; so a start reads the snapshot, learns what came after it again, and goes on as if there had been
no stop.  Nothing here is random and nothing reads a clock.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Protocol

from vedette.contracts.oddness import FeatureSet, OddFacts, OddPage, OddWeights, ScoreDecision
from vedette.contracts.watch import Settlement
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.background import Background, Judged, Twins
from vedette.core.oddness.features import (
    FEATURES,
    PROFILE,
    OddSubject,
    evidence_of,
    feature_set,
    profile_of,
    values_of,
)
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


class OddJudge:
    """Features and score of one page after the other.  Pure but for what it has learned."""

    def __init__(self, weights: OddWeights, background: Background | None = None) -> None:
        self.weights = weights
        self.background = background or Background(len(FEATURES))
        self.twins = Twins()

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
        decision = decide(features, self.weights, twin=twin)
        judged = Judged(evidence.values, evidence.alone, decision.score, decision.found)
        self.background.note(facts.page, place, profile_of(facts.page), judged)
        self.twins.note(facts.page.simhash, facts.watch)
        return features, decision


class OddPages:
    def __init__(self, store: OddSide, weights: OddWeights) -> None:
        kept = store.background()
        number, background = (0, None) if kept is None else (kept[0], read_background(kept[1]))
        if background is None or not background.seen:
            number, background = 0, None
        self._judge = OddJudge(weights, background)
        self._judge.twins = Twins(store.shown(number))
        self.number = self._kept_at = number
        while rows := store.facts(self.number, AT_ONCE):
            for facts in rows:
                self._judge.judge(facts)
                self.number = facts.number

    def judge(self, settled: Settlement, pull: float) -> OddPage | None:
        """None: there is nothing to judge, no page came or it was judged before."""
        page, visit = settled.figures, settled.visit
        if page is None:
            return None
        self.number += 1
        place = site_of(host_of(visit.url))
        facts = OddFacts(
            number=self.number,
            watch=settled.watch.id,
            place=place,
            at=visit.at,
            digest=visit.digest or b"",
            pull=pull,
            page=page,
        )
        features, decision = self._judge.judge(facts)
        return OddPage(
            number=facts.number,
            watch=facts.watch,
            url=settled.watch.url,
            place=place,
            source=settled.watch.source,
            at=facts.at,
            digest=facts.digest,
            pull=pull,
            page=page,
            features=features,
            decision=decision,
        )

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
    return [(facts, *judge.judge(facts)) for facts in rows]
