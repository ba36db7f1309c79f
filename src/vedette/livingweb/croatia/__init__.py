"""The Croatian twin: fourteen hosts shaped like the sites of the registry, with their habits and their limits.

What is like the real ones: how things are listed, addressed, dated, encoded and defended.  What is not: the texts.
"""

from __future__ import annotations

from dataclasses import replace

from vedette.livingweb.croatia.designs import BANK, DESIGNS, WATCHED, gazette_design, working_days
from vedette.livingweb.noise import noise
from vedette.livingweb.process import DAY, HOUR, ChangeMix, Every, OfficeHours
from vedette.livingweb.robots import Robots
from vedette.livingweb.world import EPOCH, HostSpec, Limits, World

STATIC = ChangeMix(median_days=30.0, sigma=1.0, cap_per_day=0.5, never=0.8)  # four of five never change
LIVELY = ChangeMix(median_days=10.0, sigma=1.0, cap_per_day=2.0, never=0.4)
# spec 001/12.3: strict limits, and bans on those who break them.
STRICT = Limits(min_gap=2.0, at_once=1, per_minute=30, slack=0.05, ban_after=3, ban_for=6 * HOUR)
FAIR = Limits(min_gap=1.0, at_once=2, slack=0.05, ban_after=10)
SLOW = Limits(min_gap=5.0, at_once=1, slack=0.05, ban_after=5)
SCRIPTED = ("mfin.example", "hgk.example")  # nothing to see without a browser
BULLETIN = "sluzbeni-glasnik.example"  # all but four of its pages are files

# What a host is like beyond its design.  Files are of the kinds that `documents` makes; a host that should have others
# (scanned pages, old office formats) says so here.
HOSTS: tuple[HostSpec, ...] = (
    HostSpec(
        name="porezna-uprava.example",
        title="Porezna uprava",
        changes=STATIC,
        limits=STRICT,
        noise=noise("csrf", "online"),
    ),
    HostSpec(
        name="hzzo.example", title="Zavod za zdravstveno osiguranje", changes=LIVELY, noise=noise("views")
    ),
    HostSpec(
        name="fina.example",
        title="Financijska agencija",
        changes=LIVELY,
        noise=noise("banner", "clock"),
        born_later=3,
        births=Every(9 * DAY),
    ),
    HostSpec(
        name="vlada.example",
        title="Vlada Republike Hrvatske",
        changes=OfficeHours(0.02),
        validators="both",
        gzip=True,
        born_later=4,
        births=Every(6 * DAY),
    ),
    HostSpec(
        name="mrosp.example",
        title="Ministarstvo rada",
        changes=STATIC,
        limits=FAIR,
        robots=Robots("rules"),
        forbidden=1,
    ),
    HostSpec(name="hok.example", title="Hrvatska obrtnička komora", changes=STATIC, validators="weak_etag"),
    HostSpec(name="mfin.example", title="Ministarstvo financija", changes=LIVELY),
    HostSpec(name="hgk.example", title="Hrvatska gospodarska komora", changes=LIVELY),
    HostSpec(
        name="mirovinsko.example",
        title="Zavod za mirovinsko osiguranje",
        changes=STATIC,
        charset="windows-1250",
        documents=6,
        document_kinds=("doc", "pdf", "rtf"),
        validators="last_modified",
    ),
    HostSpec(
        name="dzs.example",
        title="Državni zavod za statistiku",
        changes=STATIC,
        documents=4,
        document_kinds=("xls", "xlsx", "ods", "odt"),
        robots=Robots(crawl_delay=5.0),
        limits=SLOW,
    ),
    HostSpec(
        name=BULLETIN,
        title="Službeni glasnik",
        changes=STATIC,
        document_kinds=("pdf", "scan"),
        validators="etag",
    ),
    HostSpec(name="eur-lex.example", title="EUR-Lex", changes=STATIC, born_later=2, births=Every(20 * DAY)),
)


def croatia_world(*, seed: int = 7, epoch: float = EPOCH, pages: int = 24, children: int = 2400) -> World:
    """All of it.  `pages` of an ordinary host; `children` in the sitemap index of the gazette, an act in each."""
    specs = [replace(spec, pages=pages, design=DESIGNS[spec.name]) for spec in HOSTS]
    specs = [replace(spec, documents=pages - 4) if spec.name == BULLETIN else spec for spec in specs]
    return World([*specs, _gazette(children, pages), _bank(epoch)], seed=seed, epoch=epoch)


def _gazette(children: int, pages: int) -> HostSpec:
    return HostSpec(
        name="narodne-novine.example",
        title="Narodne novine",
        pages=children + pages,
        changes=ChangeMix(median_days=60.0, never=0.97),
        validators="both",
        born_later=min(pages, 6),
        births=Every(4 * DAY),
        limits=STRICT,
        paragraphs=5,
        design=gazette_design(children),
    )


def _bank(epoch: float, days: int = 400) -> HostSpec:
    return HostSpec(
        name="hnb.example",
        title="Hrvatska narodna banka",
        pages=1 + len(WATCHED),
        changes=working_days(epoch, days),
        design=BANK,
    )
