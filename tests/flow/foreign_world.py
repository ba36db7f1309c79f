"""A second world for the hunt, by other rules than those of `livingweb/odd`: other languages, kinds, templates, links.

English, Spanish and French.  Ordinary sentences are put together from a grammar: subjects, verbs and places of one
topic, so whole sentences hardly repeat, and what repeats is what sites repeat.  Odd pages mix topics, or are no prose.
It is here to see what the hunt does in a web that it was not made for.  Seeds 1 and 2 were in view when caps were
chosen; others were not.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, cached_property
from html import escape

from foreign_words import ART, DREAMT, OMENS, SHAPES, SOUNDS, STOCK, STRANGE, TOPICS, WHEN, WHY

PORT = 80
SEEDS = 8
Maker = Callable[["Tongue", random.Random], list[str]]


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


class Tongue:
    """One site's way of speaking."""

    def __init__(self, lang: str, topic: int, chance: random.Random) -> None:
        self.lang = lang
        self.topic = topic
        rows = TOPICS[lang]
        self.things, self.verbs, self.traits = (_words(text) for text in rows[topic])
        self.all_things = [thing for row in rows for thing in _words(row[0])]
        self.when, self.why = _words(WHEN[lang]), _words(WHY[lang])
        self.omens = _words(OMENS[lang])
        self.brands = [coined(lang, chance).capitalize() for _ in range(20)]
        self.names = [coined(lang, chance).capitalize() for _ in range(6)]
        self.towns = [coined(lang, chance).capitalize() for _ in range(4)]

    def fill(self, shape: str, chance: random.Random, *, is_strange: bool = False) -> str:
        things = self.all_things if is_strange else self.things
        slots: dict[str, Callable[[], str]] = {
            "{s}": lambda: chance.choice(things), "{v}": lambda: chance.choice(self.verbs),
            "{a}": lambda: chance.choice(self.traits), "{w}": lambda: chance.choice(self.when),
            "{m}": lambda: chance.choice(self.why), "{p}": lambda: chance.choice(self.names),
            "{n}": lambda: str(chance.randrange(2, 60)), "{c}": lambda: chance.choice(self.towns),
            "{o}": lambda: chance.choice(self.omens), "{b}": lambda: chance.choice(self.brands),
            "{k}": lambda: chance.choice(borrowed(self.lang)),
            "{x}": lambda: coined(self.lang, chance), "{y}": lambda: coined(self.lang, chance),
        }  # fmt: skip
        for slot, draw in slots.items():
            while slot in shape:
                shape = shape.replace(slot, draw(), 1)
        return shape

    def sentence(self, chance: random.Random) -> str:
        bank = STOCK if chance.random() < 0.2 else SHAPES
        said = self.fill(chance.choice(bank[self.lang]), chance)
        return said[0].upper() + said[1:] + "."

    def paragraph(self, chance: random.Random, least: int = 2, most: int = 5) -> str:
        return " ".join(self.sentence(chance) for _ in range(chance.randint(least, most)))


@cache
def borrowed(lang: str) -> list[str]:
    """The words of odd pages, which ordinary pages use too: no word gives a page away."""
    texts = [line for rows in STRANGE.values() for line in rows[lang]]
    texts += [*DREAMT[lang], OMENS[lang]]
    return sorted({word for text in texts for word in re.findall(r"[^\W\d_]{4,}", re.sub(r"{.}", " ", text))})


def coined(lang: str, chance: random.Random) -> str:
    return "".join(chance.choice(SOUNDS[lang].split()) for _ in range(chance.randint(2, 3)))


# Odd pages.


def strange(kind: str) -> Maker:
    def make(tongue: Tongue, chance: random.Random) -> list[str]:
        own, shared = STRANGE[kind][tongue.lang], DREAMT[tongue.lang]
        shapes = [
            *chance.sample(own, chance.randint(2, len(own))),
            *chance.choices(shared, k=chance.randint(2, 10)),
        ]
        chance.shuffle(shapes)
        lines = [tongue.fill(shape, chance, is_strange=True).rstrip(".") + "." for shape in shapes]
        if chance.random() < 0.4:
            return [f"<p>{line}</p>" for line in lines]
        if chance.random() < 0.4:
            return ["<p>" + "<br>\n".join(lines) + "</p>"]
        return [f"<p>{' '.join(lines[turn : turn + 3])}</p>" for turn in range(0, len(lines), 3)]

    return make


def ascii_garden(tongue: Tongue, chance: random.Random) -> list[str]:
    rows = ["".join(chance.choice(ART) for _ in range(18)) for _ in range(chance.randint(8, 20))]
    said = tongue.fill(chance.choice(STRANGE["letters_to_weather"][tongue.lang]), chance, is_strange=True)
    return ["<pre>" + escape("\n".join(rows)) + f"\n\n{said}</pre>"]


