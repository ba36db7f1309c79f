"""The store of an older sentinel: spec 001's tables, changed only by adding (spec 000/6).

Columns are added, rows that have no `nextScanDue` get one, `scrapeFrequency` is marked as deprecated and stays.
Everything can be stopped and said again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from vedette.contracts.errors import InputError, StoreError
from vedette.core.older_sentinel import AdoptedStart

ITEMS, ENDPOINTS = "DiscoveredItem", "DiscoveryEndpoint"
DEPRECATED = "scrapeFrequencyDeprecatedAt"
CHUNK = 1000
# spec 000/1.  `nextScanDue` has no default: a row without it is one that phases 2 and 3 have not reached.
ADDED: tuple[tuple[str, sa.types.TypeEngine[Any], str | None], ...] = (
    ("nodeType", sa.Text(), "'LEAF'"),
    ("nodeRole", sa.Text(), None),
    ("parentUrl", sa.Text(), None),
    ("depth", sa.Integer(), "0"),
    ("changeFrequency", sa.Double(), "0.5"),
    ("lastChangedAt", sa.DateTime(), None),
    ("scanCount", sa.Integer(), "0"),
    ("freshnessRisk", sa.Text(), "'MEDIUM'"),
    ("nextScanDue", sa.DateTime(), None),
)
_INDEXES = (("nextScanDue", "freshnessRisk"), ("endpointId", "nodeType"))  # spec 000/1


@dataclass(frozen=True, slots=True)
class OldItem:
    """One row, with every name that spec 001/4.4 gives it."""

    row: dict[str, Any]

    @property
    def id(self) -> Any:
        return self.row["id"]

    @property
    def url(self) -> str:
        return str(self.row["url"] or "")

    def text(self, name: str) -> str:
        return str(self.row.get(name) or "")

    def number(self, name: str) -> float:
        return float(self.row.get(name) or 0)

    def date(self, name: str) -> datetime | None:
        """As a timestamp, ISO text, or the milliseconds that Prisma writes into SQLite."""
        value = self.row.get(name)
        if isinstance(value, str) and value.strip().lstrip("-").isdigit():
            value = int(value)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / 1000, UTC)
        if isinstance(value, str):
            value = datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        return None


class OldStore:
    """Opened by `old_store`."""

    def __init__(self, connection: sa.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._has_endpoints = sa.inspect(connection).has_table(ENDPOINTS)
        self._check()

    def missing_columns(self) -> list[str]:
        known = {column["name"] for column in sa.inspect(self._connection).get_columns(ITEMS)}
        return [name for name, _, _ in ADDED if name not in known]

    def count(self) -> int:
        return int(self._connection.scalar(sa.text(f'SELECT COUNT(*) FROM "{ITEMS}"')) or 0)

    def unscheduled(self) -> int:
        """Items that phases 2 and 3 have not reached."""
        if "nextScanDue" in self.missing_columns():
            return self.count()
        query = sa.text(f'SELECT COUNT(*) FROM "{ITEMS}" WHERE "nextScanDue" IS NULL')
        return int(self._connection.scalar(query) or 0)

    def add_columns(self) -> list[str]:
        """Phase 1: what is not there yet, with the defaults of spec 000, and its two indexes."""
        missing = self.missing_columns()
        dialect = self._connection.dialect
        for name, kind, default in ADDED:
            if name in missing:
                word = f" DEFAULT {default}" if default else ""
                self._say(f'ALTER TABLE "{ITEMS}" ADD COLUMN "{name}" {kind.compile(dialect)}{word}')
        known = {column["name"] for column in sa.inspect(self._connection).get_columns(ITEMS)}
        for columns in _INDEXES:
            if known.issuperset(columns):
                names = ", ".join(f'"{name}"' for name in columns)
                self._say(
                    f'CREATE INDEX IF NOT EXISTS "{ITEMS}_{"_".join(columns)}_idx" ON "{ITEMS}" ({names})'
                )
        self._connection.commit()
        return missing

    def schedule(self, start: Callable[[str], AdoptedStart]) -> int:
        """Phases 2 and 3, in chunks that each stand by themselves.  Gives how many rows were filled."""
        query = sa.text(f'SELECT "id", "url" FROM "{ITEMS}" WHERE "nextScanDue" IS NULL LIMIT {CHUNK}')
        fill = sa.text(
            f'UPDATE "{ITEMS}" SET "nodeType" = :node_type, "nodeRole" = :node_role, "freshnessRisk" = :risk, '
            '"changeFrequency" = :velocity, "scanCount" = :scan_count, "nextScanDue" = :due WHERE "id" = :id'
        ).bindparams(sa.bindparam("due", type_=sa.DateTime()))
        count = 0
        while rows := self._connection.execute(query).all():
            self._connection.execute(fill, [_filled(key, start(str(url or ""))) for key, url in rows])
            self._connection.commit()
            count += len(rows)
        return count

    def deprecate_frequency(self, now: datetime) -> int:
        """Phase 4: `scrapeFrequency` is marked, and kept for a way back.  Gives how many endpoints have one."""
        if not self._has_endpoints:
            return 0
        known = {column["name"] for column in sa.inspect(self._connection).get_columns(ENDPOINTS)}
        if "scrapeFrequency" not in known:
            return 0
        if DEPRECATED not in known:
            kind = sa.DateTime().compile(self._connection.dialect)
            self._say(f'ALTER TABLE "{ENDPOINTS}" ADD COLUMN "{DEPRECATED}" {kind}')
        mark = sa.text(
            f'UPDATE "{ENDPOINTS}" SET "{DEPRECATED}" = :at '
            f'WHERE "scrapeFrequency" IS NOT NULL AND "{DEPRECATED}" IS NULL'
        ).bindparams(sa.bindparam("at", type_=sa.DateTime()))
        count = self._connection.execute(mark, {"at": now.replace(tzinfo=None)}).rowcount
        self._connection.commit()
        return count

    def endpoints(self) -> Iterator[dict[str, Any]]:
        """Rows of `DiscoveryEndpoint`; `metadata` read from its JSON."""
        if not self._has_endpoints:
            return
        for row in self._connection.execute(sa.text(f'SELECT * FROM "{ENDPOINTS}"')).mappings().all():
            metadata = row.get("metadata")
            read = json.loads(metadata) if isinstance(metadata, str) and metadata.strip() else metadata
            yield {**row, "metadata": read or {}}

    def items(self) -> Iterator[OldItem]:
        """All items, in the order of their ids, a chunk at a time."""
        last: Any = None
        while True:
            where = "" if last is None else 'WHERE "id" > :last '
            query = sa.text(f'SELECT * FROM "{ITEMS}" {where}ORDER BY "id" LIMIT {CHUNK}')
            rows = self._connection.execute(query, {} if last is None else {"last": last}).mappings().all()
            if not rows:
                return
            yield from (OldItem(dict(row)) for row in rows)
            last = rows[-1]["id"]

    def _check(self) -> None:
        look = sa.inspect(self._connection)
        if ITEMS in look.get_view_names():
            raise InputError(f"{self._name} is a store of vedette already; there {ITEMS} is a view")
        if not look.has_table(ITEMS):
            found = ", ".join(sorted(look.get_table_names())[:8]) or "no tables"
            raise InputError(f"{self._name} has no table {ITEMS} (001 section 4.4); it has {found}")
        lacks = {"id", "url"} - {column["name"] for column in look.get_columns(ITEMS)}
        if lacks:
            raise InputError(f"{ITEMS} in {self._name} has no column {' and no column '.join(sorted(lacks))}")

    def _say(self, statement: str) -> None:
        self._connection.execute(sa.text(statement))


@contextmanager
def old_store(place: str) -> Iterator[OldStore]:
    """A SQLite file, or the URL of a database."""
    try:
        engine = sa.create_engine(_address(place))
    except (sa.exc.ArgumentError, ImportError) as error:
        raise InputError(f"{place!r} cannot be opened: {error}") from None
    try:
        with engine.connect() as connection:
            yield OldStore(connection, engine.url.render_as_string())
    except sa.exc.DBAPIError as error:
        raise StoreError(
            f"{engine.url.render_as_string()}: {error.orig}; what was done before stands, say it again to go on"
        ) from None
    finally:
        engine.dispose()


def _address(place: str) -> str:
    if "://" in place:
        return place
    if not Path(place).is_file():
        raise InputError(f"there is no file {place!r}; name a SQLite file, or a URL such as postgresql://...")
    return f"sqlite:///{Path(place).resolve()}"


def _filled(key: Any, start: AdoptedStart) -> dict[str, Any]:
    return {
        "id": key,
        "node_type": start.node_type.name,
        "node_role": start.node_role.name if start.node_role else None,
        "risk": start.risk.name,
        "velocity": start.velocity,
        "scan_count": start.scan_count,
        "due": start.next_scan_due.astimezone(UTC).replace(tzinfo=None),
    }
