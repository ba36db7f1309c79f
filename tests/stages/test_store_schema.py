"""The statements, the migrations and the tables say the same; a file that is no store of ours is refused."""

from __future__ import annotations

import ast
import inspect
import re
import sqlite3
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config as AlembicConfig
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from stocked import blank

import vedette.store.migrations
from vedette.contracts.errors import StoreError
from vedette.contracts.words import WatchId
from vedette.store import group, operator, sqlite, statements
from vedette.store import row_columns as columns
from vedette.store.migrate import HEAD, prepare, version
from vedette.store.panel import panel_schema
from vedette.store.sqlite import Reader, Writer, connect

TABLES = panel_schema.metadata.tables


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("watches", columns.WATCH_COLUMNS),
        ("visits", columns.VISIT_COLUMNS),
        ("evidence", columns.EVIDENCE_COLUMNS),
        ("artifacts", columns.ARTIFACT_COLUMNS),
        ("changes", columns.CHANGE_COLUMNS),
        ("ledger", columns.LEDGER_COLUMNS),
        ("refusals", columns.REFUSAL_COLUMNS),
        ("parked", columns.PARKED_COLUMNS),
        ("lanes", columns.LANE_COLUMNS),
        ("robots", columns.ROBOTS_COLUMNS),
        ("segments", columns.SEGMENT_COLUMNS),
        ("seals", columns.SEAL_COLUMNS),
        ("leases", columns.LEASE_COLUMNS),
        ("sources", columns.SOURCE_COLUMNS),
        ("hosts", columns.HOST_COLUMNS),
        ("hubs", columns.HUB_COLUMNS),
        ("clocks", columns.CLOCK_COLUMNS),
        ("published", columns.PUBLISHED_COLUMNS),
        ("scheduler", columns.SCHEDULER_COLUMNS),
    ],
)
def test_the_columns_of_the_statements_are_those_of_the_tables(table: str, columns: list[str]):
    assert set(columns) == set(TABLES[table].columns.keys())
    assert len(columns) == len(set(columns))


def test_a_look_moves_every_column_but_identity_and_place():
    moving, fixed = set(columns.MOVING_WATCH_COLUMNS), columns.FIXED_WATCH_COLUMNS
    assert moving | fixed == set(TABLES["watches"].columns.keys())
    assert not moving & fixed


def test_every_statement_is_sql_that_the_migrated_store_takes(tmp_path: Path):
    db = connect(blank(tmp_path))
    hot = [
        value
        for name, value in vars(statements).items()
        if name.isupper() and name[0] != "_" and isinstance(value, str) and " " in value
    ]
    assert len(hot) > 20
    for statement in hot:
        if not statement.startswith("ON CONFLICT"):
            text = statement.format(marks="?", risk=1, pick="")
            db.execute(f"EXPLAIN {text}", (None,) * text.count("?"))
    db.execute(f"EXPLAIN {statements.lane_heads()}", (1, 2, 3, 4) * statements.HEADS)


# SQLite takes these and PostgreSQL does not: scalar MIN and MAX, numbered marks, INSERT OR, a part of a query
# without a name, a boolean that is a number, a double-quoted text.
ONLY_SQLITE = {
    "scalar MIN or MAX": re.compile(r"\b(?:MIN|MAX)\([^()]*(?:\([^()]*\)[^()]*)*,", re.IGNORECASE),
    "numbered mark": re.compile(r"\?\d"),
    "INSERT OR": re.compile(r"\bINSERT OR\b"),
    "query without a name": re.compile(r"FROM \((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)(?! AS )"),
    "number for a boolean": re.compile(r"\b(?:is_\w+|changed) = [01]\b"),
}


