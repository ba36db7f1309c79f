"""Findings with their stored texts: what each is odd for, with quotes, and which of them belong together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vedette.contracts.errors import VedetteError
from vedette.contracts.findings import FindingCluster, FindingText, OddCard
from vedette.contracts.oddness import OddFinding
from vedette.contracts.words import WatchId
from vedette.core.findings.cluster_brief import brief_of
from vedette.core.findings.clusters import ClusterInput, clusters_of, shared_words
from vedette.core.findings.offline_report import offline_report
from vedette.core.judging.embedding import unpack_vector
from vedette.core.oddness.figure_bytes import unpack_figures
from vedette.operations.evidence import text_of, title_of
from vedette.operations.hunt import finding_json
from vedette.operations.hunt_graph import PAGES, PLACES, hunt_graph
from vedette.operations.installation import Installation
from vedette.store.finding_rows import judged_bodies, kept_reports
from vedette.store.hunt_rows import HuntReader

MOST_FINDINGS = 2_000  # that are looked at together
_WORD = re.compile(r"[^\W\d_]{5,24}")
Texts = dict[WatchId, FindingText]


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTogether:
    """The oddest findings, their texts, and how they hang together."""

    findings: tuple[OddFinding, ...]  # the oddest first
    texts: Texts  # of those whose body is still in the archive
    clusters: tuple[FindingCluster, ...]
    links: tuple[tuple[int, int], ...]  # between findings, by position
    cards: tuple[OddCard, ...]  # of each finding


def found_together(installation: Installation, *, most: int = MOST_FINDINGS) -> FoundTogether:
    """Nothing is fetched: rows, the archive and the graph."""
    with installation.reading() as db:
        found = tuple(HuntReader(db).findings(most=min(most, MOST_FINDINGS)))
        bodies = judged_bodies(db, [one.watch for one in found])
        reports = kept_reports(db)
    texts = finding_texts(installation, {watch: digest for watch, (digest, _) in bodies.items()})
    links, place_links = _links(installation, found)
    vectors = [unpack_vector(unpack_figures(bodies[one.watch][1]).vector) for one in found]
    groups = clusters_of(
        ClusterInput(
            places=[one.place for one in found],
            links=links,
            place_links=place_links,
            vectors=np.stack(vectors) if vectors else np.zeros((0, 1)),
        )
    )
    words = [words_of(texts.get(one.watch)) for one in found]
    usual = _mean_points(found)
    clusters = tuple(
        _cluster(n, [found[at] for at in group], shared_words(words, group), (_inside(links, group), usual))
        for n, group in enumerate(groups, start=1)
    )
    numbers = {at: n for n, group in enumerate(groups, start=1) for at in group}
    known: Counter[str] = Counter(word for some in words for word in some)
    cards = tuple(
        OddCard(
            finding=one,
            title=texts[one.watch].title if one.watch in texts else "",
            report=kept.report
            if (kept := reports.get(one.watch)) and kept.digest == bodies[one.watch][0]
            else offline_report(one, texts.get(one.watch), known),
            linked_from=tuple(found[a].url for a, b in links if b == at and found[a].place != one.place),
            cluster=numbers.get(at, 0),
            digest=bodies[one.watch][0],
        )
        for at, one in enumerate(found)
    )
    return FoundTogether(findings=found, texts=texts, clusters=clusters, links=links, cards=cards)


def finding_texts(installation: Installation, digests: Mapping[WatchId, bytes]) -> Texts:
    """The text of each page as it was judged, without personal data where its source redacts."""
    found: Texts = {}
    with installation.queries() as queries:
        for watch, digest in digests.items():
            kept = next((one for one in queries.evidence(watch) if one.digest == digest), None)
            if kept is None:
                continue
            try:
                found[watch] = FindingText(
                    title_of(installation.loaded, kept), text_of(installation.loaded, kept)
                )
            except VedetteError:
                continue  # its record has expired
    return found


def cluster_json(one: FindingCluster) -> dict[str, object]:
    return {
        "cluster": one.number,
        "brief": one.brief,
        "places": one.places,
        "words": one.words,
        "links": one.links,
        "answered": one.answered,
        "findings": [finding_json(finding) for finding in one.findings],
    }


def _links(
    installation: Installation, found: Sequence[OddFinding]
) -> tuple[tuple[tuple[int, int], ...], frozenset[tuple[str, str]]]:
    """Links between these findings, and between their places."""
    pages, places = hunt_graph(installation, PAGES), hunt_graph(installation, PLACES)
    at = {one.url: n for n, one in enumerate(found)}
    inside = sorted((at[one], at[other]) for one, other in pages.links() if one in at and other in at)
    known = {one.place for one in found}
    between = frozenset(pair for pair in places.links() if pair[0] in known and pair[1] in known)
    return tuple(inside), between


def _inside(links: Sequence[tuple[int, int]], group: Sequence[int]) -> set[tuple[int, int]]:
    members = set(group)
    return {(one, other) for one, other in links if one in members and other in members}


def _cluster(
    number: int,
    findings: Sequence[OddFinding],
    words: tuple[str, ...],
    given: tuple[set[tuple[int, int]], Mapping[str, float]],
) -> FindingCluster:
    links, usual = given
    points = _mean_points(findings)
    worth = {name: mean - 0.7 * usual[name] for name, mean in points.items()}  # what others have says little
    best = [(name, points[name]) for name in sorted(worth, key=lambda name: (-worth[name], name))[:4]]
    places = tuple(dict.fromkeys(one.place for one in findings))
    answered = sum((other, one) in links for one, other in links)
    return FindingCluster(
        number=number,
        findings=tuple(findings),
        places=places,
        words=words,
        reasons=tuple(best),
        links=len(links),
        answered=answered,
        brief=brief_of(findings, places, words, (best, len(links), answered)),
    )


def _mean_points(findings: Sequence[OddFinding]) -> dict[str, float]:
    """By feature."""
    points: dict[str, float] = {}
    for one in findings:
        for reason in one.reasons:
            points[reason.feature] = points.get(reason.feature, 0.0) + reason.points / len(findings)
    return points


def words_of(given: FindingText | None) -> frozenset[str]:
    """The longer words of a text."""
    return frozenset(_WORD.findall(given.text.lower()[:20_000])) if given else frozenset()
