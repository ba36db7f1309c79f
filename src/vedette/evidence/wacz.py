"""Evidence as a WACZ file (Web Archive Collection Zipped 1.1.1), which viewers of archived pages open by themselves.

Members are copied byte for byte as into a WARC file, so their digests are still the ones in the chain.  Beside them
stand an index of them (CDXJ), the pages by name, and a list of all files with their sha256.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from vedette.contracts.errors import InputError, StoreError
from vedette.contracts.watch import Located, RecordKind
from vedette.evidence.files import ArchivePlace
from vedette.evidence.read_records import (
    Export,
    WarcRecord,
    check_digests,
    http_header,
    is_screenshot,
    read_member,
    read_visit,
    split_members,
)
from vedette.evidence.warc import warcinfo_record

VERSION = "1.1.1"
SUFFIX = ".wacz"
_DATA = "data.warc.gz"
_PAGES = ("text/html", "application/xhtml+xml")
_PORTS = {"http": 80, "https": 443}
_DAY_ONE = (1980, 1, 1, 0, 0, 0)  # the earliest that a ZIP file can say: the same evidence is the same bytes


@dataclass(frozen=True, slots=True)
class _Member:
    """One record at its place in the file."""

    record: WarcRecord
    offset: int
    length: int

    @property
    def url(self) -> str:
        return self.record.headers.get("warc-target-uri", "")

    @property
    def at(self) -> str:
        return self.record.headers.get("warc-date", "")

    @property
    def mime(self) -> str:
        if is_screenshot(self.record):
            return self.record.headers.get("content-type", "")
        if self.record.kind is not RecordKind.RESPONSE:
            return "warc/revisit"
        return http_header(self.record, "content-type").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class WaczRequest:
    """Which records go where, and what they are called."""

    directory: ArchivePlace
    places: Iterable[Located]
    target: Path
    software: str
    title: str
    titles: Mapping[str, str]  # of pages, by URL


def export_wacz(asked: WaczRequest, *, now: datetime) -> Export:
    """Every record is read and checked on the way.  The file appears whole or not at all."""
    target = asked.target
    if not target.name.endswith(SUFFIX):
        raise InputError(f"{target}: the name must end with {SUFFIX}")
    if target.exists():
        raise InputError(f"{target} exists; name another file")
    half_done = target.with_name(f".{target.name}.part")
    try:
        handle = os.open(half_done, os.O_CREAT | os.O_TRUNC | os.O_RDWR | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w+b") as file:
            records = _write(asked, file, now)
            size = file.seek(0, io.SEEK_END)
        half_done.replace(target)
    except OSError as error:
        raise StoreError(f"cannot write {target}: {error}") from error
    finally:
        half_done.unlink(missing_ok=True)
    return Export(target, records, size)


def _write(asked: WaczRequest, file: IO[bytes], now: datetime) -> int:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as packed:
        entry, members = _write_records(asked, packed, now)
        resources = [
            entry,
            _add(packed, "indexes/index.cdx", cdxj(members)),
            _add(packed, "pages/pages.jsonl", _pages(members, asked.titles)),
        ]
        package = {
            "profile": "data-package",
            "wacz_version": VERSION,
            "title": asked.title,
            "created": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "software": asked.software,
            "resources": resources,
        }
        about = json.dumps(package, indent=2, ensure_ascii=True).encode()
        digest = {"path": "datapackage.json", "hash": f"sha256:{sha256(about).hexdigest()}"}
        _add(packed, "datapackage.json", about)
        _add(packed, "datapackage-digest.json", json.dumps(digest, indent=2).encode())
    return len(members)


def _write_records(
    asked: WaczRequest, packed: zipfile.ZipFile, now: datetime
) -> tuple[dict[str, object], list[_Member]]:
    name = asked.target.name.removesuffix(SUFFIX)
    about = {"software": asked.software, "description": "records copied unchanged from an archive of vedette"}
    info = zipfile.ZipInfo(f"archive/{_DATA}", _DAY_ONE)
    members: list[_Member] = []
    with packed.open(info, "w", force_zip64=True) as file:
        first = warcinfo_record(name, about, now)
        whole, size = sha256(first), len(first)
        file.write(first)
        for place in asked.places:
            member = read_member(asked.directory, place)
            for part, record in zip(split_members(member), read_visit(member), strict=True):
                check_digests(record)
                members.append(_Member(record, size, len(part)))
                size += len(part)
            file.write(member)
            whole.update(member)
    entry = {"name": _DATA, "path": info.filename, "hash": f"sha256:{whole.hexdigest()}", "bytes": size}
    return entry, members


def _add(packed: zipfile.ZipFile, path: str, data: bytes) -> dict[str, object]:
    info = zipfile.ZipInfo(path, _DAY_ONE)
    info.compress_type = zipfile.ZIP_DEFLATED
    packed.writestr(info, data)
    name = path.rpartition("/")[2]
    return {"name": name, "path": path, "hash": f"sha256:{sha256(data).hexdigest()}", "bytes": len(data)}


def cdxj(members: Iterable[_Member]) -> bytes:
    """The index: sorted by the address with its host turned round, then by time."""
    lines = []
    for one in members:
        said = {
            "url": one.url,
            "mime": one.mime,
            "status": str(one.record.status or ""),
            "digest": one.record.headers.get("warc-payload-digest", ""),
            "length": str(one.length),
            "offset": str(one.offset),
            "filename": _DATA,
        }
        stamp = "".join(char for char in one.at if char.isdigit())[:14]
        lines.append(f"{turned(one.url)} {stamp} {json.dumps(said)}\n")
    return "".join(sorted(lines)).encode()


def turned(url: str) -> str:
    """`org,example)/rules?a=1`: the form that indexes of archives are sorted by (SURT)."""
    parts = urlsplit(url)
    if parts.scheme not in _PORTS:  # urn:...: as it is, in lower case
        return url.lower()
    host = (parts.hostname or "").lower().removeprefix("www.")
    name = host if ":" in host else ",".join(reversed(host.split(".")))
    port = "" if parts.port in (None, _PORTS.get(parts.scheme)) else f":{parts.port}"
    path = parts.path.lower().rstrip("/") or "/"
    query = "&".join(sorted(parts.query.lower().split("&"))) if parts.query else ""
    return f"{name}{port}){path}{f'?{query}' if query else ''}"


def _pages(members: Iterable[_Member], titles: Mapping[str, str]) -> bytes:
    lines: list[dict[str, str]] = [{"format": "json-pages-1.0", "id": "pages", "title": "Pages"}]
    for one in members:
        if one.mime in _PAGES:
            number = one.record.headers.get("warc-record-id", "").strip("<>").rpartition(":")[2]
            title = titles.get(one.url, "") or one.url
            lines.append({"id": number, "url": one.url, "ts": one.at, "title": title})
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()
