"""Which bytes are which letters.  BOM, then header and meta against what the bytes allow.

Labels follow the WHATWG Encoding Standard; a label that is not in the table is ignored, so UTF-7
and other encodings that smuggle markup are never used.
"""

from __future__ import annotations

import re

UNDECLARED = "windows-1250"  # what Croatian pages without a charset and without valid UTF-8 are
PRESCAN = 4096  # WHATWG prescans 1024 bytes; comments and long titles push the meta further down

_BOMS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16le"), (b"\xfe\xff", "utf-16be"))
_LABELS = {
    **dict.fromkeys("utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8 unicode11utf8".split(), "utf-8"),
    **dict.fromkeys("utf-16 utf-16le ucs-2 unicode csunicode iso-10646-ucs-2".split(), "utf-16le"),
    **dict.fromkeys("utf-16be unicodefffe".split(), "utf-16be"),
    **dict.fromkeys(
        "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 latin1 l1 ascii us-ascii ansi_x3.4-1968".split(),
        "windows-1252",
    ),
    **dict.fromkeys("windows-1250 cp1250 x-cp1250".split(), "windows-1250"),
    **dict.fromkeys("iso-8859-2 iso8859-2 iso_8859-2 latin2 l2 csisolatin2".split(), "iso-8859-2"),
    **dict.fromkeys("windows-1251 cp1251 x-cp1251".split(), "windows-1251"),
    **dict.fromkeys("iso-8859-15 iso8859-15 latin9 l9".split(), "iso-8859-15"),
    **dict.fromkeys("iso-8859-5 iso8859-5 cyrillic".split(), "iso-8859-5"),
    **dict.fromkeys("iso-8859-7 iso8859-7 greek greek8".split(), "iso-8859-7"),
    **dict.fromkeys("windows-1253 cp1253".split(), "windows-1253"),
    **dict.fromkeys("windows-1254 cp1254 iso-8859-9 iso8859-9 latin5".split(), "windows-1254"),
    **dict.fromkeys("windows-1255 cp1255 iso-8859-8 hebrew".split(), "windows-1255"),
    **dict.fromkeys("windows-1256 cp1256".split(), "windows-1256"),
    **dict.fromkeys("windows-1257 cp1257 iso-8859-13".split(), "windows-1257"),
    **dict.fromkeys("koi8-r koi8 koi".split(), "koi8-r"),
    **dict.fromkeys("koi8-u koi8-ru".split(), "koi8-u"),
    **dict.fromkeys("gbk gb2312 gb_2312-80 chinese x-gbk gb18030".split(), "gb18030"),
    **dict.fromkeys("big5 big5-hkscs cn-big5 x-x-big5".split(), "big5hkscs"),
    **dict.fromkeys("shift_jis shift-jis sjis ms_kanji windows-31j x-sjis".split(), "cp932"),
    **dict.fromkeys("euc-jp x-euc-jp".split(), "euc_jp"),
    **dict.fromkeys("euc-kr ks_c_5601-1987 korean windows-949".split(), "cp949"),
}
_IN_HEADER = re.compile(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.IGNORECASE)
_IN_META = re.compile(rb"<meta[^>]{0,512}?charset\s*=\s*[\"']?\s*([^\s\"'/>;]{1,40})", re.IGNORECASE)
_IN_XML = re.compile(rb"^\s*<\?xml[^>]{0,256}?encoding\s*=\s*[\"']([^\"']{1,40})", re.IGNORECASE)
_ISO_ONLY = b"\xb9\xbe"  # š ž in ISO 8859-2, never written in windows-1250 Croatian
_CP1250_ONLY = b"\x8a\x8e\x9a\x9e"  # Š Ž š ž in windows-1250, control codes in ISO 8859-2


def decode(body: bytes, content_type: str) -> tuple[str, str]:
    """Text and the charset it was read by.  Never fails; NUL and undecodable bytes do not survive."""
    for bom, charset in _BOMS:
        if body.startswith(bom):
            return _clean(body[len(bom) :].decode(charset, "replace")), charset
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


def _from_header(content_type: str) -> str:
    if "charset" not in content_type.lower():
        return ""
    match = _IN_HEADER.search(content_type[:256])
    return _LABELS.get(match.group(1).lower(), "") if match else ""


def _from_bytes(body: bytes) -> str:
    head = body[:PRESCAN]
    match = _IN_META.search(head) or _IN_XML.search(head)
    name = _LABELS.get(match.group(1).decode("ascii", "replace").lower(), "") if match else ""
    return "utf-8" if name.startswith("utf-16") else name  # a readable meta cannot be UTF-16 (WHATWG)


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
