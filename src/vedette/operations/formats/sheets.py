"""Spreadsheets (.xlsx, .xls, .ods): the first sheet, read as CSV is."""

from __future__ import annotations

import io

from python_calamine import CalamineError, CalamineWorkbook, PasswordError

from vedette.contracts.errors import InputError
from vedette.operations.formats.entry import Parsed
from vedette.operations.formats.tables import read_rows


def read_sheet(data: bytes) -> Parsed:
    try:
        book = CalamineWorkbook.from_filelike(io.BytesIO(data))
        rows = book.get_sheet_by_index(0).to_python(skip_empty_area=False)
    except PasswordError:
        raise InputError("the spreadsheet is locked with a password") from None
    except (CalamineError, IndexError) as error:
        raise InputError(f"the spreadsheet cannot be read: {error}") from None
    worded = ((number, [_text(cell) for cell in row]) for number, row in enumerate(rows, 1))
    return read_rows(((number, cells) for number, cells in worded if any(cells)), Parsed())


def _text(cell: object) -> str:
    """A number that is whole has no point."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell).strip()
