"""What is wrong with a configuration: one line for each problem, in our words, with the line of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import yaml
from pydantic import ValidationError

from vedette.config.values import Section, value_words
from vedette.core.text.nearest import nearest, unknown

MOST = 20  # problems that are listed; all are counted
SHOWN = 60  # characters of a value
Place = tuple[str | int, ...]
_MAY_BE_SECRET = re.compile(r"(?=.*[A-Za-z])(?=.*\d).{8}|[:@/]", re.DOTALL)
_PYTHON_SPAN = re.compile(r"datetime\.timedelta\((?:(days|seconds)=)?(\d+)\)")
_WRAPPERS = ("function-before", "nullable")  # parts of a place that stand for nothing in the file


def tell_problems(
    error: ValidationError, model: type[Section], name: str, line_of: Callable[[Place], int | None]
) -> str:
    """The message of a ConfigError."""
    told: dict[str, None] = {}
    listed: set[Place] = set()  # sections whose keys were named
    for problem in error.errors():
        place = tuple(part for part in problem["loc"] if part not in _WRAPPERS)
        line = line_of(place)
        words = _words(problem, place, model, listed)
        told[words if line is None else f"line {line}: {words}"] = None
    if len(told) == 1:
        words = next(iter(told))
        return f"{name}, {words}" if words.startswith("line ") else f"{name}: {words}"
    rest = [f"and {len(told) - MOST} more"] if len(told) > MOST else []
    return "\n  ".join([f"{name}: {len(told)} problems", *list(told)[:MOST], *rest])


def _words(problem: Any, place: Place, model: type[Section], listed: set[Place]) -> str:
    where = ".".join(str(part) for part in place)
    kind, value = problem["type"], problem.get("input")
    if kind == "extra_forbidden":
        return f"unknown key `{where}`{_hint(place, model, listed)}"
    if kind == "missing":
        return f"`{where}` is missing"
    last = next((str(part) for part in reversed(place) if isinstance(part, str)), "value")
    if kind in ("enum", "literal_error"):
        known = [word.strip("' ") for word in problem["ctx"]["expected"].replace(" or ", ",").split(",")]
        return f"`{where}`: {unknown(last, str(value), known)}"
    rule = _RULES.get(kind)
    if rule is not None:
        limits = {name: _limit(one) for name, one in problem.get("ctx", {}).items()}
        words = rule.format(value=_short(value), sort=_sort(value), ctx=limits)
        return f"`{where}`: {words}"
    message = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"`{where}`: {message.replace('Input should be', 'it must be').replace('unknown risk', f'unknown {last}')}"


# By the kind of pydantic's error.
_RULES: Mapping[str, str] = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "{value} is not a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "{value} is not a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "{value} is neither true nor false"),
    **dict.fromkeys(("string_type", "string_sub_type"), "{value} is not text"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list is needed here, not {sort}"),
    **dict.fromkeys(("dict_type", "model_type"), "keys and values are needed here, not {sort}"),
    "greater_than_equal": "{value} is too little; at least {ctx[ge]}",
    "greater_than": "{value} is too little; it must be above {ctx[gt]}",
    "less_than_equal": "{value} is too much; at most {ctx[le]}",
    "less_than": "{value} is too much; it must be below {ctx[lt]}",
    "string_too_short": "{value} is too short; at least {ctx[min_length]} characters",
    "string_too_long": "it is too long; at most {ctx[max_length]} characters",
    "too_short": "it is too short; at least {ctx[min_length]} entries",
    "string_pattern_mismatch": "{value} is not written as it must be ({ctx[pattern]})",
}


def _hint(place: Place, model: type[Section], listed: set[Place]) -> str:
    """The nearest key, or once for a section all that it knows."""
    known = _keys_at(place[:-1], model)
    near = nearest(str(place[-1]), known)
    if near:
        return f"; did you mean `{near}`?"
    if place[:-1] in listed:
        return ""
    listed.add(place[:-1])
    return f"; known keys: {', '.join(sorted(known))}"


def _keys_at(place: Sequence[str | int], model: Any) -> list[str]:
    """The keys that would be right at this place of the file."""
    for part in place:
        if isinstance(part, int) or not hasattr(model, "model_fields"):
            continue
        field = model.model_fields.get(part)
        if field is not None:
            model = _section_in(field.annotation) or model
    return list(model.model_fields) if hasattr(model, "model_fields") else []


def _section_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _section_in(inner)
        if found is not None:
            return found
    return None


def _sort(value: object) -> str:
    return next((word for kind, word in _SORTS if isinstance(value, kind)), "this")


_SORTS = (
    (bool, "true or false"),
    (str, "text"),
    (int | float, "a number"),
    (list, "a list"),
    (dict, "keys and values"),
)


def _limit(value: object) -> str:
    """A limit as people write it; pydantic has some durations as Python's own text."""
    if isinstance(value, timedelta):
        return value_words(value)
    return _PYTHON_SPAN.sub(lambda found: f"{found[2]}{(found[1] or '')[:1]}", str(value))


def _short(value: object) -> str:
    """A value as it is shown.  One that may be a secret in the wrong place is not."""
    if isinstance(value, str) and _MAY_BE_SECRET.search(value):
        return "the text that is there"
    text = value_words(value)
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


# YAML from outside.  Refused before it is built: nesting without end, aliases that multiply.

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast; recurses, so look first
MAX_DEPTH = 64
MAX_NODES = 2_000_000  # as they would be with every alias written out
MAX_DIGITS = 100
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


class _Tally:
    """How deep and how large the document is, without building it."""

    def __init__(self) -> None:
        self._nodes = 0
        self._sizes: dict[str, int] = {}  # nodes below each anchor; 0: it is still open
        self._open: list[tuple[str, int]] = []

    def count(self, event: yaml.Event) -> None:
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
                self._open.append((anchor or "", self._nodes))
                self._nodes += 1
            case yaml.CollectionEndEvent():
                anchor, before = self._open.pop()
                self._sizes[anchor] = self._nodes - before
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
