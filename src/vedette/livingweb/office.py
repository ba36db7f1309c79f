"""ODT, ODS, RTF, DOC and XLS, written byte by byte: the old formats as MS-CFB, MS-DOC and BIFF8 say."""

from __future__ import annotations

import io
import struct
import zipfile
from html import escape

Lines = tuple[str, ...]
SECTOR = 512
_FREE, _END, _FAT = 0xFFFFFFFF, 0xFFFFFFFE, 0xFFFFFFFD
_SMALL = 4096  # streams below this would need a second allocation table
_ODF = "urn:oasis:names:tc:opendocument:xmlns"


def make_odt(title: str, lines: Lines) -> bytes:
    head = f'<text:h text:outline-level="1">{escape(title)}</text:h>'
    rows = "".join(f"<text:p>{escape(line)}</text:p>" for line in lines)
    return _free("text", f"{head}{rows}")


def make_ods(title: str, lines: Lines) -> bytes:
    """One sheet, one row per line, a number and a text in each."""
    rows = "".join(
        "<table:table-row>"
        f'<table:table-cell office:value-type="float" office:value="{number}"/>'
        f'<table:table-cell office:value-type="string"><text:p>{escape(line)}</text:p></table:table-cell>'
        "</table:table-row>"
        for number, line in enumerate((title, *lines))
    )
    return _free("spreadsheet", f'<table:table table:name="List1">{rows}</table:table>')


