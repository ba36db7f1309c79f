"""What was asked for about a watch, held against its lane and the budgets of the configuration."""

from __future__ import annotations

from vedette.config.policies import lane_policies
from vedette.contracts.source import Source
from vedette.contracts.watch import Watch
from vedette.contracts.words import Outcome
from vedette.core.schedule.asked import AskedLimits, asked_of, strongest
from vedette.core.urls.canonical import watch_id
from vedette.operations.installation import Installation
from vedette.report.lanes import AskedInterval
from vedette.store.queries import Queries


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
