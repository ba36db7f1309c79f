"""Template, addresses and listing of every host of the Croatian twin: one row each."""

from __future__ import annotations

from vedette.livingweb.chance import Chance
from vedette.livingweb.croatia import listings, rates
from vedette.livingweb.croatia.templates import TEMPLATES
from vedette.livingweb.world import Design

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
    path=lambda index, slug, chance: rates.rate_path(index),
    lister="hnb",
    start=rates.PATH,
    find=listings.nothing,
    options={"structured": {"currencies": list(rates.WATCHED)}},
    story=rates.rate_story,
    page=rates.rate_page,
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
