"""The few things that the archive asks of a disk, in one place, so that a test can be the disk."""

from __future__ import annotations

import errno
import os
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
NO_FILES = (errno.EMFILE, errno.ENFILE)


class Files:
    """The real disk.  Raises OSError; a short write is the caller's to finish."""

    def create(self, path: Path) -> int:
        """A new file, never an old one.  Lasting only after `fsync_directory`."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def open(self, path: Path) -> int:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC)

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        """How many bytes were taken; may be fewer than given."""
        return os.pwrite(handle, data, offset)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def fdatasync(self, handle: int) -> None:
        os.fdatasync(handle)

    def fsync_directory(self, path: Path) -> None:
        """New, renamed and deleted names in `path` are lasting after this."""
        handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        os.rename(old, new)

    def unlink(self, path: Path) -> None:
        os.unlink(path)

    def size(self, path: Path) -> int | None:
        """None: there is no such file."""
        try:
            return os.stat(path).st_size
        except FileNotFoundError:
            return None


def write_all(files: Files, handle: int, data: bytes, offset: int) -> None:
    """All of it or an OSError: a disk that takes only part is asked for the rest."""
    view = memoryview(data)
    while view:
        taken = files.write(handle, view, offset)
        if taken <= 0:
            raise OSError(f"the disk took {taken} of {len(view)} bytes")
        view, offset = view[taken:], offset + taken
