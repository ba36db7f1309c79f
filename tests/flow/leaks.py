"""Looks for bytes in every file of a folder: as they are, and in what is packed inside."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

SPELLINGS = ("utf-8", "utf-16-le", "utf-16-be")


def leaks(folder: Path, words: list[str], *, without: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    """(file, word) for every word that is in a file, however packed.  `without`: names of files that may hold it."""
    found = []
    needles = [(word, form) for word in words for form in _forms(word)]
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.name.startswith(without or ("\0",)):
            continue
        for data in _views(path.read_bytes()):
            low = data.lower()
            found += [(str(path.relative_to(folder)), word) for word, form in needles if form in low]
    return sorted(set(found))


def _forms(word: str) -> list[bytes]:
    spelled = [word.lower().encode(codec) for codec in SPELLINGS]
    return [*spelled, bytes.fromhex(word)] if len(word) == 64 else spelled


def _views(data: bytes) -> Iterator[bytes]:
    yield data
    for magic in (b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd"):
        at = data.find(magic)
        while at >= 0:
            unpacked = _unpacked(data[at:], magic)
            if unpacked:
                yield unpacked
                yield from _views(unpacked) if magic in unpacked else ()
            at = data.find(magic, at + 1)


def _unpacked(data: bytes, magic: bytes) -> bytes:
    try:
        if magic[0] == 0x28:
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=1 << 26)
        unpacker = zlib.decompressobj(31)
        return unpacker.decompress(data, 1 << 26)
    except (zlib.error, zstandard.ZstdError, gzip.BadGzipFile, io.UnsupportedOperation):
        return b""
