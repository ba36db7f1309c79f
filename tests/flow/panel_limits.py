"""The committed table of limits, as providers that count for themselves."""

from __future__ import annotations

import json
from pathlib import Path

from panel_kit import ScriptedProvider, steady

from vedette.core.panel.plan import lower_bound

LIMITS = json.loads((Path(__file__).parents[2] / "bench" / "panel_limits.json").read_text("utf-8"))


def providers_of(table: str) -> list[tuple[ScriptedProvider, str]]:
    """One per key, with the key's name."""
    return [
        (ScriptedProvider(model, steady(rate), latency=row["latency"]), f"k{n}")
        for model, row in LIMITS[table].items()
        for n, rate in enumerate(row["per_minute"], start=1)
    ]


def bound_of(table: str, domains: int) -> float:
    """Seconds that the limits allow no schedule to beat."""
    bounds = [lower_bound(domains, row["per_minute"], row["latency"]) for row in LIMITS[table].values()]
    return max(bound for bound in bounds if bound is not None)
