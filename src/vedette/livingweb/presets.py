"""Worlds that are ready: for the demo, for measuring, for traps, for faults."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from vedette.livingweb.chance import Chance
from vedette.livingweb.documents import MAKERS
from vedette.livingweb.faults import FAULTS, TRAPS
from vedette.livingweb.layouts import LAYOUTS
from vedette.livingweb.noise import KINDS, Noise, made_up, noise
from vedette.livingweb.process import ChangeMix, Every, Never, Poisson
from vedette.livingweb.robots import Robots
from vedette.livingweb.world import EPOCH, LISTINGS, FaultRule, HostSpec, Limits, World

# name, title, language, layout, listing, validators
_DEMO = (
    ("ministry.example", "Ministarstvo financija", "hr", "semantic", "sitemap", "both"),
    ("tax.example", "Porezna uprava", "hr", "aspnet", "html_list", "none"),
    ("gazette.example", "Službeni glasnik", "hr", "tables", "sitemap_index", "last_modified"),
    ("newsroom.example", "Newsroom", "en", "semantic", "rss", "etag"),
    ("health.example", "Zavod za zdravstveno osiguranje", "hr", "divs", "pager", "none"),
    ("labour.example", "Ministarstvo rada", "hr", "semantic", "atom", "weak_etag"),
    ("customs.example", "Customs Office", "en", "aspnet", "pagination", "both"),
    ("bank.example", "Narodna banka", "hr", "divs", "rdf", "last_modified"),
    ("parliament.example", "Sabor", "hr", "wiki", "sitemap_gzip", "etag"),
    ("court.example", "Appeals Court", "en", "tables", "page_query", "none"),
    ("city.example", "Grad Đakovo", "hr", "blog", "rss", "lying_date"),
    ("statistics.example", "Bureau of Statistics", "en", "semantic", "sitemap", "both"),
    ("energy.example", "Regulator za energetiku", "hr", "divs", "html_list", "etag"),
    ("transport.example", "Transport Authority", "en", "blog", "rel_next", "none"),
    ("schools.example", "Ministarstvo obrazovanja", "hr", "semantic", "rss", "both"),
    ("procurement.example", "Javna nabava", "hr", "aspnet", "pager", "lying_etag"),
    ("forms.example", "Obrasci i upute", "hr", "tables", "html_list", "last_modified"),
    ("handbook.example", "Handbook", "en", "wiki", "crawl", "etag"),
    ("notes.example", "Notes on Law", "en", "blog", "atom", "none"),
    ("chamber.example", "Gospodarska komora", "hr", "divs", "crawl", "none"),
    ("medicines.example", "Medicines Agency", "en", "semantic", "sitemap_index", "weak_etag"),
    ("water.example", "Vodovod i odvodnja", "hr", "tables", "rss", "none"),
    ("museum.example", "Muzej", "hr", "blog", "sitemap", "both"),
    ("archive.example", "Državni arhiv", "hr", "wiki", "page_query", "etag"),
)
# The titles of the same hosts where all of them speak English, in that order.
_ENGLISH = (
    "Ministry of Finance", "Tax Office", "Official Gazette", "Newsroom", "Health Insurance Fund", "Ministry of Labour",
    "Customs Office", "National Bank", "Parliament", "Appeals Court", "City of Millbrook", "Bureau of Statistics",
    "Energy Regulator", "Transport Authority", "Ministry of Education", "Public Procurement", "Forms and Guides",
    "Handbook", "Notes on Law", "Chamber of Commerce", "Medicines Agency", "Waterworks", "Museum", "State Archive",
)  # fmt: skip
_DEMO_TRAITS: dict[str, Callable[[HostSpec], HostSpec]] = {
    "ministry.example": lambda spec: replace(spec, gzip=True),
    "tax.example": lambda spec: replace(
        spec, noise=noise("csrf", "class", "online"), robots=Robots("rules"), forbidden=1
    ),
    "gazette.example": lambda spec: replace(spec, documents=2, charset="windows-1250"),
    "newsroom.example": lambda spec: replace(
        spec, born_later=4, births=Every(9 * 3600.0), noise=noise("clock", "views", "banner")
    ),
    "health.example": lambda spec: replace(
        spec, noise=noise("promo", "meta"), robots=Robots("rules"), forbidden=1
    ),
    "bank.example": lambda spec: replace(spec, flips=(0,), gzip=True),
    "city.example": lambda spec: replace(spec, noise=noise("quote", "related")),
    "forms.example": lambda spec: replace(spec, documents=3, document_kinds=("doc", "xls", "rtf", "odt")),
    "water.example": lambda spec: replace(spec, charset="iso-8859-2", robots=Robots("missing")),
    "museum.example": lambda spec: replace(spec, changes=ChangeMix(never=0.9), variants=True),
}


def demo_world(
    *,
    seed: int = 7,
    epoch: float = EPOCH,
    size: tuple[int, int] = (24, 8),
    tempo: float = 1.0,
    lang: str = "",
) -> World:
    """Up to 24 hosts of a small country.  At 3600-fold speed something changes every second or so.

    `size` is the number of hosts, and of pages of each.  Without `lang` nine hosts speak English and the others
    Croatian; `en`: all speak English, `hr`: all Croatian.
    """
    hosts, pages = size
    lively = ChangeMix(median_days=6.0, sigma=1.2, cap_per_day=6.0, never=0.3, tempo=tempo)
    specs = [
        HostSpec(
            name=name, title=english if lang == "en" else title, lang=lang or own, layout=layout, listing=listing,
            validators=validators, pages=pages, changes=lively,
        )
        for (name, title, own, layout, listing, validators), english in zip(_DEMO[:hosts], _ENGLISH, strict=False)
    ]  # fmt: skip
    specs = [_DEMO_TRAITS[spec.name](spec) if spec.name in _DEMO_TRAITS else spec for spec in specs]
    if hosts < len(
        _DEMO
    ):  # small worlds are for short runs, and files are read by a process that must start first
        specs = [replace(spec, documents=0) for spec in specs]
    return World(specs, seed=seed, epoch=epoch)


def document_world(
    *, seed: int = 7, epoch: float = EPOCH, kinds: tuple[str, ...] = tuple(MAKERS), every: float = 86400.0
) -> World:
    """One host per kind of file, three files each, that change at known times and are listed on one page."""
    specs = [
        HostSpec(
            name=f"{kind}.example",
            title=f"Dokumenti {kind}",
            listing="html_list",
            pages=6,
            documents=3,
            document_kinds=(kind,),
            changes=Never(),
            fixed_changes=tuple((page, Every(every * (page - 2))) for page in (3, 4, 5)),
            paragraphs=5,
        )
        for kind in kinds
    ]
    return World(specs, seed=seed, epoch=epoch)


@dataclass(frozen=True, slots=True, kw_only=True)
class GridMix:
    """What the hosts of a grid are like."""

    changes: ChangeMix = field(default_factory=ChangeMix)
    noisy: int = 10  # one host in so many has noise; 0: none
    ruled: int = 4  # one in so many has forbidden pages
    forbidden: float = 0.03  # share of the pages of such a host
    documents: float = 0.02
    crawl_delay: float = 0.0  # on one host in twenty
    limits: Limits = field(default_factory=Limits)
    latency: float = 0.0


def grid_world(
    hosts: int = 200, pages: int = 100, seed: int = 7, *, epoch: float = EPOCH, mix: GridMix | None = None
) -> World:
    """Many hosts of every kind: all layouts, all listings, noise here and there, some pages forbidden."""
    return World(
        [_grid_host(index, pages, seed, mix or GridMix()) for index in range(hosts)], seed=seed, epoch=epoch
    )


_CALM = ("none", "etag", "weak_etag", "last_modified", "both", "both", "lying_date", "lying_etag")
_UNSURE = ("none", "lying_date", "lying_etag")  # a host whose bodies differ each time cannot vouch for them


def _grid_host(index: int, pages: int, seed: int, mix: GridMix) -> HostSpec:
    chance = Chance(seed, "grid", index)
    listings, layouts = tuple(LISTINGS), tuple(LAYOUTS)
    is_noisy = bool(mix.noisy) and index % mix.noisy == mix.noisy - 1
    is_ruled = bool(mix.ruled) and index % mix.ruled == 1
    lang = "hr" if index % 5 < 3 else "en"
    is_delayed = bool(mix.crawl_delay) and index % 20 == 7
    kind = "rules" if is_ruled else chance.pick(("allow", "allow", "missing"))
    return HostSpec(
        lang=lang,
        layout=layouts[(index + index // len(listings)) % len(layouts)],
        listing=listings[index % len(listings)],
        pages=pages,
        changes=mix.changes,
        documents=int(pages * mix.documents) if chance.happens(0.5) else 0,
        forbidden=max(1, int(pages * mix.forbidden)) if is_ruled else 0,
        noise=_some_noise(chance) if is_noisy else (),
        validators=chance.pick(_UNSURE if is_noisy else _CALM),
        dates=chance.pick(("true", "true", "none", "lying")),
        variants=chance.happens(0.2),
        charset=chance.pick(("utf-8", "utf-8", "utf-8", "windows-1250" if lang == "hr" else "iso-8859-1")),
        gzip=chance.happens(0.3) and not is_noisy,
        robots=Robots("allow" if is_delayed else kind, crawl_delay=mix.crawl_delay if is_delayed else 0.0),
        limits=mix.limits,
        latency=mix.latency,
    )


def _some_noise(chance: Chance) -> tuple[Noise, ...]:
    known = chance.shuffled(list(KINDS.values()))[: chance.between(2, 4)]
    return (*known, made_up(chance.bits()))


def trap_world(*, seed: int = 7, epoch: float = EPOCH, pages: int = 12) -> World:
    """One host per trap, each with some real pages."""
    specs = [
        HostSpec(name=f"{trap.replace('_', '-')}.example", trap=trap, listing="crawl", pages=pages)
        for trap in TRAPS
    ]
    return World(specs, seed=seed, epoch=epoch)


def fault_world(*, seed: int = 7, epoch: float = EPOCH, amounts: Mapping[str, float] | None = None) -> World:
    """One host per fault: page 0 always has it, page 1 recovers after two requests, page 2 and 3 are sound.

    The last hosts have a robots.txt that is missing, broken, slow, or cut off.
    """
    known = amounts or {}
    specs = [
        HostSpec(
            name=f"{name.replace('_', '-')}.example",
            pages=4,
            changes=Poisson(1.0),
            faults=(
                FaultRule(name, pages=(0,), amount=known.get(name, 0.0)),
                FaultRule(name, pages=(1,), first=2, amount=known.get(name, 0.0)),
            ),
        )
        for name in FAULTS
    ]
    robots = [
        HostSpec(name=f"robots-{kind}.example", pages=3, robots=Robots(kind)) for kind in ("missing", "error")
    ]
    robots += [
        HostSpec(
            name=f"robots-{name.replace('_', '-')}.example",
            pages=3,
            faults=(FaultRule(name, on="robots", amount=known.get(name, 0.0)),),
        )
        for name in ("never_answers", "reset", "redirect_chain", "huge_body", "throttled")
    ]
    return World([*specs, *robots], seed=seed, epoch=epoch)
