"""One worker whose leases on providers are short:  panel_worker_process.py CONFIG SECONDS ROLES"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

from vedette.app.worker import Worker, roles_of, run_roles
from vedette.config.model import load
from vedette.contracts.events import Event
from vedette.telemetry.clock import SystemClock


def hear(event: Event) -> None:
    print(event.name, event.fields, flush=True)


def work(config: str, lease: str, roles: str) -> None:
    lasts = timedelta(seconds=float(lease))
    loaded = load(Path(config))
    run_roles(Worker(loaded, roles_of(roles), SystemClock(), hear, sys.stdout, None, panel_lease=lasts))


if __name__ == "__main__":
    work(*sys.argv[1:])
