"""The options of `make_policy("learned", ...)`, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vedette.contracts.errors import InputError
from vedette.core.schedule.outlook import check_objectives


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOptions:
    """Budgets are looks per day; None: no limit."""

    seed: int = 0
    objectives: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # risk: hours, share
    budget_per_day: float | None = None
    host_budget_per_day: float | None = None  # of every host
    host_budgets: Mapping[int, float] = field(default_factory=dict)  # of hosts by id, instead

    @property
    def has_host_budgets(self) -> bool:
        return self.host_budget_per_day is not None or bool(self.host_budgets)

    def host_budget(self, host: int) -> float | None:
        return self.host_budgets.get(host, self.host_budget_per_day)

    def host_limits(self, hosts: Iterable[int]) -> dict[int, float]:
        limits = {host: self.host_budget(host) for host in hosts} if self.has_host_budgets else {}
        return {host: most for host, most in limits.items() if most is not None}


def learned_options(seed: int, options: Mapping[str, Any]) -> LearnedOptions:
    host_budgets = dict(options.get("host_budgets") or {})
    budgets = [options.get("budget_per_day"), options.get("host_budget_per_day"), *host_budgets.values()]
    for budget in budgets:
        if budget is not None and not budget >= 0:
            raise InputError(
                f"a budget is {budget!r}; it must be a number of looks per day, or None for no limit"
            )
    return LearnedOptions(
        seed=seed,
        objectives=check_objectives(options.get("objectives") or {}),
        budget_per_day=budgets[0],
        host_budget_per_day=budgets[1],
        host_budgets=host_budgets,
    )
