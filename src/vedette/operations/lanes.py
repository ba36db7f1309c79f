"""Lanes: what holds them, and the operator's hand on them.  A running engine hears of it within a second."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from vedette.config.policies import lane_policies
from vedette.contracts.errors import InputError
from vedette.contracts.lane import LaneState
from vedette.contracts.words import LaneKey
from vedette.core.lanes.lane import CLOSED, block, condition, explain, reset
from vedette.core.text.nearest import unknown
from vedette.operations.installation import Installation
from vedette.report.lanes import lane_json
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
