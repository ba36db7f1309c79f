"""One HTML page: text, title, links and what its head says, from one parse."""

from __future__ import annotations

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass
from vedette.core.text.parse_cost import too_heavy
from vedette.core.urls.canonical import canonical
from vedette.core.urls.url_shape import is_document
from vedette.extract.article import narrow_to_article
from vedette.extract.head import read_head
from vedette.extract.scope import HUGE_PAGE, LARGE_PAGE, MAIN, fold, narrowed, raw_text, tree_of, visible

MAX_LINKS = 50_000
_HINT = re.compile(
    r"\.(?:pdf|doc|xls|ppt|od[tsp]|rtf|csv|zip|7z|p7m|asice|xml|json|png|jp|gif|webp|bmp|tif)"
    r"|/(?:download|preuz|getfile|attachment|prilo|dokument|document)"
)
_DOCUMENT = re.compile(
    r"\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|csv|zip|7z|p7m|asice|xml|json)(?:$|[?#])"
    r"|/(?:downloads?|preuzmi|preuzimanje|getfile|attachments?|prilo[gz]i?|dokumenti?|documents?)[/?]",
    re.IGNORECASE,
)

_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|webp|bmp|tiff?)(?:$|[?#])", re.IGNORECASE)


def read_page(taken: list[bytes], *, url: str, content_type: str, scope: str = MAIN) -> Extraction:
    """What the page says.  Markup that would take seconds comes back as a problem.

    The body is taken out of the list: who holds it nowhere else has room for its tree.
    """
    problem = too_heavy(taken[0])
    if problem:
        return Extraction(content_class=ContentClass.HTML, base=url, problem=problem)
    may_ask_password, size = b"assword" in taken[0], len(taken[0])
    in_pieces = size > LARGE_PAGE
    tree, charset = tree_of(taken, content_type)
    facts = read_head(tree, url)
    asks_password = may_ask_password and tree.css_first("input[type=password]") is not None
    hrefs, nofollow = _hrefs(tree)
    text = visible(tree, in_pieces=in_pieces)
    visible_chars = len(text)
    root: LexborNode | None = None
    if scope == MAIN:
        root, text = narrowed(tree, text)
        if root is not None and size <= HUGE_PAGE and narrow_to_article(root):
            text = raw_text(root)
    return Extraction(
        content_class=ContentClass.HTML,
        text=fold(text),
        title=facts.title,
        hrefs=hrefs,
        nofollow=nofollow,
        base=facts.base,
        canonical=facts.canonical,
        published_at=facts.published_at,
        modified_at=facts.modified_at,
        language=facts.language,
        charset=charset,
        metadata=facts.metadata or None,
        is_noindex=facts.is_noindex,
        is_nofollow=facts.is_nofollow,
        feeds=facts.feeds,
        targets=_targets(hrefs, root or tree.body, facts.base),
        asks_password=asks_password,
        visible_chars=visible_chars,
        link_chars=_link_chars(root or tree.body, len(text)),
    )


def document_target(href: str, base: str) -> str | None:
    """Where a link to a document leads, without trackers and session ids; None for other links."""
    if _DOCUMENT.search(href):
        return canonical(href, base)
    url = canonical(href, base) if _IMAGE.search(href) else None
    return url if url is not None and is_document(url) else None


def _hrefs(tree: LexborHTMLParser) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every link, and those that the page only ever marks with nofollow."""
    nodes = tree.css("a[href]")
    nodes += tree.tags("area")
    del nodes[MAX_LINKS:]
    hrefs: list[str] = []
    marked: set[str] = set()
    for node in nodes:  # one at a time: the attributes of all links together take more than the page
        href, is_marked = _link_of(node)
        hrefs += [href] if href else []
        marked |= {href} if is_marked else set()
    if marked:
        marked.difference_update(href for href, is_marked in map(_link_of, nodes) if not is_marked)
    return tuple(hrefs), tuple(sorted(marked - {""}))


def _link_of(node: LexborNode) -> tuple[str, bool]:
    """Where it leads, and whether it is marked with nofollow."""
    said = node.attributes
    return said.get("href") or "", "nofollow" in (said.get("rel") or "").lower()


def _link_chars(root: LexborNode | None, most: int) -> int:
    """How much of the text is links: what tells an index from an article.

    Links within links count twice, so it ends where the text does: hostile nesting costs no more than the page.
    """
    found = 0
    for node in [] if root is None else root.css("a[href]"):
        found += len(node.text())
        if found >= most:
            return most
    return found


def _targets(hrefs: tuple[str, ...], root: LexborNode | None, base: str) -> tuple[str, ...]:
    """Documents that the compared part links to: a replaced PDF is a change though no word of the page is."""
    if root is None or not _HINT.search("\n".join(hrefs).lower()):
        return ()
    found = (document_target(node.attributes["href"] or "", base) for node in root.css("a[href]")[:MAX_LINKS])
    return tuple(dict.fromkeys(target for target in found if target))
