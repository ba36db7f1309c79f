"""Prices that a page states for programs: JSON-LD, microdata, OpenGraph, in this order.  None is guessed from text.

A line is `19.90 EUR, in stock`; where the page states several, each has its name behind it.  The number comes first,
so that rules about numbers read it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from vedette.extract.scope import fold

MOST_SCRIPTS, MOST_VALUES, MOST_PRICES = 50, 20_000, 200
MOST_WORD = 100  # characters of a name, a currency, a state
_PRICES = ("price", "lowPrice", "highPrice")
_STATES = {
    "instock": "in stock",
    "outofstock": "out of stock",
    "soldout": "sold out",
    "preorder": "pre-order",
    "presale": "pre-sale",
    "backorder": "back order",
    "limitedavailability": "few left",
    "instoreonly": "in store only",
    "onlineonly": "online only",
}
_OPEN_GRAPH = ("product", "og", "product:sale_price")


class StatedPrice(NamedTuple):
    amount: str
    currency: str = ""
    state: str = ""  # of its availability
    name: str = ""


def stated_prices(tree: LexborHTMLParser) -> list[str]:
    """A line of each, without doubles; empty where the page states none.  The tree still has its scripts."""
    found = list(dict.fromkeys(_first_stated(tree)))[:MOST_PRICES]
    return list(dict.fromkeys(_line(one, is_named=len(found) > 1) for one in found))


def _first_stated(tree: LexborHTMLParser) -> list[StatedPrice]:
    return list(_of_json_ld(tree)) or list(_of_microdata(tree)) or list(_of_open_graph(tree))


def _line(one: StatedPrice, *, is_named: bool) -> str:
    price = f"{one.amount} {one.currency}".strip()
    name = f" ({one.name})" if is_named and one.name else ""
    return f"{price}, {one.state}{name}" if one.state else f"{price}{name}"


def _of_json_ld(tree: LexborHTMLParser) -> Iterator[StatedPrice]:
    for node in tree.css("script[type='application/ld+json' i]")[:MOST_SCRIPTS]:
        try:
            value = json.loads(node.text(), strict=False)
        except (ValueError, RecursionError):
            continue
        yield from _offers(value)


def _offers(value: object) -> Iterator[StatedPrice]:
    """In the order of the document.  A name and a currency hold for what stands below them."""
    waiting: list[tuple[object, StatedPrice]] = [(value, StatedPrice(""))]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        one, above = waiting.pop()
        if isinstance(one, Mapping):
            here = _offer(one, above)
            if here.amount:
                yield here
            below = [inner for key, inner in one.items() if not (here.amount and key == "priceSpecification")]
            waiting += [(inner, here._replace(amount="")) for inner in reversed(below)]
        elif isinstance(one, list):
            waiting += [(inner, above) for inner in reversed(one)]


def _offer(row: Mapping[str, Any], above: StatedPrice) -> StatedPrice:
    amounts = (_amount(row[key]) for key in _PRICES if isinstance(row.get(key), str | int | float))
    return StatedPrice(
        amount=next(filter(None, amounts), ""),
        currency=_word(row.get("priceCurrency")) or above.currency,
        state=_state(row.get("availability")) or above.state,
        name=_word(row.get("name")) or above.name,
    )


def _of_microdata(tree: LexborHTMLParser) -> Iterator[StatedPrice]:
    for node in tree.css("[itemprop~=price]")[:MOST_PRICES]:
        amount = _amount(_said(node))
        scope = _scope(node)
        if amount:
            yield StatedPrice(
                amount,
                _word(_said(scope.css_first("[itemprop~=priceCurrency]"))),
                _state(_said(scope.css_first("[itemprop~=availability]"))),
                _word(_said(_scope(scope).css_first("[itemprop~=name]"))),
            )


def _scope(node: LexborNode) -> LexborNode:
    """The thing that a property is of."""
    up = node.parent
    while up is not None and up.parent is not None and "itemscope" not in up.attributes:
        up = up.parent
    return up or node


def _said(node: LexborNode | None) -> str:
    if node is None:
        return ""
    said = node.attributes
    return said.get("content") or said.get("href") or said.get("value") or node.text()


def _of_open_graph(tree: LexborHTMLParser) -> Iterator[StatedPrice]:
    told = {
        (node.attributes.get("property") or "").lower(): node.attributes.get("content") or ""
        for node in tree.css("meta[property]")
    }
    for prefix in _OPEN_GRAPH:
        amount = _amount(told.get(f"{prefix}:price:amount") or told.get(f"{prefix}:amount") or "")
        if amount:
            currency = told.get(f"{prefix}:price:currency") or told.get(f"{prefix}:currency")
            state = told.get("product:availability") or told.get("og:availability")
            yield StatedPrice(amount, _word(currency), _state(state))
            return


def _amount(value: object) -> str:
    """`19.9`, `"19.90"` and `19,90` are one price; what is no plain number stays as it is written."""
    text = fold(str(value))[:MOST_WORD].strip()
    plain = text.replace(",", ".") if text.count(",") == 1 and "." not in text else text
    try:
        number = float(plain)
    except ValueError:
        return text if any(map(str.isdigit, text)) else ""
    if not math.isfinite(number) or abs(number) >= 1e15:
        return text
    whole, _, part = f"{number:.4f}".rstrip("0").partition(".")
    return f"{whole}.{part:0<2}"


def _state(value: object) -> str:
    """`https://schema.org/InStock`, `instock` and `in stock` are one state."""
    word = _word(value).rstrip("/").rpartition("/")[2]
    return _STATES.get(word.lower().replace(" ", "").replace("_", "").replace("-", ""), word)


def _word(value: object) -> str:
    return fold(value)[:MOST_WORD].strip() if isinstance(value, str) else ""
