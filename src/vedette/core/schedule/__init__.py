"""Schedule policies by name.  `make_policy("seed-ewma", seed=1)` gives a SchedulePolicy (protocol.py).

Importing this package imports no numpy; making a policy does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown

if TYPE_CHECKING:
    from vedette.core.schedule.columns import PolicyOptions
    from vedette.core.schedule.per_risk import IntervalRule
    from vedette.core.schedule.protocol import SchedulePolicy

SHARED_OPTIONS = ("objectives", "budget_per_day")  # every policy takes them, besides the seed


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """How a named policy is made, and the options that it takes beside the shared ones."""

    make: Callable[[str, int, Mapping[str, Any]], SchedulePolicy]
    options: tuple[str, ...]


def make_policy(name: str, *, seed: int = 0, **options: Any) -> SchedulePolicy:
    """The policy of that name.  Unknown names and options are InputErrors that name the nearest known one."""
    if name not in POLICIES:
        raise InputError(unknown("schedule policy", name, POLICIES))
    row = POLICIES[name]
    for option in options:
        if option not in row.options and option not in SHARED_OPTIONS:
            raise InputError(unknown(f"option of {name}", option, ("seed", *SHARED_OPTIONS, *row.options)))
    return row.make(name, seed, options)


def _seed_ewma(name: str, seed: int, options: Mapping[str, Any]) -> SchedulePolicy:
    from vedette.core.schedule.ewma import EwmaParams, EwmaRule

    return _columns(name, EwmaRule(options.get("params") or EwmaParams()), seed, options)


def _fixed(name: str, seed: int, options: Mapping[str, Any]) -> SchedulePolicy:
    from vedette.core.schedule.per_risk import FixedRule

    return _columns(name, FixedRule(**_given(options, "every_hours", "jitter_share")), seed, options)


def _per_risk(name: str, seed: int, options: Mapping[str, Any]) -> SchedulePolicy:
    from vedette.core.schedule.per_risk import per_risk_rule

    return _columns(name, per_risk_rule(**_given(options, "hours", "jitter_share")), seed, options)


def _learned(name: str, seed: int, options: Mapping[str, Any]) -> SchedulePolicy:
    from vedette.core.schedule.learned.memory import learned_options
    from vedette.core.schedule.learned.policy import LearnedPolicy

    return LearnedPolicy(name, learned_options(seed, options))


# A further policy is one row.
POLICIES: Mapping[str, PolicyRow] = MappingProxyType(
    {
        "learned": PolicyRow(_learned, ("host_budget_per_day", "host_budgets")),
        "seed-ewma": PolicyRow(_seed_ewma, ("params", "velocity")),
        "fixed": PolicyRow(_fixed, ("every_hours", "jitter_share")),
        "per-risk": PolicyRow(_per_risk, ("hours", "jitter_share")),
    }
)


def _columns(name: str, rule: IntervalRule, seed: int, options: Mapping[str, Any]) -> SchedulePolicy:
    from vedette.core.schedule.columns import ColumnPolicy

    return ColumnPolicy(name, rule, _shared(seed, options), options.get("velocity"))


def _shared(seed: int, options: Mapping[str, Any]) -> PolicyOptions:
    from vedette.core.schedule.columns import PolicyOptions
    from vedette.core.schedule.outlook import check_objectives

    budget = options.get("budget_per_day")
    if budget is not None and not budget >= 0:
        raise InputError(f"budget_per_day is {budget!r}; it must be a number of looks, or None for no limit")
    return PolicyOptions(
        seed=seed, objectives=check_objectives(options.get("objectives") or {}), budget_per_day=budget
    )


def _given(options: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: options[name] for name in names if name in options}
