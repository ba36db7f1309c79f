"""Where the hunt has been, what that gave, and what comes next."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from vedette.config.rules import hunt_options, triage
from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.findings import HuntCost
from vedette.contracts.hunt import HuntRecord, HuntState
from vedette.contracts.oddness import Action, Contribution, OddFacts, OddFinding, OddPage, OddWeights
from vedette.contracts.words import ContentClass, WatchId
from vedette.core.hunt import Chosen
from vedette.core.hunt_worth import HuntParams, room_of
from vedette.core.oddness.features import WORDS
from vedette.core.oddness.isolation import with_forest
from vedette.core.oddness.mark_weights import LEAST, fitted
from vedette.core.oddness.odd_score import (
    DEFAULT,
    RELEASED,
    configured,
    contributions,
    read_weights,
    written_weights,
)
from vedette.core.oddness.page_figures import measure_page
from vedette.core.text.charset import as_utf8
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import watch_id
from vedette.discover.sitemap import site_of
from vedette.engine.settle.hunter import Hunter
from vedette.engine.settle.odd_pages import judged_again
from vedette.extract import extract
from vedette.operations.arguments import a_url
from vedette.operations.evidence import body_of
from vedette.operations.installation import Installation
from vedette.store.finding_rows import spent_on_hunts
from vedette.store.hunt_rows import ALL, HuntReader, odd_statements, save_mark, save_weights
from vedette.store.queries import Queries

MARKS = ("odd", "plain")
EVER = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntOverview:
    state: HuntState
    whole: HuntRecord
    open: int
    waiting: int
    hosts: list[tuple[str, HuntRecord]]
    next: list[Chosen]
    params: HuntParams
    looks_per_day: float | None
    seeds: list[tuple[str, HuntRecord]]
    judged: int
    findings: int
    cost: HuntCost

    def room(self, record: HuntRecord) -> int:
        """How many more looks its errors leave to a host."""
        return room_of(record, self.params)


def hunt(installation: Installation, *, top: int) -> HuntOverview:
    """So many hosts and pages of each kind.  Changes nothing."""
    options = hunt_options(installation.loaded.config)
    cost = hunt_cost(installation)
    with installation.reading() as db:
        reader = HuntReader(db)
        is_open, waiting = reader.counts()
        return HuntOverview(
            state=reader.state(),
            whole=reader.records().get("", HuntRecord()),
            open=is_open,
            waiting=waiting,
            hosts=reader.hosts(top),
            next=Hunter(reader, options, lambda now: 0, installation.now()).next(top, installation.now()),
            params=options.params,
            looks_per_day=options.looks_per_day,
            seeds=reader.seeds(top),
            judged=reader.judged(),
            findings=cost.findings,
            cost=cost,
        )


def hunt_json(found: HuntOverview) -> dict[str, object]:
    return {
        "chosen": found.state.number,
        "waiting": found.waiting,
        "open": found.open,
        "looks_per_day": found.looks_per_day,
        "share": found.params.share,
        **found.whole._asdict(),
        "judged": found.judged,
        "findings": found.findings,
        "cost": cost_json(found.cost),
        "seeds": [{"source": source, **one._asdict()} for source, one in found.seeds],
        "hosts": [{"host": host, **one._asdict(), "room": found.room(one)} for host, one in found.hosts],
        "next": [
            {
                "url": one.prospect.url,
                "is_new": one.is_new,
                "value": one.value,
                "reasons": [{"code": r.code, "points": r.points, "note": r.note} for r in one.reasons],
            }
            for one in found.next
        ],
    }


# What it cost.


def hunt_cost(installation: Installation, *, since: datetime | None = None) -> HuntCost:
    """Since then, or ever.  Sources that hunt now count, with all their looks that are still on record."""
    start, until = since or EVER, installation.now()
    with installation.queries() as queries:
        hunting = [view.source.id for view in queries.sources() if view.source.options.hunt]
    with installation.reading() as db:
        found = HuntReader(db).findings()
        spent = spent_on_hunts(db, hunting, start, until)
    fresh = sum(start <= one.found_at <= until for one in found)
    return HuntCost(findings=fresh if since else len(found), **spent._asdict())


def cost_json(cost: HuntCost) -> dict[str, object]:
    return {
        **asdict(cost),
        "of_each": {
            "looks": cost.of_each(cost.looks),
            "wire_bytes": cost.of_each(cost.wire_bytes),
            "cpu_seconds": cost.cpu_of_each,
            "usd": cost.of_each(cost.usd),
        },
    }


# What was found, why, and what the operator says of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class OddPageView:
    """Why a page is odd, or is not."""

    page: OddPage
    reasons: tuple[Contribution, ...]
    weights: OddWeights
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    url: str
    word: str
    odd: int  # pages with this mark by now
    plain: int
    weights: str = ""  # version of the weights that follow; empty: too few marks yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescored:
    """All pages judged again from the archive."""

    pages: int
    from_archive: int  # the others only from the figures that were kept
    findings: int
    changed: int  # scores that came out differently
    digest: str  # sha256 over all findings without their times


def findings(installation: Installation, *, least: float = 0.0, most: int = ALL) -> list[OddFinding]:
    """What hunts found, the oddest first."""
    with installation.reading() as db:
        return HuntReader(db).findings(least=least, most=most)


def finding_json(one: OddFinding) -> dict[str, object]:
    return {
        "url": one.url,
        "score": one.score,
        "action": one.action.value,
        "place": one.place,
        "source": one.source,
        "found_at": one.found_at,
        "mark": one.mark,
        "weights": one.weights,
        "contributions": [contribution_json(reason) for reason in one.reasons],
    }


def contribution_json(one: Contribution) -> dict[str, object]:
    return {
        "feature": one.feature,
        "version": one.version,
        "family": one.family.value,
        "points": one.points,
        "words": WORDS.get(one.feature, ""),
    }


def odd_page(installation: Installation, url: str) -> OddPageView:
    """What is known of the oddness of a page."""
    wanted = a_url(url)
    with installation.reading() as db:
        reader = HuntReader(db)
        page = reader.page(watch_id(wanted))
        if page is None:
            raise InputError(f"no hunt has looked at {wanted}; `vedette why-not {wanted}` says why")
        weights = _weights(installation, reader, page.decision.weights)
        return OddPageView(
            page=page,
            reasons=page.decision.reasons or contributions(page.features.features, weights),
            weights=weights,
            mark=reader.mark(page.watch),
        )


def odd_page_json(view: OddPageView) -> dict[str, object]:
    page = view.page
    made = page.features.provenance
    return {
        "url": page.url,
        "score": page.decision.score,
        "action": page.decision.action.value,
        "persist_at": view.weights.persist_at,
        "llm_at": view.weights.llm_at,
        "twin": page.decision.twin or None,
        "mark": view.mark,
        "place": page.place,
        "at": page.at,
        "contributions": [contribution_json(one) for one in view.reasons],
        "features": [
            {
                "feature": one.name,
                "version": one.version,
                "family": one.family.value,
                "value": one.value,
                "rarity": one.rarity,
                "evidence": one.evidence,
            }
            for one in page.features.features
        ],
        "provenance": {
            "page": made.page,
            "figures": made.figures,
            "features": made.features,
            "embedding": made.embedding,
            "looks": made.looks,
            "weights": page.decision.weights,
        },
    }


def mark_page(installation: Installation, url: str, word: str) -> Marked:
    """The operator says that a page is odd, or plain.  With enough marks new weights follow, for the next run."""
    if word not in MARKS:
        raise InputError(f"{unknown('mark', word, MARKS)}; a page is odd or plain")
    wanted = odd_page(installation, url).page
    now = installation.now()
    with installation.operating() as db:
        save_mark(db, wanted.watch, word, now=now)
        marks = [(page.features, said == "odd") for page, said in HuntReader(db).marked()]
        odd = sum(is_odd for _, is_odd in marks)
        version = ""
        if min(odd, len(marks) - odd) >= LEAST:
            weights = fitted(marks, DEFAULT)
            forest = newest_weights(HuntReader(db)).forest
            for one in (weights,) if forest is None else (weights, with_forest(weights, forest)):
                version = one.version
                save_weights(db, version, written_weights(one), now=now)
    return Marked(url=wanted.url, word=word, odd=odd, plain=len(marks) - odd, weights=version)


def rescore(installation: Installation, *, workers: int = 1) -> Rescored:
    """Judges every page again, from its archived body, in the order of the looks.  No engine may run meanwhile."""
    with installation.reading() as db:
        reader = HuntReader(db)
        rows = reader.facts(0, -1)
        known = {
            watch: page for watch in (one.watch for one in rows) if (page := reader.page(watch)) is not None
        }
        weights = configured(newest_weights(reader), triage(installation.loaded.config))
    with installation.queries() as queries:
        measured = _measured(installation, queries, rows, workers)
    judged = judged_again([facts for facts, _ in measured], weights)
    pages = [
        replace(known[facts.watch], page=facts.page, features=features, decision=decision)
        for facts, features, decision in judged
    ]
    with installation.operating() as db:
        for statement, values in odd_statements(pages):
            db.executemany(statement, values)
        db.execute("DELETE FROM backgrounds")  # learned again from the figures at the next start
    kept = [page for page in pages if page.decision.action is not Action.SKIP]
    return Rescored(
        pages=len(pages),
        from_archive=sum(is_read for _, is_read in measured),
        findings=len(kept),
        changed=sum(page.decision.score != known[page.watch].decision.score for page in pages),
        digest=findings_digest(findings(installation)),
    )


def findings_digest(found: Sequence[OddFinding]) -> str:
    """sha256 over findings without their times."""
    rows = [
        [
            one.url,
            one.number,
            one.score,
            one.action.value,
            [[r.feature, r.version, r.points] for r in one.reasons],
        ]
        for one in found
    ]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


def _measured(
    installation: Installation, queries: Queries, rows: Sequence[OddFacts], workers: int
) -> list[tuple[OddFacts, bool]]:
    """Figures of each page from its archived body; where that has expired, as they were kept."""
    scope = installation.loaded.config.extract.scope
    kept = {one.watch: queries.evidence(one.watch) for one in rows}
    redacted = _redacted(queries, [one.watch for one in rows])

    def measure(facts: OddFacts) -> tuple[OddFacts, bool]:
        evidence = next((one for one in kept[facts.watch] if one.digest == facts.digest), None)
        if evidence is None:
            return facts, False
        try:
            body = body_of(installation.loaded, evidence)
        except StoreError:
            return facts, False
        url, kind = evidence.url, evidence.content_type
        redacts = facts.watch in redacted
        found = extract(body, url=url, content_type=kind, scope=scope, redacts=redacts)
        is_page = found.content_class is ContentClass.HTML
        markup = as_utf8(body, kind)[0] if is_page else b""
        return replace(facts, page=measure_page(markup, found, url, site_of)), True

    with ThreadPoolExecutor(max(1, workers)) as pool:
        return list(pool.map(measure, rows))


def _redacted(queries: Queries, watches: Sequence[WatchId]) -> set[WatchId]:
    """The watches of which personal data is left out, as at their looks."""
    sources = {str(view.source.id): view.source for view in queries.sources()}
    found = ((watch, queries.watch(watch)) for watch in watches)
    return {
        watch
        for watch, known in found
        if known is not None and known.source in sources and sources[known.source].options.redacts
    }


def newest_weights(reader: HuntReader) -> OddWeights:
    """Those that marks or a forest gave last, or those of the program."""
    text = reader.weights()
    return DEFAULT if text is None else read_weights(text)


def _weights(installation: Installation, reader: HuntReader, version: str) -> OddWeights:
    text = None if version in RELEASED else reader.weights(version)
    known = RELEASED.get(version, DEFAULT)
    return configured(known if text is None else read_weights(text), triage(installation.loaded.config))
