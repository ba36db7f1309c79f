"""Those who only read a store on PostgreSQL: a role for dashboards, and the second database of 001.

The statements are those of docs/how-to/postgresql.md.
"""

from __future__ import annotations

import re
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from stocked import stocked

from vedette.contracts.sql_connection import PostgresAddress

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "postgresql.md"
VIEWS = ("DiscoveredItem", "RegulatoryEvidence", "RegulatorySource")


def statements(heading: str) -> list[str]:
    """The SQL of one section of the page."""
    section = PAGE.read_text("utf-8").partition(f"## {heading}")[2].partition("\n## ")[0]
    code = "\n".join(line.strip() for line in section.splitlines() if line.startswith("    "))
    return [one.strip() for one in code.split(";") if one.strip()]


def connected(address: PostgresAddress, **words: str) -> psycopg.Connection:
    return psycopg.connect(address.url, autocommit=True, **words)


def test_a_role_that_only_reads_sees_every_table_and_view_also_later_ones_and_writes_nothing(
    tmp_path: Path, postgres_store: PostgresAddress
):
    stocked(tmp_path, postgres_store)
    with connected(postgres_store) as owner:
        for statement in statements("A role that only reads"):
            owner.execute(statement.replace("dashboards", f"reads_{owner.info.dbname}"))  # type: ignore[arg-type]
        owner.execute("CREATE TABLE of_a_later_version (id BIGINT)")
        counts = {name: owner.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone() for name in VIEWS}  # type: ignore[arg-type]
        role = f"reads_{owner.info.dbname}"
    with connected(postgres_store, user=role) as reader:
        for name in VIEWS:
            assert reader.execute(f'SELECT COUNT(*) FROM "{name}"').fetchone() == counts[name]  # type: ignore[arg-type]
        assert reader.execute("SELECT COUNT(*) FROM of_a_later_version").fetchone() == (0,)
        for statement in (
            "DELETE FROM visits",
            "UPDATE watches SET due_at = 0",
            "CREATE TABLE mine (id BIGINT)",
        ):
            with pytest.raises((errors.InsufficientPrivilege, errors.ReadOnlySqlTransaction)):
                reader.execute(statement)


def test_programs_of_001_read_evidence_in_the_second_database_under_the_same_names(
    tmp_path: Path, postgres_store: PostgresAddress, empty_database: PostgresAddress
):
    stocked(tmp_path, postgres_store)
    with connected(postgres_store) as owner:
        rows = {name: owner.execute(f'SELECT * FROM "{name}"').fetchall() for name in VIEWS}  # type: ignore[arg-type]
        folder, name = owner.info.host, owner.info.dbname
    with connected(empty_database) as second:
        for statement in statements("A second database for evidence"):
            here = re.sub(r"host '[^']*', dbname '[^']*'", f"host '{folder}', dbname '{name}'", statement)
            here = re.sub(
                r"user '[^']*', password '[^']*'", "user 'postgres', password_required 'false'", here
            )
            second.execute(here)  # type: ignore[arg-type]
        assert rows["RegulatoryEvidence"]
        for view in VIEWS:
            shown = second.execute(f'SELECT * FROM "{view}"').fetchall()  # type: ignore[arg-type]
            assert sorted(map(repr, shown)) == sorted(map(repr, rows[view]))
        with pytest.raises(psycopg.Error):
            second.execute('DELETE FROM "RegulatoryEvidence"')
