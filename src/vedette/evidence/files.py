"""The few things that the archive asks of its storage, in one place, so that a test can be the disk.

`files_of` gives the storage of a place: a disk, or a bucket (`object_files.py`).
"""

from __future__ import annotations

import errno
import importlib
import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

from vedette.contracts.errors import StoreError
from vedette.contracts.words import ObjectPlace

ArchivePlace: TypeAlias = Path | ObjectPlace
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_FILES = (errno.EMFILE, errno.ENFILE)
_BUFFER = 1024 * 1024


class StorageAway(OSError):
    """The storage does not answer or lets nobody in.  Later it may; the words say what to do."""


class Files:
    """The real disk.  Raises OSError; a short write is the caller's to finish."""

    def create(self, path: ArchivePlace) -> int:
        """A new file, never an old one.  Lasting only after `fsync_directory`."""
        return os.open(_on_disk(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)

    def open(self, path: ArchivePlace) -> int:
        return os.open(_on_disk(path), os.O_RDWR | os.O_CLOEXEC)

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        """How many bytes were taken; may be fewer than given."""
        return os.pwrite(handle, data, offset)

    def truncate(self, handle: int, size: int) -> None:
        os.ftruncate(handle, size)

    def fdatasync(self, handle: int) -> None:
        os.fdatasync(handle)

    def fsync_directory(self, path: ArchivePlace) -> None:
        """New, renamed and deleted names in `path` are lasting after this."""
        handle = os.open(_on_disk(path), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    def close(self, handle: int) -> None:
        os.close(handle)

    def discard(self, handle: int, path: ArchivePlace) -> None:
        """Lets go of a file that was never committed, and of its name."""
        self.close(handle)
        self.unlink(path)

    def rename(self, old: ArchivePlace, new: ArchivePlace) -> None:
        os.rename(_on_disk(old), _on_disk(new))

    def unlink(self, path: ArchivePlace) -> None:
        os.unlink(_on_disk(path))

    def size(self, path: ArchivePlace) -> int | None:
        """None: there is no such file."""
        try:
            return os.stat(_on_disk(path)).st_size
        except FileNotFoundError:
            return None

    def sizes(self, directory: ArchivePlace) -> dict[str, int]:
        """Every file of a folder; empty where there is no folder."""
        try:
            with os.scandir(_on_disk(directory)) as entries:
                return {one.name: one.stat().st_size for one in entries if one.is_file()}
        except FileNotFoundError:
            return {}

    def make_directory(self, directory: ArchivePlace) -> None:
        path = _on_disk(directory)
        if not path.exists():
            path.mkdir(mode=0o700, parents=True)
            self.fsync_directory(path.parent)

    def read_at(self, path: ArchivePlace, offset: int, length: int) -> bytes:
        """Fewer bytes where the file ends before."""
        with open(_on_disk(path), "rb", buffering=0) as file:
            file.seek(offset)
            return file.read(length) or b""

    def reader(self, path: ArchivePlace) -> BinaryIO:
        """To read from the beginning to the end.  FileNotFoundError: there is no such file."""
        return open(_on_disk(path), "rb", _BUFFER)

    def in_pieces(self, directory: ArchivePlace) -> list[str]:
        """The files that `gather` would make one whole of."""
        return []

    def gather(self, path: ArchivePlace) -> bool:
        """Makes one whole of a file that lies in pieces; False: it is one.  Nobody may write to it meanwhile."""
        return False


def files_of(place: ArchivePlace) -> Files:
    """The storage of a place."""
    if isinstance(place, Path):
        return _DISK
    try:
        bucket_driver = importlib.import_module("vedette.evidence.object_files")
    except ImportError:
        raise StoreError(f"{place} needs the package obstore: pip install 'vedette[s3]'") from None
    found: Files = bucket_driver.files_of_bucket(place.bucket)
    return found


def write_all(files: Files, handle: int, data: bytes, offset: int) -> None:
    """All of it or an OSError: a disk that takes only part is asked for the rest."""
    view = memoryview(data)
    while view:
        taken = files.write(handle, view, offset)
        if taken <= 0:
            raise OSError(f"the disk took {taken} of {len(view)} bytes")
        view, offset = view[taken:], offset + taken


def _on_disk(place: ArchivePlace) -> Path:
    if isinstance(place, ObjectPlace):
        raise TypeError(f"{place} is not on a disk")
    return place


_DISK = Files()
