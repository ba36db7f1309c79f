"""One look by hand at a page: what would be compared, and what a source would find there.  Nothing is saved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from vedette.config.model import Loaded
from vedette.contracts.errors import InputError
from vedette.contracts.fetch import Extraction, Fetched, RobotsRules
from vedette.contracts.filters import StepLeft
from vedette.contracts.source import SELECTOR_UNMATCHED, ListerKind, ListerOptions, Source
from vedette.contracts.words import DOCUMENTS, Reason
from vedette.core.change.state import normalise
from vedette.core.text.nearest import unknown
from vedette.core.urls.canonical import watch_id
from vedette.core.urls.url_shape import filters_of
from vedette.discover import ListingDocument, read_listing
from vedette.extract import ALL, Page
from vedette.operations import source_keys
from vedette.operations.arguments import a_url
from vedette.operations.installation import Installation
from vedette.operations.source_keys import source_of
from vedette.operations.watches import written_url
from vedette.report.probes import ComparedText, ListingPreview, RobotsAnswer, TriedPage

LISTINGS = frozenset(
    {ListerKind.FEED, ListerKind.SITEMAP, ListerKind.HTML_LIST, ListerKind.PAGINATION}
)  # of pages that stand in the document itself
SCOPES = ("main", "all")
Look = tuple[Fetched, Extraction, tuple[Reason, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTrial:
    """What is tried.  Without a lister only the page is looked at."""

    url: str
    lister: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    item: str | None = None  # CSS of one entry of a list page
    scope: str | None = None  # None: as configured
    headers: dict[str, str] = field(default_factory=dict)
    filters: tuple[str, ...] | None = None  # None: those of its source, where it is watched
    fetch: dict[str, object] = field(default_factory=dict)  # settings that are tried, as in `fetch`


Filtered = Callable[[Loaded, Fetched, tuple[str, ...]], tuple[StepLeft, ...]]


def try_page(
    installation: Installation,
    asked: PageTrial,
    look: Callable[[Loaded, str], Look],
    filtered: Filtered | None = None,
) -> TriedPage:
    """`look`, `filtered`: of `operations.probe`, which ask and read as a run would."""
    url = a_url(asked.url)
    source = _source(url, asked)
    known = watching_source(installation, url)
    filters = asked.filters
    if filters is None:
        filters = () if known is None or asked.lister is not None else known.options.filters
    else:
        filters = source_of({"url": url, "filters": filters}, origin="cli").options.filters
    loaded = _trial(_as_its_source(installation.loaded, url, known, asked.fetch), asked.scope, asked.headers)
    fetched, extraction, reasons = look(loaded, url)
    steps = filtered(loaded, fetched, filters) if filtered and filters and fetched.body else ()
    return TriedPage(
        steps=steps,
        url=url,
        fetched=fetched,
        extraction=extraction,
        reasons=reasons,
        compared=_compared(fetched, extraction, loaded.config.extract.scope),
        listing=None if source is None else _preview(source, fetched, installation.now()),
        looks_like=_looks_like(fetched, installation.now()) if source is None and fetched.body else None,
    )


def watching_source(installation: Installation, url: str) -> Source | None:
    """The source that watches this address, of the store or of vedette.yaml; None: nobody does."""
    written = written_url(installation, url)
    if written is not None or not installation.has_store:
        return written
    with installation.queries() as queries:
        watch = queries.watch(watch_id(url))
        view = None if watch is None else queries.source(watch.source)
    return None if view is None else view.source


def _as_its_source(loaded: Loaded, url: str, source: Source | None, tried: dict[str, object]) -> Loaded:
    """Asked with the settings of its source, and with those that are tried."""
    own = {} if source is None else dict(source_keys.keys_of(source).get("fetch", {}))
    said = {**own, **tried}
    if not said:
        return loaded
    if tried:
        source_of({"url": url, "fetch": tried}, origin="cli")  # says what is wrong with it
    whole = {**loaded.config.fetch.model_dump(exclude_none=True), **said}
    section = source_keys.fetch_section(whole)
    return loaded.model_copy(update={"config": loaded.config.model_copy(update={"fetch": section})})


def _looks_like(fetched: Fetched, now: datetime) -> tuple[ListerKind, int] | None:
    """The kind of listing that it is, as `auto` would read it, and of how many pages; None: it is watched itself."""
    listing = read_listing(ListerKind.AUTO, _document(fetched, ListerOptions(), now))
    pages = len(listing.sightings) + len(listing.follow)
    is_here = listing.became in LISTINGS and listing.became_url is None
    return (listing.became, pages) if is_here and listing.became is not None and pages else None


def ask_robots(
    installation: Installation,
    url: str,
    ask: Callable[[Loaded, str], tuple[RobotsRules, Reason | None]],
) -> RobotsAnswer:
    """What robots.txt says about this URL.  `ask`: `operations.probe.fetch_robots`."""
    wanted = a_url(url)
    rules, refusal = ask(installation.loaded, wanted)
    return RobotsAnswer(url=wanted, rules=rules, refusal=refusal)


def _source(url: str, asked: PageTrial) -> Source | None:
    """The source that is tried; None: only the page is looked at."""
    filters = {"include": list(asked.include), "exclude": list(asked.exclude), "item": asked.item}
    keys = {name: value for name, value in filters.items() if value}
    if asked.lister is None and keys:
        raise InputError(f"--{next(iter(keys))} needs --lister")
    if asked.lister is None:
        return None
    item = keys.pop("item", None)
    selectors = {"selectors": {"item": item}} if item else {}
    return source_of({"url": url, "lister": asked.lister.lower(), **keys, **selectors}, origin="cli")


def _trial(loaded: Loaded, scope: str | None, headers: dict[str, str]) -> Loaded:
    """The configuration with what is tried out in it."""
    if scope is not None and scope not in SCOPES:
        raise InputError(f"--scope: {unknown('scope', scope, SCOPES)}")
    config = loaded.config
    changed: dict[str, object] = {}
    if scope is not None:
        changed["extract"] = config.extract.model_copy(update={"scope": scope})
    if headers:
        whole = {**(config.fetch.headers or {}), **headers}
        changed["fetch"] = config.fetch.model_copy(update={"headers": whole})
    return loaded.model_copy(update={"config": config.model_copy(update=changed)})


def _compared(fetched: Fetched, extraction: Extraction, scope: str) -> ComparedText:
    is_whole = False
    if extraction.content_class in DOCUMENTS or not fetched.body:
        lines = tuple(line for line in extraction.text.split("\n") if line)
    else:
        page = Page.of(fetched.body, url=fetched.url, content_type=fetched.content_type)
        read = page.blocks(scope)
        is_whole = read == page.blocks(ALL)
        lines = tuple(text for _, text in read) or ((extraction.text,) if extraction.text else ())
    masked = tuple(rest for line in lines if (rest := normalise(line)) != line)
    return ComparedText(
        scope=scope,
        is_whole=is_whole,
        lines=lines,
        masked=masked,
        chars=len(extraction.text),
        visible=extraction.visible_chars,
    )


def _document(fetched: Fetched, options: ListerOptions, now: datetime) -> ListingDocument:
    return ListingDocument(
        url=fetched.url, body=fetched.body, content_type=fetched.content_type, options=options, now=now
    )


def _preview(source: Source, fetched: Fetched, now: datetime) -> ListingPreview:
    document = _document(fetched, source.options, now)
    listing, filters = read_listing(source.lister, document), filters_of(source.options)
    judged = [(one, filters.refuse(one.url, one.published_at)) for one in listing.sightings]
    return ListingPreview(
        lister=listing.became or source.lister,
        found=tuple(one for one, reason in judged if reason is None),
        left_out=(*listing.refused, *((one.url, reason) for one, reason in judged if reason is not None)),
        follow=tuple(one.url for one in listing.follow),
        problem=listing.problem,
        warning=next((note.note for note in listing.notes if note.code == SELECTOR_UNMATCHED), ""),
    )
