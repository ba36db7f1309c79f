"""Property tests: no deadline (the machines are noisy), and the same examples on every CI run."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings
from machine import patient

settings.register_profile("here", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("here"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


FAST_S, SLOW_S = 120.0, 600.0  # of one test on a quiet machine, where it has no limit of its own


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A limit stands against hanging.  What only computes may take as long as this machine needs."""
    for item in items:
        own = item.get_closest_marker("timeout")
        usual = SLOW_S if item.get_closest_marker("slow") else FAST_S
        limit = float(own.args[0]) if own and own.args else usual
        item.add_marker(pytest.mark.timeout(patient(max(limit, usual))), append=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What could not run here is said aloud, with the way to make it run."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped}
    for reason in sorted(reason for reason in reasons if reason.startswith("NOT RUN")):
        terminalreporter.write_line(reason, red=True, bold=True)
