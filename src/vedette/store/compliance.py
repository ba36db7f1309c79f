"""The compliance file: what was screened, which hosts are asked nothing, and the names of onion services.

It stands beside the store, private, and can be put away by itself.  What was screened is here as hashes alone.  It is
the only file that may hold an onion name.  Every fact is on the disk before anyone acts on it.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing
from pathlib import Path

from vedette.contracts.errors import StoreError
from vedette.core.evidence.screen import Screened

COMPLIANCE = "compliance.db"
_TABLES = """
CREATE TABLE IF NOT EXISTS compliance (
  id INTEGER PRIMARY KEY, at INTEGER, category TEXT NOT NULL, row TEXT NOT NULL, host_hash TEXT NOT NULL,
  url_hash TEXT NOT NULL, UNIQUE (host_hash, url_hash, row));
CREATE TABLE IF NOT EXISTS onion_names (alias TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS keys (name TEXT PRIMARY KEY, value BLOB NOT NULL);
"""


class ComplianceFile:
    """Opened for each fact: facts are few.  It is made with the first."""

    def __init__(self, data: Path) -> None:
        self._path = data / COMPLIANCE

    def blocked(self) -> set[str]:
        """Hashes of the hosts that are asked nothing."""
        return {str(row[0]) for row in self._read("SELECT DISTINCT host_hash FROM compliance")}

    def add(self, crumb: Screened) -> None:
        at = None if crumb.at is None else int(crumb.at.timestamp() * 1000)
        values = (at, crumb.category, crumb.row, crumb.host_hash, crumb.url_hash)
        self._write(
            "INSERT OR IGNORE INTO compliance (at, category, row, host_hash, url_hash) VALUES (?, ?, ?, ?, ?)",
            values,
        )

    def names(self) -> dict[str, str]:
        """Onion names by their aliases."""
        return {str(alias): str(name) for alias, name in self._read("SELECT alias, name FROM onion_names")}

    def add_name(self, alias: str, name: str) -> None:
        self._write("INSERT OR IGNORE INTO onion_names (alias, name) VALUES (?, ?)", (alias, name))

    def key(self) -> bytes:
        """A secret of this installation, by which aliases are made; drawn when first asked for."""
        made = secrets.token_bytes(32)
        self._write("INSERT OR IGNORE INTO keys (name, value) VALUES ('alias', ?)", (made,))
        ((value,),) = self._read("SELECT value FROM keys WHERE name = 'alias'")
        return value if isinstance(value, bytes) else str(value).encode()

    def _read(self, query: str) -> list[tuple[object, ...]]:
        if not self._path.exists():
            return []
        try:
            with closing(sqlite3.connect(self._path)) as db:
                return db.execute(query).fetchall()
        except sqlite3.Error as error:
            raise StoreError(f"{self._path} cannot be read: {error}; restore it from a backup") from None

    def _write(self, statement: str, values: tuple[object, ...]) -> None:
        try:
            if not self._path.exists():
                os.close(os.open(self._path, os.O_CREAT | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(self._path)) as db, db:
                db.executescript(_TABLES)
                db.execute(statement, values)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(f"{self._path} cannot be written: {error}") from None
