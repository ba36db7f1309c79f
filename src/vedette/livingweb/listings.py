"""How a host tells what it has: feeds, sitemaps, lists, pagers.  One table from path to document."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable, Iterator, Sequence
from email.utils import formatdate
from functools import partial
from html import escape

from vedette.livingweb.layouts import LAYOUTS
from vedette.livingweb.noise import Listing, Rendered
from vedette.livingweb.render import LIST_PATHS, iso, link_target, render_list
from vedette.livingweb.words import LABELS
from vedette.livingweb.world import LISTINGS, Host, Page

MOST_LIST_PAGES = 20  # spec 001 appendix: maxPagesPerEndpoint
SITEMAP_CHILDREN = 3
FEED_PATHS = {"rss": "/rss.xml", "atom": "/feed/atom", "rdf": "/index.rdf"}
FEED_TYPES = {"rss": "application/rss+xml", "atom": "application/atom+xml", "rdf": "application/rdf+xml"}
PAGERS = ("pager", "pagination", "page_query", "rel_next")


def listing_path(host: Host) -> str:
    """Where a reader starts."""
    if host.spec.design is not None:
        return host.spec.design.start
    kind = host.spec.listing
    if kind in FEED_PATHS:
        return FEED_PATHS[kind]
    if kind.startswith("sitemap"):
        return "/sitemap.xml.gz" if kind == "sitemap_gzip" else "/sitemap.xml"
    return "/" if kind == "crawl" else LIST_PATHS[host.spec.lang]


def source_of(host: Host, base: str) -> dict[str, object]:
    """The host as a source to watch: plain values only."""
    spec = host.spec
    if spec.design is not None:
        name, url = host.name, base + spec.design.start
        return {"name": name, "url": url, "lister": spec.design.lister, "options": dict(spec.design.options)}
    lister, options = LISTINGS[spec.listing], dict[str, object]()
    if lister in ("html_list", "pagination"):
        options["selectors"] = dict(LAYOUTS[spec.layout].selectors)
    if lister == "crawl" and not spec.trap:
        options["max_urls"] = max(200, spec.pages * 2)
    return {"name": host.name, "url": base + listing_path(host), "lister": lister, "options": options}


def alternates(host: Host) -> str:
    """What the front page says about the listing."""
    kind = host.spec.listing
    if kind not in FEED_PATHS or host.spec.design is not None:
        return ""
    title = escape(host.title)
    return f'<link rel="alternate" type="{FEED_TYPES[kind]}" title="{title}" href="{FEED_PATHS[kind]}">'


def find_listing(host: Host, target: str, t: float, where: str) -> Listing | None:
    """The listing document behind this target, if it is one."""
    if host.spec.design is not None:
        return host.spec.design.find(host, target, t, where)
    kind = host.spec.listing
    if kind in FEED_PATHS:
        return feed_listing(host, kind, t, where) if target == FEED_PATHS[kind] else None
    if kind.startswith("sitemap"):
        return _sitemap(host, target, t, where)
    return None if kind == "crawl" else _list(host, target, t)


def shown_pages(host: Host, t: float) -> list[Page]:
    """What exists now, the newest first."""
    return sorted((page for page in host.pages if page.exists(t)), key=lambda page: -page.published_at)


def mark_of(host: Host, t: float, pages: Sequence[Page], *, with_edits: bool) -> str:
    """Counts that only grow, so that no two states of a list share a mark."""
    if with_edits and host.spec.dates == "lying":
        return f"{t}"
    born = sum(page.born_at <= t for page in pages)
    gone = sum(page.gone_at <= t for page in pages)
    tells_edits = with_edits and host.spec.dates == "true"
    return f"{born}-{gone}-{sum(page.history.version(t) for page in pages) if tells_edits else ''}"


def claimed_change(host: Host, page: Page, t: float) -> float | None:
    """What the listing claims about the page's last change."""
    if host.spec.dates == "none":
        return None
    return t if host.spec.dates == "lying" else page.history.changed_at(page.history.version(t))


