"""PPTX and PPT, one slide after another, written byte by byte: MS-PPT over an OLE compound file, and its successor."""

from __future__ import annotations

import struct
from html import escape

from vedette.livingweb.documents import LINKS, OFFICE, package
from vedette.livingweb.office import Lines, compound

_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SHOW = "http://schemas.openxmlformats.org/presentationml/2006/main"
_BOX = 0xF  # version of a record that holds records
_DOCUMENT, _SLIDE_TEXTS, _SLIDE, _TEXT_KIND, _TEXT, _USER = 0x03E8, 0x0FF0, 0x03F3, 0x0F9F, 0x0FA0, 0x0FF6
_BODY_TEXT = 4


def make_pptx(title: str, lines: Lines) -> bytes:
    slides = {f"ppt/slides/slide{n}.xml": _slide(line) for n, line in enumerate((title, *lines), 1)}
    show = f'<p:presentation xmlns:p="{_SHOW}" xmlns:r="{LINKS}"/>'
    return package("ppt/presentation.xml", show, f"{OFFICE}.presentationml.presentation.main+xml", slides)


def make_ppt(title: str, lines: Lines) -> bytes:
    """The texts of all slides as the document record lists them."""
    texts = b"".join(
        _record(_SLIDE, bytes(20))
        + _record(_TEXT_KIND, struct.pack("<I", _BODY_TEXT))
        + _record(_TEXT, line.encode("utf-16-le"))
        for line in (title, *lines)
    )
    document = _record(_DOCUMENT, _record(_SLIDE_TEXTS, texts, version=_BOX), version=_BOX)
    return compound({"PowerPoint Document": document, "Current User": _record(_USER, bytes(24))})


def _slide(line: str) -> str:
    text = f"<p:txBody><a:p><a:r><a:t>{escape(line)}</a:t></a:r></a:p></p:txBody>"
    tree = f"<p:cSld><p:spTree><p:sp>{text}</p:sp></p:spTree></p:cSld>"
    return f'<p:sld xmlns:p="{_SHOW}" xmlns:a="{_DRAWING}">{tree}</p:sld>'


def _record(kind: int, data: bytes, *, version: int = 0) -> bytes:
    return struct.pack("<HHI", version, kind, len(data)) + data
