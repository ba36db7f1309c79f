"""Which entry of a JSON list is which?  By a field that names it, not by its place.

`/rates/7/value` says nothing to a reader, and one entry put in front moves all others.  Where every object of a list
has a naming field, and no two the same name, the path has it: `/rates/currency=USD/value`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# The first that names every entry, and each once.  Strong names before weak ones.
NAMES = (
    "@id", "id", "eli", "celex", "key", "code", "sifra", "valuta", "currency", "slug", "url", "href",
    "name", "naziv", "title", "naslov",
)  # fmt: skip
MAX_NAME = 80  # characters; a longer one is prose
# Many services draw these anew for every answer; as names they would make every answer look new.
_TOKEN = re.compile(r"[0-9a-fA-F-]{16,}")


def steps(entries: Sequence[object]) -> list[str]:
    """The path step of each entry: its name, or its place where the list has no names."""
    first = entries[0] if entries else None
    present = [field for field in NAMES if field in first] if isinstance(first, dict) else []
    for field in present:
        names = [_name(entry, field) for entry in entries]
        if all(names) and len(set(names)) == len(names):
            return [f"{field}={name}" for name in names]
    return [str(place) for place in range(len(entries))]


def _name(entry: object, field: str) -> str:
    """Texts and numbers name; flags, lists and drawn tokens do not.  (Numbers come here as they are written.)"""
    value = entry.get(field) if isinstance(entry, dict) else None
    if not isinstance(value, str) or len(value) > MAX_NAME or _TOKEN.fullmatch(value):
        return ""
    return value
