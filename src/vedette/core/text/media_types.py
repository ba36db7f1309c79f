"""Which content types are taken: by the header and by the first bytes, which must agree.

A list of types is strict: what is not named is refused, whatever it seems to be.  `image/*` names a whole family.
"""

from __future__ import annotations

import re

from vedette.contracts.errors import ConfigError
from vedette.contracts.words import Reason

# What a hunt takes unless told otherwise: pages, plain text, feeds and lists.
HUNT_TYPES = (
    "text/html",
    "application/xhtml+xml",
    "text/plain",
    "text/markdown",
    "text/gemini",
    "text/xml",
    "application/xml",
    "application/rss+xml",
    "application/atom+xml",
    "text/x-opml",
)
LOOK = 1024  # bytes that decide
_MAGIC: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (8, b"WAVE", "audio/wav"),
    (8, b"AVI ", "video/x-msvideo"),
    (0, b"II*\x00", "image/tiff"),
    (0, b"MM\x00*", "image/tiff"),
    (4, b"ftypavif", "image/avif"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (0, b"OggS", "audio/ogg"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (0, b"fLaC", "audio/flac"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"PK\x05\x06", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!", "application/vnd.rar"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"\x7fELF", "application/x-executable"),
    (0, b"MZ", "application/x-msdownload"),
    (0, b"\xca\xfe\xba\xbe", "application/java-vm"),
    (0, b"\xd0\xcf\x11\xe0", "application/x-ole-storage"),
    (0, b"{\\rtf", "application/rtf"),
    (0, b"wOF", "font/woff"),
    (0, b"\x00asm", "application/wasm"),
)
# What a container is, by the name that its header gives: an office file is a zip, and says so.
_INSIDE = {
    "application/zip": (
        "officedocument",
        "opendocument",
        "epub+zip",
        "java-archive",
        "ms-word.",
        "ms-excel.",
    ),
    "application/x-ole-storage": ("msword", "ms-excel", "ms-powerpoint"),
    "video/mp4": ("video/", "audio/"),
    "video/webm": ("video/", "audio/"),
    "audio/ogg": ("video/ogg", "application/ogg"),
}
_TEXTUAL = re.compile(r"^text/|[/+](?:xml|json)$|^application/(?:x?html|javascript|ecmascript)")
_HTML = re.compile(
    rb"^\s*(?:<!--.{0,512}?-->\s*|<\?xml[^>]{0,256}>\s*)*<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,63}/(?:\*|[a-z0-9][a-z0-9.+-]{0,100})")
_CONTROL = bytes(range(9)) + bytes(range(14, 27)) + bytes(range(28, 32))
_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")
PLAIN, HTML, XML, UNKNOWN = "text/plain", "text/html", "application/xml", "application/octet-stream"


def type_of(content_type: str) -> str:
    """The type that a header names, without its parameters."""
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


def magic_type(body: bytes) -> str:
    """The type that the first bytes have."""
    head = body[:LOOK]
    for at, magic, kind in _MAGIC:
        if head.startswith(magic, at):
            return kind
    if head.startswith(_MARKS[:2]):
        head = head.decode("utf-16", "replace").encode()
    head = head.removeprefix(_MARKS[2])
    if len(head) - len(head.translate(None, _CONTROL)) > len(head) // 10:
        return UNKNOWN
    if _HTML.match(head):
        return HTML
    return XML if head.lstrip().startswith(b"<?xml") else PLAIN


def refused_header(content_type: str, types: tuple[str, ...]) -> Reason | None:
    """Why an answer is not read at all.  One that names no type is judged by its bytes."""
    named = type_of(content_type)
    if not types or not named or _is_listed(named, types):
        return None
    return Reason("type_refused", note=f"{_shown(named)} is not in the list of types")


def refused_body(content_type: str, body: bytes, types: tuple[str, ...]) -> Reason | None:
    """Why a body is not kept: its bytes are of a type that is not taken, or that its header does not say."""
    if not types or not body:
        return None
    named, seen = type_of(content_type), magic_type(body)
    refused = refused_header(content_type, types)
    if refused is not None:
        return refused
    if named and _agree(named, seen) and (seen not in (HTML, XML) or _takes_markup(seen, types)):
        return None
    if named and not _agree(named, seen):
        return Reason("type_refused", note=f"its bytes are {seen}, its header says {_shown(named)}")
    if not named and (_is_listed(seen, types) or (seen == XML and _takes_markup(XML, types))):
        return None
    return Reason("type_refused", note=f"its bytes are {seen}, which is not in the list of types")


def check_types(types: tuple[str, ...]) -> None:
    """Raises ConfigError for what is no content type."""
    for one in types:
        if not _TYPE.fullmatch(one):
            raise ConfigError(f"fetch.types: {one!r} is no content type; write it like text/html or image/*")


def _agree(named: str, seen: str) -> bool:
    """Text is text; all else must be what it says."""
    if seen in (PLAIN, HTML, XML):
        return _TEXTUAL.search(named) is not None
    return named == seen or any(part in named for part in _INSIDE.get(seen, ()))


def _takes_markup(seen: str, types: tuple[str, ...]) -> bool:
    """A page under another name of text is a page; XML has many names."""
    if seen == HTML:
        return _is_listed(HTML, types) or _is_listed("application/xhtml+xml", types)
    return any(one in ("text/*", "application/*") or one.endswith(("xml", "opml")) for one in types)


def _is_listed(named: str, types: tuple[str, ...]) -> bool:
    return named in types or f"{named.partition('/')[0]}/*" in types


def _shown(named: str) -> str:
    return named if _TYPE.fullmatch(named) else "something that is no content type"
