"""003's must-have metrics of a batch, as text for Prometheus (exposition format 0.0.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vedette.contracts.panel_run import BatchView

# How far from letting calls through.
BREAKER = {"closed": 0, "held": 0, "half-open": 1, "open": 2, "blocked": 3, "stopped": 3}
BREAKER_WORDS = "0 closed (fine), 1 half-open, 2 open (tripped), 3 asked no more in this run."
QUANTILES = (("0.5", "p50_ms"), ("0.95", "p95_ms"), ("0.99", "p99_ms"))


@dataclass(slots=True)
class Writes:
    """What the disk and Redis were asked for by this process."""

    groups: int = 0
    rows: int = 0
    seconds: float = 0.0
    redis: int = 0
    is_redis_away: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: str
    words: str
    column: str  # of `provider_metrics`
    scale: float = 1.0


PROVIDER = (
    Metric(
        "vedette_provider_success_ratio", "gauge", "Calls of the batch that were answered.", "success_rate"
    ),
    Metric("vedette_provider_throttle_ratio", "gauge", "Calls that were told to slow down.", "throttle_rate"),
    Metric("vedette_provider_error_ratio", "gauge", "Calls that failed otherwise.", "error_rate"),
    Metric("vedette_provider_active_calls", "gauge", "Calls under way.", "under_way"),
    Metric("vedette_provider_width", "gauge", "Calls at once that the lanes allow now.", "at_once"),
    Metric(
        "vedette_provider_rate_per_minute",
        "gauge",
        "Requests a minute that the lanes allow now.",
        "per_minute",
    ),
    Metric("vedette_provider_cost_usd_total", "counter", "Estimated cost.", "cost_usd"),
    Metric("vedette_provider_retries_total", "counter", "Calls that were asked again.", "retries"),
    Metric("vedette_provider_parked_total", "counter", "Cells that ended without an answer.", "parked"),
)
OUTCOMES = (("ok", "ok"), ("throttled", "throttled"), ("error", "errors"))
DIRECTIONS = (("in", "tokens_in"), ("out", "tokens_out"))


def metrics_text(view: BatchView | None, now: datetime, writes: Writes | None) -> str:
    """All of them; without a batch only what this process did, and nothing of that where it writes no batch."""
    lines = [] if view is None else [*_of_providers(view), *_of_batch(view, now)]
    if writes is not None:
        lines += _of_process(writes)
    return "\n".join(lines) + "\n" if lines else ""


def _of_process(writes: Writes) -> list[str]:
    lines: list[str] = []
    lines += _single(
        "vedette_panel_db_write_seconds_sum", "counter", "Time spent in writing groups.", writes.seconds
    )
    lines += _single("vedette_panel_db_write_seconds_count", "counter", "Groups written.", writes.groups)
    lines += _single(
        "vedette_panel_rows_total", "counter", "Rows written; its rate is rows a second.", writes.rows
    )
    lines += _single(
        "vedette_panel_redis_ops_total", "counter", "Keys of Redis read or written.", writes.redis
    )
    lines += _single(
        "vedette_panel_redis_away", "gauge", "1: Redis does not answer just now.", writes.is_redis_away
    )
    return lines


def _of_providers(view: BatchView) -> Iterator[str]:
    for metric in PROVIDER:
        yield from _head(metric.name, metric.kind, metric.words)
        for row in view.providers:
            yield f"{metric.name}{_labels(provider=row['model'])} {_number(row[metric.column])}"
    yield from _head("vedette_provider_breaker_state", "gauge", BREAKER_WORDS)
    for row in view.providers:
        yield f"vedette_provider_breaker_state{_labels(provider=row['model'])} {BREAKER.get(row['breaker'], 0)}"
    yield from _head("vedette_provider_latency_seconds", "gauge", "Quantiles of answered calls.")
    for row in view.providers:
        for quantile, column in QUANTILES:
            labels = _labels(provider=row["model"], quantile=quantile)
            yield f"vedette_provider_latency_seconds{labels} {_number((row[column] or 0) / 1000)}"
    yield from _split(
        view, "vedette_provider_requests_total", "Calls by how they ended.", "outcome", OUTCOMES
    )
    yield from _split(view, "vedette_provider_tokens_total", "Tokens used.", "direction", DIRECTIONS)


def _split(
    view: BatchView, name: str, words: str, label: str, parts: tuple[tuple[str, str], ...]
) -> Iterator[str]:
    yield from _head(name, "counter", words)
    for row in view.providers:
        for value, column in parts:
            yield f"{name}{_labels(provider=row['model'], **{label: value})} {_number(row[column])}"


def _of_batch(view: BatchView, now: datetime) -> Iterator[str]:
    batch = view.batch
    yield from _single("vedette_panel_queue_depth", "gauge", "Cells that wait.", view.waiting)
    yield from _single("vedette_panel_settled_cells", "gauge", "Cells with a row.", view.settled)
    yield from _single("vedette_panel_spent_usd", "gauge", "Estimated cost of the batch.", batch.spent_usd)
    yield from _head(
        "vedette_panel_eta_seconds", "gauge", "Room before a deadline when the batch ends; < 0: late."
    )
    if view.eta is not None and view.status == "running":
        for word, at in (("target", batch.target_at), ("hard", batch.hard_at)):
            left = (at - view.eta).total_seconds()
            yield f"vedette_panel_eta_seconds{_labels(deadline=word)} {_number(left)}"
    yield from _head("vedette_panel_dropped_total", "counter", "Cells that were dropped, by tier and reason.")
    dropped: dict[tuple[int, str], int] = {}
    for one in view.dropped:
        dropped[one.tier, one.reason] = dropped.get((one.tier, one.reason), 0) + one.cells
    for (tier, reason), count in sorted(dropped.items()):
        yield f"vedette_panel_dropped_total{_labels(tier=str(tier), reason=reason)} {count}"
    age = 0.0 if view.heartbeat_at is None else (now - view.heartbeat_at).total_seconds()
    yield from _single(
        "vedette_panel_heartbeat_age_seconds", "gauge", "Since the run last said something.", age
    )


def _single(name: str, kind: str, words: str, value: Any) -> Iterator[str]:
    yield from _head(name, kind, words)
    yield f"{name} {_number(value)}"


def _head(name: str, kind: str, words: str) -> Iterator[str]:
    yield f"# HELP {name} {words}"
    yield f"# TYPE {name} {kind}"


def _labels(**labels: str) -> str:
    inner = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{inner}}}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: Any) -> str:
    return f"{float(value or 0):.10g}"
