"""One visit as one WARC/1.1 record (ISO 28500:2017) in one gzip member.

A member of its own per record makes every record readable by its offset alone, with any WARC tool.
Nothing that a server sent can end a header line early: see `_clean_name`, `_clean_value` and `_clean_uri`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from hashlib import sha1, sha256
from urllib.parse import quote
from uuid import UUID

from isal import isal_zlib

from vedette.contracts.fetch import Headers, Screenshot
from vedette.contracts.watch import ArchiveEntry, RecordKind
from vedette.contracts.words import Outcome
from vedette.core.evidence.chain import stamp

# ISA-L at level 1: 65 us for a page of 24 KB, against 186 us for fastwarc's writer and 322 us for zlib at
# level 1, and the members are smaller than zlib's.
GZIP_LEVEL = 1
# Level 0 for records without a payload: half a microsecond instead of eight, and a fifth larger.
GZIP_SMALL = 0
_GZIP = 31  # wbits: a gzip header, 32 KB window

RECORD_IDS = UUID("2269b961-3a54-53a3-8f0b-b7207a87a4a7")  # uuid5 of the DNS name vedette.example
_RECORD_IDS = RECORD_IDS.bytes
PROFILES = {
    RecordKind.IDENTICAL: "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
    RecordKind.NOT_MODIFIED: "http://netpreserve.org/warc/1.1/revisit/server-not-modified",
}  # WARC 1.1, section 6.7
TRUNCATED = {
    Outcome.TOO_LARGE: "length",
    Outcome.TIMEOUT: "time",
    Outcome.TRUNCATED: "disconnect",
}  # WARC 1.1, section 5.13
KEPT_TRANSFER = "X-Vedette-Transfer-Encoding"  # the coding was removed, so the header may not claim it
KEPT_LENGTH = "X-Vedette-Content-Length"  # what the server claimed, where it is not what we hold

SCREENSHOT_OF = "urn:fullPage:"  # before the address, as Browsertrix names pictures of pages

HEADERS_LEFT_OUT = "X-Vedette-Headers-Left-Out"  # what did not fit, so that other readers can read the record
# FastWARC stops at a WARC header or an HTTP head over 32 KiB (measured), and the rest of the file is lost to it.
HEAD_LIMIT = 32 * 1024
_URI_ROOM = 8 * 1024
_FIELD_ROOM = 16 * 1024  # of one HTTP header
_HEAD_ROOM = 28 * 1024  # of all
_FIELD_MORE = 24  # what a field may grow by: it gets another name, or a line of its own beside it
_ESSENTIAL = frozenset(("content-type", "content-encoding"))  # without these nobody can read the payload
_ESSENTIAL_ROOM = 1024
_ESSENTIALS = 8
_PHRASE_ROOM = 1024

_SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_NOT_TOKEN = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]")  # RFC 9110, section 5.6.2
_BREAKS = re.compile(r"[\r\n\0]")
_URI_SAFE = "!\"#$%&'()*+,/:;<=>?@[\\]^`{|}~"  # printable ASCII stays as it is


def visit_record(entry: ArchiveEntry, segment: str) -> bytes:
    """The record of a visit that brought something back: a response, or a revisit without its payload."""
    if entry.kind is RecordKind.NONE:
        raise ValueError("a visit that brought nothing back has no record")
    facts = entry.facts
    is_response = entry.kind is RecordKind.RESPONSE
    payload = entry.payload if is_response else b""
    http = _http_head(entry)
    block_digest = sha256(http)
    block_digest.update(payload)
    address = f"\r\nWARC-IP-Address: {_clean_value(entry.address)}" if entry.address else ""
    head = (
        f"WARC-Type: {'response' if is_response else 'revisit'}\r\n"
        f"WARC-Record-ID: {record_id(segment, str(facts.visit))}\r\n"
        f"WARC-Warcinfo-ID: {_warcinfo_id(segment)}\r\n"
        f"WARC-Date: {stamp(facts.at)}\r\n"
        f"WARC-Target-URI: {_clean_uri(facts.url)}\r\n"
        f"WARC-Block-Digest: sha256:{block_digest.hexdigest()}\r\n"
        f"{_about_payload(entry)}"
        f"Vedette-Visit: {facts.visit}\r\n"
        f"Vedette-Outcome: {facts.outcome}\r\n"
        f"Content-Type: application/http; msgtype=response{address}"
    )
    return _member(head, http, payload)


def screenshot_record(entry: ArchiveEntry, shot: Screenshot, segment: str) -> bytes:
    """The picture that a browser took on this visit, under the name that other crawlers give such records."""
    facts = entry.facts
    head = (
        "WARC-Type: resource\r\n"
        f"WARC-Record-ID: {record_id(segment, f'{facts.visit}/screenshot')}\r\n"
        f"WARC-Warcinfo-ID: {_warcinfo_id(segment)}\r\n"
        f"WARC-Date: {stamp(facts.at)}\r\n"
        f"WARC-Target-URI: {SCREENSHOT_OF}{_clean_uri(facts.url)}\r\n"
        f"WARC-Concurrent-To: {record_id(segment, str(facts.visit))}\r\n"
        f"WARC-Block-Digest: sha256:{sha256(shot.png).hexdigest()}\r\n"
        f"Vedette-Visit: {facts.visit}\r\n"
        "Content-Type: image/png"
    )
    return _member(head, b"", shot.png)


def warcinfo_record(name: str, about: Mapping[str, str], at: datetime) -> bytes:
    """The first record of the file <name>.warc.gz: who wrote it, and what there is to know about it."""
    fields = {"format": "WARC File Format 1.1", "conformsTo": _SPECIFICATION, **about}
    block = _encode("".join(f"{key}: {_clean_value(value)}\r\n" for key, value in fields.items()))
    lines = [
        "WARC-Type: warcinfo",
        f"WARC-Record-ID: {record_id(name, 'warcinfo')}",
        f"WARC-Date: {stamp(at)}",
        f"WARC-Filename: {_clean_value(name)}.warc.gz",
        f"WARC-Block-Digest: sha256:{sha256(block).hexdigest()}",
        "Content-Type: application/warc-fields",
    ]
    return _member("\r\n".join(lines), block, b"")


def record_id(segment: str, what: str) -> str:
    """Follows from where the record is, so that writing it again gives the same bytes."""
    told = sha1(_RECORD_IDS + f"{segment}/{what}".encode(), usedforsecurity=False).hexdigest()
    # RFC 9562 section 5.5: version 5 and the variant in their places; a fifth of the price of uuid.uuid5.
    variant = "89ab"[int(told[16], 16) & 3]
    return f"<urn:uuid:{told[:8]}-{told[8:12]}-5{told[13:16]}-{variant}{told[17:20]}-{told[20:32]}>"


def _about_payload(entry: ArchiveEntry) -> str:
    """The fields that say what the payload is, or where it is, as whole lines."""
    return "".join([f"{line}\r\n" for line in _payload_fields(entry)])


def _payload_fields(entry: ArchiveEntry) -> list[str]:
    if entry.kind is RecordKind.RESPONSE:
        digest = entry.payload_digest or sha256(entry.payload).digest()
        lines = [f"WARC-Payload-Digest: sha256:{digest.hex()}"]
        if entry.facts.outcome in TRUNCATED:
            lines.append(f"WARC-Truncated: {TRUNCATED[entry.facts.outcome]}")
        return lines
    lines = [f"WARC-Profile: {PROFILES[entry.kind]}"]
    if entry.refers_to is not None:
        url, at = entry.refers_to
        lines.append(f"WARC-Refers-To-Target-URI: {_clean_uri(url)}")
        lines.append(f"WARC-Refers-To-Date: {stamp(at)}")
    if entry.refers_to_record is not None:
        segment, visit = entry.refers_to_record
        lines.append(f"WARC-Refers-To: {record_id(segment, str(visit))}")
    if entry.kind is RecordKind.IDENTICAL and (known := _digest_elsewhere(entry)) is not None:
        lines.append(f"WARC-Payload-Digest: sha256:{known.hex()}")
    return lines


def _digest_elsewhere(entry: ArchiveEntry) -> bytes | None:
    """The digest of a payload that is stored elsewhere, as its own record names it."""
    if entry.payload_digest is not None:
        return entry.payload_digest
    if entry.payload:
        return sha256(entry.payload).digest()
    is_coded = any(name.lower() == "content-encoding" for name, _ in entry.headers)
    return None if is_coded else entry.facts.digest


def _http_head(entry: ArchiveEntry) -> bytes:
    """Status line and headers as sent, but for what would contradict the bytes that are stored."""
    status = min(max(entry.facts.status or 0, 0), 999)
    lines = [f"HTTP/1.1 {status:03d} {_clean_value(entry.phrase)[:_PHRASE_ROOM]}"]
    is_response = entry.kind is RecordKind.RESPONSE
    length = str(len(entry.payload))
    has_length = False
    kept, left_out = _that_fit(entry.headers)
    clean = _clean_value if _BREAKS.search("".join([value for _, value in kept])) else str
    for sent_name, sent_value in kept:
        name, value = _clean_name(sent_name), clean(sent_value)
        if (low := _special(name)) == "transfer-encoding":
            name = KEPT_TRANSFER
        elif low == "content-length" and is_response:
            if not has_length:
                lines.append(f"Content-Length: {length}")
                has_length = True
            if value == length:
                continue
            name = KEPT_LENGTH
        if name:
            lines.append(f"{name}: {value}")
    if is_response and not has_length:
        lines.append(f"Content-Length: {length}")
    if left_out:
        lines.append(f"{HEADERS_LEFT_OUT}: {left_out}")
    lines.append("\r\n")
    return _encode("\r\n".join(lines))


def _that_fit(headers: Headers) -> tuple[Headers, int]:
    """The headers that a record has room for, in order, and how many it has not."""
    joined = "".join([part for field in headers for part in field])
    if joined.isascii() and len(joined) + _FIELD_MORE * len(headers) <= _FIELD_ROOM:
        return headers, 0
    sizes = [_wire_size(name) + _wire_size(value) + _FIELD_MORE for name, value in headers]
    if sum(sizes) <= _HEAD_ROOM and max(sizes, default=0) <= _FIELD_ROOM:
        return headers, 0
    kept: list[tuple[str, str]] = []
    room, essentials = _HEAD_ROOM - _ESSENTIALS * _ESSENTIAL_ROOM, _ESSENTIALS
    for (name, value), size in zip(headers, sizes, strict=True):
        if name.lower() in _ESSENTIAL and size <= _ESSENTIAL_ROOM and essentials:
            essentials -= 1
        elif size > min(room, _FIELD_ROOM):
            continue
        else:
            room -= size
        kept.append((name, value))
    return tuple(kept), len(headers) - len(kept)


def _wire_size(text: str) -> int:
    return len(text) if text.isascii() else len(_encode(text))


def _member(fields: str, head: bytes, payload: bytes) -> bytes:
    """The whole record as one gzip member; its length is that of the bytes, never of what was claimed."""
    start = f"WARC/1.1\r\n{fields}\r\nContent-Length: {len(head) + len(payload)}\r\n\r\n"
    whole = b"".join((_encode(start), head, payload, b"\r\n\r\n"))
    member: bytes = isal_zlib.compress(whole, GZIP_LEVEL if payload else GZIP_SMALL, _GZIP)
    return member


@lru_cache(maxsize=64)
def _warcinfo_id(segment: str) -> str:
    return record_id(segment, "warcinfo")


@lru_cache(maxsize=4096)
def _clean_name(name: str) -> str:
    return _NOT_TOKEN.sub("_", name)


@lru_cache(maxsize=4096)
def _special(name: str) -> str:
    """A field that may contradict the bytes that are stored; empty: it is none of these."""
    low = name.lower()
    return low if low in ("transfer-encoding", "content-length") else ""


def _clean_value(value: str) -> str:
    """RFC 9110, section 5.5: a CR, LF or NUL in a value is replaced by a space."""
    return _BREAKS.sub(" ", value)


def _clean_uri(url: str) -> str:
    """Printable ASCII stays; anything else is percent-encoded.  A canonical URL passes untouched."""
    if not (url.isascii() and url.isprintable() and " " not in url):
        url = quote(url.encode("utf-8", "surrogatepass"), safe=_URI_SAFE)
    return url[:_URI_ROOM]  # a watch from before there was a limit


def _encode(text: str) -> bytes:
    """Header text came from bytes as UTF-8 with surrogate escapes; the same bytes go out."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")
