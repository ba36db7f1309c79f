"""How fresh we will be and were, and the budgets and objectives that people write for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from math import isfinite

from vedette.config.model import parse_duration
from vedette.config.pace_policies import objectives, rooms, schedule_policy
from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.core.freshness.measured import Measured, Outlook, expect, measure
from vedette.core.schedule import POLICIES
from vedette.core.schedule.learned.policy import LearnedPolicy
from vedette.core.schedule.protocol import Forecast, SchedulePolicy, to_hours
from vedette.core.text.nearest import unknown
from vedette.core.whatif.play import teach
from vedette.operations.installation import Installation
from vedette.store.recorded_looks import recorded

_WITHIN = 4.0  # hours of the coverage that is shown where there is no objective (spec 000/8)


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshnessQuestion:
    """None: as configured.  Budget and objectives are written as `operations/freshness.py` reads them."""

    policy: str | None = None
    budget: str | None = None
    objectives: Sequence[str] = ()
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """What is expected of a policy, and what was measured."""

    policy: str
    goals: Objectives
    outlook: Outlook
    measured: Mapping[str, Measured]
    hosts: tuple[str, ...]
    days: float
    requests_per_day: float
    spent: int = 0  # looks in the last 24 hours

    def holds(self) -> bool:
        """Expected to hold, and not measured to be broken."""
        return self.outlook.is_met and not any(self.is_broken(name) for name in self.goals)

    def is_broken(self, name: str) -> bool:
        seen = self.measured[name].in_time
        return seen is not None and name in self.goals and seen.high < self.goals[name][1]


def freshness(
    installation: Installation,
    asked: FreshnessQuestion,
    *,
    progress: Callable[[int, int], None] = lambda done, whole: None,
) -> Freshness:
    """The promise before and after: what the policy foresees, and what the looks on record show."""
    config, now = installation.loaded.config, installation.now()
    goals = some_objectives(asked.objectives, objectives(config))
    with installation.queries() as queries:
        found = recorded(queries, since=asked.since, now=now)
        spent = queries.requests(now - timedelta(days=1))[0]
    history = found.history
    if not len(history.targets):
        raise InputError("nothing is watched yet; `vedette add URL` first")
    days = history.days if history.requests else 0.0
    per_day = history.requests / days if days > 0 else 0.0
    looks = config.schedule.budget_per_day if asked.budget is None else a_budget(asked.budget, per_day)
    name = asked.policy or config.schedule.policy
    limits = dict(enumerate(rooms(config, found.hosts)))
    plan = schedule_policy(config, name, goals=goals, budget=looks)
    progress(0, 0)
    teach(plan, history, to_forecast=True)
    forecast = _forecast(plan, max(to_hours(now), history.end), looks, limits)
    within = {risk.name: goals.get(risk.name, (_WITHIN, 0.0))[0] for risk in Risk}
    return Freshness(
        policy=name,
        goals=goals,
        outlook=expect(forecast, history.targets, goals, limits, found.every),
        measured=measure(history, within),
        hosts=tuple(host for host, _ in found.hosts),
        days=days,
        requests_per_day=per_day,
        spent=spent,
    )


def freshness_json(found: Freshness) -> dict[str, object]:
    outlook = found.outlook
    return {
        "policy": found.policy,
        "objectives": {
            name: {"within_h": hours, "share": share} for name, (hours, share) in found.goals.items()
        },
        "holds": found.holds(),
        "expected": {
            "budget_per_day": outlook.budget,
            "needed_per_day": outlook.needed,
            "shortfall_per_day": outlook.shortfall,
            "spent_last_24h": found.spent,
            "crowded_hosts": [
                {"host": found.hosts[host], "looks_per_day_beyond": beyond}
                for host, beyond in outlook.crowded
            ],
            "classes": {name: asdict(one) | {"is_met": one.is_met} for name, one in outlook.classes.items()},
            "tight_hosts": [
                asdict(one) | {"host": found.hosts[one.host], "missing": one.missing} for one in outlook.tight
            ],
        },
        "measured": {
            "days": found.days,
            "requests_per_day": found.requests_per_day,
            "classes": {name: asdict(one) for name, one in found.measured.items()},
        },
    }


def _forecast(plan: SchedulePolicy, t: float, budget: float | None, limits: Mapping[int, float]) -> Forecast:
    """What the policy foresees; the learned one gets the limits of the hosts."""
    if isinstance(plan, LearnedPolicy):
        return plan.forecast(t, budget, host_limits={h: most for h, most in limits.items() if isfinite(most)})
    return plan.forecast(t, budget)


# Budgets, objectives and policies as people write them: `0.5x`, `CRITICAL=2h:0.95`, `seed-ewma`.

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
