"""Filters of other tools as steps of ours; what has no step of ours is named.

Each step is checked by itself, so that one that cannot be used loses nothing of the others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from vedette.contracts.errors import ConfigError
from vedette.contracts.filters import ELEMENTS, FilterKind
from vedette.core.filters.filter_steps import read_filters
from vedette.extract.element_filters import check_elements
from vedette.operations.formats.list_entry import Said

K = FilterKind
Taken = tuple[list[str], list[str]]  # steps, what is left out
_SLASHED = re.compile(r"^/(.*)/([a-z]*)$", re.DOTALL)
SHOWN = 80  # characters of a filter that is left out


def _checked(steps: Iterable[tuple[str, FilterKind, str]]) -> Taken:
    """The steps that can be used.  Each comes with the name it has in the file."""
    kept: list[str] = []
    left_out: list[str] = []
    for name, kind, value in steps:
        text = f"{kind.value}: {' '.join(str(value).split())}"
        try:
            check_elements(read_filters((text,)))
            read_filters((*kept, text))
        except ConfigError:
            left_out.append(f"{name} {' '.join(str(value).split())}"[:SHOWN])
        else:
            kept.append(text)
    return kept, left_out


def _texts(value: object) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [text for part in parts if isinstance(part, str) and (text := part.strip())]


def _pattern(text: str) -> str | None:
    """What stands between slashes, with its flags; None: a plain text."""
    found = _SLASHED.match(text)
    if found is None:
        return None
    flags = "".join(flag for flag in found[2] if flag in "ims")
    return f"(?{flags}){found[1]}" if flags else found[1]


def _one_of(texts: Sequence[str]) -> str:
    """Any of these texts or patterns, as the value of one step."""
    if len(texts) == 1:
        pattern = _pattern(texts[0])
        return texts[0] if pattern is None else f"/{pattern}/"
    parts = [
        pattern if (pattern := _pattern(text)) is not None else f"(?i:{re.escape(text)})" for text in texts
    ]
    return f"/{'|'.join(f'(?:{part})' for part in parts)}/"


# changedetection.io


def changedetection_filters(said: Said) -> Taken:
    """In the order in which it applies them: what is removed, what is chosen, what of the text, when it is told."""
    steps: list[tuple[str, FilterKind, str]] = []
    for text in _texts(said.get("subtractive_selectors")):
        kind, value = _selector(text)
        steps.append(
            ("subtractive_selectors", {K.CSS: K.REMOVE, K.XPATH: K.REMOVE_XPATH}.get(kind, kind), value)
        )
    chosen, mixed = _chosen(_texts(said.get("include_filters")))
    steps += chosen
    steps += [("ignore_text", K.IGNORE, _one_of([text])) for text in _texts(said.get("ignore_text"))]
    extracted = _texts(said.get("extract_text"))
    if extracted:
        patterns = [
            pattern if (pattern := _pattern(one)) is not None else re.escape(one) for one in extracted
        ]
        steps.append(("extract_text", K.REGEX, "|".join(patterns) if len(patterns) > 1 else patterns[0]))
    switches = (("sort_text_alphabetically", K.SORT, "up"), ("remove_duplicate_lines", K.UNIQUE, "true"))
    steps += [one for one in switches if said.get(one[0]) is True]
    rules, unruled = _conditions(said)
    kept, left_out = _checked([*steps, *_told(said), *rules])
    return kept, [*mixed, *left_out, *unruled]


def _selector(text: str) -> tuple[FilterKind, str]:
    """By how it begins; one that is neither is a kind that takes no such value, so that it is left out."""
    for start in ("xpath1:", "xpath:"):
        if text.startswith(start):
            return K.XPATH, text.removeprefix(start)
    if text.startswith("json:"):
        return K.JSONPATH, text.removeprefix("json:")
    if text.startswith(("jq:", "jqraw:")):
        return K.BELOW, text
    return (K.XPATH, text) if text.startswith("/") else (K.CSS, text.removeprefix("css:"))


def _chosen(texts: list[str]) -> tuple[list[tuple[str, FilterKind, str]], list[str]]:
    """All of them together, where they are of one kind."""
    found = [_selector(text) for text in texts]
    kinds = {kind for kind, _ in found}
    if len(kinds) > 1:
        return [], [f"include_filters {', '.join(texts)}"[:SHOWN]]
    between = ", " if kinds == {K.CSS} else " | "
    return [("include_filters", kind, between.join(value for _, value in found)) for kind in kinds], []


def _told(said: Said) -> list[tuple[str, FilterKind, str]]:
    """When a difference is told."""
    steps = [
        (name, kind, _one_of(texts))
        for name, kind in (("trigger_text", K.WHILE), ("text_should_not_be_present", K.UNLESS))
        if (texts := _texts(said.get(name)))
    ]
    parts = {
        "added": "filter_text_added",
        "removed": "filter_text_removed",
        "changed": "filter_text_replaced",
    }
    told = [part for part, name in parts.items() if said.get(name) is not False]
    if 0 < len(told) < len(parts):
        steps.append(("filter_text", K.ONLY, ", ".join(told)))
    return steps


_OPERATORS = {
    ("extracted_number", ">"): K.ABOVE,
    ("extracted_number", "<"): K.BELOW,
    ("page_filtered_text", "contains_regex"): K.WHILE,
    ("page_filtered_text", "!contains_regex"): K.UNLESS,
    ("page_filtered_text", "in"): K.WHILE,
    ("page_filtered_text", "!in"): K.UNLESS,
}


def _conditions(said: Said) -> tuple[list[tuple[str, FilterKind, str]], list[str]]:
    rows = said.get("conditions")
    rows = (
        [row for row in rows if isinstance(row, Mapping) and row.get("field")]
        if isinstance(rows, list)
        else []
    )
    found = [(row, _OPERATORS.get((str(row.get("field")), str(row.get("operator"))))) for row in rows]
    is_any = str(said.get("conditions_match_logic", "ALL")).upper() == "ANY" and len(rows) > 1
    unknown = any(kind is None for _, kind in found)
    if is_any and (unknown or _told(said)):  # one of them alone would say something else
        return [], ["conditions"]
    steps = [("conditions", kind, _condition(row)) for row, kind in found if kind is not None]
    if is_any:
        steps.append(("conditions", K.RULES, "any"))
    left_out = [f"conditions {_words(row)}"[:SHOWN] for row, kind in found if kind is None]
    return steps, left_out


def _condition(row: Said) -> str:
    value = str(row.get("value", ""))
    return f"/{value}/" if "regex" in str(row.get("operator")) else value


def _words(row: Said) -> str:
    return " ".join(str(row.get(name, "")) for name in ("field", "operator", "value"))


# urlwatch and webchanges

_NOTHING = frozenset("html2text strip strip_empty_lines reverse beautify format-json format_json".split())


def job_filters(job: Said) -> Taken:
    """Its `filter`, in order, and what it says of additions and deletions."""
    steps: list[tuple[str, FilterKind, str]] = []
    unknown: list[str] = []
    for name, value in _job_steps(job.get("filter", job.get("filters"))):
        made = _JOB_STEPS[name](value) if name in _JOB_STEPS else None
        if made is None and name not in _NOTHING:
            unknown.append(f"filter {name}")
        steps += [(f"filter {name}", kind, text) for kind, text in made or ()]
    steps += [
        (name, K.ONLY, part)
        for name, part in (("additions_only", "added"), ("deletions_only", "removed"))
        if job.get(name) is True
    ]
    kept, left_out = _checked(steps)
    return kept, [*unknown, *left_out]


def _job_steps(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, str):  # as older versions had it: css:.price,html2text
        for part in value.split(","):
            name, _, rest = part.partition(":")
            yield name.strip(), rest.strip()
    for one in value if isinstance(value, list) else [value] if isinstance(value, Mapping) else []:
        if isinstance(one, str):
            name, _, rest = one.partition(":")
            yield name.strip(), rest.strip()
        elif isinstance(one, Mapping) and len(one) == 1:
            name, inner = next(iter(one.items()))
            yield str(name).strip(), inner


Steps = list[tuple[FilterKind, str]] | None


def _marked(kind: FilterKind, without: FilterKind) -> Callable[[Any], Steps]:
    def steps(value: Any) -> Steps:
        said = value if isinstance(value, Mapping) else {"selector": value}
        chosen = said.get("selector") or said.get("path")
        if not isinstance(chosen, str) or set(said) - {"selector", "path", "exclude", "method"}:
            return None
        excluded = said.get("exclude")
        removed = [(without, excluded)] if isinstance(excluded, str) else []
        return [*removed, (kind, chosen)]

    return steps


def _lines(kind: FilterKind) -> Callable[[Any], Steps]:
    def steps(value: Any) -> Steps:
        said = value if isinstance(value, Mapping) else {"text": value}
        if isinstance(said.get("re"), str):
            return [(kind, f"/{said['re']}/")]
        return [(kind, said["text"])] if isinstance(said.get("text"), str) else None

    return steps


def _patterned(kind: FilterKind) -> Callable[[Any], Steps]:
    return lambda value: [(kind, f"/{value}/")] if isinstance(value, str) else None


def _substituted(value: Any) -> Steps:
    said = value if isinstance(value, Mapping) else {"pattern": value}
    pattern, put = said.get("pattern"), said.get("repl", "")
    if not isinstance(pattern, str) or not isinstance(put, str) or "\\" in put:
        return None
    mark = next((mark for mark in "/|#~" if mark not in pattern + put), "")
    return [(K.REPLACE, f"{mark}{pattern}{mark}{put}{mark}")] if mark else None


def _found(value: Any) -> Steps:
    pattern = value.get("pattern") if isinstance(value, Mapping) else value
    return [(K.REGEX, pattern)] if isinstance(pattern, str) else None


def _named(form: str) -> Callable[[Any], Steps]:
    return lambda value: [(K.CSS, form.format(value))] if isinstance(value, str) else None


def _sorting(value: Any) -> Steps:
    is_down = isinstance(value, Mapping) and value.get("reverse") is True
    return [(K.SORT, "down" if is_down else "up")]


_JOB_STEPS: dict[str, Callable[[Any], Steps]] = {
    "css": _marked(K.CSS, K.REMOVE),
    "xpath": _marked(K.XPATH, K.REMOVE_XPATH),
    "element-by-id": _named('[id="{}"]'),
    "element-by-class": _named(".{}"),
    "element-by-tag": _named("{}"),
    "keep_lines_containing": _lines(K.KEEP),
    "delete_lines_containing": _lines(K.IGNORE),
    "grep": _patterned(K.KEEP),
    "grepi": _patterned(K.IGNORE),
    "re.sub": _substituted,
    "re.findall": _found,
    "sort": _sorting,
    "remove_duplicate_lines": lambda value: [(K.UNIQUE, "true")],
    "remove-duplicate-lines": lambda value: [(K.UNIQUE, "true")],
}


# Distill


def distill_filters(config: Said) -> Taken:
    """What its selections include and exclude, and its expression."""
    selections = config.get("selections")
    frames = [frame for one in _objects(selections) for frame in _objects(one.get("frames"))]
    excluded, included = ([_rule(one) for frame in frames for one in _rules(frame, name)] for name in _PARTS)
    steps = [("selections", {K.XPATH: K.REMOVE_XPATH}.get(kind, K.REMOVE), value) for kind, value in excluded]
    kinds = {kind for kind, _ in included}
    left_out = []
    if len(kinds) == 1:
        between = ", " if kinds == {K.CSS} else " | "
        steps.append(("selections", next(iter(kinds)), between.join(value for _, value in included)))
    elif included:
        left_out.append("selections")
    pattern = config.get("regexp")
    said = pattern if isinstance(pattern, Mapping) else {"expr": pattern}
    expression, flags = (
        said.get("expr"),
        "".join(flag for flag in str(said.get("flags", "")) if flag in "ims"),
    )
    if isinstance(expression, str) and expression:
        steps.append(("regexp", K.REGEX, f"(?{flags}){expression}" if flags else expression))
    kept, unusable = _checked(steps)
    if selections and not any(text.partition(":")[0] in ELEMENTS for text in kept) and not unusable:
        left_out.append("selections")
    return kept, list(dict.fromkeys([*left_out, *unusable]))


_PARTS = ("excludes", "includes")


def _rules(frame: Said, name: str) -> list[Said]:
    return [row for row in _objects(frame.get(name)) if isinstance(row.get("expr"), str)]


def _objects(value: object) -> list[Said]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _rule(row: Said) -> tuple[FilterKind, str]:
    return (K.XPATH if row.get("type") == "xpath" else K.CSS), str(row["expr"])
