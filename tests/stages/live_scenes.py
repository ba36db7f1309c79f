"""Played scenes for the live views, each in a process of its own: `python live_scenes.py SCENE DATA`."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stocked import HOUR, NEWS, NOW, RULES, Stock, stocked

from vedette.contracts.events import BreakerOpened, Changed, LookParked, Visited
from vedette.contracts.panel_run import Progress, ProviderTally
from vedette.contracts.words import ChangeId, LaneKey, Outcome, Reason, Risk
from vedette.core.limits.budget import Tally
from vedette.engine.crawl.loop import Ended
from vedette.surface.cli import main
from vedette.surface.cli.output import Output
from vedette.surface.cli.panel_runs import showing

LONG = "https://example.org/" + "/".join(f"a-part-of-a-long-address-{n}" for n in range(9))
STEPS = 8
PAUSE_S = 0.3


class SlowApp:
    """Tells of looks, failures and a change, a little at a time."""

    def run_engine(self, loaded: Any, request: Any, *, on_event: Any) -> Ended:
        for step in range(STEPS):
            on_event(Visited(at=NOW, url=f"{RULES}/{step}", outcome=Outcome.OK))
            time.sleep(PAUSE_S)
        detail = "the certificate of the server was issued for another name than the one that was asked for"
        on_event(Visited(at=NOW, url=LONG, outcome=Outcome.TLS_ERROR, detail=detail))
        on_event(Changed(at=NOW, url=RULES, change=ChangeId(77), risk=Risk.CRITICAL))
        until = "until 2026-11-15 13:00"
        on_event(BreakerOpened(at=NOW, lane=LaneKey("host:example.org"), reasons=(Reason("x", note=until),)))
        on_event(LookParked(at=NOW, url=NEWS, outcome=Outcome.DNS_ERROR, attempts=3))
        return Ended(by="idle", tally=Tally())


def run(data: Path) -> int:
    return main(["run", "--once", "--data", str(data)], app=SlowApp())


class LookingApp:
    """Makes the look that was asked for, after a while."""

    def __init__(self, data: Path) -> None:
        self.stock = Stock(data, count=100)

    def run_engine(self, loaded: Any, request: Any, *, on_event: Any) -> Ended:
        time.sleep(STEPS * PAUSE_S)
        self.stock.visit(RULES, at=datetime.now(UTC), due_at=datetime.now(UTC) + HOUR)
        on_event(Visited(at=NOW, url=RULES, outcome=Outcome.OK))
        return Ended(by="idle", tally=Tally())


def look(data: Path) -> int:
    return main(["look", RULES, "--data", str(data)], app=LookingApp(data))


def panel(data: Path) -> int:
    session: Any = SimpleNamespace(given=SimpleNamespace(as_json=False, quiet=False))
    rows = tuple(ProviderTally(model=f"provider/model-{n}") for n in range(3))
    with showing(session) as show:
        for done in range(STEPS):
            show(Progress(at=NOW, settled=done, answered=done, under_way=3, waiting=90, providers=rows))
            time.sleep(PAUSE_S)
    return 0


def bar(data: Path) -> int:
    with Output().progress("reading evidence") as tell:
        for done in range(STEPS):
            tell(done, STEPS)
            time.sleep(PAUSE_S)
    return 0


if __name__ == "__main__":
    place = Path(sys.argv[2])
    sys.exit({"run": run, "look": look, "panel": panel, "bar": bar}[sys.argv[1]](stocked(place).data))
