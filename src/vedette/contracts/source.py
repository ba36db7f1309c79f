"""What the user asked us to watch, and what a lister saw there."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from vedette.contracts.words import Reason, Risk, SourceId, WatchId


class ListerKind(StrEnum):
    PAGE = "page"  # watch this URL itself
    FEED = "feed"
    SITEMAP = "sitemap"
    HTML_LIST = "html_list"
    PAGINATION = "pagination"
    CRAWL = "crawl"
    HNB = "hnb"  # exchange rates of the national bank, JSON (spec 001/5.4, as the four below)
    NN = "nn"  # Narodne novine: typed sitemaps, acts by ELI
    EURLEX = "eurlex"  # EU acts by CELEX number
    MRMS = "mrms"  # the ministry of labour, and other sites of the government's system
    HOK = "hok"  # the chamber of trades
    AUTO = "auto"  # look once, then become one of the others


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSelectors:
    """CSS selectors of one site's list page (spec 001/B.3)."""

    item: str = "article, .news-item, .vijest, .views-row, li"
    link: str = "a"
    title: str = "h1, h2, h3, h4, .title"
    date: str = "time, .date, .datum"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapBudgets:
    """How much of each class of made-up addresses a crawl takes.  The table heads `core/urls/admission.py`."""

    path_depth: int = 12
    session: int = 300
    token_names: int = 500
    calendar: int = 400
    calendar_ahead: timedelta = timedelta(days=400)
    calendar_back: timedelta = timedelta(days=30 * 365)
    facets: int = 300
    shape: int = 10_000
    content_repeat: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredOptions:
    """What a structured lister takes of its site.  Each row of the table reads its own fields."""

    currencies: tuple[str, ...] = ()  # hnb: also a watch of its own for each of these
    formats: tuple[str, ...] = ("html",)  # nn: html, json-ld, pdf; the forms in which an act is watched
    celex: tuple[str, ...] = ()  # eurlex: only numbers that begin so
    languages: tuple[str, ...] = ("HR",)  # eurlex


ANYWHERE = "*"  # in `follow_hosts`: any host


@dataclass(frozen=True, slots=True, kw_only=True)
class ListerOptions:
    """All the metadata options of spec 001/3.4, 001/11.2, plus the trap budgets."""

    url_pattern: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    start_date: datetime | None = None
    end_date: datetime | None = None
    sitemap_types: tuple[int, ...] = ()
    max_depth: int = 4
    max_urls: int | None = (
        None  # None: the lister's own (crawl 2000, spec 001/11.2; others any number, 50,000 per reading)
    )
    max_pages: int = 20
    max_sitemap_depth: int = 5
    pagination_pattern: str | None = None
    selectors: ListSelectors | None = None
    requires_headless: bool = False
    follow_hosts: tuple[str, ...] = ()  # crawl: other hosts that belong to this source; ANYWHERE: all
    hunt: bool = False  # crawl: what it finds is looked at only if the hunt chooses it
    honour_nofollow: bool = (
        True  # crawl: rel=nofollow, meta robots and X-Robots-Tag nofollow are not followed
    )
    traps: TrapBudgets = TrapBudgets()  # crawl
    structured: StructuredOptions = StructuredOptions()
    filters: tuple[str, ...] = ()  # steps between a page and its comparison (`contracts/filters.py`)
    redact: bool | None = None  # personal data is taken out of what is read; None: where the source hunts
    screenshot: bool = False  # a picture of what the browser shows is kept with each new state

    @property
    def redacts(self) -> bool:
        return self.hunt if self.redact is None else self.redact

    @property
    def takes_screenshot(self) -> bool:
        """A picture would show what redaction takes out."""
        return self.screenshot and self.requires_headless and not self.redacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What a registry, or its owner, says of a source beyond how to read it (spec 001/1.3, 001/3.3, 001/13)."""

    category: str = ""
    hierarchy: int | None = None  # 1 constitution ... 7 practice (spec 001/13.3)
    domains: tuple[str, ...] = ()  # fields of law: pausalni, pdv, doprinosi ...
    provenance: str = ""  # of its address: stated, checked, listed or inferred
    tags: tuple[str, ...] = ()  # words of the operator's own
    note: str = ""  # for whoever reads of it later


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One configured place to watch."""

    id: SourceId
    name: str
    url: str
    lister: ListerKind = ListerKind.PAGE
    options: ListerOptions = field(default_factory=ListerOptions)
    risk: Risk | None = None  # None: the classifier decides per URL
    tier: Risk = Risk.MEDIUM  # order of runs
    is_active: bool = True
    every: timedelta | None = None  # interval of its own address, whatever the policy
    scrape_frequency: timedelta | None = None  # ceiling of the interval of its own address and its listings
    retention: str = "standard"
    fetch: tuple[tuple[str, object], ...] = ()  # overrides of FetchSettings, by field name
    origin: str = "cli"  # cli | config | import | auto (spec 001/6.2)
    registered: Registered = Registered()
    muted_until: datetime | None = None  # until then its changes are recorded, and nobody is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """A lister saw this URL, and the filters of its source let it pass.  The URL is canonical."""

    url: str
    id: WatchId  # of that URL
    title: str = ""
    published_at: datetime | None = None
    modified_at: datetime | None = None  # sitemap lastmod, Atom updated: a signal, never trusted
    is_document: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Another listing to read for the same source (child sitemap, next page)."""

    url: str
    lister: ListerKind
    depth: int
    modified_at: datetime | None = None


SELECTOR_UNMATCHED = "selector_unmatched"  # the code of a note: another list was read


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What one listing document said."""

    sightings: tuple[Sighting, ...] = ()
    follow: tuple[Follow, ...] = ()
    refused: tuple[tuple[str, Reason], ...] = ()  # url, why it is not a sighting
    problem: str = ""  # the document could not be read as such a listing
    became: ListerKind | None = None  # auto: what it turned out to be
    became_url: str | None = None  # auto: where the better listing is
    notes: tuple[Reason, ...] = ()  # what the user should know of how it was read


@dataclass(frozen=True, slots=True, kw_only=True)
class ActMetadata:
    """What a gazette says of one act, in the names of the ELI ontology.  Texts as written."""

    eli: str = ""  # "/eli/sluzbeni/2013/73/1451"; empty: nothing is said
    said: tuple[tuple[str, tuple[str, ...]], ...] = ()  # property, its values; in the lister's order

    def all(self, name: str) -> tuple[str, ...]:
        return next((values for said, values in self.said if said == name), ())

    def first(self, name: str) -> str:
        return next(iter(self.all(name)), "")
