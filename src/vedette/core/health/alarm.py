"""When is an operator told?  On the way down once, on the way up once, however often it flaps in between.

An alarm is raised as soon as a check is bad.  It recovers when the subject has been good without a break for the
hold: `recover_after`, or two further looks where looks are rarer.  Every relapse doubles the hold, and relapses are
remembered beyond the recovery: a subject that flaps slowly is told of a few times, not for ever.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from vedette.contracts.alerts import AlarmState, Sign

LOOKS_THAT_SETTLE = 2
_MAX_DOUBLINGS = 16


class Move(StrEnum):
    RAISED = "raised"
    RECOVERED = "recovered"


@dataclass(frozen=True, slots=True, kw_only=True)
class AlarmParams:
    recover_after: timedelta = timedelta(hours=4)  # the base interval, 001 section 11.4: good news can wait
    longest_hold: timedelta = timedelta(hours=24)
    forget_after: timedelta = timedelta(days=7)


DEFAULT = AlarmParams()


def step(
    state: AlarmState, sign: Sign, *, now: datetime, pace: timedelta, params: AlarmParams = DEFAULT
) -> tuple[AlarmState, Move | None]:
    """The alarm after one more check, and what the operator hears of it."""
    if sign is Sign.UNKNOWN:
        return state, None
    if sign is Sign.BAD:
        return _bad(state, now, params)
    since = state.good_since or now
    good = replace(state, bad_since=None, good_since=since)
    if not state.is_raised or now - since < hold(state.relapses, pace, params):
        return good, None
    return replace(good, is_raised=False, settled_at=now), Move.RECOVERED


def hold(relapses: int, pace: timedelta, params: AlarmParams = DEFAULT) -> timedelta:
    """How long a subject must be good before it has recovered.  The longest hold bounds the growth, not the pace."""
    shortest = max(params.recover_after, LOOKS_THAT_SETTLE * pace)
    return min(shortest * (1 << min(relapses, _MAX_DOUBLINGS)), max(shortest, params.longest_hold))


def _bad(state: AlarmState, now: datetime, params: AlarmParams) -> tuple[AlarmState, Move | None]:
    if state.is_raised:
        again = state.good_since is not None
        relapses = state.relapses + again
        return replace(state, bad_since=state.bad_since or now, good_since=None, relapses=relapses), None
    relapses = state.relapses + 1 if _is_remembered(state, now, params) else 0
    raised = replace(state, is_raised=True, bad_since=now, good_since=None, relapses=relapses)
    return raised, Move.RAISED


def _is_remembered(state: AlarmState, now: datetime, params: AlarmParams) -> bool:
    return state.settled_at is not None and now - state.settled_at < params.forget_after
