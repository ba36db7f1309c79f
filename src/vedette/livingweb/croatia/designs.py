"""Template, addresses and listing of every host of the Croatian twin: one row each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from vedette.livingweb.chance import Chance
from vedette.livingweb.croatia import listings
from vedette.livingweb.croatia.templates import TEMPLATES
from vedette.livingweb.noise import Rendered
from vedette.livingweb.process import DAY, HOUR, MONDAY, WEEK, At
from vedette.livingweb.words import Story
from vedette.livingweb.world import Design, Host, Page

# The bank's rates: a list of currencies, drawn anew for every list.

PATH = "/tecajn-eur/v3"
ALL = (
    ("AUD", "Australija", 1.65), ("CAD", "Kanada", 1.47), ("CZK", "Češka", 25.1), ("DKK", "Danska", 7.46),
    ("HUF", "Mađarska", 392.0), ("JPY", "Japan", 163.0), ("NOK", "Norveška", 11.7), ("SEK", "Švedska", 11.4),
    ("CHF", "Švicarska", 0.94), ("GBP", "Velika Britanija", 0.85), ("USD", "SAD", 1.08),
    ("BAM", "Bosna i Hercegovina", 1.96), ("PLN", "Poljska", 4.3),
)  # fmt: skip
WATCHED = ("USD", "CHF", "GBP")  # each also a page of its own
_FIRST_LIST = 220


def rate_path(index: int) -> str:
    """Page 0 is the whole list, the others one currency each."""
    return PATH if index == 0 else f"{PATH}?valuta={WATCHED[index - 1]}"


def working_days(epoch: float, days: int) -> At:
    """A new list every working day at half past one."""
    first = epoch - epoch % DAY
    mornings = (first + day * DAY for day in range(days))
    return At(tuple(t + 13.5 * HOUR for t in mornings if (t - MONDAY) % WEEK < 5 * DAY))


@dataclass(frozen=True, slots=True)
class RateStory(Story):
    """Version n is list 220 + n.  Every rate of a list differs from the one before."""

    def paragraphs(self, version: int) -> tuple[str, ...]:
        return tuple(f"{code} {rate}" for code, _, rate in _rates(version))

    def edit(self, version: int) -> str:
        return "number" if version else "first"


def rate_story(key: tuple[object, ...]) -> Story:
    return RateStory(key, "hr", ())


def rate_page(host: Host, page: Page, version: int, where: str) -> Rendered:
    """One list as the API gives it."""
    day = _day(page.history.changed_at(version))
    wanted = None if page.index == 0 else WATCHED[page.index - 1]
    rows = [
        {
            "broj_tecajnice": str(_FIRST_LIST + version),
            "datum_primjene": day,
            "drzava": country,
            "kupovni_tecaj": _comma(rate * 1.0015),
            "prodajni_tecaj": _comma(rate * 0.9985),
            "srednji_tecaj": _comma(rate),
            "valuta": code,
        }
        for code, country, rate in _rates(version)
        if wanted in (None, code)
    ]
    return Rendered("application/json", (json.dumps(rows, ensure_ascii=False).encode(),))


def _rates(version: int) -> list[tuple[str, str, float]]:
    """A rate is its mean and a step of this list; two lists in a row step to different sides."""
    side = 1 if version % 2 else -1
    return [
        (code, country, round(mean * (1 + side * (0.001 + 0.004 * Chance("rate", code, version).unit())), 6))
        for code, country, mean in ALL
    ]


def _comma(rate: float) -> str:
    return f"{rate:.6f}".replace(".", ",")


def _day(t: float) -> str:
    """The list applies on the day after it was made."""
    return datetime.fromtimestamp(t + DAY, UTC).strftime("%Y-%m-%d")


DIRECTIVE = "/legal-content/HR/ALL/?uri=CELEX:32006L0112"
POREZNA, POSTED = "/HR_publikacije/Stranice/popis.aspx", "?Paged=TRUE&p_Page={n}"
LABOUR, TRADES, STATISTICS = "?trazi=1&tip=&page={n}", "?page={z}", "stranica/{n}"
CONSOLIDATED = 2007  # the first consolidated text of the directive


def _path(shape: str, first: int = 0) -> listings.Path:
    """`{slug}`, `{n}` counted from `first`."""
    return lambda index, slug, chance: shape.format(slug=slug, n=first + index)


def _aspx(index: int, slug: str, chance: Chance) -> str:
    return f"/HR_Porezni_sustav/Stranice/{slug.replace('-', '_')}.aspx"


def _celex(index: int, slug: str, chance: Chance) -> str:
    """Consolidated texts of the directive and acts that amended it, in turn."""
    year, month = CONSOLIDATED + index // 12, 1 + index % 12
    number = f"02006L0112-{year}{month:02}01" if index % 2 else f"3{year}L{index + 1:04}"
    return f"/legal-content/HR/TXT/?uri=CELEX:{number}"


def _design(
    template: str, path: listings.Path, lister: str, listed: tuple[str, listings.Find], **options: object
) -> Design:
    layout = TEMPLATES[template]
    if lister in ("html_list", "pagination"):
        options["selectors"] = dict(layout.selectors)
    return Design(layout=layout, path=path, lister=lister, start=listed[0], find=listed[1], options=options)


DESIGNS: dict[str, Design] = {
    "porezna-uprava.example": _design(
        "porezna",
        _aspx,
        "pagination",
        (POREZNA, listings.paged_list(POREZNA, POSTED, listings.postback)),
    ),
    "hzzo.example": _design(
        "insurance", _path("/novosti/{slug}"), "html_list", ("/novosti", listings.mixed_dates("/novosti"))
    ),
    "fina.example": _design("agency", _path("/-/{slug}"), "feed", ("/rss", listings.feed("rss", "/rss"))),
    "vlada.example": _design(
        "government",
        _path("/vijesti/{slug}/{n}", 40_000),
        "feed",
        ("/feed/atom", listings.feed("atom", "/feed/atom")),
    ),
    "mrosp.example": _design(
        "labour",
        _path("/vijesti/{slug}/{n}", 13_000),
        "mrms",
        (
            "/vijesti/8",
            listings.paged_list(
                "/vijesti/8", LABOUR, listings.numbered(LABOUR, '<div class="paging">{}</div>')
            ),
        ),
    ),
    "hok.example": _design(
        "trades",
        _path("/obavijesti/{slug}"),
        "hok",
        (
            "/obavijesti",
            listings.paged_list(
                "/obavijesti",
                TRADES,
                listings.numbered(TRADES, '<nav class="pager"><p class="pager__items">{}</p></nav>'),
            ),
        ),
    ),
    "mfin.example": _design(
        "ministry",
        _path("/vijesti/{slug}/{n}", 3_000),
        "html_list",
        ("/vijesti", listings.scripted("/vijesti")),
        requires_headless=True,
    ),
    "hgk.example": _design(
        "economy",
        _path("/vijesti/{slug}"),
        "html_list",
        ("/vijesti", listings.whole_list("/vijesti")),
        requires_headless=True,
    ),
    "mirovinsko.example": _design(
        "pensions",
        _path("/default.asp?id={n}", 1_000),
        "html_list",
        ("/popis.asp", listings.whole_list("/popis.asp")),
    ),
    "dzs.example": _design(
        "statistics",
        _path("/hr/podaci/{slug}/"),
        "pagination",
        (
            "/hr/objave/",
            listings.paged_list(
                "/hr/objave/", STATISTICS, listings.numbered(STATISTICS, '<ul class="pager"><li>{}</li></ul>')
            ),
        ),
    ),
    "sluzbeni-glasnik.example": _design(
        "bulletin",
        _path("/broj/{n}", 1),
        "html_list",
        ("/svi-brojevi", listings.whole_list("/svi-brojevi")),
    ),
    "eur-lex.example": _design("union", _celex, "eurlex", (DIRECTIVE, listings.whole_list(DIRECTIVE))),
}
BANK = Design(
    layout=TEMPLATES["bank"],
    path=lambda index, slug, chance: rate_path(index),
    lister="hnb",
    start=PATH,
    find=listings.nothing,
    options={"structured": {"currencies": list(WATCHED)}},
    story=rate_story,
    page=rate_page,
)


def gazette_design(children: int) -> Design:
    """Narodne novine with so many child sitemaps."""
    return Design(
        layout=TEMPLATES["gazette"],
        path=listings.acts_path(children),
        lister="nn",
        start="/sitemap.xml",
        find=listings.gazette(children),
        options={"types": [1, 2, 3]},
    )
