"""XLS, XLSX and ODS: one block per row, sheet after sheet."""

from __future__ import annotations

import datetime as dt
import io
import zipfile

from vedette.contracts.documents import Document
from vedette.contracts.words import ContentClass
from vedette.extract.documents.marks import Blocks, cells
from vedette.extract.documents.packages import package_properties, weigh

MAX_SHEETS = 500


def read_sheets(body: bytes, kind: ContentClass) -> Document:
    from python_calamine import CalamineWorkbook

    about = Document(content_class=kind)
    if kind is not ContentClass.XLS:
        with zipfile.ZipFile(io.BytesIO(body)) as package:
            weigh(package)
            about = package_properties(package, kind)
    book = CalamineWorkbook.from_filelike(io.BytesIO(body))
    blocks = Blocks()
    names = book.sheet_names[:MAX_SHEETS]
    for name in names:
        place = blocks.place("", "sheet")
        blocks.add(place, "h", name)
        for row in book.get_sheet_by_name(name).iter_rows():
            blocks.add(place, "tr", cells(map(_shown, row)))
    return Document(
        content_class=kind,
        blocks=tuple(blocks.found),
        pages=len(names),
        title=about.title,
        author=about.author,
        created_at=about.created_at,
        modified_at=about.modified_at,
    )


def _shown(value: object) -> str:
    """A value as its reader sees it: 25 and not 25.0, a date without a clock that says midnight."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if isinstance(value, dt.datetime) and value.time() == dt.time(0):
        return value.date().isoformat()
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
