"""EU acts on EUR-Lex by CELEX number, from a page, a feed, or an answer of the Publications Office (SPARQL, JSON).

A CELEX number is sector, year, kind, number: 32006L0112 is directive 112 of 2006.  Sector 0 holds consolidated texts,
which carry the day they apply from: 02006L0112-20250101.  A new one of those is how an amended directive shows itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from vedette.contracts.source import Listing
from vedette.contracts.words import Reason
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of, origin_of
from vedette.discover.data import MAX_TEXT, is_data, read_data
from vedette.discover.feed import is_feed, read_feed
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title
from vedette.discover.markup import is_html, open_markup
from vedette.discover.tree import LinkPage

HOME = "https://eur-lex.europa.eu"  # where acts are read that another host names
OFFICE = "publications.europa.eu"
MAX_BINDINGS = 50_000
_CELEX = re.compile(
    r"(?P<sector>[0-9CE])(?P<year>(?:19|20)\d{2})(?P<kind>[A-Z]{1,2})(?P<number>\d{4})"
    r"(?P<more>(?:\(\d{1,2}\))?(?:R\(\d{1,2}\))?)(?:-(?P<day>\d{8}))?"
)
_IN_URL = re.compile(
    r"(?i)(?:uri=|/)celex[:/](?P<celex>[0-9CE]\d{4}[A-Z]{1,2}\d{4}[0-9R()]{0,12}(?:-\d{8})?)"
)


@dataclass(frozen=True, slots=True)
class Celex:
    """One act, or one consolidated text of it."""

    text: str
    sector: str
    year: int
    kind: str  # R regulation, L directive, D decision ...
    number: int
    applies_at: datetime | None = None  # of a consolidated text


def read_eurlex(document: ListingDocument) -> Listing:
    """Every act that the document names, once per wanted language."""
    problem, named = _named(document)
    gathering = Gathering(document)
    wanted = document.options.structured
    home = HOME if host_of(document.url) == OFFICE else origin_of(document.url)
    own = celex_in(document.url)
    for celex, title, published_at in named:
        if own is not None and celex.text == own.text:
            continue
        for language in wanted.languages:
            url = canonical(f"{home}/legal-content/{language}/TXT/?uri=CELEX:{celex.text}")
            if url is None:
                continue
            if wanted.celex and not celex.text.startswith(wanted.celex):
                gathering.refuse(url, Reason("celex", note=f"{celex.text} begins with none of `celex`"))
                continue
            gathering.add(Found(href=url, title=title, published_at=celex.applies_at or published_at))
    if not problem and own is None and not gathering.count and not gathering.has_refused:
        problem = "no act is named: no address with a CELEX number"
    return gathering.listing(problem=problem)


def parse_celex(text: str) -> Celex | None:
    """The parts of a number, or None where it is none."""
    match = _CELEX.fullmatch(text.strip().upper())
    if match is None:
        return None
    return Celex(
        match[0], match["sector"], int(match["year"]), match["kind"], int(match["number"]), _day(match["day"])
    )


def celex_in(url: str) -> Celex | None:
    """The act that an address of EUR-Lex or of the Publications Office names."""
    match = _IN_URL.search(unquote(url[:MAX_TEXT]))
    return parse_celex(match["celex"]) if match else None


Named = tuple[Celex, str, datetime | None]  # number, title, date


def _named(document: ListingDocument) -> tuple[str, Iterator[Named]]:
    """What is wrong with the document, and what it names."""
    if is_data(document):
        value, problem = read_data(document)
        return (f"not an answer: {problem}" if problem else ""), _in_answer(value)
    markup = open_markup(document)
    if is_feed(markup):
        listing = read_feed(document)
        found = ((celex_in(entry.url), entry.title, entry.published_at) for entry in listing.sightings)
        return listing.problem, ((celex, title, at) for celex, title, at in found if celex is not None)
    if not is_html(markup) and "html" not in document.content_type.lower():
        return markup.problem or "neither a page, a feed nor JSON", iter(())
    page = LinkPage(document)
    return page.problem, _in_page(page)


def _in_page(page: LinkPage) -> Iterator[Named]:
    for node, href in page.links():
        celex = celex_in(href)
        if celex is not None:
            yield celex, clean_title(node.text(separator=" ", strip=True)), None


def _in_answer(value: Any) -> Iterator[Named]:
    """Rows of `results.bindings`: the variables are named by whoever asked, so the values decide."""
    results = value.get("results") if isinstance(value, dict) else None
    rows = results.get("bindings") if isinstance(results, dict) else None
    for row in rows[:MAX_BINDINGS] if isinstance(rows, list) else ():
        texts = {name: text for name, text in _values(row) if text} if isinstance(row, dict) else {}
        numbers = (parse_celex(text) or celex_in(text) for text in texts.values())
        celex = next((number for number in numbers if number is not None), None)
        if celex is not None:
            at = next(
                (at for name, text in texts.items() if "date" in name and (at := read_date(text))), None
            )
            yield celex, clean_title(texts.get("title", "")), at


def _values(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, cell in list(row.items())[:50]:
        value = cell.get("value") if isinstance(cell, dict) else None
        yield name.lower(), value if isinstance(value, str) and len(value) <= MAX_TEXT else ""


def _day(digits: str | None) -> datetime | None:
    try:
        return datetime.strptime(digits, "%Y%m%d").replace(tzinfo=UTC) if digits else None
    except ValueError:
        return None
