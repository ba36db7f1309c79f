"""What is wrong with a configuration: one line for each problem, in our words, with the line of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

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
