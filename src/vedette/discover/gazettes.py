"""Official gazettes: Narodne novine (typed sitemaps, acts by their European Legislation Identifier, ELI) and EUR-Lex.

An act has one identity and several addresses: `/clanci/sluzbeni/2013_06_73_1451.html` (year, month, issue, number) is
`/eli/sluzbeni/2013/73/1451`.  The gazette states its metadata in the ELI ontology, as JSON-LD and in the page's head:
title, kind, dates, what it is based on and about, and which later act changed it.  That last one is what a reader of a
law must not miss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from vedette.contracts.source import ActMetadata, ListerKind, Listing, Sighting
from vedette.contracts.words import Reason
from vedette.core.text.dates import read_date
from vedette.core.urls.canonical import canonical, host_of, origin_of, watch_id
from vedette.discover.data import MAX_TEXT, is_data, objects, read_data, read_json
from vedette.discover.feed import is_feed, read_feed
from vedette.discover.gather import Found, Gathering, ListingDocument, clean_title
from vedette.discover.markup import is_html, open_markup
from vedette.discover.sitemap import read_sitemap
from vedette.discover.tree import LinkPage, attribute

PARTS = {
    "sluzbeni": 1,
    "medunarodni": 2,
    "oglasni": 3,
}  # part of the gazette -> sitemap type (spec 001/3.4)
FORMS = {"html": "", "json-ld": "/json-ld", "pdf": "/pdf"}  # what is put behind an ELI
# Properties of the ELI ontology by their local name.  Those that name other acts come last.
TEXTS = (
    "title", "title_short", "title_alternative", "type_document", "number", "date_document", "date_publication",
    "first_date_entry_in_force", "date_applicability", "date_no_longer_in_force", "in_force", "version", "passed_by",
    "responsibility_of", "publisher", "jurisdiction", "language", "is_about",
)  # fmt: skip
FOLLOWED = (  # the acts that these name are watched too
    "changed_by", "amended_by", "corrected_by", "repealed_by", "consolidated_by", "changes", "amends",
)  # fmt: skip
RELATIONS = (
    *FOLLOWED, "corrects", "repeals", "consolidates", "based_on", "basis_for", "cites", "cited_by", "applies",
    "applied_by", "commences", "commenced_by", "implements", "implemented_by", "transposes", "transposed_by",
)  # fmt: skip
KNOWN = (*TEXTS, *RELATIONS)
SAME = {"publisher_agent": "publisher", "responsibility_of_agent": "responsibility_of"}
NOTED = {  # in the ledger of an act that is a listing
    "title": "title",
    "type_document": "kind",
    "number": "number",
    "date_document": "dated_on",
    "date_publication": "published_on",
    "first_date_entry_in_force": "in_force_on",
    "passed_by": "passed_by",
}
MAX_RELATED = 500
MOST_SCRIPTS = 20
_ARTICLE = re.compile(r"/clanci/([a-z-]{3,20})/(?:[a-z-]{1,20}/)?(\d{4})_(\d{2})_(\d{1,4})_(\d{1,6})\.html?$")
_ELI = re.compile(r"/eli/([a-z-]{3,20})/(\d{4})/(\d{1,4})/(\d{1,6})(?=/|$)")
_LOCAL = re.compile(r"[#:/]([A-Za-z_]{1,60})$")


@dataclass(frozen=True, slots=True)
class Act:
    """What an address of the gazette names."""

    part: str
    year: int
    issue: int
    number: int

    @property
    def eli(self) -> str:
        return f"/eli/{self.part}/{self.year}/{self.issue}/{self.number}"


def read_nn(document: ListingDocument) -> Listing:
    """A sitemap, an issue, an act or its metadata: the acts it names, in the wanted forms."""
    if is_data(document):
        return _read_act(document, read_metadata(document), "not metadata of an act: no ELI in the JSON")
    if document.body.startswith(b"\x1f\x8b") or not is_html(open_markup(document)):
        return _read_sitemap(document)
    metadata = read_metadata(document)
    return _read_act(document, metadata, "") if metadata.eli else _read_issue(document)


def act_of(url: str) -> Act | None:
    """The act behind an address of either form, on any host."""
    path = url.partition("?")[0].partition("#")[0].lower()
    article = _ARTICLE.search(path)
    if article:
        return Act(article[1], int(article[2]), int(article[4]), int(article[5]))
    eli = _ELI.search(path)
    return Act(eli[1], int(eli[2]), int(eli[3]), int(eli[4])) if eli else None


def read_metadata(document: ListingDocument) -> ActMetadata:
    """What the document says in the ELI ontology; an empty `eli` where it says nothing."""
    said = _said_in_data(read_data(document)[0]) if is_data(document) else _said_in_page(LinkPage(document))
    own, eli = act_of(document.url), ""
    found: dict[str, dict[str, None]] = {}  # values in order, each once
    for about, local, value in said:
        act, name = act_of(about), SAME.get(local, local)
        if act is None or (own is not None and act != own):
            continue
        eli = eli or act.eli
        values = found.setdefault(name, {}) if name in KNOWN else {}
        if len(values) < MAX_RELATED and value and act_of(value) != act:
            values[value if name in RELATIONS else clean_title(value)] = None
    return ActMetadata(eli=eli, said=tuple((name, tuple(found[name])) for name in KNOWN if found.get(name)))


def _read_sitemap(document: ListingDocument) -> Listing:
    listing = read_sitemap(document)
    follow = tuple(replace(child, lister=ListerKind.NN) for child in listing.follow)
    return replace(listing, sightings=tuple(_forms(document, listing.sightings)), follow=follow)


def _forms(document: ListingDocument, listed: Iterable[Sighting]) -> Iterator[Sighting]:
    """Each act in the wanted forms; what is no act passes as it is listed."""
    wanted = document.options.structured.formats
    seen: set[int] = set()
    for sighting in listed:
        act = act_of(sighting.url)
        forms = wanted if act is not None else ("html",)
        for form in forms:
            other = f"{origin_of(sighting.url)}{act.eli}{FORMS[form]}" if act and form != "html" else ""
            url = canonical(other) if other else sighting.url
            if url is not None and watch_id(url) not in seen:
                seen.add(watch_id(url))
                yield replace(
                    sighting, url=url, id=watch_id(url), is_document=sighting.is_document or form == "pdf"
                )


def _read_act(document: ListingDocument, metadata: ActMetadata, problem: str) -> Listing:
    """The other forms of the act, and the acts that changed it."""
    if not metadata.eli:
        return Listing(problem=problem)
    gathering = Gathering(document)
    _note(gathering, metadata)
    home = origin_of(document.url)
    published_at = read_date(metadata.first("date_publication"))
    for form in document.options.structured.formats:
        if FORMS[form]:
            gathering.add(
                Found(
                    href=home + metadata.eli + FORMS[form],
                    title=metadata.first("title"),
                    published_at=published_at,
                    is_document=form == "pdf",
                )
            )
    for relation in FOLLOWED:
        for act in filter(None, map(act_of, metadata.all(relation))):
            gathering.add(Found(href=home + act.eli))
    return gathering.listing()


def _note(gathering: Gathering, metadata: ActMetadata) -> None:
    for name, word in NOTED.items():
        if metadata.first(name):
            gathering.note(f"act_{word}", metadata.first(name))
    related = [(relation, address) for relation in FOLLOWED for address in metadata.all(relation)]
    for relation, address in related[:20]:
        gathering.note(f"act_{relation}", address)


def _read_issue(document: ListingDocument) -> Listing:
    """A page of the gazette that lists acts."""
    page = LinkPage(document)
    gathering = Gathering(document)
    for node, href in page.links():
        url = canonical(href, page.base)
        if url is not None and act_of(url) is not None:
            gathering.add(Found(href=url, title=clean_title(node.text(separator=" ", strip=True))))
    is_empty = not gathering.count and not gathering.has_refused
    listing = gathering.listing(problem=page.problem or ("no act is linked on this page" if is_empty else ""))
    return replace(listing, sightings=tuple(_forms(document, listing.sightings)))


Said = tuple[str, str, str]  # about which address, property, value


def _said_in_data(value: Any) -> Iterator[Said]:
    for node in objects(value):
        about = node.get("@id")
        if not isinstance(about, str) or len(about) > MAX_TEXT:
            continue
        for name, raw in list(node.items())[:200]:
            for text in _texts(raw):
                yield about, _local(name), text


def _texts(raw: Any) -> Iterator[str]:
    """The values of a property of JSON-LD, in its expanded and its short form."""
    for one in raw[:MAX_RELATED] if isinstance(raw, list) else (raw,):
        text = one.get("@value", one.get("@id")) if isinstance(one, dict) else one
        if isinstance(text, str) and len(text) <= MAX_TEXT:
            yield text


def _said_in_page(page: LinkPage) -> Iterator[Said]:
    """RDFa, `<meta about= property= content=>`, or `resource=` where the value is an address; JSON-LD in the page."""
    for node in page.tree.css("meta[property]")[:2000]:
        about = attribute(node, "about") or page.url
        value = attribute(node, "content") or attribute(node, "resource")
        yield about[:MAX_TEXT], _local(attribute(node, "property")), value[:MAX_TEXT]
    for node in page.tree.css("script[type='application/ld+json']")[:MOST_SCRIPTS]:
        yield from _said_in_data(read_json(node.text())[0])


def _local(name: str) -> str:
    match = _LOCAL.search(name)
    return match[1] if match else name[:60]


# EU acts on EUR-Lex by CELEX number, from a page, a feed, or an answer of the Publications Office (SPARQL, JSON).
#
# A CELEX number is sector, year, kind, number: 32006L0112 is directive 112 of 2006.  Sector 0 holds consolidated
# texts, which carry the day they apply from: 02006L0112-20250101.  A new one of those is how an amended directive
# shows itself.

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
    own = celex_in(document.url)
    for celex, title, published_at in named:
        if own is None or celex.text != own.text:
            _gather_act(gathering, document, celex.text, (title, celex.applies_at or published_at))
    if not problem and own is None and not gathering.count and not gathering.has_refused:
        problem = "no act is named: no address with a CELEX number"
    return gathering.listing(problem=problem)


def _gather_act(
    gathering: Gathering, document: ListingDocument, celex: str, said: tuple[str, datetime | None]
) -> None:
    """One address per wanted language; `said`: its title, and when it was published."""
    wanted = document.options.structured
    home = HOME if host_of(document.url) == OFFICE else origin_of(document.url)
    urls = (canonical(f"{home}/legal-content/{one}/TXT/?uri=CELEX:{celex}") for one in wanted.languages)
    for url in filter(None, urls):
        if wanted.celex and not celex.startswith(wanted.celex):
            gathering.refuse(url, Reason("celex", note=f"{celex} begins with none of `celex`"))
        else:
            gathering.add(Found(href=url, title=said[0], published_at=said[1]))


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
        celex = next(filter(None, (parse_celex(text) or celex_in(text) for text in texts.values())), None)
        if celex is not None:
            dates = (read_date(text) for name, text in texts.items() if "date" in name)
            yield celex, clean_title(texts.get("title", "")), next(filter(None, dates), None)


def _values(row: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, cell in list(row.items())[:50]:
        value = cell.get("value") if isinstance(cell, dict) else None
        yield name.lower(), value if isinstance(value, str) and len(value) <= MAX_TEXT else ""


def _day(digits: str | None) -> datetime | None:
    try:
        return datetime.strptime(digits, "%Y%m%d").replace(tzinfo=UTC) if digits else None
    except ValueError:
        return None
