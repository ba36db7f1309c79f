"""An office file is what its own directory says, whatever it holds; a locked one says that it is locked."""

from __future__ import annotations

import io
import random
import struct
import zipfile

import pytest
from document_kit import LINES, TITLE, WHOLE, flipped, shuffled, truncated

from vedette.contracts.words import ContentClass
from vedette.extract import content_class
from vedette.extract.classes import read_compound, zip_names
from vedette.extract.documents import read_document
from vedette.livingweb.office import compound, make_ods, make_odt, make_xls

C = ContentClass
PLAIN = "http://a.example/dokument"
ENCRYPTED = "encrypted: a password is asked for"
PACKAGES = {"docx": C.DOCX, "xlsx": C.XLSX, "pptx": C.PPTX, "odt": C.ODT, "ods": C.ODS}
COMPOUNDS = {"doc": C.DOC, "xls": C.XLS, "ppt": C.PPT}
MEDIA = {
    "docx": "word/media",
    "xlsx": "xl/embeddings",
    "pptx": "ppt/embeddings",
    "odt": "Objects",
    "ods": "Objects",
}


def class_of(body: bytes, url: str = PLAIN, content_type: str = "") -> ContentClass:
    return content_class(body, url=url, content_type=content_type)


@pytest.mark.parametrize("inside", ["docx", "xlsx", "pptx", "doc", "xls"])
@pytest.mark.parametrize("outside", PACKAGES)
def test_a_package_that_holds_another_office_file_uncompressed_is_still_itself(outside, inside):
    out = io.BytesIO(WHOLE[outside]())
    with zipfile.ZipFile(out, "a", zipfile.ZIP_STORED) as made:
        made.writestr(f"{MEDIA[outside]}/Embedded.{inside}", WHOLE[inside]())
    body = out.getvalue()
    assert class_of(body) is PACKAGES[outside]
    assert not read_document(body, url=PLAIN, content_type="").problem


@pytest.mark.parametrize("inside", ["doc", "xls", "ppt", "docx"])
@pytest.mark.parametrize("outside", COMPOUNDS)
def test_an_ole_file_that_holds_another_office_file_is_still_itself(outside, inside):
    whole = read_compound(WHOLE[outside]())
    assert whole is not None
    body = nested(
        WHOLE[outside](),
        {"WordDocument", "Workbook", "PowerPoint Document"} - set(whole.streams),
        WHOLE[inside](),
    )
    assert class_of(body) is COMPOUNDS[outside]
    assert not read_document(body, url=PLAIN, content_type="").problem


def test_names_are_read_whatever_stands_before_and_behind_the_archive():
    body = WHOLE["docx"]()
    assert b"word/document.xml" in (zip_names(b"#!/bin/sh\n" + body) or ())
    out = io.BytesIO(body)
    with zipfile.ZipFile(out, "a") as made:
        made.comment = b"PK\x05\x06" + b"x" * 60_000
    assert zip_names(out.getvalue()) is None or b"word/document.xml" in (zip_names(out.getvalue()) or ())


def locked_word() -> bytes:
    body = bytearray(WHOLE["doc"]())
    at = body.index(struct.pack("<H", 0xA5EC))
    (flags,) = struct.unpack_from("<H", body, at + 10)
    struct.pack_into("<H", body, at + 10, flags | 0x0100)
    return bytes(body)


def locked_sheet(stream: str = "Workbook") -> bytes:
    plain = read_compound(make_xls(TITLE, LINES))
    assert plain is not None
    head = plain.head("Workbook")
    first = 4 + struct.unpack_from("<H", head, 2)[0]
    return compound({stream: head[:first] + struct.pack("<HH", 0x2F, 54) + bytes(54) + b"\x07" * 4000})


def small_stream(streams: dict[str, bytes], small: str) -> bytes:
    """With one stream in the small sectors of the root, where writers put what is shorter than 4,096 bytes."""
    made = bytearray(compound(streams))
    root = made.rindex("Root Entry".encode("utf-16-le"))
    at = made.rindex(small.encode("utf-16-le") + b"\0\0")
    first, _ = struct.unpack_from("<II", made, at + 116)
    struct.pack_into("<II", made, root + 116, first, 4096)
    struct.pack_into("<II", made, at + 116, 0, len(streams[small]))
    return bytes(made)


