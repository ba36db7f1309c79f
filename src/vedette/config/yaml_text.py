"""YAML from outside.  Refused before it is built: nesting without end, aliases that multiply, a key said twice."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; recurses, so look first
MAX_DEPTH = 64
MAX_NODES = 2_000_000  # as they would be with every alias written out
MAX_DIGITS = 100
_MERGE = "<<"  # may stand more than once
_NUMBER = re.compile(r"[-+]?[0-9][0-9a-fA-FxXoO_:]*")
# What PyYAML lets through when a tag is put on something it does not fit (`!!bool 7`, `2026-99-99`).
_MISFITS = (ValueError, KeyError, AttributeError, TypeError, OverflowError)


class NotYaml(ValueError):
    """One line for people."""


def read_yaml(text: str) -> Any:
    """The one document of this text as plain values.  NotYaml says why not."""
    check_yaml(text)
    try:
        return yaml.load(text, Loader=LOADER)  # noqa: S506  a safe loader
    except yaml.YAMLError as error:
        raise NotYaml(one_line(error)) from None
    except _MISFITS as error:
        raise NotYaml(f"a value is not what it is written as: {one_line(error)}") from None


def line_of(text: str, place: Sequence[str | int]) -> int | None:
    """The line in which this key or entry stands, or the innermost part of the way there that stands somewhere."""
    node = yaml.compose(text, LOADER)
    line = None
    for part in place:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == part), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = (node.value[part], node.value[part])
        else:
            break
        if found is None:
            break
        key, node = found
        line = key.start_mark.line + 1
    return line


def first_tab(text: str) -> int | None:
    """The first line that is indented with a tab, which YAML does not allow."""
    lines = enumerate(text.splitlines(), 1)
    return next((number for number, line in lines if "\t" in line[: len(line) - len(line.lstrip())]), None)


def check_yaml(text: str) -> None:
    """Raises NotYaml for text that cannot be read, or is built to hurt who reads it."""
    tally = _Tally()
    try:
        for event in yaml.parse(text, Loader=LOADER):
            tally.count(event)
    except yaml.YAMLError as error:
        raise NotYaml(one_line(error)) from None


@dataclass(slots=True)
class _Open:
    """A list or a mapping whose end has not come yet."""

    anchor: str
    before: int  # nodes, when it began
    keys: dict[str, int] | None  # of a mapping: each with its line
    is_key: bool = True  # of a mapping: what comes next is one

    def take(self, key: str | None, line: int) -> None:
        """One node more.  YAML forbids a key twice, and PyYAML would silently keep the last."""
        if self.keys is None:
            return
        if self.is_key and key is not None and key != _MERGE:
            if key in self.keys:
                raise NotYaml(f"`{key[:60]}` stands in line {self.keys[key]} and again in line {line}")
            self.keys[key] = line
        self.is_key = not self.is_key


class _Tally:
    """How deep and how large the document is, and whether a key is said twice, without building it."""

    def __init__(self) -> None:
        self._nodes = 0
        self._sizes: dict[str, int] = {}  # nodes below each anchor; 0: it is still open
        self._open: list[_Open] = []

    def count(self, event: yaml.Event) -> None:
        if self._open and isinstance(event, yaml.NodeEvent):
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            self._open[-1].take(key, event.start_mark.line + 1 if event.start_mark else 0)
        match event:
            case yaml.AliasEvent(anchor=anchor):
                self._nodes += self._size_of(anchor or "")
            case yaml.ScalarEvent(anchor=anchor, value=value):
                self._nodes += 1
                self._sizes[anchor or ""] = 1
                if len(value) > MAX_DIGITS and _NUMBER.fullmatch(value):
                    raise NotYaml(f"a number of {len(value)} digits")
            case yaml.CollectionStartEvent(anchor=anchor):
                self._sizes[anchor or ""] = 0
                keys: dict[str, int] | None = {} if isinstance(event, yaml.MappingStartEvent) else None
                self._open.append(_Open(anchor or "", self._nodes, keys))
                self._nodes += 1
            case yaml.CollectionEndEvent():
                ended = self._open.pop()
                self._sizes[ended.anchor] = self._nodes - ended.before
        if len(self._open) > MAX_DEPTH:
            raise NotYaml(f"nested deeper than {MAX_DEPTH} levels")
        if self._nodes > MAX_NODES:
            raise NotYaml("its aliases multiply to more than anyone could mean")

    def _size_of(self, anchor: str) -> int:
        size = self._sizes.get(anchor, 1)
        if not size:
            raise NotYaml(f"the alias *{anchor[:40]} is inside of what it stands for")
        return size


def one_line(error: object) -> str:
    return " ".join(str(error).split())[:300]
