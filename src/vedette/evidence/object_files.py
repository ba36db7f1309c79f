"""Archive files in a bucket of an S3-compatible store.

A file is appended to, an object is not: so a file is its whole object `NAME`, if there is one, and the pieces
`NAME.parts/<offset>` behind it, one for each time that it was synced.  A piece holds whole records.  It is written
once, on the condition that there is none of its name, with its sha256; so two writers cannot undo each other.
`gather` makes one object of the pieces.
"""

from __future__ import annotations

import io
import itertools
import os
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import lru_cache, partial
from hashlib import sha256
from typing import Any, BinaryIO, TypeVar, cast

import obstore
from obstore import exceptions
from obstore.store import S3Store

from vedette.contracts.words import Bucket, ObjectPlace
from vedette.evidence.files import ArchivePlace, Files, StorageAway

PARTS = ".parts"
PIECE = 8 * 1024 * 1024  # of an upload in several parts
ANSWERS_S = 20  # a request is tried again for so long
_REFUSALS = {
    exceptions.PermissionDeniedError: "it refuses: check the rights of AWS_ACCESS_KEY_ID",
    exceptions.UnauthenticatedError: "it does not know us: check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    exceptions.NotFoundError: "there is no such bucket: make it, or set evidence.storage right",
    FileNotFoundError: "there is no such bucket: make it, or set evidence.storage right",
}
_NO_BUCKET = "NoSuchBucket"
_FAULTS = (exceptions.BaseError, OSError)
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Piece:
    offset: int
    size: int
    key: str


@dataclass(slots=True)
class _Open:
    """A file that this process writes."""

    place: ObjectPlace
    size: int  # of what is stored
    ours: dict[int, bytes]  # pieces from here on that may be cut: offset, sha256; empty: whatever it holds
    waiting: list[bytes] = field(default_factory=list)  # behind the stored end
    left_over: bool = False  # pieces were cut that the bucket may still have

    def waits(self) -> int:
        return sum(map(len, self.waiting))


