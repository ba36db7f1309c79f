"""Steps that a source puts between a page and its comparison: what of it is compared, and which differences are told.

A step is written `kind: value`, one line each, everywhere: vedette.yaml, `--filter`, the API, the page of a source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class FilterKind(StrEnum):
    """What a step does.  `docs/how-to/filters.md` has an example of each."""

    CSS = "css"  # of a page: what the selector matches
    XPATH = "xpath"  # of a page or XML: what the expression (1.0) gives
    JSONPATH = "jsonpath"  # of JSON: what the path leads to
    PRICE = "price"  # of a page: the prices that it states for programs, with what is in stock
    REMOVE = "remove"  # of a page: without what the CSS selector matches
    REMOVE_XPATH = "remove_xpath"  # of a page or XML
    KEEP = "keep"  # lines with this text, or /RE2/
    IGNORE = "ignore"  # lines without it
    REGEX = "regex"  # of each line what matches (RE2): its groups where it has some
    REPLACE = "replace"  # /RE2/other text/
    SORT = "sort"  # lines in order: up or down
    UNIQUE = "unique"  # each line once
    LOWER = "lower"  # capitals do not count
    APPEARS = "appears"  # told only when this text, or /RE2/, is there and was not before
    DISAPPEARS = "disappears"
    WHILE = "while"  # told only while it is there
    UNLESS = "unless"  # told only while it is not there
    BELOW = "below"  # told only when the first number is below this
    ABOVE = "above"
    CHANGED_BY = "changed_by"  # told only when the number moved by this or more: 5, or 10 %
    DECIMAL = "decimal"  # the decimal mark of numbers: . or ,
    ONLY = "only"  # told of these lines alone: added, removed, changed
    LEAST = "least"  # told when at least so much differs: 3 words, 2 lines, 5 %
    RULES = "rules"  # any: one of several rules is enough; all: each has to hold


K = FilterKind
ELEMENTS = frozenset({K.CSS, K.XPATH, K.JSONPATH, K.PRICE, K.REMOVE, K.REMOVE_XPATH})
TEXTS = frozenset({K.KEEP, K.IGNORE, K.REGEX, K.REPLACE, K.SORT, K.UNIQUE, K.LOWER})
NUMBERS = frozenset({K.BELOW, K.ABOVE, K.CHANGED_BY})
RULES = frozenset(FilterKind) - ELEMENTS - TEXTS
SWITCHES = frozenset({K.SORT, K.UNIQUE, K.LOWER, K.PRICE})  # a value may be left out


@dataclass(frozen=True, slots=True)
class FilterStep:
    kind: FilterKind
    value: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.value}"


@dataclass(frozen=True, slots=True)
class PageFilters:
    """The steps of a source, in order."""

    steps: tuple[FilterStep, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.steps)

    @property
    def elements(self) -> tuple[FilterStep, ...]:
        return tuple(step for step in self.steps if step.kind in ELEMENTS)

    @property
    def texts(self) -> tuple[FilterStep, ...]:
        return tuple(step for step in self.steps if step.kind in TEXTS)

    @property
    def rules(self) -> tuple[FilterStep, ...]:
        """Which differences are told."""
        return tuple(step for step in self.steps if step.kind in RULES)

    @property
    def reads(self) -> tuple[FilterStep, ...]:
        """What decides which text is compared."""
        return self.elements + self.texts

    def value(self, kind: FilterKind) -> str:
        """Of the last step of that kind; empty: there is none."""
        return next((step.value for step in reversed(self.steps) if step.kind is kind), "")


NO_FILTERS = PageFilters()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLeft:
    """What is left of a page after a step, for whoever tries it."""

    step: str
    lines: tuple[str, ...] = ()
    problem: str = ""  # why nothing is left
    now: str = ""  # of a rule: what it says of the page as it is


_WORDS: dict[object, str] = {None: "", True: "true", False: "false"}


def step_text(step: object) -> str:
    """A step as one line `kind: value`, from that line or from a mapping with one key.  ValueError: it is none."""
    kind: object = step
    value: object = True if isinstance(step, str) and step.strip() in SWITCHES else None
    if isinstance(step, Mapping) and len(step) == 1:
        kind, value = next(iter(step.items()))
    elif isinstance(step, str) and ":" in step:
        kind, _, value = step.partition(":")
    word = _WORDS.get(value, value) if value is None or isinstance(value, bool) else value
    is_line = isinstance(kind, str) and isinstance(word, str | int | float) and "\n" not in f"{word}".strip()
    if not is_line or not str(kind).strip():
        raise ValueError("a filter is one line `kind: value`, as in `css: .price`")
    return f"{str(kind).strip()}: {str(word).strip()}".strip()
