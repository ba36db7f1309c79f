"""The text of PDF and office files, and of images.

Called in a limited child process: these parsers meet hostile bytes.  One block per heading, paragraph or table row, in
reading order, so that a diff by line says what an editor did.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.classes import OLE, PACKAGES, content_class
from vedette.extract.documents.images import read_image
from vedette.extract.documents.language import language_of
from vedette.extract.documents.packages import (
    ENCRYPTED,
    Missing,
    document_date,
    is_locked,
    read_docx,
    read_legacy,
    read_odt,
    read_pptx,
    read_sheets,
)
from vedette.extract.documents.pdf import read_pdf
from vedette.extract.fields import Unreadable

C = ContentClass
READERS: dict[ContentClass, Callable[[bytes, ContentClass], Document]] = {
    C.PDF_TEXT: read_pdf,
    C.DOCX: read_docx,
    C.ODT: read_odt,
    C.PPTX: read_pptx,
    C.XLS: read_sheets,
    C.XLSX: read_sheets,
    C.ODS: read_sheets,
    C.DOC: read_legacy,
    C.PPT: read_legacy,
    C.RTF: read_legacy,
    C.IMAGE: read_image,
}


def read_document(
    body: bytes, *, url: str = "", content_type: str = "", kind: ContentClass | None = None
) -> Document:
    """What the document says, without OCR.  Raises nothing but MemoryError; a broken file has a `problem`.

    `kind`: its class, where that is decided already.
    """
    kind = kind or content_class(body, url=url, content_type=content_type)
    reader = READERS.get(kind)
    if reader is None:
        return Document(content_class=kind, problem="not a document")
    try:
        if body.startswith(OLE) and (kind in PACKAGES or is_locked(body, kind)):
            raise Unreadable(ENCRYPTED)
        return described(reader(body, kind))
    except (MemoryError, KeyboardInterrupt, SystemExit):
        raise
    except Missing as missing:
        return Document(content_class=kind, missing=str(missing))
    except Unreadable as problem:
        return Document(content_class=kind, problem=str(problem))
    except BaseException as error:  # noqa: BLE001  parsers in other languages raise what they like: a panic is no Exception
        return Document(content_class=kind, problem=f"cannot be read: {type(error).__name__}: {error}"[:300])


def described(document: Document) -> Document:
    """With what can be told from the text itself: its language, and its date when the properties have none."""
    return replace(
        document,
        language=language_of(text for _, text in document.blocks),
        created_at=document.created_at or document_date(document.blocks),
    )