class ObjectFiles(Files):
    """The bucket as a disk."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket
        self._store = _client(bucket)
        self._open: dict[int, _Open] = {}
        self._handles = itertools.count(1)
        self._known: dict[str, list[_Piece]] = {}  # pieces of files, as they were found last
        self._left: dict[
            str, _Open
        ] = {}  # files that were let go of while the bucket was away, with pieces to cut

    def create(self, path: ArchivePlace) -> int:
        place = self._tidied(path)
        if self._pieces(place):
            raise FileExistsError(f"{place} is there already")
        return self._opened(_Open(place, 0, {}))

    def open(self, path: ArchivePlace) -> int:
        place = self._tidied(path)
        pieces = self._pieces(place)
        return self._opened(_Open(place, _end(pieces), {one.offset: b"" for one in pieces}))

    def write(self, handle: int, data: memoryview, offset: int) -> int:
        file = self._open[handle]
        if offset != file.size + file.waits():
            raise OSError(f"{file.place} is appended to at {file.size + file.waits()}, not at {offset}")
        file.waiting.append(bytes(data))
        return len(data)

    def truncate(self, handle: int, size: int) -> None:
        """What cannot be cut now is cut before the next piece is written."""
        file = self._open[handle]
        data = b"".join(file.waiting)[: max(0, size - file.size)]
        file.waiting = [data] if data else []
        if size < file.size or file.left_over:
            file.size, file.left_over = min(size, file.size), True
        with suppress(StorageAway):
            self._cut(file)

    def fdatasync(self, handle: int) -> None:
        file = self._open[handle]
        self._cut(file)
        data = b"".join(file.waiting)
        if not data:
            return
        file.ours[file.size] = digest = sha256(data).digest()
        key = _piece_key(file.place, file.size)
        file.left_over = True  # until we know: an answer that is lost may be of a piece that is stored
        try:
            self._ask(file.place, lambda: obstore.put(self._store, key, data, mode="create"))
        except FileExistsError:
            if sha256(self._all(file.place, key)).digest() != digest:
                del file.ours[file.size]
                file.left_over = False
                raise OSError(
                    f"{key} is there, and this process did not write it: another one writes the same files; stop it, "
                    "then start this one again"
                ) from None
        file.left_over = False
        self._known.pop(file.place.key, None)
        file.size += len(data)
        file.waiting = []

    def fsync_directory(self, path: ArchivePlace) -> None:
        """A name is as lasting as its object."""

    def close(self, handle: int) -> None:
        file = self._open.pop(handle)
        if file.left_over:
            self._left[file.place.key] = file

    def discard(self, handle: int, path: ArchivePlace) -> None:
        self.truncate(handle, 0)
        self.close(handle)

    def rename(self, old: ArchivePlace, new: ArchivePlace) -> None:
        was, becomes = _in_bucket(old), _in_bucket(new)
        for piece in self._pieces(was):
            target = becomes.key if piece.key == was.key else _piece_key(becomes, piece.offset)
            self._ask(was, partial(obstore.copy, self._store, piece.key, target))
        self.unlink(was)

    def unlink(self, path: ArchivePlace) -> None:
        place = _in_bucket(path)
        self._delete(place, [piece.key for piece in self._pieces(place, hidden=True)])

    def size(self, path: ArchivePlace) -> int | None:
        pieces = self._pieces(self._tidied(path))
        return _end(pieces) if pieces else None

    def sizes(self, directory: ArchivePlace) -> dict[str, int]:
        place = _in_bucket(directory)
        found: dict[str, int] = {}
        for key, size in self._listed(place):
            name, _, offset = key[len(place.key) :].strip("/").partition(f"{PARTS}/")
            end = size + (int(offset) if offset else 0)
            found[name] = max(end, found.get(name, 0))
        return found

    def make_directory(self, directory: ArchivePlace) -> None:
        """The bucket is asked once, so that one that is not there is known at the start."""
        place = _in_bucket(directory)
        self._ask(place, lambda: next(iter(obstore.list(self._store, place.key, chunk_size=1)), None))

    def read_at(self, path: ArchivePlace, offset: int, length: int) -> bytes:
        place = _in_bucket(path)
        known = self._known.get(place.key)
        if known is None or offset + length > _end(known):
            known = self._pieces(place)
        try:
            return self._read(place, known, offset, length)
        except FileNotFoundError:  # its pieces became one meanwhile
            return self._read(place, self._pieces(place), offset, length)

    def reader(self, path: ArchivePlace) -> BinaryIO:
        place = _in_bucket(path)
        pieces = self._pieces(place)
        if not pieces:
            raise FileNotFoundError(f"{place} is not there")
        return cast(BinaryIO, io.BufferedReader(_Reader(self, place, _end(pieces)), 1024 * 1024))

    def in_pieces(self, directory: ArchivePlace) -> list[str]:
        place = _in_bucket(directory)
        inside = (key[len(place.key) :].strip("/") for key, _ in self._listed(place))
        return sorted({name.partition(f"{PARTS}/")[0] for name in inside if f"{PARTS}/" in name})

    def gather(self, path: ArchivePlace) -> bool:
        """The whole first, complete, then its pieces go: a stop in between leaves nothing that is not there."""
        place = _in_bucket(path)
        pieces = self._pieces(place)
        if pieces and (len(pieces) > 1 or pieces[0].key != place.key):
            self._ask(place, lambda: self._put_together(place, pieces))
        hidden = [one.key for one in self._pieces(place, hidden=True) if one.key != place.key]
        self._delete(place, hidden)
        return bool(hidden)

    def _put_together(self, place: ObjectPlace, pieces: list[_Piece]) -> None:
        """In parts where it is large.  The object is there when all of it is."""
        with obstore.open_writer(self._store, place.key, buffer_size=PIECE) as whole:
            for piece in pieces:
                whole.write(self._all(place, piece.key))

    def _tidied(self, path: ArchivePlace) -> ObjectPlace:
        """Without what was cut while the bucket was away."""
        place = _in_bucket(path)
        if (file := self._left.get(place.key)) is not None:
            self._cut(file)
            del self._left[place.key]
        return place

    def _opened(self, file: _Open) -> int:
        handle = next(self._handles)
        self._open[handle] = file
        return handle

    def _cut(self, file: _Open) -> None:
        """Deletes pieces behind the end that are ours.  Those of another process stay: they may be committed."""
        if not file.left_over:
            return
        for offset in sorted((one for one in file.ours if one >= file.size), reverse=True):
            key, digest = _piece_key(file.place, offset), file.ours[offset]
            try:
                is_ours = not digest or sha256(self._all(file.place, key)).digest() == digest
            except FileNotFoundError:
                is_ours = False
            if is_ours:
                self._delete(file.place, [key])
            del file.ours[offset]
        file.left_over = False
        self._known.pop(file.place.key, None)

    def _read(self, place: ObjectPlace, pieces: list[_Piece], offset: int, length: int) -> bytes:
        if not pieces:
            raise FileNotFoundError(f"{place} is not there")
        found = b""
        at = max(0, bisect_right([one.offset for one in pieces], offset) - 1)
        for piece in pieces[at:]:
            start = offset + len(found) - piece.offset
            wanted = min(length - len(found), piece.size - start)
            if wanted <= 0:
                break
            found += self._range(place, piece.key, start, wanted)
        return found

    def _range(self, place: ObjectPlace, key: str, start: int, length: int) -> bytes:
        return bytes(
            self._ask(place, lambda: obstore.get_range(self._store, key, start=start, length=length))
        )

    def _all(self, place: ObjectPlace, key: str) -> bytes:
        return bytes(self._ask(place, lambda: obstore.get(self._store, key).bytes()))

    def _pieces(self, place: ObjectPlace, *, hidden: bool = False) -> list[_Piece]:
        """In order, as the bucket has them now.  `hidden`: also those that the whole holds already.

        The list comes first: the answer to HEAD would not tell a bucket that is gone from an object that is.
        """
        folder = place.with_name(f"{place.name}{PARTS}")
        parts = [_Piece(int(key.rpartition("/")[2]), size, key) for key, size in self._listed(folder)]
        try:
            head = self._ask(place, lambda: obstore.head(self._store, place.key))
        except FileNotFoundError:
            head = None
        whole = [] if head is None else [_Piece(0, head["size"], place.key)]
        seen = [
            *whole,
            *sorted((one for one in parts if one.offset >= _end(whole)), key=lambda one: one.offset),
        ]
        self._known[place.key] = seen
        return [*whole, *parts] if hidden else seen

    def _listed(self, place: ObjectPlace) -> Iterator[tuple[str, int]]:
        found = self._ask(place, lambda: list(obstore.list(self._store, place.key)))
        return ((one["path"], one["size"]) for page in found for one in page)

    def _delete(self, place: ObjectPlace, keys: list[str]) -> None:
        if keys:
            self._ask(place, lambda: obstore.delete(self._store, keys))
        self._known.pop(place.key, None)

    def _ask(self, place: ObjectPlace, do: Callable[[], _T]) -> _T:
        """FileNotFoundError and FileExistsError are answers; all else means that the bucket is away."""
        try:
            return do()
        except exceptions.AlreadyExistsError:
            raise FileExistsError(str(place)) from None
        except _FAULTS as error:
            words = str(error)
            if isinstance(error, FileNotFoundError) and _NO_BUCKET not in words:
                raise
            raise StorageAway(f"{_where(self._bucket)} {_reason(error)}") from None


class _Reader(io.RawIOBase):
    """A file from its beginning to the end that it had when it was opened."""

    def __init__(self, files: ObjectFiles, place: ObjectPlace, size: int) -> None:
        self._files = files
        self._place = place
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._size - self._at)
        data = self._files.read_at(self._place, self._at, wanted) if wanted > 0 else b""
        view[: len(data)] = data
        self._at += len(data)
        return len(data)


def files_of_bucket(bucket: Bucket) -> ObjectFiles:
    """One client per process: its threads do not live on in a child."""
    return _files(bucket, os.getpid())


@lru_cache(maxsize=8)
def _files(bucket: Bucket, process: int) -> ObjectFiles:
    return ObjectFiles(bucket)


def _client(bucket: Bucket) -> S3Store:
    named = {"endpoint": bucket.endpoint, "session_token": bucket.session}
    given: dict[str, Any] = {name: str(value) for name, value in named.items() if value}
    return S3Store(
        bucket.name,
        access_key_id=str(bucket.key_id),
        secret_access_key=str(bucket.key),
        region=bucket.region,
        checksum_algorithm="sha256",
        virtual_hosted_style_request=not bucket.endpoint,
        client_options={
            "allow_http": bucket.endpoint.startswith("http://"),
            "connect_timeout": timedelta(seconds=5),
            "timeout": timedelta(seconds=30),
        },
        retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=ANSWERS_S)},
        **given,
    )


def _in_bucket(place: ArchivePlace) -> ObjectPlace:
    if not isinstance(place, ObjectPlace):
        raise TypeError(f"{place} is not in a bucket")
    return place


def _piece_key(place: ObjectPlace, offset: int) -> str:
    return f"{place.key}{PARTS}/{offset:020d}"


def _end(pieces: list[_Piece]) -> int:
    return pieces[-1].offset + pieces[-1].size if pieces else 0


def _where(bucket: Bucket) -> str:
    at = f" at {bucket.endpoint.rpartition('@')[2]}" if bucket.endpoint else ""
    return f"the bucket {bucket.name}{at} cannot be used:"


def _reason(error: Exception) -> str:
    if _NO_BUCKET in str(error):
        return _REFUSALS[FileNotFoundError]
    known = next((words for kind, words in _REFUSALS.items() if isinstance(error, kind)), "")
    return known or f"it does not answer ({_first_line(error)}); is it up, and evidence.endpoint right?"


def _first_line(error: Exception) -> str:
    """Without the keys of objects and what a library tells of itself."""
    return (str(error).strip().splitlines() or ["no words"])[0][:200]
