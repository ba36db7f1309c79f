"""Why a URL was not looked at: everything that holds it back, the strongest first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from vedette.config.pace_policies import lane_policies
from vedette.contracts.source import Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import Outcome, WatchId
from vedette.core.schedule.asked import AskedLimits, asked_of, strongest
from vedette.core.urls.admission import blocked_by
from vedette.core.urls.canonical import clipped, host_of, watch_id
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.operations.watches import written_url
from vedette.report.lanes import AskedInterval
from vedette.report.why_not import WhyNotAnswer, WhyNotFacts, too_long_answer
from vedette.report.why_not import why_not as answers_of
from vedette.store.operator import lock_holder
from vedette.store.queries import Queries


@dataclass(frozen=True, slots=True)
class WhyNot:
    """At least one answer."""

    url: str
    due_at: datetime | None
    answers: tuple[WhyNotAnswer, ...]


def why_not(installation: Installation, url: str) -> WhyNot:
    """For a URL in any spelling, watched or not."""
    refused = too_long_answer(url.strip())
    if refused is not None:
        return WhyNot(clipped(url.strip()), None, (refused,))
    wanted = a_url(url)
    with installation.queries() as queries:
        facts = facts_of(installation, queries, wanted)
    return WhyNot(wanted, facts.watch.due_at if facts.watch else None, tuple(answers_of(facts)))


def why_not_json(found: WhyNot) -> dict[str, object]:
    every = [{"reason": one.code, "answer": one.sentence, "remedy": one.remedy} for one in found.answers]
    return {"url": found.url, **every[0], "due_at": found.due_at, "all": every}


def facts_of(installation: Installation, queries: Queries, url: str) -> WhyNotFacts:
    """All that bears on whether this URL is looked at."""
    number, settings = watch_id(url), installation.loaded.config
    watch, refusal = queries.watch(number), queries.refusal(number)
    merged = queries.watch(watch.merged_into) if watch and watch.merged_into else None
    source = queries.source(watch.source) if watch else None
    visits = queries.visits(number, most=2)
    lease = queries.lease(number)
    policy, decided_by = _decided(queries, number)
    return WhyNotFacts(
        url=url,
        now=installation.now(),
        classified=installation.classify(url),
        blocked_word=blocked_by(host_of(url), settings.discover.blocked_words),
        watch=watch,
        merged_url=merged.url if merged else None,
        refused=refusal.refused if refusal else None,
        refused_count=refusal.count if refusal else 0,
        source=source.source if source else None,
        source_state=source.state if source else None,
        parked=next(iter(queries.parked(number)), None),
        leased_until=lease.until_at if lease else None,
        lane=queries.lane(watch.lane) if watch else None,
        last_detail=visits[0].detail if visits else "",
        outcome_before=visits[1].outcome if len(visits) > 1 else None,
        policy=policy,
        decided_by=decided_by,
        is_open=queries.is_open(number),
        engine=lock_holder(installation.loaded.data),
        is_written=watch is None and written_url(installation, url) is not None,
        interval=interval_of(installation, queries, watch, source.source) if watch and source else None,
    )


def _decided(queries: Queries, watch: WatchId) -> tuple[str, str]:
    """The policy that decided when it is looked at next, and the code of its last reason."""
    for row in queries.ledger(watch, most=5):
        for one in row.decisions:
            if one.action in ("schedule", "replan"):
                return str(one.inputs.get("policy") or ""), one.reasons[-1].code if one.reasons else ""
    return "", ""


# What was asked for about a watch, held against its lane and the budgets of the configuration.


def interval_of(
    installation: Installation, queries: Queries, watch: Watch, source: Source | None
) -> AskedInterval | None:
    """None: nobody asked for an interval of this watch."""
    if source is None:
        return None
    is_own, is_listing = _is_own(queries, watch, source), watch.lister is not None
    asked = asked_of(source, is_own=is_own, is_listing=is_listing, outcome=Outcome.OK)
    wanted = asked.ceiling if asked.every is None else asked.every
    if wanted is None:
        return None
    config = installation.loaded.config
    lane, schedule = queries.lane(watch.lane), config.schedule
    limits = AskedLimits(
        lane=lane_policies(config).of(watch.lane),
        crawl_delay=None if lane is None else lane.crawl_delay,
        host_budget=schedule.host_budget_per_day,
        budget=schedule.budget_per_day,
        beside=queries.looks_asked_of(watch.lane, beside=watch.id),
    )
    return AskedInterval(asked, strongest(wanted, limits))


def _is_own(queries: Queries, watch: Watch, source: Source) -> bool:
    own = watch_id(source.url)
    if watch.id == own:
        return True
    known = queries.watch(own)
    return known is not None and known.merged_into == watch.id
