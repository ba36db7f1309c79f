"""Old and new workers side by side over a revision that only adds: nothing is lost, and the old one says so."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy
from alembic import command, config
from machine import patient
from workers_kit import CountingTown, Team, wait_for

import vedette
from vedette.contracts.errors import RefusedError, StoreError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store import migrate
from vedette.store.connection import operating
from vedette.store.migrate import HEAD, WORKS_WITH, newer_store, prepare_place, version_of
from vedette.store.postgres import PostgresConnection, says_works_with

NEXT = f"{int(HEAD) + 1:04d}"
REVISION = f'''"""a table, and a column with a default"""

import sqlalchemy as sa
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("extras", sa.Column("id", sa.BigInteger(), primary_key=True))
    op.add_column("visits", sa.Column("extra", sa.BigInteger(), nullable=False, server_default="7"))
'''


@pytest.fixture
def newer(tmp_path: Path) -> Path:
    """The program of tomorrow: this one, with one revision more."""
    source = Path(vedette.__file__).parent
    copy = tmp_path / "newer" / "vedette"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "store" / "migrations" / "versions" / f"{NEXT}_trial.py").write_text(REVISION)
    text = (copy / "store" / "migrate.py").read_text()
    changed = text.replace(f'HEAD = "{HEAD}"', f'HEAD = "{NEXT}"')
    assert changed != text
    (copy / "store" / "migrate.py").write_text(changed)
    return copy.parent


@pytest.mark.slow
def test_old_and_new_workers_work_side_by_side(tmp_path: Path, empty_database: PostgresAddress, newer: Path):
    place = empty_database
    with CountingTown(8, 4) as town:
        team = Team(tmp_path, place, town)
        old = team.start()
        wait_for(lambda: len(old.visits) > 10, patient(60))
        new = team.start(code=newer)  # brings the store up beside the old one
        wait_for(lambda: version_of(place) == NEXT, patient(60))
        before = len(old.visits)
        wait_for(lambda: len(old.visits) > before + 20 and len(new.visits) > 20, patient(120))
        team.kill(old)
        again = team.start()  # the old program once more, on a store that is newer than itself
        wait_for(lambda: len(again.visits) > 5, patient(120))
        assert team.stop() == [0, 0]
        assert team.problems() == {}
    told = [line["what"] for line in again.others if line["event"] == "problem"]
    assert any(f"brought to revision {NEXT} by a newer version" in what for what in told)
    assert team.rows("SELECT DISTINCT extra FROM visits") == [(7,)]


def test_a_newer_store_is_taken_where_it_says_that_this_version_may(
    tmp_path: Path, postgres_store: PostgresAddress
):
    with operating(postgres_store) as db:
        db.execute("UPDATE alembic_version SET version_num = ?", (NEXT,))
    assert newer_store(postgres_store).startswith(f"{postgres_store} was brought to revision {NEXT}")
    assert prepare_place(tmp_path, postgres_store) == postgres_store


@pytest.mark.parametrize("says", ["NULL", says_works_with(NEXT)])
def test_a_newer_store_that_needs_a_newer_program_is_refused(
    tmp_path: Path, postgres_store: PostgresAddress, says: str
):
    with operating(postgres_store) as db:
        db.execute("UPDATE alembic_version SET version_num = ?", (NEXT,))
        db.execute("COMMENT ON TABLE alembic_version IS NULL" if says == "NULL" else says)
    assert newer_store(postgres_store) == ""
    with pytest.raises(StoreError, match="another version of vedette"):
        prepare_place(tmp_path, postgres_store)


def test_a_revision_that_does_more_than_add_needs_the_store_alone(
    tmp_path: Path, postgres_store: PostgresAddress, monkeypatch: pytest.MonkeyPatch
):
    older = f"{int(HEAD) - 1:04d}"
    monkeypatch.setattr(migrate, "WORKS_WITH", HEAD)
    with operating(postgres_store) as db:
        db.execute("UPDATE alembic_version SET version_num = ?", (older,))
    with closing(PostgresConnection(postgres_store)) as worker:
        worker.take_engine_lock(shared=True)
        with pytest.raises(RefusedError, match="stop it first"):
            prepare_place(tmp_path, postgres_store)
    assert version_of(postgres_store) == older


def test_what_came_since_the_oldest_program_only_adds():
    """Where this fails the newest revision is no addition: set WORKS_WITH to HEAD."""
    with closing(_made(WORKS_WITH)) as old, closing(_made(HEAD)) as new:
        declared = migrate._objects(old, "table")
        have = migrate._objects(new, "table")
        assert declared.keys() <= have.keys()
        found = [
            words
            for table in declared
            for words in migrate._table_differences(
                migrate._columns(new, table), migrate._columns(old, table), table
            )
        ]
    assert found == []


def _made(revision: str) -> sqlite3.Connection:
    engine = sqlalchemy.create_engine(
        "sqlite://", connect_args={"isolation_level": None}, poolclass=sqlalchemy.pool.StaticPool
    )
    settings = config.Config()
    settings.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, revision)
    found: sqlite3.Connection = engine.raw_connection().driver_connection  # type: ignore[assignment]
    return found
