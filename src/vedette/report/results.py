"""The result of a run for people, and for programs exactly as 001 section 10.5 names its fields."""

from __future__ import annotations

from datetime import timedelta

from vedette.contracts.jobs import HostResult, SentinelResult
from vedette.report.plain import count, plain, span

_MS = timedelta(milliseconds=1)
MOST_LINES = 20


def result_json(result: SentinelResult) -> dict[str, object]:
    """SentinelResult."""
    return {
        "success": result.success,
        "endpointsChecked": result.sources_checked,
        "newItemsDiscovered": result.new_items_discovered,
        "errors": list(result.errors),
        "health": {
            "domains": {host: _host_json(one) for host, one in result.hosts.items()},
            "overallHealthy": all(one.is_healthy for one in result.hosts.values()),
        },
        "durationMs": result.took // _MS,
        "retriesTotal": result.retries,
    }


def result_lines(result: SentinelResult) -> list[str]:
    word = "done" if result.success else "failed"
    sick = [host for host, one in result.hosts.items() if not one.is_healthy]
    lines = [
        f"{word} in {span(result.took)}: {count(result.sources_checked, 'source')} checked, "
        f"{result.new_items_discovered} new, {count(len(result.errors), 'error')}, "
        f"{count(result.retries, 'retry', 'retries')}",
        f"hosts: {len(result.hosts) - len(sick)} of {len(result.hosts)} well",
    ]
    shown = [*(f"  {plain(error, 300)}" for error in result.errors[:MOST_LINES])]
    left = len(result.errors) - len(shown)
    return [*lines, *shown, *([f"  ... and {left} more"] if left else [])]


def _host_json(one: HostResult) -> dict[str, object]:
    body: dict[str, object] = {
        "isHealthy": one.is_healthy,
        "successRate": one.success_rate,
        "consecutiveErrors": one.consecutive_errors,
        "isCircuitBroken": one.is_circuit_broken,
    }
    if one.last_success_at is not None:
        body["lastSuccessAt"] = one.last_success_at.isoformat()
    if one.last_error:
        body["lastError"] = one.last_error
    return body
