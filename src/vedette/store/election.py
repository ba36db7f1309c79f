"""One of several workers is elected: it holds an advisory lock for as long as its session lives.  On PostgreSQL."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

from vedette.contracts.errors import StoreWaitError
from vedette.contracts.sql_connection import PostgresAddress
from vedette.store.connection import connect

ELECTED = 0x76656477  # class of the lock; those before it are in store/postgres.py
_STAND = f"SELECT pg_try_advisory_lock({ELECTED}, hashtext(current_schema()))"


class Election:
    def __init__(self, path: PostgresAddress) -> None:
        self._db = connect(path)

    def stand(self) -> bool:
        """True where this worker is the one.  Asked again, it says whether it still is."""
        try:
            return bool(self._db.execute(_STAND).fetchone()[0])
        except (sqlite3.Error, StoreWaitError):
            return False  # the session is gone, and the lock with it

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._db.close()
