"""One host in full: titles, paths and links of its pages, and the HTML of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from vedette.livingweb.chance import Chance
from vedette.livingweb.odd import kinds
from vedette.livingweb.odd.decoys import DECOYS
from vedette.livingweb.odd.lexicon import LABEL
from vedette.livingweb.odd.markup import link, p, ul
from vedette.livingweb.odd.ordinary import TEMPLATES
from vedette.livingweb.odd.plan import PER_LIST, Ground, OddPlan, Special, Where, pick_popular
from vedette.livingweb.odd.prose import Voice
from vedette.livingweb.odd.skins import SKINS, Sheet
from vedette.livingweb.words import slug

NOTHING = Special()
PRIVATE = "/private/"  # forbidden by robots.txt where a host has rules
_SIZES = (2, 2, 3, 4, 5, 7, 10)
_ODD_SIZES = (1, 1, 2, 2, 3, 4)
_CLOUD = {"en": "Popular searches", "hr": "Često traženo", "de": "Oft gesucht"}


@dataclass(frozen=True, slots=True)
class Town:
    """All hosts, to link to."""

    plan: OddPlan
    sites: list[OddSite]
    popular: tuple[list[int], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where a page leads: pages of this host, pages of others, and addresses where nothing is or that moved."""

    nav: list[int]
    related: list[int]
    outward: list[Where]
    loose: list[tuple[int, str]]  # host, path