def test_the_sql_of_the_store_is_such_that_postgresql_takes_it_too():
    """Everything but the PRAGMAs: the second dialect needs no second program."""
    texts = [value for value in vars(statements).values() if isinstance(value, str)]
    texts += [statements.lane_heads("w.lister IS NULL")]
    for module in (operator, sqlite, group):
        tree = ast.parse(inspect.getsource(module))
        whole = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        texts += [ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
        texts += [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in whole
        ]
    assert len(texts) > 100
    found = [(name, text) for text in texts for name, form in ONLY_SQLITE.items() if form.search(text)]
    assert found == []


def test_the_newest_migration_makes_exactly_the_tables_of_the_schema(tmp_path: Path):
    engine = create_engine(f"sqlite:///{blank(tmp_path)}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert compare_metadata(context, panel_schema.metadata) == []
        assert context.get_current_revision() == HEAD
    engine.dispose()


def test_a_store_of_the_revision_before_keeps_its_watches_and_takes_beliefs(tmp_path: Path):
    engine = create_engine(f"sqlite:///{tmp_path / 'vedette.db'}")
    settings = AlembicConfig()
    settings.set_main_option("script_location", str(Path(vedette.store.migrations.__file__).parent))
    with engine.begin() as connection:
        settings.attributes["connection"] = connection
        command.upgrade(settings, "0005")
    engine.dispose()
    path = tmp_path / "vedette.db"
    old = "id, url, lane_id, source_id, velocity, scan_count, created_at"
    db = sqlite3.connect(path)
    db.execute(f"INSERT INTO watches ({old}) VALUES (7, 'https://a.example/', 1, 's', 0.6, 9, 1000)")
    db.commit()
    db.close()
    assert version(prepare(tmp_path)) == HEAD
    watch = Reader(path).watch(WatchId(7))
    assert watch is not None
    assert (watch.velocity, watch.scan_count, watch.belief) == (0.6, 9, None)


def test_head_names_the_newest_migration():
    scripts = ScriptDirectory(str(Path(vedette.store.migrations.__file__).parent))
    assert scripts.get_heads() == [HEAD]


def test_a_store_that_is_prepared_twice_is_the_same(tmp_path: Path):
    first = prepare(tmp_path / "data").read_bytes()
    assert prepare(tmp_path / "data").read_bytes() == first


def test_a_store_from_a_newer_version_is_refused_and_left_alone(tmp_path: Path):
    path = blank(tmp_path)
    db = connect(path)
    db.execute("UPDATE alembic_version SET version_num = '9999'")
    db.close()
    with pytest.raises(StoreError, match="another version of vedette"):
        prepare(tmp_path)
    assert version(path) == "9999"


def test_a_database_of_another_program_is_refused_and_left_alone(tmp_path: Path):
    path = tmp_path / "vedette.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE songs (title TEXT)")
    db.close()
    with pytest.raises(StoreError, match=r"not a store of vedette.*--data"):
        prepare(tmp_path)
    assert _tables(path) == {"songs"}


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as one" * 40])
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "vedette.db").write_bytes(content)
    with pytest.raises(StoreError, match="not a usable store"):
        prepare(tmp_path)
    for opened in (Reader, lambda path: Writer(path, worker="one")):
        with pytest.raises(StoreError, match="not a usable store"):
            opened(tmp_path / "vedette.db")


def test_an_empty_file_becomes_a_store(tmp_path: Path):
    """A start that was stopped between making the file and its tables."""
    (tmp_path / "vedette.db").touch()
    assert version(prepare(tmp_path)) == HEAD


def test_a_store_that_cannot_be_migrated_says_so(tmp_path: Path):
    path = tmp_path / "vedette.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE alembic_version (version_num TEXT)")
    db.execute("CREATE TABLE sources (id TEXT)")
    db.close()
    with pytest.raises(StoreError, match=r"cannot bring .* to this version"):
        prepare(tmp_path)


def test_a_missing_store_is_named_with_the_way_on(tmp_path: Path):
    with pytest.raises(StoreError, match="vedette init"):
        prepare(tmp_path, create=False)
    with pytest.raises(StoreError, match="vedette init"):
        Reader(tmp_path / "vedette.db")


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="name another folder"):
        prepare(tmp_path / "file" / "data")


def _tables(path: Path) -> set[str]:
    db = sqlite3.connect(path)
    try:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    finally:
        db.close()
