"""What fetches: a whole run, one look, one robots.txt, a check of sources.  Costs an import of all that fetches."""

from __future__ import annotations

from vedette.app.run import Ended, RunRequest, run_engine
from vedette.operations.check_sources import check_sources
from vedette.operations.probe import fetch_robots, look_once

__all__ = ["Ended", "RunRequest", "check_sources", "fetch_robots", "look_once", "run_engine"]
