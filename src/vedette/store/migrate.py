"""Brings a store to this version's schema.  Costs nothing when it is there already."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from vedette.contracts.errors import StoreError

HEAD = "0013"  # newest revision under migrations/versions
DATABASE = "vedette.db"
ARCHIVE = "archive"


def prepare(data: Path, *, create: bool = True) -> Path:
    """The database of this data folder, migrated.  Makes the folder when `create` says so."""
    path = data / DATABASE
    if not path.exists() and not create:
        raise StoreError(f"no store in {data}; run `vedette init`, or name another folder with --data")
    try:
        (data / ARCHIVE).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot use {data} for data: {error.strerror}; name another folder with --data"
        ) from None
    if version(path) != HEAD:
        _upgrade(path)
    return path


def version(path: Path) -> str | None:
    """The revision of a store, None for a new one."""
    if not path.exists() or path.stat().st_size == 0:
        return None
    try:
        db = sqlite3.connect(f"file:{path}?mode=rw", uri=True)  # a kill may have left something to undo
        try:
            tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables and "alembic_version" not in tables:
                raise StoreError(f"{path} is not a store of vedette; name another folder with --data")
            row = db.execute("SELECT version_num FROM alembic_version").fetchone() if tables else None
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        raise StoreError(f"{path} is not a usable store: {error}; restore it from a backup") from None
    return row[0] if row else None


def _upgrade(path: Path) -> None:
    from alembic import command
    from alembic.config import Config as AlembicConfig
    from alembic.util import CommandError
    from sqlalchemy import create_engine, event
    from sqlalchemy.exc import DBAPIError, SQLAlchemyError

    # Python's driver would commit every CREATE TABLE by itself, and a kill in between would leave half a store.
    engine = create_engine(f"sqlite:///{path}", connect_args={"isolation_level": None})
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    settings = AlembicConfig()
    settings.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    try:
        _use_wal(path)
        with engine.begin() as connection:
            settings.attributes["connection"] = connection
            command.upgrade(settings, "head")
    except CommandError as error:
        raise StoreError(f"{path} was made by another version of vedette: {error}") from None
    except (SQLAlchemyError, sqlite3.Error) as error:
        why = error.orig if isinstance(error, DBAPIError) else error
        raise StoreError(f"cannot bring {path} to this version: {why}; nothing was changed") from None
    finally:
        engine.dispose()


def _use_wal(path: Path) -> None:
    """Cannot be said within a transaction."""
    db = sqlite3.connect(path)
    try:
        db.execute("PRAGMA journal_mode = WAL")
    finally:
        db.close()
