"""Workers that share a store, in words and as JSON."""

from __future__ import annotations

from datetime import datetime

from vedette.contracts.workers import JobCarrier, RoleLoad, WorkerRow, WorkerState
from vedette.report.plain import count

Cell = str | tuple[str, str]
_TONES = {WorkerState.RUNNING: "good", WorkerState.SILENT: "bad"}


def worker_json(row: WorkerRow) -> dict[str, object]:
    return {
        "worker": row.id,
        "state": row.state.value,
        "roles": [role.value for role in row.roles],
        "where": row.place,
        "started_at": row.started_at.isoformat(),
        "heard_at": row.beat_at.isoformat(),
        "lanes": row.lanes,
        "figures": dict(row.figures),
    }


def role_json(load: RoleLoad) -> dict[str, object]:
    return {
        "role": load.role.value,
        "workers": load.workers,
        "due": load.due,
        "late_seconds": round(load.late.total_seconds(), 1),
    }


def worker_cells(row: WorkerRow, now: datetime) -> tuple[Cell, ...]:
    roles = ",".join(role.value for role in row.roles)
    if row.figures.get("elected"):
        roles = roles.replace("scheduler", "scheduler (elected)")
    if row.figures.get("providers"):
        asks = count(int(row.figures["providers"]), "provider")
        roles = roles.replace("panel", f"panel (asks {asks})")
    state = (_TONES.get(row.state, "warn"), row.state.value)
    looks = f"{int(row.figures['looks'])}" if "looks" in row.figures else ""
    heard = f"{max(0, int((now - row.beat_at).total_seconds()))} s ago"
    return (row.id, state, roles, f"{row.lanes}" if row.number else "", looks, heard, row.place)


def role_words(load: RoleLoad) -> str:
    waits = (
        f"{load.due} due"
        if not load.due
        else f"{load.due} due, the oldest for {load.late.total_seconds():.0f} s"
    )
    return f"{load.role.value}: {count(load.workers, 'worker')}, {waits}"


def carrier_json(carrier: JobCarrier) -> dict[str, object]:
    """`by`: bullmq or store."""
    return {
        "by": carrier.name,
        "found": carrier.found,
        "problem": carrier.problem,
        "waiting": dict(carrier.depths),
    }


def carrier_words(carrier: JobCarrier) -> str:
    if carrier.name != "bullmq":
        return "queues: in the store"
    if carrier.problem:
        return f"queues: {carrier.problem}"
    waits = ", ".join(f"{queue} {waiting}" for queue, waiting in carrier.depths.items() if waiting)
    return f"queues: BullMQ, {carrier.found}; waiting: {waits or 'nothing'}"
