"""Prices that pages state for programs, in the three ways in which shops do."""

from __future__ import annotations

import json

import pytest
from selectolax.lexbor import LexborHTMLParser

from vedette.contracts.errors import ConfigError
from vedette.core.filters.filter_steps import read_filters
from vedette.extract.page import Page
from vedette.extract.stated_prices import stated_prices

OFFER = {
    "@type": "Offer",
    "price": 19.9,
    "priceCurrency": "EUR",
    "availability": "https://schema.org/InStock",
}
KETTLE = {"@context": "https://schema.org", "@type": "Product", "name": "Kettle 3000", "offers": OFFER}


def json_ld(*values: object) -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(one)}</script>' for one in values)


MICRODATA = """<div itemscope itemtype="https://schema.org/Product"><h1 itemprop="name">Kettle 3000</h1>
<div itemprop="offers" itemscope itemtype="https://schema.org/Offer"><b itemprop="price" content="19,90">19,90 €</b>
<meta itemprop="priceCurrency" content="EUR"><link itemprop="availability" href="http://schema.org/OutOfStock"></div></div>"""
OPEN_GRAPH = """<meta property="product:price:amount" content="5"><meta property="product:price:currency" content="USD">
<meta property="og:availability" content="in stock">"""


@pytest.mark.parametrize(
    ("markup", "lines"),
    [
        (json_ld(KETTLE), ["19.90 EUR, in stock"]),
        (json_ld({"@graph": [{"@type": "WebSite", "name": "Shop"}, KETTLE]}), ["19.90 EUR, in stock"]),
        (json_ld({"offers": {"priceSpecification": [{"price": "7.5", "priceCurrency": "EUR"}]}}), ["7.50 EUR"]),
        (
            json_ld({"name": "Red", "offers": {"price": "1"}}, {"name": "Blue", "offers": {"lowPrice": 2}}),
            ["1.00 (Red)", "2.00 (Blue)"],
        ),
        ('<script type="application/ld+json">{broken</script>' + json_ld(KETTLE), ["19.90 EUR, in stock"]),
        (json_ld({**KETTLE, "offers": {**OFFER, "price": "on request"}}), []),
        (MICRODATA, ["19.90 EUR, out of stock"]),
        (OPEN_GRAPH, ["5.00 USD, in stock"]),
        ("<p class='price'>12,90 EUR</p>", []),  # nothing is guessed
    ],
)  # fmt: skip
def test_a_stated_price_is_one_line_with_its_currency_and_stock(markup: str, lines: list[str]):
    assert stated_prices(LexborHTMLParser(f"<html><body>{markup}</body></html>")) == lines


@pytest.mark.parametrize("price", [19.9, "19.90", "19,90", "19.9000"])
def test_one_price_in_another_spelling_is_no_other_price(price: object):
    page = LexborHTMLParser(json_ld({**KETTLE, "offers": {**OFFER, "price": price}}))
    assert stated_prices(page) == ["19.90 EUR, in stock"]


def test_hostile_data_ends_as_no_price():
    deep = '<script type="application/ld+json">' + '{"a":' * 50_000 + "1" + "}" * 50_000 + "</script>"
    many = json_ld([{"price": n} for n in range(100_000)])
    assert stated_prices(LexborHTMLParser(deep)) == []
    assert len(stated_prices(LexborHTMLParser(many))) <= 200


def read(markup: str) -> Page:
    page = Page.of(
        f"<html><body>{markup}<p>{'Words. ' * 99}</p></body></html>".encode(),
        url="https://a.example/",
        content_type="text/html",
    )
    return page.filtering(read_filters(("price: true",)))


def test_the_filter_leaves_the_price_alone_or_says_that_there_is_none():
    assert [text for _, text in read(json_ld(KETTLE)).filtered("main").blocks] == ["19.90 EUR, in stock"]
    assert "states no price" in read("<p>12 EUR</p>").filtered("main").unmatched


def test_price_stands_alone_among_steps_that_choose():
    with pytest.raises(ConfigError, match="price reads the whole page"):
        read_filters(("css: .offer", "price: true"))
