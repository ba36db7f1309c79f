"""Filter steps from what people write, with clear errors; nothing of a page is looked at here.

CSS and XPath are only known to their parsers: `extract/element_filters.py` checks those.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.filters import ELEMENTS, NO_FILTERS, TEXTS, FilterKind, FilterStep, PageFilters
from vedette.core.filters.json_path import BadPath, parse_paths
from vedette.core.filters.local_numbers import read_number
from vedette.core.text.nearest import unknown
from vedette.core.urls.url_shape import compile_pattern

K = FilterKind
MOST_STEPS = 50
MOST_VALUE = 2000  # characters
SWITCHES = ("true", "yes", "on")
ORDERS = {"up": False, "down": True, "true": False, "reverse": True}
PARTS = ("added", "removed", "changed")
UNITS = ("words", "lines", "%")


@lru_cache(maxsize=4096)
def read_filters(texts: tuple[str, ...]) -> PageFilters:
    """The steps.  ConfigError names the one that cannot be used, and why."""
    if not texts:
        return NO_FILTERS
    if len(texts) > MOST_STEPS:
        raise ConfigError(f"filters: {len(texts)} steps, the limit is {MOST_STEPS}")
    steps = tuple(_step(text, f"filters.{number}") for number, text in enumerate(texts))
    _check_order(steps)
    return PageFilters(steps)


def _step(text: str, where: str) -> FilterStep:
    word, _, value = text.partition(":")
    try:
        kind = FilterKind(word.strip().lower())
    except ValueError:
        if not value.strip() and " " in word.strip():
            raise ConfigError(f"{where}: a filter is one line `kind: value`, as in `css: .price`") from None
        kinds = [kind.value for kind in FilterKind]
        raise ConfigError(f"{where}: {unknown('filter', word.strip(), kinds)}") from None
    value = value.strip()
    if len(value) > MOST_VALUE:
        raise ConfigError(f"{where}.{kind}: {len(value)} characters, the limit is {MOST_VALUE}")
    if not value:
        raise ConfigError(f"{where}.{kind}: it has no value; write `{kind}: {EXAMPLES[kind]}`")
    if kind in CHECKS:
        CHECKS[kind](value, f"{where}.{kind}")
    return FilterStep(kind, value)


def _check_order(steps: tuple[FilterStep, ...]) -> None:
    """Elements are chosen before their text is; after that there are only lines."""
    text: FilterStep | None = None
    for number, step in enumerate(steps):
        if step.kind in TEXTS and text is None:
            text = step
        if step.kind in ELEMENTS and text is not None:
            words = (
                f"works on the page, and after `{text.kind}` there are only lines; put it before that step"
            )
            raise ConfigError(f"filters.{number}.{step.kind}: {words}")
    kinds = {step.kind for step in steps}
    if K.PRICE in kinds and kinds & (ELEMENTS - {K.PRICE}):
        raise ConfigError("filters: price reads the whole page; leave out the other steps that choose of it")
    if K.JSONPATH in kinds and kinds & (ELEMENTS - {K.JSONPATH}):
        raise ConfigError("filters: jsonpath reads JSON, css and xpath read pages; a document is one of them")


# What each kind takes.


def pattern_of(value: str) -> str | None:
    """What stands between slashes is RE2, anything else a plain text (None)."""
    return value[1:-1] if len(value) > 2 and value[0] == "/" == value[-1] else None


def parts_of_replacement(value: str) -> tuple[str, str]:
    """The pattern and what is put in its place.  The first character separates them, as in sed."""
    mark = value[0]
    parts = value[1:].split(mark)
    if mark.isalnum() or len(parts) not in (2, 3) or not parts[0] or (len(parts) == 3 and parts[2]):
        raise ValueError(f"{value!r} is no replacement; write /what/by what/")
    return parts[0], parts[1]


def amount_of(value: str) -> tuple[float, str]:
    """`5`, `10 %`, `3 words`: how much, and of what."""
    number = value.rstrip("% abcdefghijklmnopqrstuvwxyz")
    unit = value[len(number) :].strip().lower()
    found = read_number(number.strip(), decimal=".") if number.strip() else None
    if found is None or found < 0:
        raise ValueError(f"{value!r} is no amount")
    return found, {"word": "words", "line": "lines"}.get(unit, unit)


def parts_told(value: str) -> tuple[str, ...]:
    return tuple(word.strip().lower() for word in value.replace(",", " ").split())


def _text(value: str, where: str) -> None:
    pattern = pattern_of(value)
    if pattern is not None:
        compile_pattern(where, pattern)


def _replacement(value: str, where: str) -> None:
    try:
        pattern, _ = parts_of_replacement(value)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}") from None
    compile_pattern(where, pattern)


def _paths(value: str, where: str) -> None:
    try:
        parse_paths(value)
    except BadPath as error:
        raise ConfigError(f"{where}: {error}") from None


def _number(value: str, where: str) -> None:
    if read_number(value, decimal=".") is None:
        raise ConfigError(f"{where}: {value!r} is no number; write it like 1234.56")


def _movement(value: str, where: str) -> None:
    _amount(value, where, ("", "%"), "an amount, as in 5, or a share, as in 10 %")


def _least(value: str, where: str) -> None:
    _amount(value, where, UNITS, "a least difference; write for example 3 words, 2 lines or 5 %")


def _amount(value: str, where: str, units: tuple[str, ...], words: str) -> None:
    try:
        _, unit = amount_of(value)
    except ValueError:
        unit = "?"
    if unit not in units:
        raise ConfigError(f"{where}: {value!r} is not {words}")


def _one_of(*known: str) -> Callable[[str, str], None]:
    def check(value: str, where: str) -> None:
        if value.lower() not in known:
            raise ConfigError(f"{where}: {unknown('value', value, known)}")

    return check


def _decimal(value: str, where: str) -> None:
    if value not in (".", ","):
        raise ConfigError(f"{where}: {value!r} is no decimal mark; write a dot or a comma")


def _told(value: str, where: str) -> None:
    parts = parts_told(value)
    for part in parts:
        if part not in PARTS:
            raise ConfigError(f"{where}: {unknown('kind of line', part, PARTS)}")


CHECKS: dict[FilterKind, Callable[[str, str], Any]] = {
    K.JSONPATH: _paths,
    K.PRICE: _one_of(*SWITCHES),
    K.KEEP: _text,
    K.IGNORE: _text,
    K.REGEX: lambda value, where: compile_pattern(where, value),
    K.REPLACE: _replacement,
    K.SORT: _one_of(*ORDERS),
    K.UNIQUE: _one_of(*SWITCHES),
    K.LOWER: _one_of(*SWITCHES),
    K.APPEARS: _text,
    K.DISAPPEARS: _text,
    K.WHILE: _text,
    K.UNLESS: _text,
    K.BELOW: _number,
    K.ABOVE: _number,
    K.CHANGED_BY: _movement,
    K.DECIMAL: _decimal,
    K.ONLY: _told,
    K.LEAST: _least,
    K.RULES: _one_of("any", "all"),
}
EXAMPLES: dict[FilterKind, str] = {
    K.CSS: ".price",
    K.XPATH: "//td[2]",
    K.JSONPATH: "$.items[*].price",
    K.PRICE: "true",
    K.REMOVE: ".advert, nav",
    K.REMOVE_XPATH: "//footer",
    K.KEEP: "EUR",
    K.IGNORE: "visitors today",
    K.REGEX: r"Price: ([\d.,]+)",
    K.REPLACE: r"/\s*EUR/ €/",
    K.SORT: "up",
    K.UNIQUE: "true",
    K.LOWER: "true",
    K.APPEARS: "in stock",
    K.DISAPPEARS: "sold out",
    K.WHILE: "in stock",
    K.UNLESS: "maintenance",
    K.BELOW: "90",
    K.ABOVE: "100",
    K.CHANGED_BY: "10 %",
    K.DECIMAL: ",",
    K.ONLY: "added",
    K.LEAST: "3 words",
    K.RULES: "any",
}
