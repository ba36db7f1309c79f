"""From truth to HTML: a page, a list, a front page, as the layout of the host builds them.

The result is cut at the places of noise, so that a request only fills the gaps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import escape

from vedette.livingweb.documents import MAKERS
from vedette.livingweb.layouts import LAYOUTS, Anchor, Layout, View
from vedette.livingweb.noise import Noise, Rendered, encoded
from vedette.livingweb.words import LABELS, long_date
from vedette.livingweb.world import Host, Page

_MARK = re.compile(rb"\x02(\d+)\x03")
LIST_PATHS = {"hr": "/popis", "en": "/list"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What is the page's own; the rest is the host's.  Title plain, everything else HTML."""

    title: str
    text: str
    published_at: float = 0.0  # 0: as old as the host
    head: str = ""
    related: tuple[Anchor, ...] = ()
    tail: str = ""


def render_page(host: Host, page: Page, version: int, where: str) -> Rendered:
    """The page in this version; `where` is the authority that the reader used (name:port or address:port)."""
    lines = page.story.paragraphs(version)
    if page.kind != "html":
        maker = MAKERS[page.kind]
        return Rendered(maker.content_type, (maker.make(page.title, lines),))
    design = host.spec.design
    if design is not None and design.page is not None:
        return design.page(host, page, version, where)
    content = Content(
        title=page.title,
        text=_story(host, lines),
        published_at=page.published_at,
        head=f'<link rel="canonical" href="http://{where}{escape(page.path)}">',
        related=tuple(_anchor(host, host.pages[other]) for other in _neighbours(host, page.index)),
        tail=_tail(host, page),
    )
    return render_content(host, content)


def render_home(host: Host, where: str, feeds: str, tail: str = "") -> Rendered:
    """The front page: it never changes."""
    shown = _top_of_tree(host) if host.spec.listing == "crawl" else range(min(5, host.settled))
    text = layout_of(host).block.format(text=escape(f"{host.title}: {where.partition(':')[0]}"))
    anchors = tuple(_anchor(host, host.pages[index]) for index in shown)
    head = f'<link rel="canonical" href="http://{where}/">{feeds}'
    return render_content(host, Content(title=host.title, text=text, head=head, related=anchors, tail=tail))


def render_list(host: Host, pages: Sequence[Page], head: str, pager: str) -> Rendered:
    """One page of a list."""
    layout = layout_of(host)
    rows = "".join(
        layout.entry.format(
            href=_href(host, page.path),
            title=escape(page.title),
            date=long_date(page.published_at, host.spec.lang),
            iso=iso(page.published_at),
        )
        for page in pages
    )
    title = f"{LABELS[host.spec.lang]['list']}: {host.title}"
    return render_content(host, Content(title=title, text=rows.join(layout.around), head=head, tail=pager))


def render_note(host: Host, title: str, text: str) -> Rendered:
    """A page that is not part of the truth: an error, a trap, a wall.  `text` is HTML."""
    return render_content(host, Content(title=title, text=text))


def layout_of(host: Host) -> Layout:
    return host.spec.design.layout if host.spec.design is not None else LAYOUTS[host.spec.layout]


def iso(t: float) -> str:
    return datetime.fromtimestamp(t, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def link_target(path: str, more: str) -> str:
    """The path with one more part of a query."""
    return f"{path}{'&' if '?' in path else '?'}{more}"


def render_content(host: Host, content: Content) -> Rendered:
    """As the layout of the host builds it."""
    spec = host.spec
    published_at = content.published_at or host.pages[0].published_at
    view = View(
        site=escape(host.title),
        lang=spec.lang,
        title=escape(content.title),
        text=content.text,
        date=long_date(published_at, spec.lang),
        iso=iso(published_at),
        charset=spec.charset,
        head=content.head,
        nav=_nav(host),
        related=content.related,
        tail=content.tail,
        noise=_markers(spec.noise),
    )
    body = encoded(layout_of(host).page(view), spec.charset)
    cut = _MARK.split(body)
    return Rendered(
        f"text/html; charset={spec.charset}", tuple(cut[::2]), tuple(int(which) for which in cut[1::2])
    )


def _story(host: Host, lines: Sequence[str]) -> str:
    block = layout_of(host).block
    blocks = [block.format(text=escape(line, quote=False)) for line in lines]
    middle = _markers(host.spec.noise).get("middle", "")
    if middle:
        blocks.insert(len(blocks) // 2, middle)
    return "".join(blocks)


@cache
def _markers(noise: tuple[Noise, ...]) -> dict[str, str]:
    markers: dict[str, str] = {}
    for which, kind in enumerate(noise):
        markers[kind.position] = markers.get(kind.position, "") + f"\x02{which}\x03"
    return markers


def _nav(host: Host) -> tuple[Anchor, ...]:
    label = LABELS[host.spec.lang]
    nav = [("/", label["home"])]
    if host.spec.design is not None:
        return (*nav, (escape(host.spec.design.start), label["list"]))
    if host.spec.listing in ("html_list", "pager", "pagination", "page_query", "rel_next"):
        nav.append((LIST_PATHS[host.spec.lang], label["list"]))
    return tuple(nav)


def _tail(host: Host, page: Page) -> str:
    """A file to go with the text, and the forbidden print version."""
    spec, label, tail = host.spec, LABELS[host.spec.lang], ""
    if spec.documents and page.index % 3 == 0:
        document = spec.pages - spec.forbidden - 1 - page.index % spec.documents
        href, title = _anchor(host, host.pages[document])
        tail += f'<div class="files">{label["files"]}: <a href="{href}">{title}</a></div>'
    if spec.robots.kind == "rules":
        href = escape(link_target(page.path, "print=1"))
        tail += f'<div class="print"><a href="{href}">{label["print"]}</a></div>'
    return tail


def _anchor(host: Host, page: Page) -> Anchor:
    return _href(host, page.path), escape(page.title)


def _href(host: Host, path: str) -> str:
    """The path as a link, with a session id where the host's noise puts one."""
    markers = _markers(host.spec.noise)
    if "link_path" in markers:
        bare, mark, query = path.partition("?")
        path = f"{bare}{markers['link_path']}{mark}{query}"
    if "link_query" in markers:
        path = link_target(path, markers["link_query"])
    return escape(path)


def _neighbours(host: Host, index: int) -> list[int]:
    """What a page links to: on a crawl-only host its branches, everywhere some others."""
    settled = host.settled
    width = _tree_width(settled)
    branches = (
        range(width * (index + 1), min(width * (index + 2), settled)) if host.spec.listing == "crawl" else ()
    )
    others = (index + 1, index * 7 + 3, index * 13 + 5, index + settled // 2)
    return list(
        dict.fromkeys([*branches, *(other % settled for other in others if other % settled != index)])
    )


def _top_of_tree(host: Host) -> range:
    return range(min(_tree_width(host.settled), host.settled))


@cache
def _tree_width(pages: int) -> int:
    """Wide enough that every page is at most three links from the front page."""
    return next(width for width in range(1, pages + 2) if width + width**2 + width**3 >= pages)
