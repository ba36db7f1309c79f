"""What a page declares in its head (title, base, canonical, feeds, robots, dates, description), and its links."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime

import re2
from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.core.text.dates import read_date
from vedette.core.urls.admission import is_marked, robots_words
from vedette.core.urls.canonical import canonical, host_of, origin_of, plain_path
from vedette.core.urls.url_shape import is_document
from vedette.extract.scope import fold

MAX_LINKS = 50_000
_HINT = re2.compile(  # asked of all links of a page at once: a third of the price of `re`
    r"\.(?:pdf|doc|xls|ppt|od[tsp]|rtf|csv|zip|7z|p7m|asice|xml|json|png|jp|gif|webp|bmp|tif)"
    r"|/(?:download|preuz|getfile|attachment|prilo|dokument|document)"
)
_DOCUMENT = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|csv|zip|7z|p7m|asice|xml|json)(?:$|[?#])"
    r"|/(?:downloads?|preuzmi|preuzimanje|getfile|attachments?|prilo[gz]i?|dokumenti?|documents?)[/?]",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|tiff?)(?:$|[?#])", re.IGNORECASE)
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


def base_of(tree: LexborHTMLParser, url: str) -> str:
    """What the links of the page resolve against."""
    facts = HeadFacts(base=url)
    for node in tree.css("head > base")[:MAX_ELEMENTS]:
        _base(facts, node.attributes)
    return facts.base


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
        href, base = facts.canonical_href, facts.base
        found = plain_path(href, origin_of(base)) or canonical(href, base)
        if found is not None and host_of(found) == host_of(url):
            facts.canonical = found
    if facts.feed_hrefs:
        feeds = (canonical(href, facts.base) for href in facts.feed_hrefs[:MAX_FEEDS])
        facts.feeds = tuple(dict.fromkeys(feed for feed in feeds if feed))


def _robots(facts: HeadFacts) -> None:
    facts.is_noindex, facts.is_nofollow = robots_words(facts.metadata)


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


def document_target(href: str, base: str) -> str | None:
    """Where a link to a document leads, without trackers and session ids; None for other links."""
    if _DOCUMENT.search(href):
        return canonical(href, base)
    url = canonical(href, base) if _IMAGE.search(href) else None
    return url if url is not None and is_document(url) else None


def links_of(tree: LexborHTMLParser) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every link, and those that the page only ever marks with nofollow."""
    nodes = tree.css("a[href]")
    nodes += tree.tags("area")
    del nodes[MAX_LINKS:]
    hrefs = [href for node in nodes if (href := node.attrs.get("href"))]
    if tree.css_first("a[rel], area[rel]") is None:  # most pages say of no link how it relates to them
        return tuple(hrefs), ()
    related: list[tuple[str, bool]] = []  # links that do: is it marked?
    for node in nodes:  # one at a time: the attributes of all links together take more than the page
        said = node.attributes
        if "rel" in said and (href := said.get("href")):
            related.append((href, is_marked(said["rel"])))
    marked = {href for href, is_so in related if is_so}
    if not marked:  # most pages mark none
        return tuple(hrefs), ()
    unmarked = Counter(hrefs) - Counter(href for href, is_so in related if is_so)
    return tuple(hrefs), tuple(sorted(marked - unmarked.keys()))


def link_chars(root: LexborNode | None, most: int) -> int:
    """How much of the text is links: what tells an index from an article.

    Links within links count twice, so it ends where the text does: hostile nesting costs no more than the page.
    """
    found = 0
    for node in [] if root is None else root.css("a[href]"):
        found += len(node.text())
        if found >= most:
            return most
    return found


def document_targets(hrefs: tuple[str, ...], root: LexborNode | None, base: str) -> tuple[str, ...]:
    """Documents that the compared part links to: a replaced PDF is a change though no word of the page is."""
    if root is None or not _HINT.search("\n".join(hrefs).lower()):
        return ()
    found = (document_target(node.attributes["href"] or "", base) for node in root.css("a[href]")[:MAX_LINKS])
    return tuple(dict.fromkeys(target for target in found if target))
