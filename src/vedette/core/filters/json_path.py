"""JSONPath (RFC 9535) over a parsed document: names, places, slices, wildcards, `..` and `[?...]`.

Several paths are joined with ` | `.  Work is counted, so that a path that multiplies itself ends with an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

MOST_WORK = 300_000  # values that are looked at
MOST_LEVELS = 100  # of a document
MOST_SEGMENTS = 40
MOST_NESTED = 10  # filters in filters
SHOWN = 80  # characters of a path in a message
Found = tuple[str, Any]  # JSON pointer, value
EntryNames = Callable[[Sequence[object]], list[str]]  # what the entries of a list are called in a pointer

_NAME = re.compile(r"[A-Za-z_\u0080-\U0010ffff][\w\u0080-\U0010ffff-]*")
_INTEGER = re.compile(r"-?\d+")
_SLICE = re.compile(r"(-?\d+)?\s*:\s*(-?\d+)?(?:\s*:\s*(-?\d+)?)?")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_OPERATOR = re.compile(r"==|!=|<=|>=|<|>")


class BadPath(ValueError):
    """It is no JSONPath, or takes too much work; the message says where."""


@dataclass(frozen=True, slots=True)
class _Test:
    """One comparison of a filter: a path below the entry, and what it is held against."""

    path: tuple[_Segment, ...]
    operator: str = ""  # empty: is it there
    literal: Any = None
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class _Segment:
    """One step down, or with `is_deep` to any level."""

    names: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    slices: tuple[tuple[int | None, int | None, int | None], ...] = ()
    tests: tuple[tuple[_Test, ...], ...] = ()  # one of these groups, of which each test
    is_all: bool = False
    is_deep: bool = False


@lru_cache(maxsize=1024)
def parse_paths(text: str) -> tuple[tuple[_Segment, ...], ...]:
    """The paths of a step."""
    reader = _Reader(text)
    paths = [reader.path("$")]
    while reader.takes("|"):
        paths.append(reader.path("$"))
    reader.end()
    return tuple(paths)


def select(value: Any, paths: str, entry_names: EntryNames) -> list[Found]:
    """What the paths lead to, in order, each value once."""
    walk = _Walk(entry_names)
    found: dict[str, Any] = {}
    for path in parse_paths(paths):
        for pointer, one in walk.follow([("", value)], path):
            found.setdefault(pointer, one)
    return list(found.items())


class _Walk:
    def __init__(self, entry_names: EntryNames) -> None:
        self._names = entry_names
        self._work = 0

    def follow(self, start: list[Found], path: tuple[_Segment, ...]) -> list[Found]:
        here = start
        for segment in path:
            found: dict[str, Any] = {}
            for pointer, value in here:
                nodes = self._below(pointer, value) if segment.is_deep else ((pointer, value),)
                for at, node in nodes:
                    for deeper, one in self._children(at, node, segment):
                        found.setdefault(deeper, one)
            here = list(found.items())
        return here

    def _below(self, pointer: str, value: Any, level: int = 0) -> Iterator[Found]:
        self._count()
        yield pointer, value
        if level < MOST_LEVELS:
            for deeper, one in self._all(pointer, value):
                yield from self._below(deeper, one, level + 1)

    def _children(self, pointer: str, value: Any, segment: _Segment) -> Iterator[Found]:
        if segment.is_all:
            yield from self._all(pointer, value)
        if isinstance(value, dict):
            yield from ((_down(pointer, name), value[name]) for name in segment.names if name in value)
        if isinstance(value, list):
            yield from self._places(pointer, value, segment)
        for deeper, one in self._all(pointer, value) if segment.tests else ():
            if any(all(self._holds(test, one) for test in group) for group in segment.tests):
                yield deeper, one

    def _places(self, pointer: str, value: list[Any], segment: _Segment) -> Iterator[Found]:
        wanted = [at + len(value) if at < 0 else at for at in segment.places]
        for start, stop, step in segment.slices:
            chosen = range(len(value))[slice(start, stop, step)]
            self._count(len(chosen))
            wanted += chosen
        names = self._names(value) if wanted else []
        yield from ((_down(pointer, names[at]), value[at]) for at in wanted if 0 <= at < len(value))

    def _all(self, pointer: str, value: Any) -> Iterator[Found]:
        if isinstance(value, dict):
            for name in value:
                self._count()
                yield _down(pointer, str(name)), value[name]
        elif isinstance(value, list):
            for name, one in zip(self._names(value), value, strict=True):
                self._count()
                yield _down(pointer, name), one

    def _holds(self, test: _Test, value: Any) -> bool:
        self._count()
        found = self.follow([("", value)], test.path)
        if not test.operator:
            return bool(found) is not test.is_negated
        return any(_compares(one, test.operator, test.literal) for _, one in found) is not test.is_negated

    def _count(self, values: int = 1) -> None:
        self._work += values
        if self._work > MOST_WORK:
            raise BadPath(f"the path looks at more than {MOST_WORK:,} values; make it narrower")


def _compares(one: Any, operator: str, literal: Any) -> bool:
    """Numbers of the document may be written as texts; they are held against numbers as numbers."""
    if isinstance(literal, float):
        try:
            one = float(one) if not isinstance(one, bool) else None
        except (TypeError, ValueError):
            one = None
    if operator in ("==", "!="):
        return (one == literal and type(one) is type(literal)) is (operator == "==")
    if one is None or type(one) is not type(literal) or isinstance(literal, bool):
        return False
    return bool(
        {"<": one < literal, "<=": one <= literal, ">": one > literal, ">=": one >= literal}[operator]
    )


def _down(pointer: str, name: str) -> str:
    """RFC 6901."""
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


class _Reader:
    """The text of a path, read from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nested = 0

    def takes(self, mark: str) -> bool:
        self._blank()
        is_there = self._text.startswith(mark, self._at)
        self._at += len(mark) if is_there else 0
        return is_there

    def end(self) -> None:
        self._blank()
        if self._at < len(self._text):
            self._fail("this is not expected")

    def path(self, root: str) -> tuple[_Segment, ...]:
        if not self.takes(root):
            self._fail(f"a path begins with {root}")
        segments: list[_Segment] = []
        while (segment := self._segment()) is not None:
            segments.append(segment)
            if len(segments) > MOST_SEGMENTS:
                self._fail(f"more than {MOST_SEGMENTS} steps")
        return tuple(segments)

    def _segment(self) -> _Segment | None:
        rest = self._text[self._at :]
        is_deep = rest.startswith("..")
        if not is_deep and not rest.startswith((".", "[")):
            return None
        if is_deep or rest.startswith("."):
            self._at += 2 if is_deep else 1
        if self._text.startswith("[", self._at):
            return self._bracket(is_deep)
        if self._text.startswith("*", self._at):
            self._at += 1
            return _Segment(is_all=True, is_deep=is_deep)
        return _Segment(names=(self._match(_NAME, "a name is missing"),), is_deep=is_deep)

    def _bracket(self, is_deep: bool) -> _Segment:
        self._at += 1
        names: list[str] = []
        places: list[int] = []
        slices: list[tuple[int | None, int | None, int | None]] = []
        tests: tuple[tuple[_Test, ...], ...] = ()
        is_all = False
        while True:
            self._blank()
            sliced = _SLICE.match(self._text, self._at)
            if self.takes("*"):
                is_all = True
            elif self.takes("?"):
                tests += self._tests()
            elif self._text[self._at : self._at + 1] in ("'", '"'):
                names.append(self._quoted())
            elif sliced is not None:
                self._at = sliced.end()
                slices.append(self._slice(sliced))
            else:
                places.append(int(self._match(_INTEGER, "a name in quotes, a place or * is missing")))
            if not self.takes(","):
                break
        if not self.takes("]"):
            self._fail("] is missing")
        return _Segment(tuple(names), tuple(places), tuple(slices), tests, is_all, is_deep)

    def _slice(self, match: re.Match[str]) -> tuple[int | None, int | None, int | None]:
        start, stop, step = (None if part is None else int(part) for part in match.groups())
        if step == 0:
            self._fail("a step of 0 leads nowhere")
        return start, stop, step

    def _tests(self) -> tuple[tuple[_Test, ...], ...]:
        self._nested += 1
        if self._nested > MOST_NESTED:
            self._fail(f"more than {MOST_NESTED} filters stand in each other")
        is_wrapped = self.takes("(")
        groups = [[self._test()]]
        while True:
            if self.takes("&&"):
                groups[-1].append(self._test())
            elif self.takes("||"):
                groups.append([self._test()])
            else:
                break
        if is_wrapped and not self.takes(")"):
            self._fail(") is missing")
        self._nested -= 1
        return tuple(tuple(group) for group in groups)

    def _test(self) -> _Test:
        is_negated = self.takes("!")
        path = self.path("@")
        self._blank()
        operator = _OPERATOR.match(self._text, self._at)
        if operator is None:
            return _Test(path, is_negated=is_negated)
        self._at = operator.end()
        return _Test(path, operator.group(), self._literal(), is_negated)

    def _literal(self) -> Any:
        self._blank()
        if self._text[self._at : self._at + 1] in ("'", '"'):
            return self._quoted()
        word = self._match(_LITERAL, "a number, a text in quotes, true, false or null is missing")
        words: dict[str, Any] = {"true": True, "false": False, "null": None}
        return words[word] if word in words else float(word)

    def _quoted(self) -> str:
        mark, start = self._text[self._at], self._at + 1
        end = self._text.find(mark, start)
        while end > 0 and self._text[end - 1] == "\\":
            end = self._text.find(mark, end + 1)
        if end < 0:
            self._fail(f"{mark} is missing")
        self._at = end + 1
        return self._text[start:end].replace(f"\\{mark}", mark).replace("\\\\", "\\")

    def _match(self, pattern: re.Pattern[str], missing: str) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            self._fail(missing)
            raise AssertionError  # `_fail` always raises
        self._at = found.end()
        return found.group()

    def _blank(self) -> None:
        while self._text[self._at : self._at + 1] == " ":
            self._at += 1

    def _fail(self, words: str) -> None:
        shown = self._text if len(self._text) <= SHOWN else f"{self._text[:SHOWN]}..."
        raise BadPath(f"{shown!r} is not a JSONPath: at character {self._at + 1} {words}")
