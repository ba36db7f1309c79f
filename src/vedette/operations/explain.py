"""The recorded decision about a URL, with all that was known when it was made.  Nothing is decided again."""

from __future__ import annotations

from dataclasses import replace

from vedette.config.policies import objectives
from vedette.core.urls.canonical import watch_id
from vedette.operations.acts import act_of_watch
from vedette.operations.arguments import a_url
from vedette.operations.asked_intervals import interval_of
from vedette.operations.beliefs import believed
from vedette.operations.installation import Installation
from vedette.operations.known_watch import known_watch
from vedette.report.explanation import WatchExplanation
from vedette.store.queries import Queries
from vedette.store.stage_results import likeness_of, verdict_of


def explain(installation: Installation, url: str, *, visits: int) -> WatchExplanation:
    """What is on record about a URL in any spelling, with its last looks (0: all of them)."""
    with installation.queries() as queries:
        said = _explanation(installation, queries, url, visits)
        watch = said.watch
        if watch.seen is not None:
            store, evidence = installation.store(), watch.seen.evidence
            near = likeness_of(store, evidence)
            other = queries.evidence_by_id(near.other) if near else None
            similar = (other.url, near.share) if near and other else None
            said = replace(said, verdict=verdict_of(store, evidence), similar=similar)
        return replace(said, act=act_of_watch(installation.loaded, queries, watch))


def _explanation(installation: Installation, queries: Queries, url: str, visits: int) -> WatchExplanation:
    watch = known_watch(installation, queries, url)
    rows = queries.ledger(watch.id, most=50)
    last, chosen = (next((row for row in rows if row.kind == kind), None) for kind in ("visit", "hunt"))
    entry = last or chosen
    source = queries.source(watch.source)
    seen = [watch.seen.evidence] if watch.seen else []
    made = queries.artifacts(seen)
    asked = a_url(url)
    return WatchExplanation(
        watch=watch,
        interval=interval_of(installation, queries, watch, source.source if source else None),
        is_open=queries.is_open(watch.id),
        merged_from=asked if watch_id(asked) != watch.id else None,
        decided_at=entry.at if entry else None,
        decisions=tuple(one for row in (last, chosen) if row is not None for one in row.decisions),
        visits=tuple(queries.visits(watch.id, most=visits)),
        source=source.source if source else None,
        lane=queries.lane(watch.lane),
        believed=believed(queries, watch, objectives(installation.loaded.config), installation.now()),
        texts=tuple(view.artifact for evidence in seen for view in made.get(evidence, ())),
    )
