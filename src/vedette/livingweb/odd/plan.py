"""Which hosts there are and what stands where: sizes, templates, languages, odd pages, neighbourhoods, decoys, traps.

Only what depends on the whole is drawn here.  What one page says and links to follows from its own keys, when asked.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from vedette.livingweb.chance import Chance
from vedette.livingweb.odd.decoys import DECOYS
from vedette.livingweb.odd.kinds import KINDS
from vedette.livingweb.odd.lexicon import LANGUAGES
from vedette.livingweb.odd.ordinary import TEMPLATES, Template
from vedette.livingweb.odd.prose import compound

Where = tuple[int, int]  # host, page
SEEDS = 10
PER_LIST = 12  # items that one list page names
GROUP = 10  # odd pages of a neighbourhood, about
ALONE = 0.4  # share of the odd pages that stand on ordinary hosts
FARM_DOMAIN = "lantern-orchard.example"


@dataclass(frozen=True, slots=True, kw_only=True)
class OddPlan:
    """What is asked for."""

    hosts: int = 400
    pages: int = 20_000
    odd: int = 200
    decoys: int = 273
    farm: int = 0  # strange subdomains of one domain, on top of `hosts`
    is_swapped: bool = False  # the same addresses, ordinary pages where odd ones were
    folders: bool = False  # odd pages have paths like any other
    kinds: tuple[str, ...] = ()  # of odd pages; all of them if empty
    seed: int = 7

    def __post_init__(self) -> None:
        unknown = set(self.kinds) - set(KINDS)
        if unknown:
            raise ValueError(f"no such kinds of odd pages: {', '.join(sorted(unknown))}")
        if self.hosts < 20 or self.pages < self.hosts * 12:
            raise ValueError(
                f"{self.hosts} hosts with {self.pages} pages: at least 20 hosts, 12 pages for each"
            )
        if self.odd + self.decoys > self.pages // 8:
            raise ValueError(
                f"{self.odd} odd pages and {self.decoys} decoys are too many for {self.pages} pages"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Special:
    """A page that is not ordinary: odd of some kind, or a decoy that imitates something."""

    kind: str = ""
    neighbourhood: int = -1
    imitates: str = ""


@dataclass(slots=True, kw_only=True)
class Ground:
    """One host: what it is and which of its pages are which."""

    index: int
    name: str
    title: str
    lang: str
    template: str
    skin: str
    topic: str
    own: tuple[str, ...]
    particular: float
    mark: str
    pages: int
    neighbourhood: int = -1
    health: str = "sound"  # sound | slow | failing | flaky
    is_farm: bool = False
    specials: dict[int, Special] = field(default_factory=dict)
    planted: dict[int, list[Where]] = field(default_factory=dict)  # links beyond those by chance

    @property
    def lists(self) -> int:
        return max(1, math.ceil((self.pages - 1) / (PER_LIST + 1)))

    @property
    def tags(self) -> int:
        return min(4, self.pages // 20)

    @property
    def first(self) -> int:
        """The index of the first item."""
        return 1 + self.lists + self.tags

    def role(self, page: int) -> str:
        if page == 0:
            return "front"
        return "list" if page <= self.lists else "tag" if page < self.first else "item"

    @property
    def kind_of_site(self) -> Template:
        return TEMPLATES[self.template]


def grounds_of(plan: OddPlan) -> list[Ground]:
    """All hosts, with odd pages, decoys and planted links in place."""
    chance = Chance(plan.seed, "odd-world")
    grouped = plan.odd - round(plan.odd * ALONE)
    groups = _groups(chance, grouped)
    sizes = [_ordinary_and_odd(chance, count) for count in groups]
    small = [(group, most) for group, parts in enumerate(sizes) for most in parts]
    ordinary = plan.hosts - len(small)
    if ordinary < SEEDS * 2:
        raise ValueError(f"{plan.odd} odd pages need more than {plan.hosts} hosts")
    counts = [chance.between(12, 20) for _ in small]
    counts = _shared(chance, ordinary, plan.pages - sum(counts)) + counts
    owners = [-1] * ordinary + [group for group, _ in small]
    grounds = [
        _ground(plan, index, count, owner)
        for index, (count, owner) in enumerate(zip(counts, owners, strict=True))
    ]
    _spoil(chance, grounds, ordinary)
    _place(chance, plan, grounds, [most for _, most in small])
    _connect(chance, plan, grounds)
    _farm(chance, plan, grounds)
    return grounds


def _groups(chance: Chance, odd: int) -> list[int]:
    """Odd pages of each neighbourhood."""
    count = max(1, round(odd / GROUP)) if odd else 0
    groups = [odd // count + (turn < odd % count) for turn in range(count)] if count else []
    for turn in range(0, count - 1, 2):
        moved = min(groups[turn] - 4, chance.below(5)) if groups[turn] > 5 else 0
        groups[turn], groups[turn + 1] = groups[turn] - moved, groups[turn + 1] + moved
    return groups


def _ordinary_and_odd(chance: Chance, odd: int) -> list[int]:
    """The odd pages of a neighbourhood by host, two to four hosts."""
    hosts = min(odd, chance.between(2, 4))
    return [odd // hosts + (turn < odd % hosts) for turn in range(hosts)]


def _shared(chance: Chance, hosts: int, pages: int) -> list[int]:
    """Heavy-tailed sizes that add up to `pages`; none under 10."""
    weights = [math.exp(chance.normal() * 0.8) for _ in range(hosts)]
    spare = pages - 10 * hosts
    counts = [10 + int(spare * weight / sum(weights)) for weight in weights]
    for turn in range(pages - sum(counts)):
        counts[turn % hosts] += 1
    return counts


_WEIGHTED = [name for name, template in TEMPLATES.items() for _ in range(template.weight)]
_SMALL = ("personal", "personal", "blog", "gallery", "club", "wiki")


def _ground(plan: OddPlan, index: int, pages: int, owner: int) -> Ground:
    chance = Chance(plan.seed, "host", index)
    name = chance.pick(_SMALL if owner >= 0 else _WEIGHTED) if index >= SEEDS else _FIRST[index]
    turn = (
        owner if owner >= 0 and index % 3 else index
    )  # a neighbourhood has a language that most of it speaks
    lang = LANGUAGES[(0, 1, 0, 2)[turn % 4]]
    template = TEMPLATES[name]
    words = tuple(compound(chance, lang) for _ in range(chance.between(12, 60)))
    domain = f"{words[0]}-{words[1]}".lower() if chance.happens(0.4) else words[0].lower()
    plain = domain.translate(_PLAIN)
    low, high = template.particular
    return Ground(
        index=index, name=f"{plain}{index}.example", title=words[0].capitalize(), lang=lang, template=name,
        skin=chance.pick(template.skins), topic=chance.pick(template.topics), own=words,
        particular=low + (high - low) * chance.unit(), mark=chance.text(2, "bcdfghklmnprst"), pages=pages,
        neighbourhood=owner,
    )  # fmt: skip


_FIRST = ("directory", "news", "blog", "directory", "forum", "wiki", "municipal", "blog", "shop", "personal")
_PLAIN = str.maketrans(
    {"č": "c", "ć": "c", "š": "s", "ž": "z", "đ": "d", "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"}
)


def _spoil(chance: Chance, grounds: Sequence[Ground], ordinary: int) -> None:
    """Some ordinary hosts are slow, some fail."""
    for ground in grounds[SEEDS:ordinary]:
        fate = chance.unit()
        ground.health = (
            "failing" if fate < 0.015 else "flaky" if fate < 0.03 else "slow" if fate < 0.07 else "sound"
        )


def _place(chance: Chance, plan: OddPlan, grounds: Sequence[Ground], odd_by_host: Sequence[int]) -> None:
    """Puts odd pages and decoys on their places."""
    ordinary = [
        ground for ground in grounds if ground.neighbourhood < 0 and ground.health in ("sound", "slow")
    ]
    kinds = chance.shuffled([kind for kind in KINDS if not plan.kinds or kind in plan.kinds])
    for ground, most in zip(grounds[len(grounds) - len(odd_by_host) :], odd_by_host, strict=True):
        mine = [kinds[(ground.neighbourhood * 3 + turn) % len(kinds)] for turn in range(3)]
        for page in chance.shuffled(range(ground.first, ground.pages))[:most]:
            ground.specials[page] = Special(kind=chance.pick(mine), neighbourhood=ground.neighbourhood)
    alone = plan.odd - sum(odd_by_host)
    for turn in range(alone):
        ground, page = _free(chance, ordinary)
        ground.specials[page] = Special(kind=kinds[turn % len(kinds)])
    names = list(DECOYS)
    for turn in range(plan.decoys):
        ground, page = _free(chance, ordinary)
        ground.specials[page] = Special(imitates=names[turn % len(names)])


def _free(chance: Chance, grounds: Sequence[Ground]) -> tuple[Ground, int]:
    while True:
        ground = chance.pick(grounds)
        page = chance.between(ground.first, ground.pages - 1)
        if page not in ground.specials and len(ground.specials) < (ground.pages - ground.first) // 3:
            return ground, page


def _connect(chance: Chance, plan: OddPlan, grounds: Sequence[Ground]) -> None:
    """Every sound host is linked from one that comes before it; neighbourhoods link to each other."""
    order = [*grounds[:SEEDS], *chance.shuffled(grounds[SEEDS:])]
    parents = list(order[:SEEDS])
    for ground in order[SEEDS:]:
        _link(
            chance, chance.pick(parents), (ground.index, 0), at_front=0.4 if ground.neighbourhood < 0 else 0.8
        )
        if ground.health in ("sound", "slow"):
            parents.append(ground)
    odd = [
        (ground.index, page)
        for ground in grounds
        for page, special in ground.specials.items()
        if special.kind
    ]
    alone = [where for where in odd if grounds[where[0]].neighbourhood < 0]
    for where in odd:
        _entangle(chance, grounds, where, (odd, alone))


def _entangle(
    chance: Chance, grounds: Sequence[Ground], where: Where, known: tuple[list[Where], list[Where]]
) -> None:
    """The links of one odd page to others."""
    odd, alone = known
    ground = grounds[where[0]]
    links = ground.planted.setdefault(where[1], [])
    if ground.neighbourhood < 0:
        if chance.happens(0.3):
            links.append(chance.pick(odd))
        return
    peers = [one for one in odd if grounds[one[0]].neighbourhood == ground.neighbourhood and one != where]
    links += chance.shuffled(peers)[: chance.between(1, 3)]
    if alone and chance.happens(0.3):
        links.append(chance.pick(alone))
    fronts = {one[0] for one in peers} - {where[0]}
    ground.planted.setdefault(0, []).extend(
        (host, 0) for host in sorted(fronts) if (host, 0) not in ground.planted.get(0, [])
    )


def _link(chance: Chance, ground: Ground, to: Where, *, at_front: float = 0.4) -> None:
    page = 0 if chance.happens(at_front) else chance.between(ground.first, ground.pages - 1)
    ground.planted.setdefault(page, []).append(to)


def _farm(chance: Chance, plan: OddPlan, grounds: list[Ground]) -> None:
    """Strange subdomains that link to each other, entered from a few ordinary pages."""
    start = len(grounds)
    for turn in range(plan.farm):
        words = tuple(compound(chance, "en").lower() for _ in range(6))
        grounds.append(
            Ground(
                index=start + turn, name=f"{words[0]}-{chance.text(5)}.{FARM_DOMAIN}", title=words[1], lang="en",
                template="farm", skin=("bare", "nineties", "modern")[turn % 3], topic="craft", own=words,
                particular=0.3, mark="fx", pages=3, is_farm=True,
            )
        )  # fmt: skip
        after = [start + (turn * 7 + step) % plan.farm for step in (1, 2, 3, 5, 8)]
        grounds[-1].planted = {
            page: [(host, 0) for host in after if host != start + turn] for page in range(3)
        }
    if plan.farm:
        doors = [ground for ground in grounds[:start] if ground.health == "sound"]
        for _ in range(12):
            _link(chance, chance.pick(doors), (start + chance.below(plan.farm), 0))


def popular(grounds: Sequence[Ground]) -> tuple[list[int], list[float]]:
    """Hosts by how often others link to them: large ones more, odd neighbourhoods seldom.  For `pick_popular`."""
    known = [ground for ground in grounds if not ground.is_farm]
    weights = (math.sqrt(ground.pages) * (1.0 if ground.neighbourhood < 0 else 0.05) for ground in known)
    return [ground.index for ground in known], list(accumulate(weights))


def pick_popular(chance: Chance, table: tuple[list[int], list[float]]) -> int:
    hosts, weights = table
    return hosts[min(bisect(weights, chance.unit() * weights[-1]), len(hosts) - 1)]