def counting(tongue: Tongue, chance: random.Random) -> list[str]:
    """Somebody counts, and remarks on it."""
    number, out = chance.randrange(1000, 9000), list[str]()
    for _ in range(chance.randint(20, 60)):
        number += chance.choice((-1, 1, 1, 1, 2))
        said = f" {tongue.fill(chance.choice(STRANGE['night_watch'][tongue.lang]), chance)}"
        out.append(f"{number}{said if chance.random() < 0.12 else ''}")
    return ["<p>" + " ".join(out) + "</p>"]


def telegrams(tongue: Tongue, chance: random.Random) -> list[str]:
    bank = [line for rows in STRANGE.values() for line in rows[tongue.lang]]
    said = (tongue.fill(chance.choice(bank), chance, is_strange=True) for _ in range(chance.randint(5, 10)))
    return [f"<tt>{line.upper().replace('.', ' STOP')}</tt><hr>" for line in said]


def pocket_language(tongue: Tongue, chance: random.Random) -> list[str]:
    words = [coined(tongue.lang, chance) + chance.choice(("q'", "ath", "oï", "zz")) for _ in range(12)]
    rows = [
        f"<tr><td>{word}<td>{tongue.fill('{s}', chance, is_strange=True)}, {chance.choice(words)}</tr>"
        for word in words
    ]
    poem = [" ".join(chance.choice(words) for _ in range(chance.randint(3, 6))) for _ in range(8)]
    return [f"<table>{''.join(rows)}</table>", "<p>" + "<br>".join(poem) + "</p>"]


KINDS: dict[str, Maker] = {
    **{kind: strange(kind) for kind in STRANGE},
    "ascii_garden": ascii_garden, "counting": counting, "telegrams": telegrams, "pocket_language": pocket_language,
}  # fmt: skip

# Dull pages that share something with odd ones.


def _plain(tongue: Tongue, chance: random.Random, most: int = 3) -> list[str]:
    return [f"<p>{tongue.paragraph(chance)}</p>" for _ in range(chance.randint(1, most))]


def _listing(tongue: Tongue, chance: random.Random) -> list[str]:
    rows = [
        f"{n:03}  if ({coined(tongue.lang, chance)} != NULL) {{ return {chance.randrange(99)}; }}"
        for n in range(25)
    ]
    return [*_plain(tongue, chance, 1), "<pre>" + escape("\n".join(rows)) + "</pre>"]


def _family_tree(tongue: Tongue, chance: random.Random) -> list[str]:
    rows = [
        f"{chance.choice(tongue.names)}, *{chance.randrange(1780, 1900)} {chance.choice(tongue.towns)}"
        for _ in range(25)
    ]
    return ["<font size=2><center>" + "<br>".join(rows) + "</center></font>", *_plain(tongue, chance, 1)]


def _capitals(tongue: Tongue, chance: random.Random) -> list[str]:
    return [f"<p>{tongue.paragraph(chance).upper()}</p>" for _ in range(3)]


def _parts(tongue: Tongue, chance: random.Random) -> list[str]:
    return [
        "<p>" + " ".join(f"{chance.randrange(10**6):06}-{chance.randrange(99)}" for _ in range(80)) + "</p>"
    ]


def _log(tongue: Tongue, chance: random.Random) -> list[str]:
    rows = [
        f"2009-03-{chance.randrange(1, 29):02} 02:{chance.randrange(60):02} sshd[{chance.randrange(9999)}]: failed"
        for _ in range(30)
    ]
    return ["<pre>" + "\n".join(rows) + "</pre>"]


def _poem_of_school(tongue: Tongue, chance: random.Random) -> list[str]:
    return ["<p>" + "<br>".join(tongue.sentence(chance) for _ in range(14)) + "</p>"]


def _other_language(tongue: Tongue, chance: random.Random) -> list[str]:
    other = Tongue({"en": "fr", "es": "en", "fr": "es"}[tongue.lang], tongue.topic, chance)
    return _plain(other, chance)


def _brand_names(tongue: Tongue, chance: random.Random) -> list[str]:
    rows = (
        f"<li>{coined(tongue.lang, chance)} {coined(tongue.lang, chance)} {chance.randrange(900)}"
        for _ in range(40)
    )
    return [f"<ul>{''.join(rows)}</ul>"]


def _mixed_quiz(tongue: Tongue, chance: random.Random) -> list[str]:
    things = (tongue.fill("{s}", chance, is_strange=True) for _ in range(30))
    return ["<ol>" + "".join(f"<li>{thing}?" for thing in things) + "</ol>"]


