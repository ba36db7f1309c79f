"""The recorded decision about a URL, with all that was known when it was made.  Nothing is decided again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from vedette.config.pace_policies import objectives
from vedette.contracts.documents import Artifact
from vedette.contracts.watch import Decision, Watch
from vedette.core.evidence.ledger import InForce, learned_case
from vedette.core.schedule.due import LEARNED
from vedette.core.schedule.learned.beliefs import (
    Surroundings,
    is_new,
    is_whole,
    unpack_beliefs,
    unpack_published,
)
from vedette.core.schedule.learned.explain import ExplainQuestion, explain_watch
from vedette.core.schedule.learned.learn import Calibration
from vedette.core.schedule.protocol import Explanation, from_hours
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.evidence_list import act_of_watch
from vedette.operations.installation import Installation
from vedette.operations.watches import first_shown, known_watch
from vedette.operations.why_not import interval_of
from vedette.report.beliefs import Believed
from vedette.report.explanation import WatchExplanation
from vedette.store.queries import Queries
from vedette.store.stage_results import likeness_of, verdict_of
from vedette.store.views import LedgerView


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
    decided = _decided(queries, watch)
    view = queries.source(watch.source)
    source = view.source if view else None
    asked = a_url(url)
    return WatchExplanation(
        watch=watch,
        interval=interval_of(installation, queries, watch, source),
        is_open=queries.is_open(watch.id),
        merged_from=asked if watch_id(asked) != watch.id else None,
        decided_at=decided[0].at if decided else None,
        decisions=tuple(one for row in decided for one in row.decisions),
        visits=tuple(queries.visits(watch.id, most=visits)),
        changes=first_shown(queries, watch.id),
        source=source,
        lane=queries.lane(watch.lane),
        believed=believed(queries, watch, objectives(installation.loaded.config), installation.now()),
        texts=_texts(queries, watch),
    )


def _decided(queries: Queries, watch: Watch) -> list[LedgerView]:
    """The last row of the ledger about a look, and the last about the hunt."""
    rows = queries.ledger(watch.id, most=50)
    found = (next((row for row in rows if row.kind == kind), None) for kind in ("visit", "hunt"))
    return [row for row in found if row is not None]


def _texts(queries: Queries, watch: Watch) -> tuple[Artifact, ...]:
    """Texts that were made of what it shows now."""
    if watch.seen is None:
        return ()
    evidence = watch.seen.evidence
    return tuple(view.artifact for view in queries.artifacts([evidence]).get(evidence, ()))


# What the learned policy believes of a watch, from its row, its last decision and what was published.

Objectives = Mapping[str, tuple[float, float]]  # risk: hours, share
RECENT = 50  # ledger rows in which the last schedule decision is looked for
_BEYOND = (
    "audit",
    "acquaint",
    "every",
    "scrape_frequency",
    "failed",
    "parked",
)  # what moves a look beyond the belief


def believed(queries: Queries, watch: Watch, objectives: Objectives, now: datetime) -> Believed | None:
    """None: the policy has no belief about it yet, or it is not scheduled."""
    decision, named = _last_decisions(queries, watch)
    if not is_whole(watch.belief) or watch.due_at is None or decision is None:
        return None
    if decision.inputs.get("policy") != LEARNED:
        return None
    belief = unpack_beliefs([watch.belief])
    is_anew = belief.listed_change_p[0] == 0 and _is_moved(watch, decision)
    version = decision.inputs["published"]
    published = queries.published(version if isinstance(version, int) and not is_anew else None)
    if published is None:
        return None
    asked = ExplainQuestion(
        belief=watch.belief,
        place=_place(queries, decision),
        published=unpack_published(published.body),
        now=now,
        due_at=watch.due_at,
        objectives=objectives,
        moved_by=next((r for r in decision.reasons if r.code in _BEYOND), None),
    )
    said = explain_watch(asked)
    binds = any(reason.code == "objective" for reason in said.reasons)
    return replace(
        _believed(said),
        p_changed=None if is_new(watch.belief) else _honest(queries, said.p_changed),
        looked_at=from_hours(float(belief.last[0])),
        is_due=watch.due_at <= now,
        objective=_objective(watch, objectives) if binds else "",
        signals=(*_named_by(named), *_signals(decision, float(belief.listed_change_p[0]))),
        is_planned_anew=is_anew,
    )


def _believed(said: Explanation) -> Believed:
    return Believed(
        rate=said.rate * 24,
        rate_low=(said.rate_low or 0.0) * 24,
        rate_high=(said.rate_high or 0.0) * 24,
        p_changed=said.p_changed,
        value=said.value,
        price=said.price,
        hours=said.interval,
        looked_at=from_hours(said.due_at - said.interval),
        reasons=said.reasons,
    )


def _last_decisions(queries: Queries, watch: Watch) -> tuple[Decision | None, Decision | None]:
    """The last one about its next look, and the one of a listing that moved that look since."""
    named = None
    for row in queries.ledger(watch.id, most=RECENT):
        for decision in row.decisions:
            if decision.action == "schedule":
                return decision, named
            if decision.action == "replan":
                named = named or decision
    return None, named


def _is_moved(watch: Watch, decision: Decision) -> bool:
    """True where it is due at another time than was decided, though nothing happened to it."""
    output = decision.output
    if watch.due_at is None or watch.pending is not None or watch.attempt or not isinstance(output, dict):
        return False
    return abs((datetime.fromisoformat(output["due_at"]) - watch.due_at).total_seconds()) > 1.0


def _place(queries: Queries, decision: Decision) -> Surroundings:
    return learned_case(decision.inputs, InForce(clocks=queries.clock)).place


def _honest(queries: Queries, p_changed: float) -> float:
    """Corrected by what such predictions were worth so far."""
    text = queries.running()
    calibration = Calibration(json.loads(text)["calibration"] if text else None)
    return float(calibration.honest(np.array([p_changed]))[0])


def _objective(watch: Watch, objectives: Objectives) -> str:
    within, share = objectives[watch.risk.name]
    return f"{watch.risk.name} within {within:g} h, {share:.0%}: asks for this look"


def _named_by(named: Decision | None) -> tuple[str, ...]:
    """Which listing brought the next look forward, as it was recorded."""
    moved = None if named is None else next((r for r in named.reasons if r.code == "mark"), None)
    return () if moved is None else (f"due {-moved.points:.3g} h sooner: {moved.note}",)


def _signals(decision: Decision, mark: float) -> tuple[str, ...]:
    """The listings that named it, with what they said."""
    said = []
    if 0 < mark < 1:
        said.append(f"a listing named it since the last look, {mark:.0%} likely true")
    hub = decision.inputs.get("hub")
    if isinstance(hub, list):
        said.append(f"its hub is read every {hub[1]:.3g} h and names {hub[2]:.0%} of its changes")
    if decision.inputs.get("modified") is not None:
        said.append("its host said when the last change was, and is believed")
    if decision.inputs.get("clock") is not None:
        said.append("its host changes at certain hours")
    return tuple(said)
