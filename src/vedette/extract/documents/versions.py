"""Which readers are these?  Another version may read other text from the same bytes; that is not a change."""

from __future__ import annotations

import hashlib
import shutil
from importlib import metadata
from pathlib import Path

READER = 1  # raise it when our own reading of documents changes
PACKAGES = ("pypdfium2", "python-calamine", "kreuzberg", "lxml", "pillow")


def reader_version(languages: str) -> str:
    """A short digest of all that decides what text comes out.  Reads no file but the program's own entry."""
    parts = [str(READER), languages, *(f"{name} {_version(name)}" for name in PACKAGES), _program()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


def _program() -> str:
    found = shutil.which("tesseract")
    if found is None:
        return "no tesseract"
    entry = Path(found).resolve().stat()
    return f"tesseract {entry.st_size} {int(entry.st_mtime)}"