def feed_listing(host: Host, kind: str, t: float, where: str) -> Listing:
    pages = shown_pages(host, t)
    entries = [(page, spelled(host, page, where), claimed_change(host, page, t)) for page in pages]
    render = partial(xml_document, FEED_TYPES[kind], partial(_FEEDS[kind], host, entries, where))
    return Listing(mark_of(host, t, host.pages, with_edits=True), render)


Entries = list[tuple[Page, str, float | None]]  # page, address, claimed change


def _rss(host: Host, entries: Entries, where: str) -> Iterator[str]:
    yield f'<rss version="2.0"><channel><title>{escape(host.title)}</title><link>http://{where}/</link>'
    yield f"<description>{escape(host.title)}</description><language>{host.spec.lang}</language>\n"
    for page, address, _ in entries:
        yield f"<item><title>{escape(page.title)}</title><link>{address}</link>"
        yield f'<guid isPermaLink="false">{host.name}-{page.index}</guid>'
        yield f"<pubDate>{formatdate(page.published_at, usegmt=True)}</pubDate></item>\n"
    yield "</channel></rss>\n"


def _atom(host: Host, entries: Entries, where: str) -> Iterator[str]:
    newest = max((modified or page.published_at for page, _, modified in entries), default=0.0)
    yield f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{escape(host.title)}</title><id>tag:{host.name}</id>'
    yield f'<updated>{iso(newest)}</updated><link rel="self" href="http://{where}{FEED_PATHS["atom"]}"/>\n'
    for page, address, modified in entries:
        yield f'<entry><title>{escape(page.title)}</title><link rel="alternate" href="{address}"/>'
        yield f"<id>tag:{host.name},{page.index}</id><published>{iso(page.published_at)}</published>"
        yield f"<updated>{iso(modified or page.published_at)}</updated></entry>\n"
    yield "</feed>\n"


def _rdf(host: Host, entries: Entries, where: str) -> Iterator[str]:
    yield '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/" '
    yield 'xmlns:dc="http://purl.org/dc/elements/1.1/">\n'
    yield f'<channel rdf:about="http://{where}/"><title>{escape(host.title)}</title><link>http://{where}/</link>'
    yield f"<description>{escape(host.title)}</description><items><rdf:Seq>"
    yield "".join(f'<rdf:li rdf:resource="{address}"/>' for _, address, _ in entries)
    yield "</rdf:Seq></items></channel>\n"
    for page, address, modified in entries:
        yield f'<item rdf:about="{address}"><title>{escape(page.title)}</title><link>{address}</link>'
        yield f"<dc:date>{iso(modified or page.published_at)}</dc:date></item>\n"
    yield "</rdf:RDF>\n"


_FEEDS = {"rss": _rss, "atom": _atom, "rdf": _rdf}


def _sitemap(host: Host, target: str, t: float, where: str) -> Listing | None:
    pages, content_type = host.pages, "application/xml"
    if host.spec.listing == "sitemap_index":
        children = _children(host)
        if target == "/sitemap.xml":
            return Listing("index", partial(xml_document, content_type, partial(_index, children, where)))
        if target not in children:
            return None
        pages = pages[children.index(target) :: SITEMAP_CHILDREN]
    elif target != listing_path(host):
        return None
    elif host.spec.listing == "sitemap_gzip":
        content_type = "application/gzip"
    entries = [
        (page, spelled(host, page, where), claimed_change(host, page, t)) for page in pages if page.exists(t)
    ]
    mark = mark_of(host, t, pages, with_edits=True)
    return Listing(mark, partial(xml_document, content_type, partial(_urlset, entries)))


def _children(host: Host) -> list[str]:
    """Named type_year_issue, as the official gazette of spec 001 names them."""
    return [f"/sitemap_{1 + child % 3}_2025_{host.index + 1}.xml" for child in range(SITEMAP_CHILDREN)]


