"""Which series of archive files a worker writes, where several write to one store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vedette.app.process import this_process
from vedette.contracts.errors import RefusedError
from vedette.store.connection import make_folder
from vedette.store.sqlite import StoreLock, Writer

MOST = 999  # workers of one store; the numbers behind it are those of others (`engine/settle/ids.py`)


@dataclass(frozen=True, slots=True)
class Series:
    number: int  # 0: the store is not shared
    dead: str = ""  # the process that had it and is gone, as its lock says


@contextmanager
def own_series(writer: Writer, directory: Path) -> Iterator[Series]:
    """The lowest number that no living worker has.  What a worker that was killed left is taken up by the next one.

    Two locks say so: one of the session in the database, which ends with a machine that is lost, and one of a file
    beside the archive, which outlives a restart of the database.
    """
    make_folder(directory)
    for number in range(1, MOST + 1):
        if writer.take_series(number):
            lock = StoreLock(directory / f"lock-{worker_name(number)}")
            try:
                dead = lock.take(this_process())
            except RefusedError:
                writer.leave_series()
                continue
            try:
                yield Series(number, dead)
            finally:
                lock.release()
            return
    raise RefusedError(f"{MOST} workers write to this store; stop one of them first")


def worker_name(number: int) -> str:
    """As it stands in the names of archive files."""
    return f"w{number}" if number else ""
