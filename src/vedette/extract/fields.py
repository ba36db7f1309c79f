"""JSON, XML and plain text as fields: path and value.  Reading order and white space do not count.

What is read is in UTF-8 and is taken out of its list: who holds it nowhere else has room for its tree.

Paths start with "/", which tells a field (its name is part of what it says) from a block of a page.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from lxml import etree

from vedette.contracts.change import Block
from vedette.extract.scope import fold

MAX_FIELDS = 300_000
MAX_PATH = 500
MAX_ATTRIBUTES = 2000
MAX_LEVELS = 200  # JSON deeper than this is an attack on recursion, not data
_SAFE: dict[str, Any] = {
    "resolve_entities": False,
    "no_network": True,
    "huge_tree": False,
    "load_dtd": False,
    "dtd_validation": False,
    "remove_comments": True,
    "remove_pis": True,
    "collect_ids": False,
}


class Unreadable(ValueError):
    """The document is not what it claims to be, or is built to hurt.  The message says which."""


def json_fields(taken: list[bytes]) -> tuple[Block, ...]:
    """Every value by its JSON pointer; keys sorted (objects have no order), numbers canonical."""
    return value_fields(read_json(taken.pop().decode()))


def read_json(text: str) -> Any:
    """Numbers as texts, in one spelling."""
    try:
        return json.loads(text, parse_int=_integer, parse_float=_decimal, parse_constant=str)
    except RecursionError:
        raise Unreadable("JSON nested too deep") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {str(error)[:100]}") from None


def value_fields(value: object, path: str = "") -> tuple[Block, ...]:
    """A value of a JSON document as fields.  `path`: where it stands in it."""
    return tuple(_flatten(value, path))


def xml_fields(taken: list[bytes]) -> tuple[Block, ...]:
    """Text and attributes of every element by its path of local names."""
    markup = taken.pop()
    if not markup.startswith(b"<"):
        markup = markup.decode().lstrip().encode()  # XML allows nothing before its declaration
    try:
        found = _walk_xml(markup)
    except (etree.XMLSyntaxError, ValueError) as error:
        if isinstance(error, Unreadable):
            raise
        raise Unreadable(f"not well-formed XML: {str(error)[:100]}") from None
    return tuple(found)


def text_lines(taken: list[bytes]) -> tuple[Block, ...]:
    """The lines of a plain text that are not blank."""
    text = taken.pop().decode()
    lines = (fold(line) for line in text.splitlines()[:MAX_FIELDS])
    return tuple((f"line[{number}]", line) for number, line in enumerate(lines, 1) if line)


def safe_xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """For a tree.  No entities, no DTD, no network, libxml2's own size limits."""
    return etree.XMLParser(encoding=encoding, **_SAFE)


def _integer(digits: str) -> str:
    """As written: int() refuses 5,000 digits, and nobody counts with them."""
    return digits


def _decimal(digits: str) -> str:
    """1.50 and 1.5 and 15e-1 are one number; more digits than a float holds are left as written."""
    if len(digits) > 15:
        return digits
    number = float(digits)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _flatten(value: object, path: str = "") -> Iterator[Block]:
    stack: list[tuple[str, object, int]] = [(path, value, 0)]
    count = 0
    while stack:
        path, item, level = stack.pop()
        if level > MAX_LEVELS:
            raise Unreadable("JSON nested too deep")
        if isinstance(item, dict):
            stack.extend((_below(path, key), item[key], level + 1) for key in sorted(item, reverse=True))
        elif isinstance(item, list):
            named = zip(steps(item), item, strict=True)
            stack.extend(reversed([(_below(path, step), entry, level + 1) for step, entry in named]))
        else:
            count += 1
            if count > MAX_FIELDS:
                raise Unreadable("too many values")
            yield path or "/", _shown(item)


def _below(path: str, key: str) -> str:
    """RFC 6901."""
    return f"{path}/{_storable(key[:MAX_PATH]).replace('~', '~0').replace('/', '~1')}"


def _shown(item: object) -> str:
    if isinstance(item, str):
        return _storable(fold(item))
    return "null" if item is None else str(item).lower()  # true, false


def _storable(text: str) -> str:
    r"""Without half surrogates: JSON may spell them ("\ud800"), no store takes them."""
    text = text.replace("\0", "")
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


@dataclass(slots=True)
class _Open:
    """An element whose end is still to come."""

    path: str
    place: int  # where its text belongs among the fields
    siblings: Counter[str] = field(default_factory=Counter)
    tails: list[str] = field(default_factory=list)  # what stands behind its children that are gone


def _walk_xml(markup: bytes) -> list[Block]:
    """In the order of the document.  Each element goes once it is read: a tree takes ten times its document."""
    found: list[Block | None] = []
    stack: list[_Open] = []
    count = 0
    for event, element in etree.iterparse(
        BytesIO(markup), events=("start", "end"), encoding="utf-8", **_SAFE
    ):
        if not isinstance(element.tag, str):
            continue
        if event == "end":
            one = stack.pop()
            text = _own_text(element, one.tails)
            found[one.place] = (one.path, text) if text else None
            count += bool(text)
        else:
            if stack:
                _forget_before(element, stack[-1])
            path = _xml_path(etree.QName(element).localname, stack)
            attributes = list(_xml_attributes(element, path))
            count += len(attributes)
            found += attributes
            stack.append(_Open(path, len(found)))
            found.append(None)
        if count > MAX_FIELDS:
            raise Unreadable("too many values")
    return [one for one in found if one is not None]


def _forget_before(element: etree._Element, parent: _Open) -> None:
    """What stood before it is whole by now."""
    above = element.getparent()
    if above is not None:
        while above[0] is not element:
            parent.tails.append(above[0].tail or "")
            del above[0]


def _own_text(element: etree._Element, tails: list[str]) -> str:
    return fold(" ".join([element.text or "", *tails, *(child.tail or "" for child in element)]))


def _xml_path(name: str, stack: list[_Open]) -> str:
    if not stack:
        return f"/{name}"
    siblings = stack[-1].siblings
    siblings[name] += 1
    step = name if siblings[name] == 1 else f"{name}[{siblings[name]}]"
    return f"{stack[-1].path}/{step}"


def _xml_attributes(element: etree._Element, path: str) -> Iterator[Block]:
    if len(element.attrib) > MAX_ATTRIBUTES:  # reading them is quadratic in lxml: 20,000 take 2 s
        raise Unreadable("too many attributes")
    for name, spelled in sorted(element.items()):
        value = fold(str(spelled))
        if value:
            yield f"{path}/@{str(name).rpartition('}')[2]}", value


# Which entry of a JSON list is which?  By a field that names it, not by its place.
#
# `/rates/7/value` says nothing to a reader, and one entry put in front moves all others.  Where every object of a list
# has a naming field, and no two the same name, the path has it: `/rates/currency=USD/value`.

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
    present = [key for key in NAMES if key in first] if isinstance(first, dict) else []
    for key in present:
        names = [_name(entry, key) for entry in entries]
        if all(names) and len(set(names)) == len(names):
            return [f"{key}={name}" for name in names]
    return [str(place) for place in range(len(entries))]


def _name(entry: object, key: str) -> str:
    """Texts and numbers name; flags, lists and drawn tokens do not.  (Numbers come here as they are written.)"""
    value = entry.get(key) if isinstance(entry, dict) else None
    if not isinstance(value, str) or len(value) > MAX_NAME or _TOKEN.fullmatch(value):
        return ""
    return value
