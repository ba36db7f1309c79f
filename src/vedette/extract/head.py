"""What the head of a page declares: title, base, canonical, feeds, robots, dates, description."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from selectolax.lexbor import LexborHTMLParser

from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of
from vedette.extract.scope import fold

MAX_TITLE = 500
MAX_ELEMENTS = 2000  # of the head that are read
MAX_METADATA = 64
MAX_VALUE = 2000
MAX_FEEDS = 50
MAX_JSON_LD = 1 << 16
MAX_TIMES = 5

FEED_TYPES = frozenset(
    ("application/rss+xml", "application/atom+xml", "application/feed+json", "application/rdf+xml")
)
PUBLISHED = (
    "article:published_time",
    "datepublished",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.date",
    "dc.date",
    "date",
    "pubdate",
)
MODIFIED = ("article:modified_time", "og:updated_time", "datemodified", "dcterms.modified", "last-modified")
ROBOTS = ("robots", "googlebot", "vedette")
_IN_JSON_LD = {
    "published": re.compile(r'"datePublished"\s*:\s*"([^"]{4,40})"'),
    "modified": re.compile(r'"dateModified"\s*:\s*"([^"]{4,40})"'),
}


@dataclass(slots=True)
class HeadFacts:
    """Filled element by element; handed on as fields of an Extraction."""

    base: str
    title: str = ""
    canonical_href: str = ""
    canonical: str | None = None
    language: str = ""
    feeds: tuple[str, ...] = ()
    feed_hrefs: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    published_at: datetime | None = None
    modified_at: datetime | None = None
    is_noindex: bool = False
    is_nofollow: bool = False


def read_head(tree: LexborHTMLParser, url: str) -> HeadFacts:
    """Everything the head says, read once.  A canonical of another host is not believed."""
    facts = HeadFacts(base=url)
    root, head = tree.root, tree.head
    if root is not None:
        facts.language = (root.attributes.get("lang") or "")[:35].strip().lower()
    if head is not None:
        for count, node in enumerate(head.iter()):
            if count >= MAX_ELEMENTS:
                break
            tag = node.tag
            if tag == "title":
                facts.title = facts.title or _short(node.text())
            elif tag in _READERS:
                _READERS[tag](facts, node.attributes)
    _resolve(facts, url)
    _robots(facts)
    _dates(facts, tree)
    return facts


def _short(title: str) -> str:
    return fold(title[: MAX_TITLE * 4])[:MAX_TITLE]


def _base(facts: HeadFacts, attributes: dict[str, str | None]) -> None:
    href = attributes.get("href")
    if href:
        facts.base = canonical(href, facts.base) or facts.base


def _link(facts: HeadFacts, attributes: dict[str, str | None]) -> None:
    rel, href = (attributes.get("rel") or "").lower().split(), attributes.get("href")
    if not href:
        return
    if "canonical" in rel and not facts.canonical_href:
        facts.canonical_href = href
    elif "alternate" in rel and (attributes.get("type") or "").lower() in FEED_TYPES:
        facts.feed_hrefs.append(href)


def _meta(facts: HeadFacts, attributes: dict[str, str | None]) -> None:
    get = attributes.get
    name, content = get("name") or get("property") or get("itemprop") or get("http-equiv"), get("content")
    if name and content and len(facts.metadata) < MAX_METADATA:
        facts.metadata.setdefault(name.strip().lower()[:100], content[:MAX_VALUE].replace("\ufffd", ""))


_READERS = {"base": _base, "link": _link, "meta": _meta}


def _resolve(facts: HeadFacts, url: str) -> None:
    """Once the base is known: links before <base> resolve against it too."""
    if facts.canonical_href:
        found = canonical(facts.canonical_href, facts.base)
        if found is not None and host_of(found) == host_of(url):
            facts.canonical = found
    if facts.feed_hrefs:
        feeds = (canonical(href, facts.base) for href in facts.feed_hrefs[:MAX_FEEDS])
        facts.feeds = tuple(dict.fromkeys(feed for feed in feeds if feed))


def _robots(facts: HeadFacts) -> None:
    for name in ROBOTS:
        rule = facts.metadata.get(name)
        if rule:
            words = rule.lower()
            facts.is_noindex |= "noindex" in words or "none" in words
            facts.is_nofollow |= "nofollow" in words or "none" in words


def _dates(facts: HeadFacts, tree: LexborHTMLParser) -> None:
    facts.published_at = _from_metadata(facts.metadata, PUBLISHED)
    facts.modified_at = _from_metadata(facts.metadata, MODIFIED)
    if facts.published_at is None or facts.modified_at is None:
        text = _json_ld(tree)
        facts.published_at = facts.published_at or _in_json_ld("published", text)
        facts.modified_at = facts.modified_at or _in_json_ld("modified", text)
    if facts.published_at is None:
        for node in tree.tags("time")[:MAX_TIMES]:
            facts.published_at = facts.published_at or read_date(node.attributes.get("datetime") or "")


def _json_ld(tree: LexborHTMLParser) -> str:
    scripts = [
        node
        for node in tree.tags("script")
        if (node.attributes.get("type") or "").lower() == "application/ld+json"
    ]
    return "".join(node.text()[:MAX_JSON_LD] for node in scripts[:8])


def _from_metadata(metadata: dict[str, str], names: tuple[str, ...]) -> datetime | None:
    for name in names:
        if name in metadata:
            found = read_date(metadata[name])
            if found is not None:
                return found
    return None


def _in_json_ld(which: str, text: str) -> datetime | None:
    match = _IN_JSON_LD[which].search(text) if text else None
    return read_date(match.group(1)) if match else None
