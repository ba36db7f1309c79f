"""What an answer holds, however it is written: the views that the screen reads.

Undone are character sets, entities, percent signs, escapes of scripts, base64 in `data:` and `atob`, gzip, zip packages
with the names in them, and the streams of a PDF; each inside the other, a few layers deep.  Work is bounded: a view
that would go beyond it is not made.
"""

from __future__ import annotations

import base64
import binascii
import html
import re
import unicodedata
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from urllib.parse import unquote

import re2

from vedette.core.text.charset import decode

LAYERS = 3  # of disguises inside each other
FIRST = 1  # the text as it stands; between it and the last layer nothing is folded
MEMBERS = 500  # of a package
STREAMS = 500  # of a PDF
PAYLOADS = 2_000  # in data: and atob of one text
UNPACKED = 32 * 1024 * 1024  # bytes that come out of packages, all together
LEAST_WORK, WORK_SHARE = 16 * 1024 * 1024, 8  # characters read, and times the size of the body
_ZIP, _GZIP, _PDF = b"PK\x03\x04", b"\x1f\x8b", b"%PDF-"
_DATA_URL = re2.compile(r"""(?i)data:([^,"'\s<>]{0,200}),([^"'\s<>)]*)""")
_ATOB = re2.compile(r"""(?i)\batob\(\s*["'`]([^"'`]*)""")
_ENCODED_WORD = re2.compile(r"=\?[^?\s]{1,40}\?[bB]\?([A-Za-z0-9+/=_\-]*)\?=")
# Entities, percent signs and escapes of scripts, in one pass.  Of the standard library: every repeat is bounded, so it
# is linear, and it does not count letters anew for each match as RE2 does in a text that is not ASCII.
_MARKED = re.compile(
    r"&(?:#[0-9]{1,7};?|#[xX][0-9a-fA-F]{1,6};?|[a-zA-Z][a-zA-Z0-9]{1,31};?)"
    r"|(?:%[0-9a-fA-F]{2}){1,64}"
    r"|\\(?:u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[0-9a-fA-F]{2,6} ?)"
)
_MARKS = "&%\\"
_OPENED = re.compile(r"<(?=[a-zA-Z/!?])")
_UNSEEN = "\u00ad\u200b\u200c\u200d\u2060\ufeff\x00"
_NOT_PRINTED = bytes(byte for byte in range(256) if not 32 <= byte < 127 and byte not in b"\t\n\r")
_STREAM = re2.compile(rb"stream\r?\n")


