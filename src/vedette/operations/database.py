"""The database of the store: how it is, and how it comes to this version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vedette.contracts.sql_connection import PostgresAddress
from vedette.operations.installation import Installation
from vedette.store.connection import StorePlace
from vedette.store.migrate import HEAD, prepare_place, version_of
from vedette.store.operator import lock_holder
from vedette.store.views import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseStatus:
    path: StorePlace
    version: str | None
    newest: str
    size: int  # bytes, with what is not yet in the main file
    engine: str | None  # who runs on it
    last_run: RunView | None
    rows: Mapping[str, int]  # by table


@dataclass(frozen=True, slots=True)
class Upgraded:
    path: StorePlace
    before: str | None
    version: str = HEAD


def database_path(installation: Installation) -> StorePlace:
    return installation.loaded.store


def database_status(installation: Installation) -> DatabaseStatus:
    place = installation.store()
    with installation.queries() as queries:
        counts, runs = queries.counts(), queries.runs(most=1)
    return DatabaseStatus(
        path=place,
        version=version_of(place),
        newest=HEAD,
        size=_size(installation, place),
        engine=lock_holder(installation.loaded.data),
        last_run=runs[0] if runs else None,
        rows=counts,
    )


def _size(installation: Installation, place: StorePlace) -> int:
    if isinstance(place, PostgresAddress):
        with installation.reading() as db:
            return int(db.execute("SELECT pg_database_size(current_database())").fetchone()[0])
    wal = place.with_name(place.name + "-wal")
    return place.stat().st_size + (wal.stat().st_size if wal.exists() else 0)


def upgrade_database(installation: Installation) -> Upgraded:
    """Only ever adds; a store that is up to date is left alone."""
    place = database_path(installation)
    before = version_of(place)
    prepare_place(installation.loaded.data, place, create=False)
    return Upgraded(place, before)


def status_json(found: DatabaseStatus) -> dict[str, object]:
    last = found.last_run
    run = None if last is None else {"run": last.id, "started_at": last.started_at, "ended_by": last.ended_by}
    return {
        "path": str(found.path),
        "version": found.version,
        "newest": found.newest,
        "bytes": found.size,
        "engine": found.engine,
        "last_run": run,
        "rows": found.rows,
    }
