"""What a source would find at an address: its listing, read once and filtered; nothing is saved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError
from vedette.report.plain import count

if TYPE_CHECKING:
    from datetime import datetime

    from vedette.contracts.fetch import Fetched
    from vedette.contracts.source import ListerKind, Sighting, Source
    from vedette.contracts.words import Reason
    from vedette.report.lines import Line

SHOWN = 20  # of each part


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    lister: ListerKind  # what it was read as
    found: tuple[Sighting, ...]
    left_out: tuple[tuple[str, Reason], ...]
    follow: tuple[str, ...]  # further listings that would be read
    problem: str


def preview_source(url: str, lister: str | None, given: Mapping[str, Any]) -> Source | None:
    """The source that is tried; None: only the page is looked at."""
    from vedette.surface.cli.formats.entry import source_of

    keys = {name: value for name, value in given.items() if value}
    if lister is None and keys:
        raise InputError(f"--{next(iter(keys))} needs --lister")
    if lister is None:
        return None
    item = keys.pop("item", None)
    return source_of(
        {"url": url, "lister": lister.lower(), **keys, **({"selectors": {"item": item}} if item else {})},
        origin="cli",
    )


def preview(source: Source, fetched: Fetched, now: datetime) -> Preview:
    from vedette.core.urls.filters import filters_of
    from vedette.discover import ListingDocument, read_listing

    document = ListingDocument(
        url=fetched.url,
        body=fetched.body,
        content_type=fetched.content_type,
        options=source.options,
        now=now,
    )
    listing, filters = read_listing(source.lister, document), filters_of(source.options)
    judged = [(one, filters.refuse(one.url, one.published_at)) for one in listing.sightings]
    return Preview(
        lister=listing.became or source.lister,
        found=tuple(one for one, reason in judged if reason is None),
        left_out=(*listing.refused, *((one.url, reason) for one, reason in judged if reason is not None)),
        follow=tuple(one.url for one in listing.follow),
        problem=listing.problem,
    )


def preview_lines(found: Preview) -> list[Line]:
    from vedette.report.lines import line, quoted

    lines = [
        line(
            ("head", f"read as {found.lister.value}"),
            f": {len(found.found)} found, {len(found.left_out)} left out, ",
            count(len(found.follow), "further listing"),
        )
    ]
    if found.problem:
        lines.append(line(("warn", "  problem   "), quoted(found.problem)))
    rows = [(("dim", "  found     "), one.url, one.title) for one in found.found[:SHOWN]]
    rows += [
        (("warn", "  left out  "), url, reason.note or reason.code) for url, reason in found.left_out[:SHOWN]
    ]
    rows += [(("dim", "  follow    "), url, "") for url in found.follow[:SHOWN]]
    lines += [line(head, quoted(url, "mark"), "  ", quoted(said, "dim", 100)) for head, url, said in rows]
    hidden = sum(max(0, len(part) - SHOWN) for part in _parts(found))
    return [*lines, line(("dim", f"  and {hidden} more; --json gives all"))] if hidden else lines


def _parts(found: Preview) -> tuple[Sequence[object], ...]:
    return found.found, found.left_out, found.follow


def preview_json(found: Preview) -> dict[str, object]:
    return {
        "lister": found.lister.value,
        "problem": found.problem,
        "found": [
            {"url": one.url, "title": one.title, "published_at": one.published_at} for one in found.found
        ],
        "left_out": [{"url": url, "reason": r.code, "note": r.note} for url, r in found.left_out],
        "follow": list(found.follow),
    }
