"""What the tests of the stages start once and share."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres_kit import postgresql_server

from vedette.store.dialect import open_sql

_NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """A server of our own, gone with the tests."""
    with postgresql_server() as (uri, _):
        yield uri


@pytest.fixture(params=("sqlite", "postgresql"))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/panel.db"
    server = request.getfixturevalue("postgresql")
    name = f"panel{next(_NUMBERS)}"
    db = open_sql(server)
    db.run(f"CREATE DATABASE {name}")
    db.close()
    base, _, rest = server.rpartition("/postgres")
    return f"{base}/{name}{rest}"
