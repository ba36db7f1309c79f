"""Is a password asked for?  Each office format says it in a place of its own."""

from __future__ import annotations

import struct
import zipfile

from vedette.contracts.words import ContentClass
from vedette.extract.containers import Compound, read_compound

_WORD_LOCKED = 0x0100  # fEncrypted of the file information block (MS-DOC 2.5.2)
_FILE_PASS = 0x002F  # the record that asks for the password (MS-XLS 2.4.117)
_SHOW_LOCKED = 0xF3D1C4DF  # headerToken of the current user (MS-PPT 2.3.2)
_MANIFEST = "META-INF/manifest.xml"
_MAX_MANIFEST = 4 * 1024 * 1024


def is_locked(body: bytes, kind: ContentClass) -> bool:
    """Is this OLE file encrypted?  False for whatever else it is."""
    found = read_compound(body)
    if found is None:
        return False
    if "EncryptedPackage" in found.streams:  # Office wraps a package in one to lock it (MS-OFFCRYPTO 2.3.4)
        return True
    if kind is ContentClass.DOC:
        head = found.head("WordDocument")
        return len(head) >= 12 and bool(struct.unpack_from("<H", head, 10)[0] & _WORD_LOCKED)
    if kind is ContentClass.XLS:
        return _asks_for_password(found.head("Workbook") or found.head("Book"))
    return kind is ContentClass.PPT and _is_locked_show(found)


def is_locked_package(package: zipfile.ZipFile) -> bool:
    """By the flag of a member, or (ODF) by the manifest, which keeps the keys."""
    if any(member.flag_bits & 1 for member in package.infolist()):
        return True
    if _MANIFEST not in package.namelist():
        return False
    try:
        with package.open(_MANIFEST) as manifest:
            return b"encryption-data" in manifest.read(_MAX_MANIFEST)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile):
        return False


def _asks_for_password(head: bytes) -> bool:
    """The record stands right behind the first one, or behind the mark of a write-protected file."""
    at = 0
    while at + 4 <= len(head):
        kind, size = struct.unpack_from("<HH", head, at)
        if kind == _FILE_PASS:
            return True
        at += 4 + size
    return False


def _is_locked_show(found: Compound) -> bool:
    head = found.head("Current User")
    is_marked = len(head) >= 16 and struct.unpack_from("<I", head, 12)[0] == _SHOW_LOCKED
    return is_marked or "EncryptedSummary" in found.streams
