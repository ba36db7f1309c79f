"""Changes as Atom (RFC 4287) and as JSON Feed 1.1.

Nothing of a page is markup here: titles are text, and the content is HTML that we wrote, with every character of others
escaped.  Characters that a terminal would obey or XML cannot hold are shown, as on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from xml.sax.saxutils import quoteattr

from vedette.contracts.change import Change
from vedette.contracts.words import Risk
from vedette.core.urls.canonical import shown
from vedette.report.changes import because
from vedette.report.diffs import excerpt
from vedette.report.plain import Line, dump, plain

ATOM, JSON_FEED = "application/atom+xml", "application/feed+json"
LINES = 40  # of a diff
TITLE, LINE = 160, 1000  # characters
_TAGS = {"gone": "del", "new": "ins"}
_NO_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedEntry:
    """A change, the number that people call it by, and the page that it happened on."""

    number: int
    change: Change
    url: str
    page: str  # its title
    risk: Risk
    source: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFeed:
    title: str
    updated_at: datetime
    entries: tuple[FeedEntry, ...]


@dataclass(frozen=True, slots=True)
class FeedPlace:
    """Where a feed is read: our own address, and that of the feed.  Empty: it is a file."""

    home: str = ""
    own: str = ""


NO_PLACE = FeedPlace()


def atom(feed: ChangeFeed, place: FeedPlace = NO_PLACE) -> str:
    links = [("self", place.own), ("alternate", f"{place.home}/changes")] if place.home else []
    parts = [
        '<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n',
        f"<title>{_xml(feed.title)}</title>\n<id>urn:vedette:feed:{_xml(_slug(feed.title))}</id>\n",
        f"<updated>{_time(feed.updated_at)}</updated>\n<author><name>Vedette</name></author>\n",
        *(f"<link rel={quoteattr(rel)} href={quoteattr(_clean(there))}/>\n" for rel, there in links),
        *(_atom_entry(one, place) for one in feed.entries),
        "</feed>\n",
    ]
    return "".join(parts)


def json_feed(feed: ChangeFeed, place: FeedPlace = NO_PLACE) -> str:
    addresses = {"home_page_url": f"{place.home}/changes", "feed_url": place.own} if place.home else {}
    said = {
        "version": "https://jsonfeed.org/version/1.1",
        "title": plain(feed.title),
        **addresses,
        "items": [_item(one) for one in feed.entries],
    }
    return dump(said) + "\n"


WRITERS: dict[str, tuple[str, Callable[[ChangeFeed, FeedPlace], str]]] = {
    "atom": (ATOM, atom),
    "json": (JSON_FEED, json_feed),
}


def _atom_entry(one: FeedEntry, place: FeedPlace) -> str:
    related = [("related", f"{place.home}/changes/{one.number}")] if place.home else []
    links = [("alternate", one.url), *related]
    parts = (
        f"<entry>\n<title>{_xml(_title(one))}</title>\n<id>{_name(one)}</id>\n",
        f"<published>{_time(one.change.observed_at)}</published>\n",
        f"<updated>{_time(one.updated_at)}</updated>\n",
        *(f"<link rel={quoteattr(rel)} href={quoteattr(_clean(there))}/>\n" for rel, there in links),
        f"<category term={quoteattr(one.risk.name)}/>\n<category term={quoteattr(_clean(str(one.source)))}/>\n",
        f"<summary>{_xml(_summary(one))}</summary>\n",
        f'<content type="html">{_xml(_content(one))}</content>\n</entry>\n',
    )
    return "".join(parts)


def _item(one: FeedEntry) -> dict[str, object]:
    return {
        "id": _name(one),
        "url": one.url,
        "title": _title(one),
        "summary": _summary(one),
        "content_html": _content(one),
        "date_published": one.change.observed_at,
        "date_modified": one.updated_at,
        "tags": [one.risk.name, str(one.source)],
        "_vedette": {"number": one.number, "kind": one.change.kind.value, "state": one.change.state.value},
    }


def _content(one: FeedEntry) -> str:
    """HTML with what went as <del> and what came as <ins>."""
    why = because(one.change)
    lines = "".join(f"<div>{_html(line)}</div>" for line in excerpt(one.change.comparison.diff, LINES))
    return "".join(
        (
            f"<p>{_escaped(_summary(one))}</p>",
            lines,
            f"<p>{_escaped(why)}</p>" if why else "",
            f"<p>{_escaped(shown(one.url))}, change {one.number}</p>",
        )
    )


def _html(line: Line) -> str:
    parts = []
    for style, text in line:
        tag = _TAGS.get(style)
        words = _escaped(text[:LINE])
        parts.append(f"<{tag}>{words}</{tag}>" if tag else words)
    return "".join(parts)


def _title(one: FeedEntry) -> str:
    words = f"{one.risk.name} {one.change.kind.value}: {one.page or shown(one.url)}"
    return _clean(plain(words, TITLE))


def _summary(one: FeedEntry) -> str:
    compared = one.change.comparison
    return _clean(plain(compared.summary or f"differs by {compared.layer.value}", 300))


def _name(one: FeedEntry) -> str:
    """The same for ever: a reader that has seen it shows it once."""
    return f"urn:vedette:change:{one.change.id}"


def _slug(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", title.removeprefix("Vedette: ")).strip("-").lower()


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S}Z"


def _xml(text: str) -> str:
    return escape(_clean(text), quote=False)


def _escaped(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """Without what XML cannot hold; `plain` has shown the rest."""
    return _NO_XML.sub("\ufffd", text)
