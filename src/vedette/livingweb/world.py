"""The world and its truth: which pages exist, what each says at time t, when it changed.

Everything is a pure function of (seed, specs, epoch).  No server is needed to know the truth, and nothing
here is shared with the program that is measured against it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from urllib.parse import quote, urlsplit

from vedette.livingweb.chance import Chance
from vedette.livingweb.documents import MAKERS
from vedette.livingweb.layouts import Layout
from vedette.livingweb.noise import Listing, Noise, Rendered
from vedette.livingweb.process import DAY, ChangeMix, History, Never, Process
from vedette.livingweb.robots import HIDDEN, Robots
from vedette.livingweb.wire import plain_target
from vedette.livingweb.words import Story, make_story, make_title, slug

EPOCH = 1_767_571_200.0  # Monday 2026-01-05 00:00 UTC
DOCUMENTS = ("pdf", "docx", "xlsx", "json")
LISTINGS = {  # how a host is listed -> the lister that reads it
    "rss": "feed", "atom": "feed", "rdf": "feed",
    "sitemap": "sitemap", "sitemap_index": "sitemap", "sitemap_gzip": "sitemap",
    "html_list": "html_list",
    "pager": "pagination", "pagination": "pagination", "page_query": "pagination", "rel_next": "pagination",
    "crawl": "crawl",
}  # fmt: skip
VALIDATORS = ("none", "etag", "weak_etag", "last_modified", "both", "lying_date", "lying_etag")
_PATHS = {  # layout -> shape of a page's path, Croatian and English
    "semantic": {"hr": "/vijesti/{slug}", "en": "/news/{slug}"},
    "tables": {"hr": "/propisi/{n}.html", "en": "/rules/{n}.html"},
    "divs": {"hr": "/clanak/{n}/{slug}", "en": "/story/{n}/{slug}"},
    "aspnet": {"hr": "/Sadrzaj.aspx?id={n}&kat={k}", "en": "/Content.aspx?id={n}&cat={k}"},
    "blog": {"hr": "/2025/{month:02}/{slug}/", "en": "/2025/{month:02}/{slug}/"},
    "wiki": {"hr": "/wiki/{wiki}", "en": "/wiki/{wiki}"},
}


@dataclass(frozen=True, slots=True)
class Limits:
    """What the host bears, as its server counts it.  0: no limit."""

    min_gap: float = 0.0  # seconds between the starts of two requests
    at_once: int = 0
    per_minute: int = 0
    slack: float = 0.0  # how much shorter a gap may look from here; arrival wobbles
    ban_after: int = 0  # so many broken limits are answered with a ban
    ban_for: float = 3600.0


@dataclass(frozen=True, slots=True)
class FaultRule:
    """Where and when a fault of `faults.FAULTS` strikes."""

    name: str
    pages: tuple[int, ...] = ()  # empty: all of `on`
    on: str = "pages"  # pages | listings | robots | all
    rate: float = 1.0
    first: int = 0  # only the first so many requests of each path; 0: no end
    since: float = -math.inf
    until: float = math.inf
    amount: float = 0.0  # seconds, bytes or hops, as the fault says; 0: its default


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Design:
    """A host built by its own hand: what replaces layout and listing of a `HostSpec`."""

    layout: Layout
    path: Callable[[int, str, Chance], str]  # number of a page, its title as a slug, chance -> its path
    lister: str  # that reads it
    start: str  # where a reader starts
    find: Callable[
        [Host, str, float, str], Listing | None
    ]  # what is served beside the pages: target, time, where
    options: Mapping[str, object] = field(default_factory=dict)  # of the source
    story: Callable[[tuple[object, ...]], Story] | None = None
    page: Callable[[Host, Page, int, str], Rendered] | None = None  # instead of the layout: version, where
    title: Callable[[int], str] | None = None  # of a page
    moved: Callable[[str], str | None] | None = None  # an old path -> where its page is now


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSpec:
    """One host as its maker describes it."""

    name: str = ""  # empty: host-N.example
    title: str = ""
    lang: str = "hr"
    layout: str = "semantic"
    listing: str = "rss"
    pages: int = 10
    changes: ChangeMix | Process = field(default_factory=ChangeMix)
    fixed_changes: tuple[tuple[int, Process], ...] = ()  # page, its own process
    documents: int = 0  # the last pages but the forbidden ones are files
    document_kinds: tuple[str, ...] = DOCUMENTS  # of `makers.MAKERS`, taken in turn
    forbidden: int = 0  # the last pages are linked and forbidden
    born_later: int = 0  # pages that come into being after the epoch
    births: Process = field(default_factory=Never)
    departures: tuple[tuple[int, float], ...] = ()  # page, when it went away
    flips: tuple[int, ...] = ()  # pages that go A -> B -> A
    paragraphs: int = 0  # 0: chance decides
    noise: tuple[Noise, ...] = ()
    validators: str = "none"
    dates: str = "true"  # what listings say about changes: true | none | lying
    variants: bool = False  # listings spell URLs in other ways than the pages' canonical link
    charset: str = "utf-8"
    gzip: bool = False
    robots: Robots = field(default_factory=Robots)
    limits: Limits = field(default_factory=Limits)
    latency: float = 0.0
    faults: tuple[FaultRule, ...] = ()
    trap: str = ""
    design: Design | None = None  # instead of layout and listing


@dataclass(frozen=True, slots=True, kw_only=True)
class PageState:
    """The truth about one page at one moment."""

    version: int
    changed_at: float
    exists: bool
    edit: str  # what made this version: first | number | sentence | paragraph
    title: str
    paragraphs: tuple[str, ...]

    @property
    def body(self) -> str:
        return "\n".join(self.paragraphs)


@dataclass(slots=True, kw_only=True)
class Page:
    """One page of a host, over all time."""

    index: int
    path: str  # as it stands in a request line
    title: str
    kind: str  # html, or one of DOCUMENTS
    forbidden: bool
    published_at: float
    born_at: float
    gone_at: float
    story: Story
    history: History

    def exists(self, t: float) -> bool:
        return self.born_at <= t < self.gone_at


class Host:
    """One host: its address, its pages, the way its paths look."""

    def __init__(self, world: World, index: int, spec: HostSpec) -> None:
        self.index = index
        self.spec = spec
        self.name = spec.name or f"host-{index}.example"
        self.title = spec.title or self.name
        self.address = f"127.{20 + index // 62_500}.{index // 250 % 250}.{1 + index % 250}"
        self._world = world
        _check(spec)

    @cached_property
    def pages(self) -> tuple[Page, ...]:
        births: list[float] = [self._world.epoch - 1.0] * (self.spec.pages - self.spec.born_later)
        times = self.spec.births.times(Chance(self._world.seed, self.index, "births"), self._world.epoch)
        births += [math.floor(t) for t in islice(times, self.spec.born_later)]
        births += [math.inf] * (self.spec.pages - len(births))
        return tuple(self._make(index, births[index]) for index in range(self.spec.pages))

    @cached_property
    def by_path(self) -> dict[str, int]:
        return {page.path: page.index for page in self.pages}

    @cached_property
    def settled(self) -> int:
        """Pages below this index have existed from the start."""
        return self.spec.pages - self.spec.born_later

    def find(self, target: str) -> Page | None:
        """The page behind a request target, in any spelling that this host takes for it."""
        index = self.by_path.get(target)
        if index is None:
            index = self._by_plain.get(plain_target(target))
        return None if index is None else self.pages[index]

    @cached_property
    def _by_plain(self) -> dict[str, int]:
        return {plain_target(page.path): page.index for page in self.pages}

    def _make(self, index: int, born_at: float) -> Page:
        world, spec = self._world, self.spec
        key = (world.seed, self.index, index)
        chance = Chance(*key, "page")
        title = self._title(index, chance)
        forbidden = index >= spec.pages - spec.forbidden
        kind = spec.document_kinds[index % len(spec.document_kinds)] if self._is_document(index) else "html"
        own = dict(spec.fixed_changes).get(index, spec.changes)
        process = own.draw(Chance(*key, "process")) if isinstance(own, ChangeMix) else own
        is_settled = born_at < world.epoch
        published = world.epoch - 1.0 - float(int(chance.unit() * 400 * DAY)) if is_settled else born_at
        start = max(world.epoch, born_at)
        return Page(
            index=index,
            path=self._path(index, title, kind, chance) if not forbidden else HIDDEN + slug(title),
            title=title,
            kind=kind,
            forbidden=forbidden or spec.robots.kind == "error",
            published_at=published,
            born_at=-math.inf if is_settled else born_at,
            gone_at=dict(spec.departures).get(index, math.inf),
            story=self._story(key, index),
            history=History(process, Chance(*key, "changes"), start, published),
        )

    def _title(self, index: int, chance: Chance) -> str:
        design = self.spec.design
        if design is not None and design.title is not None:
            return design.title(index)
        return make_title(chance, self.spec.lang, index)

    def _story(self, key: tuple[object, ...], index: int) -> Story:
        spec = self.spec
        if spec.design is not None and spec.design.story is not None:
            return spec.design.story(key)
        return make_story(key, spec.lang, length=spec.paragraphs, flips=index in spec.flips)

    def _is_document(self, index: int) -> bool:
        end = self.spec.pages - self.spec.forbidden
        return end - self.spec.documents <= index < end

    def _path(self, index: int, title: str, kind: str, chance: Chance) -> str:
        if kind != "html":
            return f"/{'dokumenti' if self.spec.lang == 'hr' else 'files'}/{slug(title)}.{MAKERS[kind].extension}"
        if self.spec.design is not None:
            return self.spec.design.path(index, slug(title), chance)
        shape = _PATHS[self.spec.layout][self.spec.lang]
        wiki = quote(title.replace(" ", "_").replace("/", "-"))
        blanks = {
            "slug": slug(title),
            "n": 100 + index,
            "k": chance.between(1, 9),
            "month": chance.between(1, 12),
        }
        return shape.format(wiki=wiki, **blanks)


class World:
    """All hosts, and the truth about every page at every time."""

    def __init__(self, specs: Sequence[HostSpec], *, seed: int, epoch: float = EPOCH) -> None:
        self.seed = seed
        self.epoch = float(int(epoch))
        self.hosts = tuple(Host(self, index, spec) for index, spec in enumerate(specs))
        self._by_name = {host.name: host for host in self.hosts} | {host.address: host for host in self.hosts}

    def host(self, which: int | str) -> Host:
        """By index, name or address."""
        return self.hosts[which] if isinstance(which, int) else self._by_name[which]

    def page(self, host: int | str, page: int) -> Page:
        return self.host(host).pages[page]

    def state(self, host: int | str, page: int, t: float) -> PageState:
        """What the page says at t."""
        this = self.page(host, page)
        version = this.history.version(t)
        return PageState(
            version=version,
            changed_at=this.history.changed_at(version),
            exists=this.exists(t),
            edit=this.story.edit(version),
            title=this.title,
            paragraphs=this.story.paragraphs(version),
        )

    def prepare(self, t: float) -> None:
        """Work out now, up to t, what would otherwise be worked out at the first question about each page."""
        for host in self.hosts:
            for page in host.pages:
                page.history.version(t)

    def changes(self, host: int | str, page: int, t0: float, t1: float) -> list[float]:
        """The true change times in (t0, t1]."""
        return self.page(host, page).history.between(t0, t1)

    def facts(self, host: int | str, page: int) -> dict[str, object]:
        """What else is true of a page.  Worlds that judge their pages say it here."""
        return {}

    def known(self, port: int) -> dict[str, object]:
        """What is true of the world as a whole, as plain values."""
        return {"pages": sum(host.spec.pages for host in self.hosts)}

    def locate(self, url: str) -> tuple[int, int] | None:
        """Host and page of a URL, in any spelling; None when it is no page of this world."""
        parts = urlsplit(url)
        host = self._by_name.get(parts.hostname or "")
        if host is None:
            return None
        page = host.find(f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        return None if page is None else (host.index, page.index)

    def url(self, host: int | str, page: int | None, port: int, *, by: str = "name") -> str:
        """Where the page is; `page=None` is the front page.  `by`: name | address."""
        this = self.host(host)
        path = "/" if page is None else this.pages[page].path
        return f"http://{authority(this, port, by)}{path}"


def authority(host: Host, port: int, by: str) -> str:
    where = host.name if by == "name" else host.address
    return where if port == 80 else f"{where}:{port}"


def _check(spec: HostSpec) -> None:
    """A spec that cannot be served is a mistake of its maker; say so at once."""
    words: list[tuple[str, Collection[str]]] = [(kind, MAKERS) for kind in spec.document_kinds]
    words += [(spec.listing, LISTINGS), (spec.layout, _PATHS), (spec.validators, VALIDATORS)]
    for word, known in words:
        if word not in known:
            raise ValueError(f"{spec.name or 'host'}: {word!r} is not one of {', '.join(known)}")
    if spec.documents + spec.forbidden + spec.born_later > spec.pages:
        raise ValueError(f"{spec.name or 'host'}: more documents, forbidden and later pages than pages")
    if spec.listing == "crawl" and spec.born_later:
        raise ValueError(
            f"{spec.name or 'host'}: a crawl-only host has no list where later pages could appear"
        )


# The living web's own time.  The one place here that asks the machine for the hour.


def real_time() -> float:
    """Unix seconds, as the machine says."""
    return time.time()


class WorldClock:
    """World time = start_at + (real time since the start) * speed.  `jump` moves it; speed 0 stands still."""

    __slots__ = ("_anchor", "_speed", "_start_at")

    def __init__(self, start_at: float, *, speed: float = 1.0) -> None:
        self._start_at = start_at
        self._speed = speed
        self._anchor = real_time()

    def __call__(self) -> float:
        if not self._speed:
            return self._start_at
        return self._start_at + (real_time() - self._anchor) * self._speed

    def jump(self, to: float) -> None:
        """From now on the clock goes on from `to`.  It never goes back."""
        self._start_at = max(to, self())
        self._anchor = real_time()
