"""A store is for its owner alone: folders 0700, files 0600, whatever the umask was when they were made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

FOLDER, FILE, OTHERS = 0o700, 0o600, 0o077
_OURS = ("vedette.db", "lock", "archive", "artifacts", "before-restore-", ".restore-")


def make_folder(path: Path) -> None:
    """The folder, and those above it that are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir(mode=FOLDER, exist_ok=True)


def make_file(path: Path) -> None:
    """An empty one, where there is none.

    One that is there is not opened: closing a database's file drops the locks that this process has on it, and another
    process then takes the write-ahead log away.
    """
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, FILE))


def mend(data: Path) -> int:
    """Takes every right from others that a store of before gave them; how many files and folders had any.

    Costs a few calls when there is nothing to do.  A folder that holds other things than ours keeps its rights, and
    so does what is not ours to change.
    """
    gates = [path for path in (data, data / "vedette.db", data / "archive") if path.exists()]
    if not any(_is_open(path) for path in gates):
        return 0
    return sum(_close(path) for path in _all(data))


def _all(data: Path) -> Iterator[Path]:
    entries = list(data.iterdir()) if os.access(data, os.R_OK | os.X_OK) else []
    ours = [path for path in entries if path.name.startswith(_OURS)]
    if len(ours) == len(entries):
        yield data
    for path in ours:
        yield path
        if path.is_dir() and not path.is_symlink():
            yield from path.rglob("*")


def _is_open(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & OTHERS)
    except OSError:
        return False


def _close(path: Path) -> bool:
    if path.is_symlink() or not _is_open(path):
        return False
    try:
        path.chmod(path.stat().st_mode & 0o7777 & ~OTHERS)
    except OSError:  # another's, or on a medium that is only read
        return False
    return True
