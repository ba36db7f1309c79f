"""The world of the hunt: a few hundred hosts of dull pages, some odd ones among them, and pages that only look odd."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from html import unescape

from vedette.livingweb.chance import Chance
from vedette.livingweb.layouts import LAYOUTS
from vedette.livingweb.noise import Listing, Rendered
from vedette.livingweb.odd.decoys import DECOYS
from vedette.livingweb.odd.plan import SEEDS, Ground, OddPlan, Where, grounds_of, popular
from vedette.livingweb.odd.sites import PRIVATE, OddSite, Town
from vedette.livingweb.process import Never
from vedette.livingweb.robots import Robots
from vedette.livingweb.words import Story
from vedette.livingweb.world import EPOCH, Design, FaultRule, Host, HostSpec, Page, World

_TAGS = re.compile(r"<[^>]*>")
_FAULTS = {
    "failing": ("unavailable", "reset", "server_error"),
    "flaky": ("server_error",),
}
SLOW = 0.02  # seconds of a slow host before each answer
RULES = ((PRIVATE, False), ("/search", False), ("/*?print=", False))


class OddWorld(World):
    """A world whose truth also says what each page is: odd and of which kind, a decoy and of what, or ordinary."""

    def __init__(self, plan: OddPlan, *, epoch: float = EPOCH) -> None:
        self.plan = plan
        grounds = grounds_of(plan)
        holder: list[Town] = []
        self.sites = [OddSite(holder, ground, plan) for ground in grounds]
        holder.append(Town(plan, self.sites, popular(grounds)))
        super().__init__([_spec(site) for site in self.sites], seed=plan.seed, epoch=epoch)

    def facts(self, host: int | str, page: int) -> dict[str, object]:
        """What the page is.  `kind` is that of an odd page, `imitates` that of a decoy; both are empty elsewhere."""
        site = self.sites[self.host(host).index]
        ground, special = site.ground, site.shown(page)
        return {
            "is_odd": bool(special.kind),
            "kind": special.kind,
            "neighbourhood": special.neighbourhood if special.kind else -1,
            "imitates": "farm" if ground.is_farm else special.imitates,
            "template": ground.template,
            "role": ground.role(page),
            "lang": ground.lang,
            "skin": site.skin(page),
            "health": ground.health,
            "was_odd": bool(site.special(page).kind),  # where the world is swapped: an odd page stood here
        }

    def known(self, port: int) -> dict[str, object]:
        """All of the truth: seeds, neighbourhoods, and every page that is not ordinary."""
        rows = [(self.url(host, page, port), self.facts(host, page)) for host, page in self.specials]
        return {
            "seeds": self.seeds(port),
            "pages": sum(host.spec.pages for host in self.hosts),
            "odd": {url: facts for url, facts in rows if facts["is_odd"]},
            "decoys": {url: facts for url, facts in rows if facts["imitates"]},
            "was_odd": [url for url, facts in rows if facts["was_odd"]],
            "neighbourhoods": self._neighbourhoods(port),
        }

    @cached_property
    def specials(self) -> tuple[Where, ...]:
        """Host and page of every odd page and decoy; without the farm."""
        return tuple(
            (site.ground.index, page) for site in self.sites for page in sorted(site.ground.specials)
        )

    def seeds(self, port: int) -> list[str]:
        """Front pages to start from."""
        return [self.url(host, None, port) for host in range(SEEDS)]

    def links(self, host: int, page: int, port: int) -> list[str]:
        """Every address that the page leads to, in the order in which they stand in the truth."""
        site = self.sites[host]
        links = site.links(page)
        inner = [(host, one) for one in (*links.nav, *links.related)]
        urls = [self.url(*where, port) for where in (*inner, *links.outward)]
        return urls + [self.url(there, None, port).rstrip("/") + path for there, path in links.loose]

    def _neighbourhoods(self, port: int) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for host, page in self.specials:
            special = self.sites[host].shown(page)
            if special.kind and special.neighbourhood >= 0:
                groups.setdefault(str(special.neighbourhood), []).append(self.url(host, page, port))
        return groups


def odd_world(
    *, seed: int = 7, size: tuple[int, int] = (400, 20_000), odd: int = 200, epoch: float = EPOCH
) -> OddWorld:
    """The committed world.  `size`: hosts and pages.  For its variants make an `OddPlan`."""
    hosts, pages = size
    plan = OddPlan(hosts=hosts, pages=pages, odd=odd, decoys=decoys_for(pages), seed=seed)
    return OddWorld(plan, epoch=epoch)


def decoys_for(pages: int) -> int:
    """Thirteen of each kind in the committed world; two of each at least."""
    return max(2, min(13, pages // 1500)) * len(DECOYS)


@dataclass(frozen=True, slots=True)
class OddStory(Story):
    """The text of a page, made when it is asked for.  It has one version."""

    site: OddSite | None = None
    page: int = 0

    def paragraphs(self, version: int) -> tuple[str, ...]:
        blocks = self.site.body(self.page) if self.site is not None else ()
        return tuple(unescape(_TAGS.sub(" ", block)).strip() for block in blocks)

    def edit(self, version: int) -> str:
        return "first"


def _spec(site: OddSite) -> HostSpec:
    ground = site.ground
    chance = Chance(site.plan.seed, ground.index, "server")
    delay = chance.happens(0.04) and not ground.is_farm
    return HostSpec(
        name=ground.name,
        title=ground.title,
        lang="hr" if ground.lang == "hr" else "en",  # of the notes that the server writes
        listing="crawl",
        pages=ground.pages,
        changes=Never(),
        validators=chance.pick(("none", "etag", "last_modified", "both")),
        gzip=chance.happens(0.3),
        robots=Robots("rules" if site.has_rules else "allow", 5.0 if delay else 0.0, RULES),
        latency=SLOW if ground.health == "slow" else 0.0,
        faults=_faults(ground, chance),
        design=_design(site),
    )


def _faults(ground: Ground, chance: Chance) -> tuple[FaultRule, ...]:
    if ground.health not in _FAULTS:
        return ()
    name = chance.pick(_FAULTS[ground.health])
    return (FaultRule(name, rate=1.0 if ground.health == "failing" else 0.4),)


def _design(site: OddSite) -> Design:
    def rendered(host: Host, page: Page, version: int, where: str) -> Rendered:
        port = int(where.partition(":")[2] or 80)
        return Rendered("text/html; charset=utf-8", (site.html(page.index, port).encode(),))

    return Design(
        layout=LAYOUTS["tables"],
        path=lambda index, slug, chance: site.paths[index],
        title=lambda index: site.titles[index],
        lister="crawl",
        start="/",
        find=partial(_nothing),
        story=lambda key: OddStory(key, site.ground.lang, (), site=site, page=int(str(key[2]))),
        page=rendered,
        moved=lambda target: site.moved.get(target),
    )


def _nothing(host: Host, target: str, t: float, where: str) -> Listing | None:
    return None


def every_page(world: OddWorld) -> Iterator[Where]:
    """Host and page of all of them, the farm too."""
    return ((host.index, page) for host in world.hosts for page in range(host.spec.pages))
