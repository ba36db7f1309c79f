"""What the tests of the stages share."""

from __future__ import annotations

from pathlib import Path

import pytest

from vedette.contracts.sql_connection import PostgresAddress


@pytest.fixture(params=("sqlite", "postgresql"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/panel.db"
    url: str = request.getfixturevalue("empty_database").url
    return url


@pytest.fixture(params=("sqlite", "postgresql"))
def server(request: pytest.FixtureRequest) -> PostgresAddress | None:
    """Where the store of a test is: on a server, or, None, in a file."""
    return None if request.param == "sqlite" else request.getfixturevalue("postgres_store")
