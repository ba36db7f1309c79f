"""SQLite and PostgreSQL keep what every store promises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from settlements import NOON
from stocked import blank
from store_contract import StoreContract

from vedette.contracts.lane import LaneState
from vedette.contracts.source import Source
from vedette.contracts.sql_connection import PostgresAddress
from vedette.contracts.words import LaneKey, Risk, SourceId
from vedette.store.connection import StorePlace
from vedette.store.operator import operating, pause_source, save_lane, save_source
from vedette.store.sqlite import Pick, Reader, Writer, connect


class OpenedStore:
    def __init__(self, path: StorePlace) -> None:
        self.path = path

    def writer(self, *, worker: str = "one", tier: Risk | None = None, only: str = "") -> Writer:
        pick = Pick(tier=tier, fetch_only=only == "fetch", discover_only=only == "discover")
        return Writer(self.path, worker=worker, pick=pick)

    def reader(self) -> Reader:
        return Reader(self.path)

    def save_source(self, source: Source) -> None:
        with operating(self.path) as db:
            save_source(db, source, now=NOON)

    def pause_source(self, source: SourceId) -> None:
        with operating(self.path) as db:
            pause_source(db, source, now=NOON)

    def save_lane(self, key: LaneKey, state: LaneState) -> None:
        with operating(self.path) as db:
            save_lane(db, key, state, now=NOON)

    def rows(self, table: str) -> list[dict[str, Any]]:
        db = connect(self.path, read_only=True)
        try:
            cursor = db.execute(f"SELECT * FROM {table} ORDER BY 1")
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor]
        finally:
            db.close()


class TestSqlite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> OpenedStore:
        return OpenedStore(blank(tmp_path))


class TestPostgresql(StoreContract):
    @pytest.fixture
    def store(self, postgres_store: PostgresAddress) -> OpenedStore:
        return OpenedStore(postgres_store)
