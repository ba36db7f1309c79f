"""What a body says, as text and structure.  Hostile input ends as a value with a `problem`."""

from __future__ import annotations

from vedette.contracts.change import Block
from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass
from vedette.extract.classes import content_class
from vedette.extract.fields import Unreadable, json_fields, text_lines, xml_fields
from vedette.extract.outline import common_scope, page_blocks
from vedette.extract.page import read_page
from vedette.extract.scope import ALL, MAIN

__all__ = ["ALL", "MAIN", "block_pair", "blocks", "content_class", "extract", "extract_in_worker"]

JSONS = (ContentClass.JSON, ContentClass.JSON_LD)
READABLE = (*JSONS, ContentClass.XML, ContentClass.TEXT)
AT_ONCE = 1000  # fields
TITLES = ("/title", "/name", "/headline", "/rss/channel/title", "/feed/title")


def extract(body: bytes, *, url: str, content_type: str, scope: str = MAIN) -> Extraction:
    """The compared text, links and metadata of a body.  Never raises; deterministic in its arguments.

    Of a PDF or office file only the class: its text is made in a worker (`extract/documents`).
    """
    return _extract([body], url, content_type, scope)


def extract_in_worker(taken: list[bytes], url: str, content_type: str, scope: str) -> Extraction:
    """The same for a large body, which is taken out of the list."""
    return _extract(taken, url, content_type, scope)


def _extract(taken: list[bytes], url: str, content_type: str, scope: str) -> Extraction:
    kind = content_class(taken[0], url=url, content_type=content_type)
    if kind is ContentClass.HTML:
        return read_page(taken, url=url, content_type=content_type, scope=scope)
    if kind not in READABLE:
        return Extraction(content_class=kind, base=url)
    return _read_fields(kind, taken, url, content_type)


def blocks(
    body: bytes, *, url: str, content_type: str, scope: str = MAIN, is_older: bool = False
) -> tuple[Block, ...]:
    """The body as (structural path, text).  The slow view: asked for only when cheaper layers differ."""
    kind = content_class(body, url=url, content_type=content_type)
    if kind is ContentClass.HTML:
        return page_blocks(body, url=url, content_type=content_type, scope=scope, is_older=is_older)
    try:
        return _fields(kind, [body], content_type)
    except Unreadable:
        return ()


def block_pair(
    before: bytes, after: bytes, *, url: str, content_type: str, scope: str = MAIN
) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """Two states of one target, cut by one rule."""
    if scope == MAIN:
        scope = common_scope((body, content_type) for body in (before, after))
    return (
        blocks(before, url=url, content_type=content_type, scope=scope),
        blocks(after, url=url, content_type=content_type, scope=scope),
    )


def _read_fields(kind: ContentClass, taken: list[bytes], url: str, content_type: str) -> Extraction:
    try:
        found = _fields(kind, taken, content_type) if taken[0].strip() else ()
    except Unreadable as problem:
        return Extraction(content_class=kind, base=url, problem=str(problem))
    values = dict(found[:1000])
    if kind is ContentClass.JSON and "/@context" in values:
        kind = ContentClass.JSON_LD
    return Extraction(
        content_class=kind,
        text=_told(found),
        title=next((values[path][:500] for path in TITLES if path in values), ""),
        base=url,
    )


def _told(found: tuple[Block, ...]) -> str:
    """All fields as one text.  In pieces: so many fields as words beside the fields would take as much again."""
    pieces = (found[at : at + AT_ONCE] for at in range(0, len(found), AT_ONCE))
    return " ".join(
        [
            " ".join([value if path.startswith("line") else f"{path} {value}" for path, value in piece])
            for piece in pieces
        ]
    )


def _fields(kind: ContentClass, taken: list[bytes], content_type: str) -> tuple[Block, ...]:
    if kind in JSONS:
        return json_fields(taken, content_type)
    if kind is ContentClass.XML:
        return xml_fields(taken, content_type)
    return text_lines(taken, content_type) if kind is ContentClass.TEXT else ()
