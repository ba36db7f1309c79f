"""JSON, XML and plain text as fields: path and value.  Reading order and white space do not count.

Paths start with "/", which tells a field (its name is part of what it says) from a block of a page.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from lxml import etree

from vedette.contracts.changing import Block
from vedette.core.charset import decode
from vedette.extract.keyed import steps
from vedette.extract.scope import fold

MAX_FIELDS = 300_000
MAX_PATH = 500
MAX_ATTRIBUTES = 2000
MAX_LEVELS = 200  # JSON deeper than this is an attack on recursion, not data


class Unreadable(ValueError):
    """The document is not what it claims to be, or is built to hurt.  The message says which."""


def json_fields(body: bytes, content_type: str) -> tuple[Block, ...]:
    """Every value by its JSON pointer; keys sorted (objects have no order), numbers canonical."""
    text, _ = decode(body, content_type)
    try:
        value = json.loads(text, parse_int=_integer, parse_float=_decimal, parse_constant=str)
    except RecursionError:
        raise Unreadable("JSON nested too deep") from None
    except ValueError as error:
        raise Unreadable(f"not JSON: {str(error)[:100]}") from None
    return tuple(_flatten(value))


def xml_fields(body: bytes, content_type: str) -> tuple[Block, ...]:
    """Text and attributes of every element by its path of local names."""
    text, _ = decode(body, content_type)
    try:
        root = etree.fromstring(text.lstrip().encode("utf-8", "replace"), safe_xml_parser("utf-8"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"not well-formed XML: {str(error)[:100]}") from None
    if root is None:
        raise Unreadable("empty XML")
    return tuple(_walk_xml(root))


def text_lines(body: bytes, content_type: str) -> tuple[Block, ...]:
    """The lines of a plain text that are not blank."""
    text, _ = decode(body, content_type)
    lines = (fold(line) for line in text.splitlines()[:MAX_FIELDS])
    return tuple((f"line[{number}]", line) for number, line in enumerate(lines, 1) if line)


def safe_xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """The only XML parser of this stage: no entities, no DTD, no network, libxml2's own size limits."""
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        load_dtd=False,
        dtd_validation=False,
        remove_comments=True,
        remove_pis=True,
        collect_ids=False,
    )


def _integer(digits: str) -> str:
    """As written: int() refuses 5,000 digits, and nobody counts with them."""
    return digits


def _decimal(digits: str) -> str:
    """1.50 and 1.5 and 15e-1 are one number; more digits than a float holds are left as written."""
    if len(digits) > 15:
        return digits
    number = float(digits)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)


def _flatten(value: object) -> Iterator[Block]:
    stack: list[tuple[str, object, int]] = [("", value, 0)]
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


def _walk_xml(root: etree._Element) -> Iterator[Block]:
    stack: list[tuple[str, Counter[str]]] = []
    count = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if not isinstance(element.tag, str):
            continue
        if event == "end":
            stack.pop()
            continue
        path = _xml_path(etree.QName(element).localname, stack)
        stack.append((path, Counter()))
        for place, value in _xml_values(element, path):
            count += 1
            if count > MAX_FIELDS:
                raise Unreadable("too many values")
            yield place, value


def _xml_path(name: str, stack: list[tuple[str, Counter[str]]]) -> str:
    if not stack:
        return f"/{name}"
    parent, siblings = stack[-1]
    siblings[name] += 1
    step = name if siblings[name] == 1 else f"{name}[{siblings[name]}]"
    return f"{parent}/{step}"


def _xml_values(element: etree._Element, path: str) -> Iterator[Block]:
    if len(element.attrib) > MAX_ATTRIBUTES:  # reading them is quadratic in lxml: 20,000 take 2 s
        raise Unreadable("too many attributes")
    for name, spelled in sorted(element.items()):
        value = fold(str(spelled))
        if value:
            yield f"{path}/@{str(name).rpartition('}')[2]}", value
    parts = [element.text or ""] + [child.tail or "" for child in element]
    text = fold(" ".join(parts))
    if text:
        yield path, text
