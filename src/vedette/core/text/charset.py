"""Which bytes are which letters.  BOM, then header and meta against what the bytes allow.

One answer for pages, their listings and fields.  Labels are those of the WHATWG Encoding Standard; a label that is
not in the table is ignored, so UTF-7 and other encodings that smuggle markup are never used.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

UNDECLARED = "windows-1250"  # what Croatian pages without a charset and without valid UTF-8 are
PIECE = 1 << 18
PRESCAN = 4096  # WHATWG prescans 1024 bytes; comments and long titles push the meta further down

_BOMS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\0\0", "utf-32le"),  # before UTF-16: its mark starts with the same bytes
    (b"\0\0\xfe\xff", "utf-32be"),
    (b"\xff\xfe", "utf-16le"),
    (b"\xfe\xff", "utf-16be"),
)
_MARKS = tuple(bom for bom, _ in _BOMS)
_CODECS = {  # the labels of each codec, by the standard; the first is the name that we give
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8 unicode11utf8 unicode20utf8",
    "utf-16le": "utf-16 utf-16le ucs-2 unicode csunicode iso-10646-ucs-2 unicodefeff",
    "utf-16be": "utf-16be unicodefffe",
    "ibm866": "866 cp866 csibm866 ibm866",
    "iso-8859-2": "iso-8859-2 iso8859-2 iso88592 iso_8859-2 iso_8859-2:1987 iso-ir-101 latin2 l2 csisolatin2",
    "iso-8859-3": "iso-8859-3 iso8859-3 iso88593 iso_8859-3 iso_8859-3:1988 iso-ir-109 latin3 l3 csisolatin3",
    "iso-8859-4": "iso-8859-4 iso8859-4 iso88594 iso_8859-4 iso_8859-4:1988 iso-ir-110 latin4 l4 csisolatin4",
    "iso-8859-5": "iso-8859-5 iso8859-5 iso88595 iso_8859-5 iso_8859-5:1988 iso-ir-144 cyrillic csisolatincyrillic",
    "iso-8859-6": "iso-8859-6 iso8859-6 iso88596 iso_8859-6 iso_8859-6:1987 iso-ir-127 arabic asmo-708 ecma-114 "
    "csiso88596e csiso88596i csisolatinarabic iso-8859-6-e iso-8859-6-i",
    "iso-8859-7": "iso-8859-7 iso8859-7 iso88597 iso_8859-7 iso_8859-7:1987 iso-ir-126 greek greek8 sun_eu_greek "
    "ecma-118 elot_928 csisolatingreek",
    "iso-8859-8": "iso-8859-8 iso8859-8 iso88598 iso_8859-8 iso_8859-8:1988 iso-ir-138 hebrew visual csiso88598e "
    "csisolatinhebrew iso-8859-8-e csiso88598i iso-8859-8-i logical",
    "iso-8859-10": "iso-8859-10 iso8859-10 iso885910 iso-ir-157 latin6 l6 csisolatin6",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "iso-8859-15 iso8859-15 iso885915 iso_8859-15 csisolatin9 latin9 l9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8_r koi8 koi cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac_roman": "macintosh mac csmacintosh x-mac-roman",
    "mac_cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp874": "windows-874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    "windows-1250": "windows-1250 cp1250 x-cp1250",
    "windows-1251": "windows-1251 cp1251 x-cp1251",
    "windows-1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100 "
    "latin1 l1 csisolatin1 ascii us-ascii ansi_x3.4-1968 cp819 ibm819 x-user-defined",
    "windows-1253": "windows-1253 cp1253 x-cp1253",
    "windows-1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso88599 iso_8859-9 iso_8859-9:1989 iso-ir-148 "
    "latin5 l5 csisolatin5",
    "windows-1255": "windows-1255 cp1255 x-cp1255",
    "windows-1256": "windows-1256 cp1256 x-cp1256",
    "windows-1257": "windows-1257 cp1257 x-cp1257",
    "windows-1258": "windows-1258 cp1258 x-cp1258",
    "gb18030": "gb18030 gbk x-gbk gb2312 gb_2312 gb_2312-80 iso-ir-58 chinese csgb2312 csiso58gb231280",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis ms_kanji ms932 windows-31j x-sjis csshiftjis",
    "cp949": "euc-kr cseuckr csksc56011987 iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 "
    "windows-949",
}
_LABELS = {label: codec for codec, labels in _CODECS.items() for label in labels.split()}
_IN_CONTENT = re.compile(r"charset\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"';,][^\s;,]*))", re.IGNORECASE)
_IN_XML = re.compile(rb"^\s*<\?xml[^>]{0,256}?encoding\s*=\s*[\"']([^\"']{1,40})", re.IGNORECASE)
# What the prescan of the HTML standard steps over, or reads: comments, tags with their attributes, all else in < >.
_PAIR = rb"([^\s/>][^\s/>=]*+)(?>(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+)))?)"
_PAIRS = re.compile(_PAIR)
_SKIPPED = re.compile(
    rb"<!--(?:-?>|.*?(?:-->|\Z))|<(/?[a-zA-Z][^\s/>]*+)((?:[\s/]++|" + _PAIR + rb")*+)|<[!/?][^>]*+",
    re.DOTALL,
)
_ISO_ONLY = b"\xb9\xbe"  # š ž in ISO 8859-2, never written in windows-1250 Croatian
_CP1250_ONLY = b"\x8a\x8e\x9a\x9e"  # Š Ž š ž in windows-1250, control codes in ISO 8859-2


def decode(body: bytes, content_type: str) -> tuple[str, str]:
    """Text and the charset it was read by.  Never fails; NUL and undecodable bytes do not survive."""
    for bom, charset in _BOMS:
        if body.startswith(bom):
            return _clean(body[len(bom) :].decode(charset, "replace")), charset
    wide = _wide(body)
    if wide:
        return _clean(body.decode(wide, "replace")), wide
    declared = _from_header(content_type)
    utf8 = _strict(body)
    if utf8 is not None and declared in ("", "utf-8"):
        return _clean(utf8), "utf-8"
    claims = [name for name in (declared, _from_bytes(body)) if name]
    if utf8 is not None and (not body.isascii() or not claims):
        return _clean(utf8), "utf-8"  # bytes that are valid UTF-8 by accident are very rare
    for claim in claims:
        text = _believable(body, claim)
        if text is not None:
            return _clean(text), claim
    charset = _undeclared(body)
    return _clean(body.decode(charset, "replace")), charset


def as_utf8(body: bytes, content_type: str) -> tuple[bytes, str]:
    """The same letters in UTF-8, and the charset they came in.  What is in UTF-8 already is not copied."""
    if _from_header(content_type) in ("", "utf-8") and is_clean_utf8(body):
        return body, "utf-8"
    text, charset = decode(body, content_type)
    return text.encode("utf-8", "replace"), charset


def is_clean_utf8(body: bytes) -> bool:
    """Would `decode` give just these letters, where nothing else is declared?  In pieces, without the text."""
    if body.startswith(_MARKS) or b"\0" in body:
        return False
    if len(body) <= PIECE:
        return body.isascii() or _strict(body) is not None
    check, pieces = codecs.getincrementaldecoder("utf-8")(), memoryview(body)
    try:
        for at in range(0, len(body), PIECE):
            check.decode(pieces[at : at + PIECE])
        check.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _from_header(content_type: str) -> str:
    return _in_content(content_type[:256]) if "charset" in content_type.lower() else ""


def _in_content(value: str) -> str:
    match = _IN_CONTENT.search(value)
    return _codec(match.group(1) or match.group(2) or match.group(3) or "") if match else ""


def _codec(label: str) -> str:
    return _LABELS.get(label.strip(" \t\r\n\f").lower(), "")


def _from_bytes(body: bytes) -> str:
    """What the body declares: of a page its first meta with a known label, of other markup its XML declaration."""
    head = body[:PRESCAN]
    match = _IN_XML.search(head)
    in_xml = _codec(match.group(1).decode("ascii", "replace")) if match else ""
    if match and b"<html" not in head.lower():
        name = in_xml
    else:
        name = next(_in_metas(head), "") if b"<meta" in head.lower() else ""
        name = name or in_xml
    return "utf-8" if name.startswith("utf-16") else name  # what can be read as ASCII is not UTF-16 (WHATWG)


def _in_metas(head: bytes) -> Iterator[str]:
    """HTML standard 13.2.3.2: comments do not count, and a label that nobody knows does not either."""
    for token in _SKIPPED.finditer(head):
        if (token.group(1) or b"").lower() != b"meta":
            continue
        said: dict[str, str] = {}
        for name, *values in _PAIRS.findall(token.group(2)):
            value = b"".join(values).decode("ascii", "replace")
            said.setdefault(name.decode("ascii", "replace").lower(), value)
        is_pragma = said.get("http-equiv", "").strip().lower() == "content-type"
        found = _codec(said["charset"]) if "charset" in said else ""
        found = found or (_in_content(said.get("content", "")) if is_pragma and "charset" not in said else "")
        if found:
            yield found


def _wide(body: bytes) -> str:
    """UTF-16 that does not announce itself: every other byte of what begins a document is zero."""
    if len(body) < 4 or 0 not in body[:2]:
        return ""
    first, second, third, fourth = (byte == 0 for byte in body[:4])
    if second and fourth and not first and not third:
        return "utf-16le"
    return "utf-16be" if first and third and not second and not fourth else ""


def _strict(body: bytes) -> str | None:
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _believable(body: bytes, claim: str) -> str | None:
    """The text under this claim, unless the bytes contradict it more often than they bear it out."""
    text = body.decode(claim, "replace")
    bad = text.count("\ufffd")
    if not bad:
        return text
    good = sum(char > "\x7f" for char in text[: 1 << 20]) - bad
    return text if good > bad else None


def _undeclared(body: bytes) -> str:
    sample = body[: 1 << 16]
    if any(byte in sample for byte in _CP1250_ONLY):
        return UNDECLARED
    return "iso-8859-2" if any(byte in sample for byte in _ISO_ONLY) else UNDECLARED


def _clean(text: str) -> str:
    """Without NUL, which no store takes.  Half surrogates cannot come out of these decoders."""
    return text.replace("\0", "") if "\0" in text else text