def locked_show(*, is_small: bool) -> bytes:
    user = struct.pack("<HHIII", 0, 0x0FF6, 24, 20, 0xF3D1C4DF) + bytes(16)
    streams = {"PowerPoint Document": random.Random(1).randbytes(5000), "Current User": user}
    return small_stream(streams, "Current User") if is_small else compound(streams)


def locked_free(body: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(body)) as whole, zipfile.ZipFile(out, "w") as made:
        for member in whole.infolist():
            data = whole.read(member)
            if member.filename == "META-INF/manifest.xml":
                continue
            made.writestr(member, data if member.filename == "mimetype" else data[::-1])
        made.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest><manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/>'
            "</manifest:file-entry></manifest:manifest>",
        )
    return out.getvalue()


PACKED = {"EncryptedPackage": b"\x07" * 5000, "EncryptionInfo": b"\x04" * 100}
LOCKED = {
    "a.doc": (locked_word(), C.DOC),
    "a.xls": (locked_sheet(), C.XLS),
    "old.xls": (locked_sheet("Book"), C.XLS),
    "a.ppt": (locked_show(is_small=False), C.PPT),
    "small.ppt": (locked_show(is_small=True), C.PPT),
    "a.docx": (compound(PACKED), C.DOCX),
    "a.xlsx": (compound(PACKED), C.XLSX),
    "a.xlsb": (compound(PACKED), C.XLSX),
    "a.pptx": (compound(PACKED), C.PPTX),
    "without-a-name": (compound(PACKED), C.DOCX),
    "a.ods": (locked_free(make_ods(TITLE, LINES)), C.ODS),
    "a.odt": (locked_free(make_odt(TITLE, LINES)), C.ODT),
}


@pytest.mark.parametrize("name", LOCKED)
def test_a_locked_file_of_every_office_kind_says_that_it_is_locked(name):
    body, kind = LOCKED[name]
    found = read_document(body, url=f"http://a.example/{name}", content_type="")
    assert (found.content_class, found.problem, found.blocks) == (kind, ENCRYPTED, ())


@pytest.mark.parametrize("name", [*PACKAGES, *COMPOUNDS])
def test_a_file_that_is_not_locked_does_not_say_so(name):
    assert read_document(WHOLE[name](), url=PLAIN, content_type="").problem == ""


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_directory_is_fewer_names_and_never_an_error(seed):
    chance = random.Random(seed)
    for kind in (*PACKAGES, *COMPOUNDS):
        for damage in (truncated, flipped, shuffled):
            body = damage(WHOLE[kind](), chance)
            zip_names(body)
            found = read_compound(body)
            assert found is None or all(isinstance(found.head(name), bytes) for name in found.streams)


def nested(body: bytes, names: set[str], data: bytes) -> bytes:
    """The streams of `body`, and a storage with streams of these names below it."""
    whole = read_compound(body)
    assert whole is not None
    top = {name: stream_of(body, name) for name in whole.streams}
    made = bytearray(compound({**top, "ObjectPool_a_long_name": b"", **dict.fromkeys(names, data)}))
    places = {
        name: made.rindex(name.encode("utf-16-le") + b"\0\0")
        for name in (*top, "ObjectPool_a_long_name", *names)
    }
    root = made.rindex("Root Entry".encode("utf-16-le"))
    number = {name: (at - root) // 128 for name, at in places.items()}
    none = 0xFFFF_FFFF
    chain([*top, "ObjectPool_a_long_name"], root, made, number)
    chain([*names], None, made, number)
    at = places["ObjectPool_a_long_name"]
    made[at + 66] = 1  # a storage
    struct.pack_into(
        "<III", made, at + 68, none, none, number[min(names, key=lambda name: (len(name), name))]
    )
    return bytes(made)


def chain(names: list[str], parent: int | None, made: bytearray, number: dict[str, int]) -> None:
    """Each the right neighbour of the one before; short names sort first."""
    names = sorted(names, key=lambda name: (len(name), name.upper()))
    root = made.rindex("Root Entry".encode("utf-16-le"))
    if parent is not None:
        struct.pack_into("<I", made, root + 76, number[names[0]])
    for name, after in zip(names, [*names[1:], ""], strict=True):
        at = root + 128 * number[name]
        struct.pack_into("<II", made, at + 68, 0xFFFF_FFFF, number.get(after, 0xFFFF_FFFF))


def stream_of(body: bytes, name: str) -> bytes:
    """As livingweb writes them: sectors of one stream lie side by side."""
    whole = read_compound(body)
    assert whole is not None
    stream = whole.streams[name]
    return body[(stream.first + 1) * 512 :][: stream.size]
