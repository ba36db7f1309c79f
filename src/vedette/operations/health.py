"""How every source fares, and the alerts that follow from it."""

from __future__ import annotations

from dataclasses import dataclass

from vedette.config.alert_policies import router, watchdog_params
from vedette.contracts.alerts import SourceHealth
from vedette.core.health.source_health import is_healthy
from vedette.engine.service.watchdog import check_health, look_at_health
from vedette.operations.clock import ahead_words, clock_ahead
from vedette.operations.installation import Installation
from vedette.report.health import health_json, trouble_json
from vedette.store.clock_repair import Ahead


@dataclass(frozen=True, slots=True)
class HealthReport:
    sources: tuple[SourceHealth, ...]
    clock: Ahead  # what a clock that stood ahead has left

    @property
    def is_healthy(self) -> bool:
        return all(map(is_healthy, self.sources))


def source_health(installation: Installation, *, raises_alerts: bool = False) -> HealthReport:
    """Of every active source.  With `raises_alerts` alerts are opened and closed, as a service does by itself."""
    now, params = installation.now(), watchdog_params(installation.loaded.config)
    if raises_alerts:
        route = router(installation.loaded.config, installation.clock)
        with installation.operating() as db:
            found = check_health(db, now=now, params=params, route=route).healths
    else:
        with installation.reading() as db:
            found = look_at_health(db, now=now, params=params.health)
    return HealthReport(found, clock_ahead(installation))


def health_report_json(found: HealthReport) -> dict[str, object]:
    return {
        "healthy": found.is_healthy,
        "endpoints": [health_json(one) for one in found.sources],
        "trouble": [trouble_json(one) for one in found.sources if not is_healthy(one)],
        "clock": ahead_words(found.clock) if found.clock.is_any else None,
    }