def _old_hobby(tongue: Tongue, chance: random.Random) -> list[str]:
    return [
        "<CENTER><FONT COLOR=RED>Guestbook! Webring!</FONT></CENTER><BLINK>1997</BLINK>",
        *_plain(tongue, chance),
    ]


DECOYS: dict[str, Maker] = {
    "listing": _listing, "family_tree": _family_tree, "capitals": _capitals, "parts": _parts, "log": _log,
    "poem": _poem_of_school, "other_language": _other_language, "brand_names": _brand_names, "quiz": _mixed_quiz,
    "old_hobby": _old_hobby, "very_short": lambda tongue, chance: [f"<p>{tongue.fill('{s}', chance)}</p>"],
    "very_long": lambda tongue, chance: [f"<p>{tongue.paragraph(chance, 5, 9)}</p>" for _ in range(25)],
}  # fmt: skip


@dataclass
class Site:
    """One host."""

    name: str
    lang: str
    topic: int
    skin: int
    pages: int
    neighbourhood: int = -1
    special: dict[int, tuple[str, str]] = field(
        default_factory=dict
    )  # page: kind, or "" and what it imitates
    out: dict[int, list[tuple[int, int]]] = field(default_factory=dict)

    @cached_property
    def tongue(self) -> Tongue:
        return Tongue(self.lang, self.topic, random.Random(self.name))


class ForeignWorld:
    """All hosts, their pages and the truth about them.  Everything follows from the seed."""

    def __init__(
        self,
        seed: int,
        *,
        size: tuple[int, int] = (300, 12_000),
        special: tuple[int, int] = (150, 180),
        is_swapped: bool = False,
    ) -> None:
        """`size`: hosts and pages, about.  `special`: odd pages and decoys."""
        (hosts, pages), (odd, decoys) = size, special
        self.seed = seed
        self.is_swapped = is_swapped
        chance = random.Random(f"foreign {seed}")
        self.sites = [
            self._site(n, chance, max(8, int(pages / hosts * chance.lognormvariate(-0.3, 0.8))))
            for n in range(hosts)
        ]
        small = self._groups(chance, odd)
        self._alone(chance, odd - small, decoys)
        self._link(chance)
        self.at = {
            self.url(host, page): (host, page)
            for host, site in enumerate(self.sites)
            for page in range(site.pages)
        }

    @staticmethod
    def _site(number: int, chance: random.Random, pages: int) -> Site:
        lang = chance.choice(("en", "en", "es", "fr"))
        name = f"{coined(lang, chance)}{number}.example"
        return Site(name, lang, chance.randrange(8), chance.randrange(7), pages)

    def _groups(self, chance: random.Random, odd: int) -> int:
        """Half of the odd pages stand on small sites of two to four that know each other."""
        done, group = 0, 0
        while done < odd // 2:
            names = [chance.randrange(SEEDS, len(self.sites)) for _ in range(chance.randint(2, 4))]
            kinds = chance.sample(list(KINDS), 3)
            for host in dict.fromkeys(names):
                site = self.sites[host]
                if site.neighbourhood >= 0:
                    continue
                site.neighbourhood, site.skin, site.pages = (
                    group,
                    chance.choice((5, 6, 0)),
                    chance.randint(8, 16),
                )
                for page in chance.sample(range(1, site.pages), min(4, odd - done)):
                    site.special[page] = (chance.choice(kinds), "")
                    done += 1
            group += 1
        return done

    def _alone(self, chance: random.Random, odd: int, decoys: int) -> None:
        wanted = [(kind, "") for kind in _round(KINDS, odd)] + [("", name) for name in _round(DECOYS, decoys)]
        for row in wanted:
            while True:
                site = chance.choice(self.sites)
                page = chance.randrange(1, site.pages)
                if page not in site.special and site.neighbourhood < 0:
                    break
            site.special[page] = row

    def _link(self, chance: random.Random) -> None:
        """A site is linked from one that comes before it; odd pages of a group from each other."""
        for host in range(SEEDS, len(self.sites)):
            there = chance.randrange(host)
            page = chance.randrange(self.sites[there].pages)
            self.sites[there].out.setdefault(page, []).append((host, 0))
        odd = [
            (host, page)
            for host, site in enumerate(self.sites)
            for page, (kind, _) in site.special.items()
            if kind
        ]
        for host, page in odd:
            group = self.sites[host].neighbourhood
            peers = [
                one for one in odd if self.sites[one[0]].neighbourhood == group >= 0 and one != (host, page)
            ]
            links = chance.sample(peers, min(len(peers), 2))
            if odd and chance.random() < 0.2:
                links.append(chance.choice(odd))
            self.sites[host].out.setdefault(page, []).extend(links)
        for site in self.sites:
            for page in range(site.pages):
                if chance.random() < 0.06:
                    site.out.setdefault(page, []).append((chance.randrange(len(self.sites)), 0))

    def url(self, host: int, page: int) -> str:
        site = self.sites[host]
        if page == 0:
            return f"http://{site.name}/"
        shapes = (
            "/{0}/{1}.html",
            "/{1}-{0}",
            "/p/{1}",
            "/{0}/{1}",
            "/index.php?id={1}",
            "/~{0}/{1}.htm",
            "/{1}.txt.html",
        )
        return f"http://{site.name}" + shapes[site.skin].format(
            ("notes", "news", "info", "de")[page % 4], page
        )

    @property
    def seeds(self) -> list[str]:
        return [self.url(host, 0) for host in range(SEEDS)]

    def truth(self, url: str) -> tuple[str, str]:
        """Its kind if it is odd, what it imitates if it is a decoy."""
        where = self.at.get(url)
        return ("", "") if where is None else self.sites[where[0]].special.get(where[1], ("", ""))

    @cached_property
    def odd(self) -> frozenset[str]:
        """None of them, where the world is swapped."""
        return frozenset(url for url in self.at if self.truth(url)[0] and not self.is_swapped)

    def links(self, url: str) -> list[str]:
        host, page = self.at[url]
        return [self.url(*there) for there in self._leads_to(host, page)]

    def _leads_to(self, host: int, page: int) -> list[tuple[int, int]]:
        site, chance = self.sites[host], random.Random(f"{self.seed} links {host} {page}")
        if page == 0:
            inner = list(range(1, min(site.pages, 30)))
        else:
            inner = [0, page % (site.pages - 1) + 1, *(chance.randrange(site.pages) for _ in range(4))]
            inner += range(page + 30, site.pages, 30)
        return [(host, one) for one in dict.fromkeys(inner) if one != page] + site.out.get(page, [])

    def title(self, host: int, page: int) -> str:
        site, chance = self.sites[host], random.Random(f"{self.seed} title {host} {page}")
        kind, _ = site.special.get(page, ("", ""))
        if kind and not self.is_swapped and kind in STRANGE:
            return site.tongue.fill(chance.choice(STRANGE[kind][site.lang]), chance, is_strange=True)[:50]
        return site.tongue.fill("{s}" if chance.random() < 0.5 else "{s} {w}", chance)

    def html(self, url: str) -> str:
        host, page = self.at[url]
        site, chance = self.sites[host], random.Random(f"{self.seed} page {host} {page}")
        kind, imitates = site.special.get(page, ("", ""))
        if kind and not self.is_swapped:
            body = KINDS[kind](site.tongue, chance)
        elif imitates:
            body = DECOYS[imitates](site.tongue, chance)
        else:
            body = _plain(site.tongue, chance, 6)
        own = bool(kind) and not self.is_swapped and chance.random() < 0.4
        links = [
            f'<a href="{self.url(*there)}">{escape(self.title(*there))}</a>'
            for there in self._leads_to(host, page)
        ]
        return dressed(6 if own else site.skin, self.title(host, page), body, links, site)