def _free(kind: str, body: str) -> bytes:
    """An OpenDocument package: its type first and stored as it is, so that anybody can tell."""
    names = " ".join(f'xmlns:{name}="{_ODF}:{name}:1.0"' for name in ("office", "text", "table"))
    content = (
        f'<office:document-content {names} office:version="1.2"><office:body><office:{kind}>{body}</office:{kind}>'
        "</office:body></office:document-content>"
    )
    media = f"application/vnd.oasis.opendocument.{kind}"
    manifest = (
        f'<manifest:manifest xmlns:manifest="{_ODF}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{media}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as package:
        parts = {"mimetype": media, "content.xml": content, "META-INF/manifest.xml": manifest}
        for name, text in parts.items():
            entry = zipfile.ZipInfo(name, date_time=(2026, 1, 5, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            package.writestr(entry, text)
    return out.getvalue()


def make_rtf(title: str, lines: Lines) -> bytes:
    """In windows-1250, as Croatian offices wrote it; what that lacks by its number."""
    text = "".join(f"{_rtf_text(line)}\\par\n" for line in (title, *lines))
    head = "{\\rtf1\\ansi\\ansicpg1250\\deff0{\\fonttbl{\\f0\\fcharset238 Times New Roman;}}\\f0\\fs24\n"
    return f"{head}{text}}}".encode("ascii")


def make_doc(title: str, lines: Lines) -> bytes:
    """Word 97: the header, the text in UTF-16, and a table with one piece that says where the text is."""
    text = "".join(f"{line}\r" for line in (title, *lines))
    start = 0x600
    header = bytearray(start)
    struct.pack_into("<HHHHHH", header, 0, 0xA5EC, 0x00C1, 0, 0x041A, 0, 0x0200)  # magic, version, hr, 1Table
    struct.pack_into("<HII", header, 0x0A + 2, 0x00BF, 0, 0)
    struct.pack_into("<II", header, 0x18, start, start + 2 * len(text))  # first and last byte of text
    struct.pack_into("<H", header, 0x20, 14)
    struct.pack_into("<H", header, 0x3E, 22)
    struct.pack_into("<II", header, 0x40, start + 2 * len(text), 0)
    struct.pack_into("<I", header, 0x4C, len(text))  # characters of the main text
    struct.pack_into("<H", header, 0x98, 0x5D)
    pieces = struct.pack("<II", 0, len(text)) + struct.pack("<HIH", 0, start, 0)
    table = b"\x02" + struct.pack("<I", len(pieces)) + pieces
    struct.pack_into("<II", header, 0x1A2, 0, len(table))
    return compound({"WordDocument": bytes(header) + text.encode("utf-16-le"), "1Table": table})


def make_xls(title: str, lines: Lines) -> bytes:
    """BIFF8: one sheet, one row per line, a number and a text in each."""
    rows = b"".join(
        _record(0x0203, struct.pack("<HHHd", row, 0, 0, float(row)))
        + _record(0x0204, struct.pack("<HHH", row, 1, 0) + _label(line))
        for row, line in enumerate((title, *lines))
    )
    size = struct.pack("<IIHHH", 0, len(lines) + 1, 0, 2, 0)
    sheet = _bof(0x0010) + _record(0x0200, size) + rows + _record(0x000A, b"")
    name = b"\x05\x00List1"
    before = _bof(0x0005) + _record(0x0042, struct.pack("<H", 1200))
    globals_size = len(before) + 4 + 6 + len(name) + 4
    bound = _record(0x0085, struct.pack("<IH", globals_size, 0) + name)
    return compound({"Workbook": before + bound + _record(0x000A, b"") + sheet})


def _rtf_text(line: str) -> str:
    out = []
    for letter in line:
        if letter in "\\{}":
            out.append("\\" + letter)
        elif letter.isascii():
            out.append(letter)
        else:
            code = letter.encode("cp1250", "replace")
            known = code.decode("cp1250") == letter
            out.append(f"\\'{code[0]:02x}" if known else f"\\u{ord(letter)}?")
    return "".join(out)


def _record(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def _bof(kind: int) -> bytes:
    return _record(0x0809, struct.pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def _label(line: str) -> bytes:
    text = line[:4000]
    return struct.pack("<HB", len(text), 1) + text.encode("utf-16-le")


def compound(streams: dict[str, bytes]) -> bytes:
    """An OLE compound file of streams that are all large enough for ordinary sectors."""
    padded = {name: data.ljust(_SMALL, b"\0") for name, data in streams.items()}
    sectors: list[bytes] = []
    chain: list[int] = []
    starts = {}
    for name, data in padded.items():
        starts[name] = len(chain)
        count = -(-len(data) // SECTOR)
        chain += [*range(len(chain) + 1, len(chain) + count), _END]
        sectors += [data[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, count * SECTOR, SECTOR)]
    directory = _directory(padded, starts)
    first_directory = len(chain)
    count = len(directory) // SECTOR
    chain += [*range(len(chain) + 1, len(chain) + count), _END]
    sectors += [directory[at : at + SECTOR] for at in range(0, len(directory), SECTOR)]
    tables = 1
    while (len(chain) + tables) * 4 > tables * SECTOR:
        tables += 1
    first_table = len(chain)
    chain += [_FAT] * tables
    fat = struct.pack(f"<{len(chain)}I", *chain).ljust(tables * SECTOR, b"\xff")
    places = [*range(first_table, first_table + tables)]
    header = struct.pack(
        "<8s16xHHHHH6xIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", 0x3E, 3, 0xFFFE, 9, 6,
        0, tables, first_directory, 0, _SMALL, _END, 0, _END, 0,
    )  # fmt: skip
    header += struct.pack("<109I", *(places + [_FREE] * 109)[:109])
    return header + b"".join(sectors) + fat


def _directory(streams: dict[str, bytes], starts: dict[str, int]) -> bytes:
    """The root and its streams, each the right neighbour of the one before; short names sort first."""
    names = sorted(streams, key=lambda name: (len(name), name.upper()))
    entries = [_entry("Root Entry", 5, links=(_FREE, 1), place=(_END, 0))]
    for place, name in enumerate(names, 1):
        right = place + 1 if place < len(names) else _FREE
        entries.append(_entry(name, 2, links=(right, _FREE), place=(starts[name], len(streams[name]))))
    while len(entries) * 128 % SECTOR:
        entries.append(bytes(68) + b"\xff" * 12 + bytes(48))
    return b"".join(entries)


def _entry(name: str, kind: int, *, links: tuple[int, int], place: tuple[int, int]) -> bytes:
    """`links`: right neighbour and child; `place`: first sector and size."""
    spelled = name.encode("utf-16-le") + b"\0\0"
    head = spelled.ljust(64, b"\0") + struct.pack("<HBBIII", len(spelled), kind, 1, _FREE, *links)
    return head + bytes(36) + struct.pack("<IQ", *place)
