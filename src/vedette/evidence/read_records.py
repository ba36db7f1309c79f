"""Reading evidence back: one record by its place, within limits, checked against its own digests."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import cast, overload

from isal import isal_zlib

from vedette.contracts.errors import RESTORE, InputError, StoreError, StoreWaitError
from vedette.contracts.fetch import MIB, Headers
from vedette.contracts.watch import Located, RecordKind
from vedette.contracts.words import VisitId
from vedette.core.evidence import chain
from vedette.core.evidence.segments import SegmentName
from vedette.evidence.files import ArchivePlace, StorageAway, files_of
from vedette.evidence.warc import HEAD_LIMIT, PROFILES, warcinfo_record

RECORD_LIMIT = 256 * MIB  # decoded; far above any wire limit that makes sense, far below what hurts
_START_LIMIT = 64 * 1024  # the first record of ours is below 1 KB
_GZIP = 31
_FIELD = re.compile(rb"[^\s:\x00-\x1f][^:\r\n\0]*:[^\r\n\0]*")
_NEEDED = (
    "warc-type",
    "warc-record-id",
    "warc-date",
    "content-type",
    "content-length",
)  # WARC 1.1, section 5
_NOT_GZIP = cast(type[Exception], isal_zlib.error)  # its stub calls the class an instance
_KINDS = {profile: kind for kind, profile in PROFILES.items()}


class UnreadableRecord(StoreError):
    """The bytes are not one whole record of ours."""


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """One record, taken apart.  `headers` are the WARC fields with lower-case names."""

    headers: Mapping[str, str]
    kind: RecordKind  # NONE: not of what a server sent (warcinfo, a screenshot)
    block: bytes
    status: int | None = None
    phrase: str = ""
    http_headers: Headers = ()
    payload: bytes = b""
    head: bytes = b""  # the WARC header as it stands there, without the blank line


@dataclass(frozen=True, slots=True)
class RecordPayload:
    """The wire bytes of an answer and what is needed to read them."""

    wire: bytes
    content_encoding: str  # as sent, lower case, comma-separated; empty: none
    content_type: str


@dataclass(frozen=True, slots=True)
class RecordStart:
    """How a segment begins: the length of its first record, what it stands on, and its first head."""

    length: int
    previous: str
    previous_head: bytes
    head: bytes


def read_payload(directory: ArchivePlace, located: Located) -> RecordPayload:
    """The payload at a place, or StoreError that says what is wrong with it."""
    record = read_visit(read_member(directory, located))[0]
    check_digests(record)
    if record.kind is not RecordKind.RESPONSE:
        raise UnreadableRecord(f"{_place(located)} is a {record.kind} record: it holds no payload")
    return RecordPayload(
        wire=record.payload,
        content_encoding=http_header(record, "content-encoding").lower(),
        content_type=http_header(record, "content-type"),
    )


def read_screenshot(directory: ArchivePlace, located: Located, visit: VisitId) -> bytes:
    """The picture that was taken on this visit, or StoreError that says what is wrong with it."""
    shots = read_visit(read_member(directory, located))[1:]
    mine = [one for one in shots if one.headers.get("vedette-visit") == str(visit)]
    if not mine:
        raise UnreadableRecord(f"{_place(located)}: no screenshot of this look is there")
    check_digests(mine[0])
    return mine[0].block


def read_member(directory: ArchivePlace, located: Located) -> bytes:
    """The compressed bytes of what one visit wrote, exactly as they were written."""
    if not 0 < located.length <= RECORD_LIMIT or located.offset < 0:
        raise UnreadableRecord(f"{_place(located)}: no record can be there; run `vedette evidence verify`")
    try:
        path = segment_path(directory, located.segment)
        member = files_of(directory).read_at(path, located.offset, located.length)
    except StorageAway as error:
        raise StoreWaitError(f"{_place(located)}: {error}") from None
    except FileNotFoundError:
        raise StoreError(
            f"{located.segment}.warc.gz is not in {directory}: expired or lost; "
            "`vedette evidence verify` tells which"
        ) from None
    if len(member) != located.length:
        raise UnreadableRecord(f"{_place(located)}: the file ends before; run `vedette evidence verify`")
    return member


@overload
def segment_path(directory: Path, name: str) -> Path: ...
@overload
def segment_path(directory: ArchivePlace, name: str) -> ArchivePlace: ...


def segment_path(directory: ArchivePlace, name: str) -> ArchivePlace:
    """Where a segment lives.  A name that we would not give is refused: it could point anywhere."""
    return directory / f"{segment_name(name)}.warc.gz"


def segment_name(name: str) -> SegmentName:
    if (parsed := SegmentName.parse(name)) is None:
        raise StoreError(f"{name!r} is no name of a segment; {RESTORE}")
    return parsed


def read_visit(members: bytes) -> tuple[WarcRecord, ...]:
    """What one visit wrote: its record, and right behind it that of its screenshot, where it took one."""
    parts = split_members(members)
    record, *others = map(read_record, parts)
    if len(others) > 1 or any(not is_screenshot(one) for one in others):
        raise UnreadableRecord("more than one member")
    return record, *others


def split_members(data: bytes) -> tuple[bytes, ...]:
    """The gzip members of one visit; usually it is one."""
    inflater = isal_zlib.decompressobj(_GZIP)
    try:
        inflater.decompress(data, RECORD_LIMIT)
    except _NOT_GZIP as error:
        raise UnreadableRecord(f"not a gzip member: {error}") from None
    rest = inflater.unused_data
    return (data[: len(data) - len(rest)], rest) if rest else (data,)


def is_screenshot(record: WarcRecord) -> bool:
    return record.headers.get("warc-type") == "resource"


def read_record(member: bytes, limit: int = RECORD_LIMIT) -> WarcRecord:
    """Takes one gzip member apart.  Anything but one whole record within `limit` raises UnreadableRecord."""
    whole = _inflate(member, limit)
    head, mark, rest = whole.partition(b"\r\n\r\n")
    if not mark or not head.startswith(b"WARC/1.1\r\n"):
        raise UnreadableRecord("no WARC/1.1 header")
    headers = {name.lower(): value for name, value in _fields(head)}
    block = rest[:-4]
    if not rest.endswith(b"\r\n\r\n") or headers.get("content-length") != str(len(block)):
        raise UnreadableRecord("the record is not as long as it says")
    kind = _kind(headers)
    if kind is RecordKind.NONE:
        return WarcRecord(headers, kind, block, head=head)
    return replace(_with_http(headers, kind, block), head=head)


def read_start(directory: ArchivePlace, name: str) -> RecordStart:
    """The first record of a segment, and the head that the chain of its visits begins with."""
    data = files_of(directory).read_at(segment_path(directory, name), 0, _START_LIMIT)
    inflater = isal_zlib.decompressobj(_GZIP)
    try:
        inflater.decompress(data, _START_LIMIT)
    except _NOT_GZIP as error:
        raise UnreadableRecord(f"not a gzip member: {error}") from None
    member = data[: len(data) - len(inflater.unused_data)]
    record = read_record(member)
    check_digests(record)
    about = dict(_fields(b"\r\n" + record.block))
    try:
        previous, head = about["vedette-previous"], bytes.fromhex(about["vedette-previous-head"])
    except (KeyError, ValueError):
        raise UnreadableRecord("the file does not say what it stands on") from None
    return RecordStart(len(member), previous, head, chain.opening(head, name, sha256(member).digest()))


def check_for_others(record: WarcRecord) -> None:
    """Raises UnreadableRecord when other WARC readers stop at this record, and so at all that come after it.

    FastWARC stops at a long head; warcio ends a head at a blank line however it is written, and believes the last of
    two lengths.
    """
    http = record.block[: len(record.block) - len(record.payload) - 4] if record.status is not None else b""
    for what, head in (("WARC header", record.head), ("HTTP head", http)):
        if len(head) + 4 > HEAD_LIMIT:
            raise UnreadableRecord(f"the {what} has {len(head)} bytes: other readers stop at this record")
        first, *lines = head.split(b"\r\n")
        if b"\n" in first or any(_FIELD.fullmatch(line) is None for line in lines):
            raise UnreadableRecord(f"the {what} has a line that is no field: other readers end it there")
    names = Counter(name.lower() for name, _ in _fields(record.head))
    if twice := sorted(name for name, count in names.items() if count > 1):
        raise UnreadableRecord(f"the WARC header has {twice[0]} twice: other readers take either")
    needed = _NEEDED if record.kind is RecordKind.NONE else (*_NEEDED, "warc-target-uri")
    if missing := [name for name in needed if name not in names]:
        raise UnreadableRecord(f"the WARC header has no {missing[0]}: other readers need it")


def check_digests(record: WarcRecord) -> None:
    """Raises UnreadableRecord when the block or the payload is not what its digest says."""
    if record.headers.get("warc-block-digest") != f"sha256:{sha256(record.block).hexdigest()}":
        raise UnreadableRecord("the block is not what its digest says")
    if record.kind is RecordKind.RESPONSE:
        said = record.headers.get("warc-payload-digest")
        if said != f"sha256:{sha256(record.payload).hexdigest()}":
            raise UnreadableRecord("the payload is not what its digest says")


def http_header(record: WarcRecord, name: str) -> str:
    """All values of one HTTP header, joined as RFC 9110 section 5.3 allows; `name` in lower case."""
    return ", ".join(value.strip() for key, value in record.http_headers if key.lower() == name)


def _inflate(member: bytes, limit: int) -> bytes:
    inflater = isal_zlib.decompressobj(_GZIP)
    try:
        whole: bytes = inflater.decompress(member, limit)
    except _NOT_GZIP as error:
        raise UnreadableRecord(f"not a gzip member: {error}") from None
    if not inflater.eof:
        raise UnreadableRecord(f"cut short, or over {limit} bytes when decoded")
    if inflater.unused_data:
        raise UnreadableRecord("more than one member")
    return whole


def _fields(head: bytes) -> list[tuple[str, str]]:
    lines = head.decode("utf-8", "surrogateescape").split("\r\n")[1:]
    pairs = (line.partition(":") for line in lines if line)
    return [(name, value.strip()) for name, _, value in pairs]


def _kind(headers: Mapping[str, str]) -> RecordKind:
    match headers.get("warc-type"):
        case "warcinfo" | "resource":
            return RecordKind.NONE
        case "response":
            return RecordKind.RESPONSE
        case "revisit" if (profile := headers.get("warc-profile", "")) in _KINDS:
            return _KINDS[profile]
        case other:
            raise UnreadableRecord(f"no record of ours: type {other!r}")


def _with_http(headers: Mapping[str, str], kind: RecordKind, block: bytes) -> WarcRecord:
    head, mark, payload = block.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b"\r\n")[0].decode("utf-8", "surrogateescape").partition(" ")
    status, _, phrase = rest.partition(" ")
    if not mark or version != "HTTP/1.1" or not (status.isascii() and status.isdigit()):
        raise UnreadableRecord("no HTTP head in the block")
    return WarcRecord(headers, kind, block, int(status), phrase, tuple(_fields(head)), payload)


def _place(located: Located) -> str:
    return f"{located.segment}.warc.gz, {located.length} bytes from {located.offset}"


# Evidence is handed out as chosen records in a WARC file that stands by itself.  Members are copied byte for byte, so
# their digests are still the ones in the chain.


@dataclass(frozen=True, slots=True)
class Export:
    """What was written where."""

    path: Path
    records: int
    size: int


def export(
    directory: ArchivePlace, places: Iterable[Located], target: Path, *, software: str, now: datetime
) -> Export:
    """Writes the records at `places`, in that order, to `target`, which must not exist yet.

    Every record is read and checked on the way.  `target` appears whole or not at all.
    """
    if not target.name.endswith(".warc.gz"):
        raise InputError(f"{target}: the name must end with .warc.gz")
    if target.exists():
        raise InputError(f"{target} exists; name another file")
    about = {"software": software, "description": "records copied unchanged from an archive of vedette"}
    half_done = target.with_name(f".{target.name}.part")
    records = 0
    try:
        handle = os.open(half_done, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(warcinfo_record(target.name.removesuffix(".warc.gz"), about, now))
            for place in places:
                member = read_member(directory, place)
                for record in read_visit(member):
                    check_digests(record)
                file.write(member)
                records += 1
            size = file.tell()
        half_done.replace(target)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}") from error
    finally:
        half_done.unlink(missing_ok=True)
    return Export(target, records, size)
