"""Budgets, objectives and policies as people write them: `0.5x`, `CRITICAL=2h:0.95`, `seed-ewma`."""

from __future__ import annotations

import math
from collections.abc import Sequence

from vedette.config.model import parse_duration
from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.schedule import POLICIES
from vedette.core.text.nearest import unknown

Objectives = dict[str, tuple[float, float]]  # risk name: hours, share
_SHARE = 0.95  # where an objective names none
UNLIMITED = ("none", "unlimited")


def a_budget(text: str | None, per_day: float) -> float | None:
    """Looks per day.  `0.5x` is half of `per_day`; `none` is no limit."""
    if text is None or text.strip().lower() in UNLIMITED:
        return None
    word = text.strip().lower()
    try:
        value = float(word.removesuffix("x")) * (per_day if word.endswith("x") else 1.0)
    except ValueError:
        raise InputError(
            f"--budget: {text!r} is neither looks per day (2000), a share (0.5x) nor none"
        ) from None
    if not (value > 0 and math.isfinite(value)):
        raise InputError(f"--budget: {text!r} buys no look; it must be above 0")
    return value


def some_objectives(given: Sequence[str] | None, configured: Objectives) -> Objectives:
    """The configured objectives with the given ones in their place."""
    goals = dict(configured)
    for text in given or ():
        name, goal = _objective(text)
        goals[name] = goal
    return goals


def some_policies(given: Sequence[str] | None, configured: str) -> tuple[str, ...]:
    """Known names, each once."""
    for name in given or ():
        if name not in POLICIES:
            raise InputError(unknown("schedule policy", name, POLICIES))
    return tuple(dict.fromkeys(given or (configured,)))


def _objective(text: str) -> tuple[str, tuple[float, float]]:
    name, mark, goal = text.partition("=")
    time, _, share = goal.partition(":")
    try:
        risk = Risk.parse(name)
        hours = parse_duration(time).total_seconds() / 3600
        part = float(share) if share else _SHARE
    except ValueError as error:
        raise InputError(f"--objective: {text!r}: {error}; write for example CRITICAL=2h:0.95") from None
    if not mark or not (hours > 0 and 0 < part <= 1):
        raise InputError(
            f"--objective: {text!r}: a time above 0 and a share above 0, at most 1; write CRITICAL=2h:0.95"
        )
    return risk.name, (hours, part)
