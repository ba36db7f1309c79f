"""What a container holds, by its own directory: zip packages and OLE compound files.

Office files hold other office files whole, so a name found anywhere in the bytes says nothing.  All reading is
bounded: a directory that leads nowhere, or round in circles, ends as fewer names.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
MAX_NAMES = 20_000  # of a zip; a document has a few hundred
MAX_ENTRIES = 4096  # of an OLE directory
MAX_SECTORS = 100_000  # followed in one chain
_END_OF_ZIP = b"PK\x05\x06"
_ZIP_TAIL = 22 + 65_535  # the end record and the longest comment
_NONE = 0xFFFF_FFFA  # sector numbers from here on are marks
_STORAGE_OR_ROOT, _STREAM = (1, 5), 2
_HEADER_TABLES = 109  # sectors of the allocation table that the header names itself


def zip_names(body: bytes) -> list[bytes] | None:
    """The names of the members, by the central directory; None when that is lost."""
    end = body.rfind(_END_OF_ZIP, max(0, len(body) - _ZIP_TAIL))
    if end < 0 or end + 22 > len(body):
        return None
    count, size, offset = struct.unpack_from("<HII", body, end + 10)
    at = end - size if end - size >= 0 else offset  # bytes before the archive move the offset, not the size
    names: list[bytes] = []
    while len(names) < min(count, MAX_NAMES) and body.startswith(b"PK\x01\x02", at) and at + 46 <= len(body):
        name, extra, comment = struct.unpack_from("<HHH", body, at + 28)
        names.append(body[at + 46 : at + 46 + name])
        at += 46 + name + extra + comment
    return names or None


def first_name(body: bytes) -> bytes:
    """The name of the first member, as far as it is there."""
    if not body.startswith(b"PK\x03\x04") or len(body) <= 30:
        return b""
    (length,) = struct.unpack_from("<H", body, 26)
    return body[30 : 30 + length]


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of the top storage: where it begins and how long it is."""

    first: int
    size: int


@dataclass(frozen=True, slots=True)
class Compound:
    """An OLE compound file (MS-CFB), as far as its directory tells."""

    body: bytes
    sector: int  # bytes
    table: tuple[int, ...]  # sector after sector
    small_below: int  # streams shorter than this share sectors of the root
    root: Stream
    streams: dict[str, Stream] = field(default_factory=dict)  # of the top storage alone

    def head(self, name: str) -> bytes:
        """The beginning of a stream, a small sector at least; empty when there is none."""
        stream = self.streams.get(name)
        if stream is None:
            return b""
        if stream.size >= self.small_below:
            return self._sector(stream.first)[: stream.size]
        sectors = list(_chain(self.table, self.root.first))
        place, within = divmod(stream.first * 64, self.sector)
        if place >= len(sectors):
            return b""
        return self._sector(sectors[place])[within : within + min(stream.size, 64)]

    def _sector(self, number: int) -> bytes:
        return _sector(self.body, self.sector, number)


def read_compound(body: bytes) -> Compound | None:
    """None when it is no compound file, or its directory cannot be read."""
    if not body.startswith(OLE) or len(body) < 512:
        return None
    (shift,) = struct.unpack_from("<H", body, 30)
    if shift not in (9, 12):
        return None
    first_directory, small_below = struct.unpack_from("<I4xI", body, 48)
    table = _allocation(body, 1 << shift)
    directory: list[bytes] = []
    for number in _chain(table, first_directory):
        if len(directory) * (1 << shift) >= MAX_ENTRIES * 128:
            break
        directory.append(_sector(body, 1 << shift, number))
    entries = [_Entry.read(raw) for raw in _pieces(b"".join(directory), 128)]
    if not entries or entries[0].kind not in _STORAGE_OR_ROOT:
        return None
    root = entries[0]
    streams = {
        entry.name: Stream(entry.first, entry.size)
        for entry in _siblings(entries, root.child)
        if entry.kind == _STREAM
    }
    return Compound(body, 1 << shift, table, small_below, Stream(root.first, root.size), streams)


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    kind: int
    left: int
    right: int
    child: int
    first: int
    size: int

    @staticmethod
    def read(raw: bytes) -> _Entry:
        length, kind, left, right, child = struct.unpack_from("<HBxIII", raw, 64)
        first, size = struct.unpack_from("<II", raw, 116)
        name = raw[: max(0, min(length, 64) - 2)].decode("utf-16-le", "replace")
        return _Entry(name, kind, left, right, child, first, size)


def _siblings(entries: list[_Entry], first: int) -> Iterator[_Entry]:
    """All entries of one storage: they form a tree, and no entry is walked twice."""
    ahead, seen = [first], set[int]()
    while ahead:
        number = ahead.pop()
        if number < len(entries) and number not in seen:
            seen.add(number)
            yield entries[number]
            ahead += [entries[number].left, entries[number].right]


def _allocation(body: bytes, sector: int) -> tuple[int, ...]:
    """Which sector follows which.  Tables beyond those of the header are in a chain of their own."""
    places = [place for place in struct.unpack_from(f"<{_HEADER_TABLES}I", body, 76) if place < _NONE]
    (more,) = struct.unpack_from("<I", body, 68)
    seen: set[int] = set()
    while more < _NONE and more not in seen and len(places) * sector < len(body):
        seen.add(more)
        *named, more = _numbers(_sector(body, sector, more)) or (_NONE,)
        places += [place for place in named if place < _NONE]
    table: list[int] = []
    for place in places[: len(body) // sector + 1]:
        table += _numbers(_sector(body, sector, place))
    return tuple(table)


def _chain(table: tuple[int, ...], first: int) -> Iterator[int]:
    number = first
    for _ in range(min(MAX_SECTORS, len(table) + 1)):
        if number >= _NONE:
            return
        yield number
        if number >= len(table):
            return
        number = table[number]


def _sector(body: bytes, sector: int, number: int) -> bytes:
    return body[(number + 1) * sector : (number + 2) * sector]


def _numbers(raw: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(raw) // 4}I", raw[: len(raw) // 4 * 4])


def _pieces(raw: bytes, size: int) -> list[bytes]:
    return [raw[at : at + size] for at in range(0, len(raw) - size + 1, size)]
