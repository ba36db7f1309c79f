"""What of a page would be compared: its lines, which part of it they are, and what is never compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from vedette.contracts.errors import InputError
from vedette.core.text.nearest import unknown

if TYPE_CHECKING:
    from vedette.config.model import Loaded
    from vedette.contracts.fetch import Extraction, Fetched
    from vedette.report.lines import Line

SCOPES = ("main", "all")
SHOWN = 12  # lines, unless all are asked for
LINE = 160  # characters of one
_PARTS = {"main": "the main part", "all": "all of the page"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    scope: str
    lines: tuple[str, ...]
    masked: tuple[str, ...]  # lines of which a part is never compared, with that part named
    chars: int
    visible: int  # characters that a reader sees, what is left out included; 0: not told


def trial(loaded: Loaded, scope: str | None, headers: dict[str, str]) -> Loaded:
    """The configuration with what is tried out in it."""
    if scope is not None and scope not in SCOPES:
        raise InputError(f"--scope: {unknown('scope', scope, SCOPES)}")
    config = loaded.config
    changed: dict[str, object] = {}
    if scope is not None:
        changed["extract"] = config.extract.model_copy(update={"scope": scope})
    if headers:
        whole = {**(config.fetch.headers or {}), **headers}
        changed["fetch"] = config.fetch.model_copy(update={"headers": whole})
    return loaded.model_copy(update={"config": config.model_copy(update=changed)})


def some_headers(given: list[str] | None) -> dict[str, str]:
    """`Name: value`, each."""
    found = {}
    for text in given or ():
        name, mark, value = text.partition(":")
        if not mark or not name.strip() or not value.strip():
            raise InputError(f"--header: {text!r} is not written as 'Name: value'")
        found[name.strip()] = value.strip()
    return found


def compared(fetched: Fetched, extraction: Extraction, scope: str) -> Compared:
    from vedette.contracts.words import DOCUMENTS
    from vedette.core.change.normalise import normalise
    from vedette.extract import blocks

    if extraction.content_class in DOCUMENTS or not fetched.body:
        lines = tuple(line for line in extraction.text.split("\n") if line)
    else:
        read = blocks(fetched.body, url=fetched.url, content_type=fetched.content_type, scope=scope)
        lines = tuple(text for _, text in read) or ((extraction.text,) if extraction.text else ())
    masked = tuple(rest for line in lines if (rest := normalise(line)) != line)
    return Compared(
        scope=scope,
        lines=lines,
        masked=masked,
        chars=len(extraction.text),
        visible=extraction.visible_chars,
    )


def compared_lines(one: Compared, *, whole: bool) -> list[Line]:
    from vedette.report.lines import line, quoted
    from vedette.report.plain import count

    if not one.lines:
        return []
    part = _PARTS[one.scope] if one.visible else "its text"
    share = f"{one.chars:,} of {one.visible:,} characters that a reader sees" if one.visible else ""
    told = [line(("dim", "  compares  "), f"{part}{': ' if share else ''}{share}")]
    told += [line(("dim", "  never     "), quoted(text, limit=LINE)) for text in one.masked[:3]]
    shown = one.lines if whole else one.lines[:SHOWN]
    told.append(line(("dim", "  text      "), count(len(one.lines), "line")))
    told += [line(("dim", "    | "), quoted(text, limit=0 if whole else LINE)) for text in shown]
    left = len(one.lines) - len(shown)
    return [*told, line(("dim", f"    {count(left, 'more line')}; --text shows all"))] if left else told
