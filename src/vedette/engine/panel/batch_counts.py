"""What has happened so far, by provider: spec 003's figures."""

from __future__ import annotations

from dataclasses import dataclass, field

from vedette.contracts.panel import Answer
from vedette.contracts.panel_run import ProviderTally
from vedette.contracts.words import Outcome
from vedette.core.panel.ending import Streak
from vedette.core.panel.models import is_failure
from vedette.core.panel.pace import Latencies

_THROTTLED = frozenset((Outcome.THROTTLED, Outcome.OVERLOADED))


@dataclass(slots=True)
class Count:
    """Of one provider, all its keys together.  Calls, not cells: a cell that was asked twice counts twice."""

    model: str
    calls: int = 0
    ok: int = 0
    throttled: int = 0
    errors: int = 0
    failed: int = 0
    retries: int = 0
    parked: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    under_way: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    streak: Streak = field(default_factory=Streak)  # of cells that ended with the same error

    def add(self, answer: Answer, cost: float) -> None:
        self.calls += 1
        self.tokens_in += answer.tokens_in
        self.tokens_out += answer.tokens_out
        self.cost_usd += cost
        self.failed += is_failure(answer.outcome) is True
        if answer.outcome is Outcome.OK:
            self.ok += 1
            self.latencies.add(answer.took.total_seconds() * 1000)
        elif answer.outcome in _THROTTLED:
            self.throttled += 1
        else:
            self.errors += 1

    def told(self, *, breaker: str, per_minute: float, at_once: int) -> ProviderTally:
        return ProviderTally(
            model=self.model,
            calls=self.calls,
            ok=self.ok,
            throttled=self.throttled,
            errors=self.errors,
            failed=self.failed,
            retries=self.retries,
            parked=self.parked,
            tokens_in=self.tokens_in,
            tokens_out=self.tokens_out,
            cost_usd=self.cost_usd,
            p50_ms=self.latencies.quantile(0.50),
            p95_ms=self.latencies.quantile(0.95),
            p99_ms=self.latencies.quantile(0.99),
            under_way=self.under_way,
            breaker=breaker,
            per_minute=per_minute,
            at_once=at_once,
        )
