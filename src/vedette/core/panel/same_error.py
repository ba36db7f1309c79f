"""Does a provider answer nothing but one and the same error?  Then asking on is of no use, and costs.

An error counts when a second call would not change it.  Some are about the model or the address (404, 400, a redirect):
so many in a row, and the provider is stopped.  Others may be about the question (a filter, an answer that cannot be
read): they stop a provider only when it has answered nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from vedette.contracts.words import Outcome, Reason
from vedette.core.lanes.outcomes import MEANING
from vedette.core.panel.ending import OF_THE_KEY

STOP_AFTER = 20
_OF_THE_MODEL = frozenset(
    (
        Outcome.GONE,
        Outcome.CLIENT_ERROR,
        Outcome.REDIRECT_ERROR,
        Outcome.ADDRESS_REFUSED,
        Outcome.SCHEME_REFUSED,
        Outcome.TLS_ERROR,
        Outcome.BLOCKED_PAGE,
        Outcome.LOGIN_WALL,
    )
)


@dataclass(frozen=True, slots=True)
class Streak:
    """Of one provider: how often in a row the same error ended a cell, and whether it ever answered."""

    outcome: Outcome | None = None
    length: int = 0
    has_answered: bool = False
    detail: str = ""


def heard(streak: Streak, outcome: Outcome, detail: str = "") -> Streak:
    """After a cell ended so, for good."""
    if outcome is Outcome.OK:
        return Streak(has_answered=True)
    if outcome in OF_THE_KEY or not MEANING[outcome].is_look:
        return streak
    if outcome is not streak.outcome:
        return replace(streak, outcome=outcome, length=1, detail=detail)
    return replace(streak, length=streak.length + 1, detail=detail)


def stop(streak: Streak) -> Reason | None:
    """Why the provider is asked no more, or None."""
    if streak.outcome is None or streak.length < STOP_AFTER:
        return None
    if streak.has_answered and streak.outcome not in _OF_THE_MODEL:
        return None
    told = f"{streak.length} answers in a row were {streak.outcome.value}"
    return Reason("same_error", streak.length, f"{told}: {streak.detail}" if streak.detail else told)
