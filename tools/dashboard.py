"""Writes ops/grafana/vedette.json from the table of panels below.  A test compares."""

from __future__ import annotations

import json
import pathlib
import sys
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLACE = ROOT / "ops/grafana/vedette.json"
WIDTH, HEIGHT = 8, 8  # of a panel; Grafana's grid has 24 columns
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True)
class Panel:
    title: str
    words: str
    unit: str
    queries: tuple[tuple[str, str], ...]  # expression, legend
    kind: str = "timeseries"


PANELS = (
    Panel("Is it up", "The last scrape was answered.", "short", (('up{job="vedette"}', "{{instance}}"),), "stat"),
    Panel(
        "Open alerts", "Hosts and sources in trouble: `vedette alerts`.", "short",
        (("sum by (type) (vedette_alerts_open)", "{{type}}"),), "stat",
    ),
    Panel(
        "Since the last commit", "Nothing is seen that is not committed.", "s",
        (("time() - vedette_last_commit_timestamp_seconds", "{{instance}}"),), "stat",
    ),
    Panel(
        "Freshness promise", "Changes expected to have been seen in time, over a day; the line is the objective.",
        "percentunit",
        (
            (
                "sum by (risk) (increase(vedette_objective_in_time_total[1d]))"
                " / sum by (risk) (increase(vedette_objective_changes_total[1d]))",
                "{{risk}}",
            ),
            ("max by (risk) (vedette_objective_share)", "{{risk}} objective"),
        ),
    ),
    Panel(
        "Politeness promise", "Looks that were answered with \"slow down\" or with a ban, over an hour.", "percentunit",
        (
            (
                'sum(increase(vedette_fetch_total{outcome=~"throttled|blocked_page"}[1h]))'
                " / sum(increase(vedette_fetch_total[1h]))",
                "of all looks",
            ),
        ),
    ),
    Panel(
        "Evidence promise", "The archive as committed.  It grows; only `vedette gc` makes it smaller.", "bytes",
        (("vedette_evidence_bytes", "{{instance}}"),),
    ),
    Panel(
        "Looks", "By outcome.", "ops",
        (("sum by (outcome) (rate(vedette_fetch_total[5m]))", "{{outcome}}"),),
    ),
    Panel(
        "Changes per hour", "Reported, by risk.", "short",
        (("sum by (risk) (increase(vedette_changes_total[1h]))", "{{risk}}"),),
    ),
    Panel(
        "How long looks take", "Half, and 95 of 100, are faster.", "s",
        (
            ("histogram_quantile(0.5, sum by (le) (rate(vedette_fetch_duration_seconds_bucket[5m])))", "half"),
            ("histogram_quantile(0.95, sum by (le) (rate(vedette_fetch_duration_seconds_bucket[5m])))", "95 %"),
        ),
    ),
    Panel("Due", "Watches whose time has come.", "short", (("vedette_due_watches", "{{risk}}"),)),
    Panel("Oldest due", "CRITICAL has 4 h.", "s", (("vedette_oldest_due_seconds", "{{risk}}"),)),
    Panel("Lanes", "What holds the hosts.", "short", (("vedette_lanes", "{{condition}}"),)),
    Panel(
        "Asked to slow down", "Answers 429 per hour, of configured sources.", "short",
        (("sum by (domain) (increase(worker_rate_limit_hits_total[1h]))", "{{domain}}"),),
    ),
    Panel(
        "Told", "Attempts per hour, by channel and outcome.", "short",
        (("sum by (channel, outcome) (increase(vedette_notifications_total[1h]))", "{{channel}} {{outcome}}"),),
    ),
    Panel("Not told yet", "Messages in the outbox.", "short", (("vedette_outbox_messages", "{{channel}} {{state}}"),)),
    Panel(
        "Jobs", "Of every queue, by how they ended.", "ops",
        (("sum by (queue, status) (rate(worker_jobs_processed_total[5m]))", "{{queue}} {{status}}"),),
    ),
    Panel(
        "Queues", "Jobs that wait, and looks under way.", "short",
        (("worker_queue_depth", "{{queue}}"), ("worker_active_jobs", "{{worker}} active")),
    ),
    Panel(
        "Bytes a second", "Of bodies as they came.", "Bps",
        (("rate(vedette_fetch_bytes_total[5m])", "{{instance}}"),),
    ),
)  # fmt: skip


def main() -> int:
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    PLACE.write_text(text(), encoding="utf-8")
    return 0


def text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


def dashboard() -> dict[str, object]:
    return {
        "uid": "vedette",
        "title": "Vedette",
        "tags": ["vedette"],
        "schemaVersion": 39,
        "editable": True,
        "refresh": "1m",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Prometheus"}
            ]
        },
        "panels": [_panel(number, panel) for number, panel in enumerate(PANELS)],
    }


def _panel(number: int, panel: Panel) -> dict[str, object]:
    across = 24 // WIDTH
    return {
        "id": number + 1,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.words,
        "datasource": SOURCE,
        "gridPos": {"h": HEIGHT, "w": WIDTH, "x": number % across * WIDTH, "y": number // across * HEIGHT},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + n), "datasource": SOURCE, "expr": query, "legendFormat": legend}
            for n, (query, legend) in enumerate(panel.queries)
        ],
    }


if __name__ == "__main__":
    sys.exit(main())
