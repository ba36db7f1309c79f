"""What is held back: lanes, and looks and jobs that are parked.  A running engine hears of it within a second."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime

from vedette.config.pace_policies import lane_policies
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.jobs import ParkedJob
from vedette.contracts.lane import LaneState
from vedette.contracts.watch import Parked
from vedette.contracts.words import LaneKey
from vedette.core.lanes.lane import CLOSED, block, condition, explain, reset
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.report.lanes import lane_json
from vedette.store.job_bus import SqliteJobBus
from vedette.store.operator import drop_parked, retry_parked
from vedette.store.operator_orders import lane_state, save_lane
from vedette.store.views import LaneView


def list_lanes(
    installation: Installation, key: LaneKey | None = None, *, only_shut: bool = False
) -> list[LaneView]:
    """All that were used, or one; none where it was not used yet."""
    with installation.queries() as queries:
        if key is None:
            found = queries.lanes()
        else:
            _check_lane(installation, key)
            state = queries.lane(key)
            found = [] if state is None else [LaneView(key=key, state=state)]
    now = installation.now()
    return [view for view in found if not only_shut or condition(view.state, now) != CLOSED]


def reset_lane(installation: Installation, key: LaneKey) -> LaneState:
    """Lift the breaker, a Retry-After hold and a block.  The gap between requests and Crawl-delay stay."""
    return _moved(installation, key, reset)


def block_lane(installation: Installation, key: LaneKey, why: str) -> LaneState:
    """Start nothing in this lane until it is reset."""
    return _moved(installation, key, lambda state: block(state, why))


def explained_lane_json(installation: Installation, view: LaneView, now: datetime) -> dict[str, object]:
    """A lane with the reasons why a request could not start now."""
    policy = lane_policies(installation.loaded.config).of(view.key)
    reasons = [
        {"code": r.code, "seconds": r.points, "note": r.note} for r in explain(policy, view.state, now)
    ]
    return {**lane_json(view.key, view.state, now), "reasons": reasons}


def _moved(installation: Installation, key: LaneKey, move: Callable[[LaneState], LaneState]) -> LaneState:
    _check_lane(installation, key)
    with installation.operating() as db:
        state = move(lane_state(db, key) or LaneState())
        save_lane(db, key, state, now=installation.now())
    return state


def _check_lane(installation: Installation, key: LaneKey) -> None:
    """InputError that names the nearest, for a host that nothing is watched on; other lanes need no page."""
    if not key.startswith("host:"):
        return
    with installation.queries() as queries:
        if queries.lane(key) is not None or queries.has_pages(key):
            return
        known = {str(view.key) for view in queries.lanes()} | set(queries.source_lanes())
    words = unknown("lane", key, known).partition(" (known:")[0]
    raise InputError(f"{words}; no page of it is watched (`vedette lanes` shows the lanes)")


# What used up its attempts: looks by their URL, jobs of queues by their id.

MOST = 10_000  # each queue keeps a hundred


@dataclass(frozen=True, slots=True)
class ParkedWork:
    looks: tuple[Parked, ...] = ()  # newest first
    jobs: tuple[ParkedJob, ...] = ()


def list_parked(installation: Installation, limit: int = 0) -> ParkedWork:
    """At most `limit` looks and as many jobs; 0: all."""
    with installation.queries() as queries:
        looks = queries.parked(most=limit)
    return ParkedWork(tuple(looks), tuple(_jobs(installation)[: limit or None]))


def find_parked(installation: Installation, what: str) -> ParkedWork:
    """A job by its id, else a look by its URL."""
    jobs = tuple(job for job in _jobs(installation) if job.id == what.strip())
    if jobs:
        return ParkedWork(jobs=jobs)
    if "/" not in what:
        raise InputError(f"no parked job is called {what.strip()!r}; `vedette parked` shows what is parked")
    wanted = a_url(what)
    with installation.queries() as queries:
        looks = queries.parked(watch_id(wanted))
    if not looks:
        raise VedetteError(f"{wanted} is not parked; `vedette parked` shows what is")
    return ParkedWork(looks=tuple(looks))


def retry_work(installation: Installation, what: str | None) -> int:
    """Forget the failed attempts: look again as soon as the lane allows, give a job all its attempts again.

    None: of all that is parked.  Gives how many are due again.
    """
    chosen, now = _chosen(installation, what), installation.now()
    with installation.operating() as db:
        done = sum(retry_parked(db, one.watch, now=now) for one in chosen.looks)
    with closing(SqliteJobBus(installation.store())) as bus:
        return done + sum(bus.retry(one.queue, one.id, now=now) for one in chosen.jobs)


def drop_work(installation: Installation, what: str | None) -> int:
    """Take it off the list; a watch keeps its long interval, a job is not done.  None: all that is parked."""
    chosen = _chosen(installation, what)
    with installation.operating() as db:
        done = sum(drop_parked(db, one.watch) for one in chosen.looks)
    with closing(SqliteJobBus(installation.store())) as bus:
        return done + sum(bus.drop(one.queue, one.id) for one in chosen.jobs)


def _chosen(installation: Installation, what: str | None) -> ParkedWork:
    return list_parked(installation) if what is None else find_parked(installation, what)


def _jobs(installation: Installation) -> list[ParkedJob]:
    with closing(SqliteJobBus(installation.store())) as bus:
        return bus.parked(most=MOST)
