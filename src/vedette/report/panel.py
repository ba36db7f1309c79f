"""The panel for programs: plans, progress, batches, comparisons and drift."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from vedette.contracts.panel_run import BatchId, BatchView, Progress
from vedette.core.panel.agreement import Drift
from vedette.core.panel.compare import PanelComparison
from vedette.core.panel.domains import DomainProblem
from vedette.core.panel.plan import Plan


def plan_json(plan: Plan) -> dict[str, Any]:
    return asdict(plan)


def problems_json(problems: Iterable[DomainProblem]) -> list[dict[str, object]]:
    """Every row that is not asked about."""
    return [{"row": one.row, "text": one.text, "why": one.why} for one in problems]


def progress_json(progress: Progress) -> dict[str, Any]:
    return {"event": "panel_progress", **asdict(progress)}


def view_json(view: BatchView) -> dict[str, Any]:
    batch = view.batch
    return {
        "batch": batch.id,
        "status": view.status,
        "started_at": batch.started_at,
        "target_at": batch.target_at,
        "hard_at": batch.hard_at,
        "ended_at": view.ended_at,
        "heartbeat_at": view.heartbeat_at,
        "eta": view.eta,
        "is_stop_asked": view.is_stop_asked,
        "cells": view.cells,
        "settled": view.settled,
        "answered": view.answered,
        "under_way": view.under_way,
        "waiting": view.waiting,
        "leased": view.leased,
        "spent_usd": batch.spent_usd,
        "budget_usd": batch.budget_usd,
        "written_to": view.written_to,
        "domains": batch.shape.domains,
        "models": batch.shape.models,
        "dropped": [asdict(one) for one in view.dropped],
        "parked": [asdict(one) for one in view.parked],
        "providers": [dict(row) for row in view.providers],
    }


def comparison_json(found: PanelComparison) -> dict[str, Any]:
    return asdict(found)


def drift_json(batch: BatchId, before: BatchId | None, found: Iterable[Drift]) -> dict[str, Any]:
    return {"batch": batch, "before": before, "models": [asdict(one) for one in found]}
