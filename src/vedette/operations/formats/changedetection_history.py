"""The versions of a page that changedetection.io kept: `history.txt` and the files that it names, in a backup.

A line is `SECONDS,NAME`; NAME is a file in the folder of the watch, plain or packed with Brotli (`.br`), in older
versions with its whole path.  Still older ones have the same as an object in `url-watches.json`.
"""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath

import brotli

from vedette.operations.formats.list_entry import PastText

MOST_TEXT = 2 * 1024 * 1024  # bytes of one version, unpacked
MOST_VERSIONS = 200  # of one watch: the newest
MOST_BYTES = 128 * 1024 * 1024  # of all versions, unpacked
PLAIN, PACKED = ".txt", ".br"
UNREADABLE = (zipfile.BadZipFile, zlib.error, OSError, NotImplementedError, RuntimeError, EOFError)
_LINE = re.compile(r"(?m)^(\d{9,11}),([^\r\n]+)$")
_STEP = 64 * 1024
_IN_STEPS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others Python unpacks without a limit


@dataclass(slots=True)
class PastReader:
    """Reads versions out of one backup, within a limit for all of them together: also for those that it leaves out."""

    archive: zipfile.ZipFile
    names: frozenset[str]
    left: int = MOST_BYTES

    def versions(self, folder: str, told: Mapping[int, str]) -> tuple[PastText, ...]:
        """Of one watch, oldest first; what is missing, too large or no text is not among them."""
        found = (self._version(folder, at, told[at]) for at in sorted(told)[-MOST_VERSIONS:])
        return tuple(one for one in found if one is not None)

    def _version(self, folder: str, at: int, name: str) -> PastText | None:
        base = PurePosixPath(name.replace("\\", "/")).name
        path = f"{folder}/{base}" if folder else base
        if self.left <= 0 or path not in self.names or not base.endswith((PLAIN, PLAIN + PACKED)):
            return None
        try:
            data = member(self.archive, path, MOST_TEXT + 1)
        except UNREADABLE:
            return None
        text = _unpacked(data) if base.endswith(PACKED) else data
        self.left -= MOST_TEXT if text is None else len(text)
        if text is None or len(text) > MOST_TEXT or self.left < 0:
            return None
        return PastText(
            datetime.fromtimestamp(at, UTC), text.decode("utf-8", "replace").replace("\0", "\ufffd")
        )


def member(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    """So many bytes of a file at most.  Raises one of `UNREADABLE`."""
    if archive.getinfo(name).compress_type not in _IN_STEPS:
        raise NotImplementedError("it is packed by something else than Deflate")
    with archive.open(name) as file:
        return file.read(most)


def told_versions(history: str, listed: object) -> dict[int, str]:
    """Seconds since 1970 and the file, as `history.txt` has it, or the object of an older version."""
    found = {int(at): name.strip() for at, name in _LINE.findall(history)}
    if not found and isinstance(listed, Mapping):
        found = {int(at): str(name) for at, name in listed.items() if re.fullmatch(r"\d{9,11}", str(at))}
    return found


def _unpacked(data: bytes) -> bytes | None:
    """None: it cannot be read, or is too large."""
    if len(data) > MOST_TEXT:
        return None
    stream, size, parts = brotli.Decompressor(), 0, []
    try:
        part = stream.process(data, output_buffer_limit=_STEP)
        while part and size <= MOST_TEXT:
            parts.append(part)
            size += len(part)
            is_done = stream.is_finished() or stream.can_accept_more_data()
            part = b"" if is_done else stream.process(b"", output_buffer_limit=_STEP)
    except brotli.error:
        return None
    return b"".join(parts) if stream.is_finished() and size <= MOST_TEXT else None
