"""Moves a store from its file to a PostgreSQL server and back: all rows, proven, then the switch.

Until the proof is done the target is marked as half a copy, and nothing opens it.  The archive stays in its folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from vedette.app.process import locked
from vedette.contracts.errors import InputError, RefusedError, StoreError
from vedette.contracts.sql_connection import PostgresAddress, SqlConnection
from vedette.operations.installation import Installation
from vedette.store.connection import StorePlace, all_or_nothing, connect
from vedette.store.migrate import COPYING, DATABASE, HEAD, prepare, prepare_place, version_of
from vedette.store.table_copy import (
    CopyTable,
    TableProof,
    copy_rows,
    copy_tables,
    empty,
    follow_numbers,
    proof_of,
)

ASIDE = "vedette.db.moved"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreCopy:
    """What was copied from where to where, and how each table was proven."""

    source: str
    target: str
    proofs: tuple[TableProof, ...]
    set_aside: str = ""  # where the file that was the store is now

    @property
    def rows(self) -> int:
        return sum(proof.rows for proof in self.proofs)


def copy_store(installation: Installation, to: str, *, keep: bool, progress: Progress) -> StoreCopy:
    """Copies the store to this URL; `keep`: the store in use stays the one that is there."""
    loaded, source = installation.loaded, installation.store()
    target = _place(to)
    if str(target) == str(source):
        raise InputError(f"--to names {source}, which is the store itself")
    with locked(loaded.data, doing=", copying the store"):
        with _opened(source, target, loaded.data) as (old, new):
            proofs = _copied(old, new, progress)
            _stamp(new, HEAD)
        if isinstance(target, Path):
            target.with_name(f"{DATABASE}.{COPYING}").rename(target)
        aside = "" if keep or not isinstance(source, Path) else _set_aside(source)
    return StoreCopy(source=str(source), target=str(target), proofs=proofs, set_aside=aside)


def _place(to: str) -> StorePlace:
    kind, mark, rest = to.partition("://")
    if mark and kind in ("postgresql", "postgres"):
        return PostgresAddress(to)
    path = Path(rest.removeprefix("/"))
    if mark and kind == "sqlite" and path.name == DATABASE:
        return path
    raise InputError(f"--to: write postgresql://user@host:5432/name, or sqlite:///folder/{DATABASE}")


@contextmanager
def _opened(
    source: StorePlace, target: StorePlace, data: Path
) -> Iterator[tuple[SqlConnection, SqlConnection]]:
    """Both ends, held for this copy alone, the target ready to take rows."""
    with ExitStack() as stack:
        old = stack.enter_context(closing(connect(source)))
        new = stack.enter_context(closing(connect(_begun(target, data))))
        for place, db in ((source, old), (target, new)):
            if isinstance(place, PostgresAddress):
                db.take_engine_lock()  # type: ignore[attr-defined]
        if _version(new) == HEAD:
            _make_room(new, target)
        elif _version(new) != COPYING:
            raise StoreError(f"{target} is at version {_version(new)}, not {HEAD}")
        yield old, new


def _begun(target: StorePlace, data: Path) -> StorePlace:
    """The place that takes the rows: of a file, one with another name until it is whole."""
    if isinstance(target, PostgresAddress):
        if version_of(target) != COPYING:
            prepare_place(data, target)
        return target
    if target.exists():
        raise RefusedError(f"{target} exists; name a folder without a store, or move it away")
    half = target.with_name(f"{DATABASE}.{COPYING}")
    if not half.exists():
        prepare(target.parent).rename(half)
    return half


def _make_room(new: SqlConnection, target: StorePlace) -> None:
    """A new store has one row: the first seal.  One with anything else in it is somebody's."""
    used = [table.name for table in copy_tables() if table.name != "seals" and _has_rows(new, table)]
    if used:
        raise RefusedError(
            f"{target} has a store with rows in {', '.join(used[:3])} already; nothing was changed, name another"
        )
    with all_or_nothing(new):
        new.execute("DELETE FROM seals")
        new.execute("UPDATE alembic_version SET version_num = ?", (COPYING,))


def _copied(old: SqlConnection, new: SqlConnection, progress: Progress) -> tuple[TableProof, ...]:
    tables = copy_tables()
    whole = sum(_count(old, table) for table in tables)
    done = sum(_count(new, table) for table in tables)
    proofs = []
    for table in tables:

        def told(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done, whole)

        copy_rows(old, new, table, told)
        proofs.append(_proven(old, new, table))
    return tuple(proofs)


def _proven(old: SqlConnection, new: SqlConnection, table: CopyTable) -> TableProof:
    """Both tables hold the same; one that was begun before the store went on is copied anew."""
    wanted = proof_of(old, table)
    if proof_of(new, table) != wanted:
        with all_or_nothing(new):
            empty(new, table)
        copy_rows(old, new, table, lambda rows: None)
        if proof_of(new, table) != wanted:
            raise StoreError(
                f"the rows of {table.name} differ after they were copied; the store stays where it is"
            )
    if table.numbered:
        with all_or_nothing(new):
            follow_numbers(old, new, table)
    return wanted


def _set_aside(source: Path) -> str:
    """From here on the folder has no store of its own, and DATABASE_URL says where it is."""
    with closing(connect(source)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    aside = source.with_name(ASIDE)
    if aside.exists():
        raise RefusedError(
            f"{aside} exists; the copy is whole, move that file away and rename {source} yourself"
        )
    source.rename(aside)
    return str(aside)


def _version(db: SqlConnection) -> str:
    return str(db.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def _stamp(db: SqlConnection, version: str) -> None:
    with all_or_nothing(db):
        db.execute("UPDATE alembic_version SET version_num = ?", (version,))


def _count(db: SqlConnection, table: CopyTable) -> int:
    return int(db.execute(f'SELECT COUNT(*) FROM "{table.name}"').fetchone()[0])  # noqa: S608


def _has_rows(db: SqlConnection, table: CopyTable) -> bool:
    return db.execute(f'SELECT 1 FROM "{table.name}" LIMIT 1').fetchone() is not None  # noqa: S608