def _index(children: Sequence[str], where: str) -> Iterator[str]:
    yield '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    for path in children:
        yield f"<sitemap><loc>http://{where}{path}</loc></sitemap>\n"
    yield "</sitemapindex>\n"


def _urlset(entries: Entries) -> Iterator[str]:
    yield '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n'
    for _, address, modified in entries:
        lastmod = "" if modified is None else f"<lastmod>{iso(modified)}</lastmod>"
        yield f"<url><loc>{address}</loc>{lastmod}</url>\n"
    yield "</urlset>\n"


def xml_document(content_type: str, lines: Callable[[], Iterator[str]]) -> Rendered:
    body = ('<?xml version="1.0" encoding="UTF-8"?>\n' + "".join(lines())).encode()
    if content_type == "application/gzip":
        body = gzip.compress(body, mtime=0)
    return Rendered(content_type, (body,))


def spelled(host: Host, page: Page, where: str) -> str:
    """The address in a feed or sitemap: where the host has variants, not always as the page itself says."""
    path = page.path
    if host.spec.variants and page.index % 3 == 0 and "?" not in path and page.kind == "html":
        path = path.rstrip("/") if path.endswith("/") else path + "/"
    elif host.spec.variants and page.index % 3 == 1:
        path = link_target(path, "utm_source=feed&utm_medium=rss")
    return escape(f"http://{where}{path}")


def _list(host: Host, target: str, t: float) -> Listing | None:
    number = _list_number(host, target)
    if number is None:
        return None
    pages = shown_pages(host, t)
    size, last = len(pages), 1
    if host.spec.listing in PAGERS:
        size = max(10, math.ceil(len(host.pages) / MOST_LIST_PAGES))
        last = max(1, math.ceil(len(pages) / size))
    if number > last:
        return None
    part = pages[(number - 1) * size : number * size]
    head, pager = _pager(host, number, last) if host.spec.listing in PAGERS else ("", "")
    mark = f"{number}-{mark_of(host, t, host.pages, with_edits=False)}"
    return Listing(mark, partial(render_list, host, part, head, pager))


def _list_number(host: Host, target: str) -> int | None:
    """Which page of the list, from 1."""
    kind, start = host.spec.listing, LIST_PATHS[host.spec.lang]
    if target == start:
        return 1
    if kind not in PAGERS or not target.startswith(start):
        return None
    tail = target.removeprefix(start).removeprefix("?page=").removeprefix("?from=").removeprefix("/")
    if not tail.isdecimal() or len(tail) > 6:
        return None
    number = int(tail) + (kind == "pager")
    return number if number == 1 or (number > 1 and _list_path(host, number) == target) else None


def _list_path(host: Host, number: int) -> str:
    kind, start = host.spec.listing, LIST_PATHS[host.spec.lang]
    if number == 1:
        return start
    shapes = {"pager": f"?page={number - 1}", "pagination": f"/{number}", "page_query": f"?page={number}"}
    return start + shapes.get(kind, f"?from={number}")


def _pager(host: Host, number: int, last: int) -> tuple[str, str]:
    """What goes into the head, and what stands below the list."""
    label, kind = LABELS[host.spec.lang], host.spec.listing
    links = [f'<a href="{_list_path(host, n)}">{n}</a>' for n in range(1, last + 1) if n != number]
    if kind == "pager":
        return "", f'<ul class="pager">{"".join(f"<li>{link}</li>" for link in links)}</ul>'
    if kind == "pagination":
        return "", f'<div class="pagination">{" ".join(links)}</div>'
    if kind == "page_query":
        return "", f"<p>{' | '.join(links)}</p>"
    if number == last:
        return "", ""
    after = _list_path(host, number + 1)
    return f'<link rel="next" href="{after}">', f'<p><a rel="next" href="{after}">{label["next"]}</a></p>'