def _round(table: Iterable[str], many: int) -> list[str]:
    names = list(table)
    return [names[turn % len(names)] for turn in range(many)]


def dressed(skin: int, title: str, body: list[str], links: list[str], site: Site) -> str:
    """Seven ways to make a page; the last two by hand."""
    text, ways = "\n".join(body), "\n".join(f"<li>{link}</li>" for link in links)
    if skin == 6:
        ways = " | ".join(links)
        return (
            f"<html><title>{title}</title><body bgcolor=#eeeecc><h2>{title}</h2>{text}<p>{ways}</body></html>"
        )
    if skin == 5:
        return f"<HTML><HEAD><TITLE>{title}</TITLE></HEAD><BODY><H1>{title}</H1>{text}<HR><UL>{ways}</UL></BODY></HTML>"
    head = f'<!doctype html><html lang="{site.lang}"><head><meta charset="utf-8"><title>{title} - {site.name}</title>'
    name = ("wp", "shop", "gov", "mag", "doc")[skin]
    head += f'<meta name="viewport" content="width=device-width"><link rel="stylesheet" href="/{name}.css"></head>'
    side = f'<aside class="{name}-side"><ul class="{name}-menu">{ways}</ul></aside>'
    main = f'<main class="{name}-main"><article class="{name}-post"><h1>{title}</h1>{text}</article></main>'
    foot = f'<footer class="{name}-foot">{site.name} 2026</footer><script src="/{name}.js"></script>'
    top = f'<nav class="{name}-nav"><a href="/">{site.name}</a></nav>'
    return f'{head}<body class="{name}">{top}{main}{side}{foot}</body></html>'
