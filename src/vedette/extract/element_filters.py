"""What CSS, XPath and JSONPath steps choose of a document, before its text becomes lines.

CSS is lexbor's, XPath 1.0 is libxml2's without extensions: no file, no network, no regular expressions of Python.  An
expression may still take long; pages with such steps are read in a worker (`takes_long`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from vedette.contracts.change import Block
from vedette.contracts.errors import ConfigError
from vedette.contracts.filters import FilterKind, FilterStep, PageFilters
from vedette.contracts.words import ContentClass
from vedette.core.filters.json_path import BadPath, select
from vedette.core.filters.line_steps import FilteredLines, filter_lines
from vedette.extract.fields import Unreadable, read_json, safe_xml_parser, steps, value_fields, xml_fields
from vedette.extract.outline import blocks_of, blocks_of_parts
from vedette.extract.scope import INVISIBLE, fold
from vedette.extract.stated_prices import stated_prices
from vedette.extract.word_breaks import keep_places

K = FilterKind
MARK = "data-vedette-kept"
MOST_NODES = 50_000
SLOW_CSS = (":has(", ":is(", ":not(", ":where(", ":nth-", "~", "contains(")
_DESCENDANT = re.compile(r"[^\s>+]\s+(?=[^\s>+])")
_HTML_SAFE: dict[str, Any] = {
    "no_network": True,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
WORKS_ON = {
    K.CSS: "HTML pages",
    K.REMOVE: "HTML pages",
    K.XPATH: "HTML pages and XML",
    K.REMOVE_XPATH: "HTML pages and XML",
    K.JSONPATH: "JSON",
    K.PRICE: "HTML pages",
}
JSONS = (ContentClass.JSON, ContentClass.JSON_LD)
INSTEAD = {ContentClass.XML: "xpath", ContentClass.JSON: "jsonpath", ContentClass.JSON_LD: "jsonpath"}
INSTEAD[ContentClass.HTML] = "css or xpath"


class Unmatched(ValueError):
    """A step chooses nothing; the message says which."""


def check_elements(filters: PageFilters) -> None:
    """Raises ConfigError for the first selector that its parser does not take, before any page is asked for."""
    page = LexborHTMLParser("")
    for number, step in enumerate(filters.steps):
        where = f"filters.{number}.{step.kind}"
        if step.kind in (K.CSS, K.REMOVE):
            try:
                page.css(step.value)
            except (SelectolaxError, ValueError) as error:
                raise ConfigError(f"{where}: {step.value!r} is not a CSS selector ({error})") from None
        elif step.kind in (K.XPATH, K.REMOVE_XPATH):
            try:
                _compiled(step.value)(etree.Element("html"))  # functions and prefixes are only looked up then
            except etree.XPathError as error:
                raise ConfigError(
                    f"{where}: {step.value!r} is not an XPath 1.0 expression ({error})"
                ) from None


def takes_long(filters: PageFilters) -> bool:
    """True where the time is not bounded by the size of the page: a worker has to do it, which can be ended."""
    return any(
        step.kind in (K.XPATH, K.REMOVE_XPATH, K.JSONPATH)
        or (step.kind in (K.CSS, K.REMOVE) and _is_slow(step.value))
        for step in filters.elements
    )


def _is_slow(selector: str) -> bool:
    """Each further ancestor that is asked for (`a b c`) multiplies the work by the depth of the page.

    Measured: `.a div div div div p` on a page of 200 nested elements 12 s.
    """
    if any(sign in selector for sign in SLOW_CSS):
        return True
    return any(len(_DESCENDANT.findall(one)) > 1 for one in selector.split(","))


def misplaced(filters: PageFilters, kind: ContentClass) -> str:
    """Why the element steps cannot work on a document of this class; empty: they can."""
    for step in filters.elements:
        is_xpath = step.kind in (K.XPATH, K.REMOVE_XPATH)
        fits = kind in JSONS if step.kind is K.JSONPATH else kind is ContentClass.HTML
        if not fits and not (is_xpath and kind is ContentClass.XML):
            words = f"`{step}` works on {WORKS_ON[step.kind]}, and this is {kind.value}"
            return f"{words}; use {INSTEAD.get(kind, 'keep, ignore or regex')}"
    return ""


def chosen_html(tree: LexborHTMLParser, base: str, filters: PageFilters) -> FilteredLines:
    """The lines of what the steps leave of a page.  The tree is cut."""
    prices = stated_prices(tree) if any(step.kind is K.PRICE for step in filters.elements) else []
    keep_places(tree)
    tree.strip_tags(INVISIBLE)
    try:
        kept = _Chosen(tree, prices=prices)
        for step in filters.elements:
            kept = kept.after(step)
        return filter_lines(kept.blocks(base), filters)
    except Unmatched as error:
        return FilteredLines(unmatched=str(error))


def chosen_json(text: bytes, filters: PageFilters) -> FilteredLines:
    """The fields that the paths lead to.  One path after another reads what the one before left."""
    value: Any = read_json(text.decode())
    found: list[tuple[str, Any]] = [("", value)]
    for step in filters.elements:
        try:
            chosen = [
                (at + below, one) for at, value in found for below, one in select(value, step.value, steps)
            ]
        except BadPath as error:
            return FilteredLines(unmatched=f"`{step}`: {error}")
        if not chosen:
            return FilteredLines(unmatched=f"`{step}` matches nothing in the document")
        found = chosen
    blocks = tuple(block for at, one in found for block in value_fields(one, at))
    return filter_lines(blocks, filters)


def chosen_xml(markup: bytes, filters: PageFilters) -> FilteredLines:
    """The fields of what the expressions give.  Names are read without their namespaces."""
    try:
        root = etree.fromstring(markup.strip(), safe_xml_parser("utf-8"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise Unreadable(f"not well-formed XML: {str(error)[:100]}") from None
    for element in root.iter():
        if isinstance(element.tag, str) and "}" in element.tag:
            element.tag = element.tag.rpartition("}")[2]
    try:
        elements, texts = _xpath_steps(root, filters.elements)
    except Unmatched as error:
        return FilteredLines(unmatched=str(error))
    blocks = [block for one in elements for block in xml_fields([etree.tostring(one, with_tail=False)])]
    blocks += _text_blocks(texts)
    return filter_lines(tuple(blocks), filters)


@dataclass(slots=True)
class _Chosen:
    """What is left of a page so far: parts of its tree, or texts that an expression gave."""

    tree: LexborHTMLParser
    nodes: list[LexborNode] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    prices: list[str] = field(default_factory=list)  # that the page states
    is_whole: bool = True

    def after(self, step: FilterStep) -> _Chosen:
        if self.texts:
            raise Unmatched(f"`{step}`: the step before gives text, in which no element can be chosen")
        if step.kind is K.CSS:
            return self._css(step)
        if step.kind is K.REMOVE:
            return self._without(step)
        if step.kind is K.PRICE:
            return self._priced(step)
        return self._xpath(step)

    def _priced(self, step: FilterStep) -> _Chosen:
        if not self.prices:
            raise Unmatched(
                f"`{step}`: the page states no price (JSON-LD, microdata, OpenGraph); choose it with css"
            )
        return _Chosen(self.tree, texts=self.prices, is_whole=False)

    def blocks(self, base: str) -> tuple[Block, ...]:
        if self.is_whole:
            return blocks_of(self.tree.body, base)
        return (*blocks_of_parts(self.nodes, base), *_text_blocks(self.texts))

    def _roots(self) -> list[LexborNode]:
        root = self.tree.root
        return self.nodes if not self.is_whole else [] if root is None else [root]

    def _css(self, step: FilterStep) -> _Chosen:
        found = _outermost(node for root in self._roots() for node in root.css(step.value))
        if not found:
            raise Unmatched(f"`{step}` matches nothing on the page")
        return _Chosen(self.tree, found, is_whole=False)

    def _without(self, step: FilterStep) -> _Chosen:
        gone = _outermost(node for root in self._roots() for node in root.css(step.value))
        ids = {node.mem_id for node in gone}
        left = [node for node in self.nodes if node.mem_id not in ids]
        for node in gone:
            if node.tag not in ("html", "body"):
                node.decompose()
        if not self.is_whole and not left:
            raise Unmatched(f"`{step}` leaves nothing of the page")
        return _Chosen(self.tree, left, is_whole=self.is_whole)

    def _xpath(self, step: FilterStep) -> _Chosen:
        """In the tree of libxml2; marks say what was left before, and what is left now."""
        if not self.is_whole:
            for node in self.nodes:
                node.attrs[MARK] = "1"
        root = etree.fromstring(self.tree.html or "<html></html>", etree.HTMLParser(**_HTML_SAFE))
        if root is None:
            raise Unmatched(f"`{step}` matches nothing on the page")
        kept = None if self.is_whole else [one for one in root.iter() if MARK in one.attrib]
        for element in kept or ():
            del element.attrib[MARK]
        elements, texts = _xpath_step(root, step, kept)
        if step.kind is K.REMOVE_XPATH:
            return self._again(
                root, None if kept is None else [one for one in kept if _is_in(one, root)], step
            )
        if texts:
            return _Chosen(self.tree, [], texts, is_whole=False)
        return self._again(root, elements, step)

    def _again(self, root: etree._Element, elements: list[Any] | None, step: FilterStep) -> _Chosen:
        if elements is not None and not elements:
            raise Unmatched(f"`{step}` leaves nothing of the page")
        for element in elements or ():
            element.set(MARK, "1")
        tree = LexborHTMLParser(etree.tostring(root, method="html", encoding="unicode"))
        nodes = [] if elements is None else _outermost(tree.css(f"[{MARK}]"))
        for node in nodes:
            del node.attrs[MARK]
        return _Chosen(tree, nodes, is_whole=elements is None)


def _outermost(found: Iterable[LexborNode]) -> list[LexborNode]:
    """In document order, each once, without those that stand in another."""
    nodes: dict[int, LexborNode] = {}
    for node in found:
        if len(nodes) >= MOST_NODES:
            break
        nodes.setdefault(node.mem_id, node)
    return [node for node in nodes.values() if not _stands_in(node, nodes)]


def _stands_in(node: LexborNode, nodes: dict[int, LexborNode]) -> bool:
    above = node.parent
    while above is not None:
        if above.mem_id in nodes:
            return True
        above = above.parent
    return False


def _xpath_steps(root: etree._Element, asked: Sequence[FilterStep]) -> tuple[list[Any], list[str]]:
    kept: list[Any] | None = None
    texts: list[str] = []
    for step in asked:
        if texts:
            raise Unmatched(f"`{step}`: the step before gives text, in which no element can be chosen")
        elements, texts = _xpath_step(root, step, kept)
        if step.kind is K.XPATH:
            kept = elements
        elif kept is not None:
            kept = [one for one in kept if _is_in(one, root)]
        if kept is not None and not kept and not texts:
            raise Unmatched(f"`{step}` leaves nothing of the document")
    return ([root] if kept is None else kept), texts


def _xpath_step(
    root: etree._Element, step: FilterStep, kept: list[Any] | None
) -> tuple[list[Any], list[str]]:
    """Elements that the expression gives, or texts.  Of `remove_xpath` the elements are gone."""
    found: list[Any] = []
    try:
        for context in [root] if kept is None else kept:
            given = _compiled(step.value)(context)
            found += given if isinstance(given, list) else [given]
    except etree.XPathError as error:
        raise Unmatched(f"`{step}` cannot be evaluated: {error}") from None
    inside = None if kept is None else {id(one) for one in kept}
    elements = list({id(one): one for one in found if isinstance(one, etree._Element)}.values())[:MOST_NODES]
    if inside is not None:
        elements = [one for one in elements if any(id(up) in inside for up in (one, *one.iterancestors()))]
    chosen = {id(one) for one in elements}
    elements = [one for one in elements if not any(id(up) in chosen for up in one.iterancestors())]
    if step.kind is K.REMOVE_XPATH:
        for element in elements:
            _drop(element)
        return [], []
    texts = [_as_text(one) for one in found if not isinstance(one, etree._Element)]
    texts = [text for text in texts if text][:MOST_NODES]
    if not elements and not texts:
        raise Unmatched(f"`{step}` matches nothing on the page")
    return elements, texts


def _drop(element: Any) -> None:
    """With its text, without what stands behind it."""
    parent = element.getparent()
    if parent is None:
        return
    before, tail = element.getprevious(), element.tail or ""
    if before is None:
        parent.text = (parent.text or "") + tail
    else:
        before.tail = (before.tail or "") + tail
    parent.remove(element)


def _is_in(element: Any, root: Any) -> bool:
    return element is root or any(up is root for up in element.iterancestors())


def _as_text(value: object) -> str:
    """A text, a number or a truth that an expression gave; an attribute is its value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.15g}" if value == value else ""
    return fold(str(value))


def _text_blocks(texts: Sequence[str]) -> list[Block]:
    return [("text" if number == 1 else f"text[{number}]", text) for number, text in enumerate(texts, 1)]


@lru_cache(maxsize=256)
def _compiled(expression: str) -> etree.XPath:
    """Without the regular expressions that libexslt lends from Python: those can be made to hang."""
    return etree.XPath(expression, regexp=False, smart_strings=False)