class OddSite:
    """Titles and paths are made when the host is first asked; links and text with each page."""

    def __init__(self, town_of: list[Town], ground: Ground, plan: OddPlan) -> None:
        self.ground = ground
        self.plan = plan
        self._town_of = town_of  # holds the town once every site is made

    @cached_property
    def titles(self) -> tuple[str, ...]:
        return tuple(self._title(page) for page in range(self.ground.pages))

    @cached_property
    def paths(self) -> tuple[str, ...]:
        taken: dict[str, int] = {}
        for page in range(self.ground.pages):
            taken[self._unique(page, taken)] = page
        return tuple(taken)

    def _unique(self, page: int, taken: dict[str, int]) -> str:
        path = self._path(page)
        if path not in taken:
            return path
        head, dot, tail = path.rpartition(".")
        return (
            f"{head}-{page}.{tail}"
            if dot and "/" not in tail
            else f"{path.rstrip('/')}-{page}{'/' if path.endswith('/') else ''}"
        )

    @cached_property
    def moved(self) -> dict[str, str]:
        """Old paths that lead to where the page is now."""
        chance = self._chance("moved")
        if self.ground.is_farm or not chance.happens(0.3):
            return {}
        items = range(self.ground.first, self.ground.pages)
        return {
            f"/go/{100 + page}": self.paths[page]
            for page in items
            if page not in self.ground.specials and chance.happens(0.06)
        }

    def special(self, page: int) -> Special:
        return self.ground.specials.get(page, NOTHING)

    def shown(self, page: int) -> Special:
        """What is served: where the world is swapped, odd pages are ordinary ones."""
        special = self.special(page)
        return NOTHING if special.kind and self.plan.is_swapped else special

    def links(self, page: int) -> Links:
        """The same every time."""
        ground, chance = self.ground, self._chance("links", page)
        role, items = ground.role(page), range(ground.first, ground.pages)
        related: list[int] = []
        if role == "front":
            related = [1, *range(ground.lists + 1, ground.first), *list(items)[:8]]
        elif role == "list":
            start = ground.first + (page - 1) * PER_LIST
            related = list(range(start, min(start + PER_LIST, ground.pages)))
            related += [page + 1] if page < ground.lists else []
        elif role == "tag" and items:
            related = [chance.pick(items) for _ in range(8)]
        elif items:
            following = page + 1 if page + 1 < ground.pages else ground.first
            related = [following, *(chance.pick(items) for _ in range(chance.between(1, 4)))]
        home = 1 + min((page - ground.first) // PER_LIST, ground.lists - 1) if role == "item" else 1
        related = [one for one in dict.fromkeys(related) if one != page]
        return Links(
            nav=[0, home], related=related, outward=self._outward(page, chance), loose=self._loose(chance)
        )

    def _outward(self, page: int, chance: Chance) -> list[Where]:
        ground = self.ground
        out = list(ground.planted.get(page, ()))
        if ground.is_farm:
            return out
        town = self._town_of[0]
        out += self._partners
        busy = chance.between(1, 5) if page == 0 else 0
        if page >= ground.first and chance.happens(ground.kind_of_site.outward + 0.2):
            busy = chance.between(1, 12 if ground.template in ("directory", "linkfarm") else 3)
        for _ in range(busy):
            other = town.sites[pick_popular(chance, town.popular)].ground
            deep = chance.happens(0.25) and other.pages > other.first
            out.append((other.index, chance.between(other.first, other.pages - 1) if deep else 0))
        return [one for one in dict.fromkeys(out) if one != (ground.index, page)]

    @cached_property
    def _partners(self) -> list[Where]:
        """Other hosts that every page of this one names in its footer."""
        chance, town = self._chance("partners"), self._town_of[0]
        share = 0.75 if self.ground.neighbourhood < 0 else 0.2
        wanted = chance.between(1, 4) if chance.happens(share) else 0
        return [(pick_popular(chance, town.popular), 0) for _ in range(wanted)]

    def _loose(self, chance: Chance) -> list[tuple[int, str]]:
        out: list[tuple[int, str]] = []
        if chance.happens(0.02):
            out.append(
                (
                    self.ground.index,
                    f"/{chance.pick(('old', 'archive', 'img', 'temp'))}/{chance.text(6)}.html",
                )
            )
        if self.moved and chance.happens(0.1):
            out.append((self.ground.index, chance.pick(list(self.moved))))
        return out

    def html(self, page: int, port: int) -> str:
        """The page as it is served."""
        ground, chance = self.ground, self._chance("dress", page)
        links = self.links(page)
        voice = self.voice("text", self._text_of(page))
        sheet = Sheet(
            site=ground.title,
            lang=ground.lang,
            title=self.titles[page],
            body="\n".join(self.body(page)),
            nav=[
                (self.paths[one], LABEL[ground.lang]["home" if one == 0 else "archive"]) for one in links.nav
            ],
            related=[(self.paths[one], self.titles[one]) for one in links.related],
            outward=[self._anchor(where, port) for where in links.outward] + self._loose_anchors(links, port),
            date=voice.fill("{d}"),
            footer=self._footer,
            mark=ground.mark,
            year=voice.years[1] - chance.below(3),
            extra=self._extra(page),
        )
        return SKINS[self.skin(page)](sheet)

    @cached_property
    def _footer(self) -> str:
        return self.voice("footer").paragraph(1, 2)

    def skin(self, page: int) -> str:
        chance, special = self._chance("skin", page), self.shown(page)
        if special.imitates in ("old_html", "plumber_marquee"):
            return "nineties"
        if special.kind and chance.happens(0.35):
            return chance.pick(("bare", "nineties", "modern", "blog", "cms", "wiki"))
        return self.ground.skin

    def body(self, page: int) -> list[str]:
        """Blocks of HTML, without what the skin puts around them."""
        special = self.shown(page)
        voice = self.voice("text", self._text_of(page))
        if special.imitates == "old_date":
            voice.years = (1991, 1999)
        size = voice.chance.pick(_ODD_SIZES if special.kind else _SIZES)
        if self.ground.role(page) != "item" and not self.ground.is_farm:
            return [*(p(voice.sentence()) for _ in range(voice.chance.between(2, 14))), *_register(voice)]
        if special.imitates:
            return DECOYS[special.imitates](voice, size)
        if special.kind:
            own = kinds.KINDS[special.kind](voice, size)
            return [*own, p(voice.paragraph(1, 4))] if voice.chance.happens(0.55) else own
        if self.ground.is_farm:
            return _farm_body(voice)
        return [*self.ground.kind_of_site.body(voice, size), *_register(voice)]

    def voice(self, *key: object) -> Voice:
        ground = self.ground
        years = (2015, 2026) if ground.is_farm else TEMPLATES[ground.template].years
        return Voice(
            self._chance(*key),
            ground.lang,
            ground.topic,
            ground.own,
            ground.particular,
            years,
            kinds.vocabulary(ground.lang),
        )

    def _text_of(self, page: int) -> int:
        """One item in fifteen has the text of the one before it: another colour, another date."""
        is_copy = page > self.ground.first and not self.special(page).kind and not self.special(page).imitates
        before = page - 1
        if is_copy and not self.special(before).kind and not self.special(before).imitates:
            return before if self._chance("copy", page).happens(0.07) else page
        return page

    def _anchor(self, where: Where, port: int) -> tuple[str, str]:
        host, page = where
        other = self._town_of[0].sites[host]
        text = other.titles[page] if page else other.ground.title
        return f"http://{other.ground.name}{_port(port)}{other.paths[page]}", text

    def _loose_anchors(self, links: Links, port: int) -> list[tuple[str, str]]:
        return [(path, path.strip("/").partition("/")[0]) for _, path in links.loose]

    def _extra(self, page: int) -> str:
        ground, cloud = self.ground, ""
        if self._has_cloud:
            voice = self.voice("cloud", page)
            words = ", ".join(voice.fill("[{s}|{s}|{s}|{z}|{w}]") for _ in range(voice.chance.between(4, 20)))
            cloud = p(f"{_CLOUD[ground.lang]}: {words}")
        if ground.role(page) == "list" and page < ground.lists:
            return cloud + link(self.paths[page + 1], LABEL[ground.lang]["next"])
        return cloud

    @cached_property
    def _has_cloud(self) -> bool:
        return not self.ground.is_farm and self._chance("has-cloud").happens(0.4)

    def _title(self, page: int) -> str:
        ground, role, special = self.ground, self.ground.role(page), self.shown(page)
        label, voice = LABEL[ground.lang], self.voice("title", page)
        if role == "front":
            return ground.title
        if role == "list":
            return f"{label['archive']} {page}"
        if role == "tag":
            return f"{label['tags']}: {voice.noun()}"
        if special.kind:
            return voice.fill(voice.chance.pick(kinds.TITLES[special.kind][ground.lang]))
        return voice.title()

    def _path(self, page: int) -> str:
        ground, role, special = self.ground, self.ground.role(page), self.special(page)
        if role == "front":
            return "/"
        if role == "list":
            return f"/page/{page}" if ground.mark < "m" else f"/index.php?page={page}"
        if role == "tag":
            return f"/tag/{page}"
        chance = self._chance("path", page)
        is_strange = special.imitates == "odd_url" or (
            special.kind and not self.plan.folders and chance.happens(0.5)
        )
        if is_strange:
            word = slug(chance.pick(ground.own))
            return chance.pick(kinds.PATHS).format(w=word, n=chance.between(1, 999))
        if not special.kind and not special.imitates and self.has_rules and chance.happens(0.02):
            return f"{PRIVATE}{slug(self.voice('address', page).title())}"
        shape = "/{slug}" if ground.is_farm else TEMPLATES[ground.template].paths[ground.lang]
        years = TEMPLATES["blog"].years if ground.is_farm else TEMPLATES[ground.template].years
        words = slug(self.voice("address", page).title() if special.kind else self._title(page))
        return shape.format(slug=words or f"p{page}", n=1000 + page, y=chance.between(*years))

    @cached_property
    def has_rules(self) -> bool:
        return not self.ground.is_farm and self._chance("rules").happens(0.3)

    def _chance(self, *key: object) -> Chance:
        return Chance(self.plan.seed, self.ground.index, *key)


def _register(voice: Voice) -> list[str]:
    """What many ordinary pages end with: keywords, an index, the titles of what else there is to read."""
    chance = voice.chance
    words = [voice.fill("[{s}|{s}|{s}|{s}|{z}]") for _ in range(chance.between(6, 30))]
    form = chance.unit()
    if form < 0.3:
        return []
    if form < 0.5:
        return [p(", ".join(words))]
    if form < 0.65:
        return [p(" ".join(f"{word} {chance.between(1, 300)}" for word in words))]
    if form < 0.8:
        return [ul(" ".join(words[at : at + 3]) for at in range(0, len(words), 3))]
    return [p(" · ".join(words))]


def _farm_body(voice: Voice) -> list[str]:
    """One strange text with other words in it, thousands of times."""
    rows: Sequence[str] = (
        "the {w} under {c} opens when {k} lamps are counted backwards.",
        "{p} heard the {w} at {h} and the {n} answered in {i} voices.",
        "do not follow the {w}. follow the {w}.",
        "signal {x} {x} {x} repeats until the {n} is asleep.",
    )
    return [p(voice.fill(row)) for row in rows]


def _port(port: int) -> str:
    return "" if port == 80 else f":{port}"
