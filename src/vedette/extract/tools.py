"""Which tools that some documents need are not installed here?"""

from __future__ import annotations

from importlib.util import find_spec

from vedette.extract.documents.legacy import MISSING
from vedette.extract.ocr import find_tesseract


async def missing_tools(languages: str) -> frozenset[str]:
    """In the words that a look which needed them is parked with: which tool, and how to get it."""
    found = await find_tesseract(languages)
    absent = [found] if isinstance(found, str) else []
    if find_spec("kreuzberg") is None:
        absent.append(MISSING)
    return frozenset(absent)