class Views:
    """Every text and every payload of one answer, each once.  Iterated once."""

    def __init__(self, body: bytes, content_type: str, *texts: str) -> None:
        self._work = max(LEAST_WORK, WORK_SHARE * len(body))
        self._room = UNPACKED
        self._ahead: deque[tuple[int, bytes | str, str]] = deque((0, text, "") for text in texts if text)
        if body:
            self._ahead.append((0, body, content_type))
        self._seen: set[int] = set()

    def __iter__(self) -> Iterator[bytes | str]:
        while self._ahead and self._work > 0:
            depth, one, content_type = self._ahead.popleft()
            key = hash((isinstance(one, str), one))  # bytes and text of the same letters hash alike
            if key in self._seen:
                continue
            self._seen.add(key)
            self._work -= len(one)
            yield one
            if depth <= LAYERS:
                self._open(depth + 1, one, content_type)

    def _open(self, depth: int, one: bytes | str, content_type: str) -> None:
        if isinstance(one, bytes):
            made: list[bytes | str] = [*_of_bytes(one, content_type), *self._members(one)]
        else:
            plain = _undone(one)
            made = [*([] if plain == one else [plain]), *_payloads(one)]
            if depth <= FIRST or plain == one or depth > LAYERS:
                self._ahead += [(LAYERS + 1, view, "") for view in _folded(one)]  # nothing more is inside
        self._ahead += [(depth, view, "") for view in made if view]

    def _members(self, data: bytes) -> Iterator[bytes | str]:
        """What is packed inside, as far as there is room."""
        if data.startswith(_GZIP):
            yield self._inflated(data, 31)
        elif data.startswith(_ZIP):
            yield from self._zipped(data)
        elif _PDF in data[:1024]:
            for found, _ in zip(_STREAM.finditer(data), range(STREAMS), strict=False):
                yield self._inflated(data[found.end() :], 15)

    def _zipped(self, data: bytes) -> Iterator[bytes | str]:
        try:
            with zipfile.ZipFile(BytesIO(data)) as package:
                members = package.infolist()[:MEMBERS]
                yield "\n".join(member.filename for member in members)
                yield package.comment
                for member in members:
                    start = member.header_offset + 30 + len(member.orig_filename.encode())
                    raw = data[start : start + member.compress_size + 512]
                    if member.compress_type == zipfile.ZIP_STORED:
                        yield raw[: member.file_size + 512]
                    elif self._room > 0:
                        yield self._member(package, member)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError):
            return

    def _member(self, package: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
        try:
            with package.open(member) as file:
                made = file.read(self._room)
        except (
            zipfile.BadZipFile,
            zlib.error,
            OSError,
            ValueError,
            NotImplementedError,
            RuntimeError,
            EOFError,
        ):
            return b""
        self._room -= len(made)
        return made

    def _inflated(self, data: bytes, bits: int) -> bytes:
        if self._room <= 0:
            return b""
        try:
            made = zlib.decompressobj(bits).decompress(data, self._room)
        except zlib.error:
            return b""
        self._room -= len(made)
        return made


def _of_bytes(data: bytes, content_type: str) -> Iterator[str]:
    text = decode(data, content_type)[0]
    yield text
    if b"\x00" in data:  # UTF-16 without a mark, or inside something else
        yield data.translate(None, _NOT_PRINTED).decode("ascii")
    elif not data.isascii():
        yield data.decode("utf-8", "replace")


def _undone(text: str) -> str:
    """One layer less of everything that stands for a letter."""
    return _MARKED.sub(_letters_at, text) if any(mark in text for mark in _MARKS) else text


def _letters_at(found: re.Match[str]) -> str:
    return _letters_of(found[0])


@lru_cache(1 << 14)
def _letters_of(mark: str) -> str:
    if mark[0] == "&":
        return html.unescape(mark)
    if mark[0] == "%":
        return bytes.fromhex(mark.replace("%", "")).decode("utf-8", "replace")
    number = int(mark.strip("\\ux{} "), 16)
    return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else " "


def _payloads(text: str) -> Iterator[bytes]:
    """What is written in base64, and what `data:` holds."""
    if "data:" in text.lower():
        for found, _ in zip(_DATA_URL.finditer(text), range(PAYLOADS), strict=False):
            is_packed = "base64" in found.group(1).lower()
            yield _from_base64(found.group(2)) if is_packed else unquote(found.group(2)).encode()
    for pattern, mark in ((_ATOB, "atob("), (_ENCODED_WORD, "=?")):
        if mark in text:
            yield from (
                _from_base64(found.group(1))
                for found, _ in zip(pattern.finditer(text), range(PAYLOADS), strict=False)
            )


def _folded(text: str) -> Iterator[str]:
    """Without what stands between letters and is not seen."""
    plain = _without_tags(text) if "<" in text else text
    yield plain
    if not plain.isascii():
        plain = unicodedata.normalize("NFKC", plain)
        for letter in _UNSEEN:
            plain = plain.replace(letter, "")
        yield plain


def _without_tags(text: str) -> str:
    """A tag that is opened inside another ends it: linear, whatever is never closed."""
    first, *parts = _OPENED.split(text)
    return first + "".join([part.partition(">")[2] for part in parts])


def _from_base64(text: str) -> bytes:
    plain = unquote(text).translate(str.maketrans("-_", "+/", " \t\r\n="))
    plain = plain[: len(plain) - (len(plain) % 4 == 1)]
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""
