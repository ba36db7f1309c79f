"""What ordinary sites have on their pages: fourteen templates, each with its skins, paths and way of writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vedette.livingweb.odd.markup import dl, h, p, pre, table, ul
from vedette.livingweb.odd.prose import Voice, code, compound, person

Body = Callable[[Voice, int], list[str]]  # size from 1 to 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """One kind of ordinary site."""

    body: Body
    skins: tuple[str, ...]
    topics: tuple[str, ...]
    paths: dict[str, str]  # language -> shape of an item's path: {slug} {n} {y}
    weight: int = 4  # how common it is
    particular: tuple[float, float] = (0.05, 0.3)  # share of nouns that only this site has
    years: tuple[int, int] = (2015, 2026)
    outward: float = 0.25  # how often an item links to another host


def _shop(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    rows = [
        (voice.noun(), voice.fill("{k} [mm|g|W|cm|V|ml]")) for _ in range(chance.between(2, 4 + 2 * size))
    ]
    price = f"{chance.between(3, 900)}.{chance.between(0, 99):02} €"
    out = [
        f'<p class="price">{price}</p>',
        p(voice.fill("{w} {x}")),
        p(voice.paragraph(1, 2 + size)),
        table(rows),
    ]
    stars = range(chance.below(size + 1))
    return out + [p(f"{'★' * chance.between(2, 5)} {person(voice)}: {voice.sentence()}") for _ in stars]


def _news(voice: Voice, size: int) -> list[str]:
    out = [f"<p><b>{voice.sentence()}</b></p>"]
    out += [p(voice.paragraph(2, 5)) for _ in range(1 + size)]
    if voice.chance.happens(0.4):
        out.insert(2, f"<blockquote>{voice.sentence()}</blockquote><p>{person(voice)}</p>")
    return out


def _blog(voice: Voice, size: int) -> list[str]:
    out = [p(voice.paragraph(1, 6)) for _ in range(1 + size)]
    said = range(voice.chance.below(4))
    return out + [f"<div class=comment><b>{person(voice)}</b>{p(voice.paragraph(1, 2))}</div>" for _ in said]


def _forum(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, []
    for _ in range(1 + size * 2):
        user = compound(chance, voice.lang).lower() + str(chance.below(99))
        text = voice.paragraph(1, 4)
        if chance.happens(0.3):
            text = text.lower()
        quote = f"<blockquote>{voice.sentence()}</blockquote>" if chance.happens(0.25) else ""
        signed = f"<i>-- {voice.fill('{w} {x}, {w}, {n}')}</i>" if chance.happens(0.4) else ""
        out.append(
            f"<div class=post><b>{user}</b> {voice.fill('{d} {h}')} #{chance.below(900)}{quote}{p(text)}{signed}</div>"
        )
    return out


def _docs(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, [p(voice.paragraph(1, 3))]
    for _ in range(size):
        out += [h(voice.title()), p(voice.paragraph(1, 4))]
        name = compound(chance, voice.lang).lower()
        lines = [
            f"{name}.{voice.noun().lower()} = {chance.between(0, 4096)}" for _ in range(chance.between(1, 6))
        ]
        out.append(
            pre(f"$ {name} --{voice.noun().lower()} {code(voice)}\n" + "\n".join(lines))
            if chance.happens(0.7)
            else ""
        )
    return out


def _municipal(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    number = f"{chance.between(100, 999)}-{chance.between(1, 12):02}/{chance.between(12, 26)}/{chance.between(1, 400)}"
    out = [p(f"{number}, {voice.fill('{c}, {d}')}"), p(voice.paragraph(1, 3))]
    out.append(ul((voice.sentence() for _ in range(1 + size)), "ol"))
    if chance.happens(0.4):
        out.append(table([(voice.noun(), voice.fill("{k}"), voice.fill("{d}")) for _ in range(2 + size)]))
    return [*out, p(voice.fill("{p}, {c}"))]


def _corporate(voice: Voice, size: int) -> list[str]:
    out = [p(voice.paragraph(1, 3))]
    for _ in range(size):
        out += [h(voice.title(), 3), p(voice.paragraph(1, 3))]
    return [*out, ul(voice.fill("{a} {n}") for _ in range(3))]


def _wiki(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    box = table(
        [
            (voice.noun(), voice.fill(chance.pick(("{k}", "{y}", "{c}", "{p}", "{a} {n}"))))
            for _ in range(chance.between(2, 7))
        ]
    )
    out = [box if chance.happens(0.6) else "", p(voice.paragraph(2, 4))]
    for _ in range(size):
        out += [h(voice.title()), p(voice.paragraph(2, 5))]
    notes = (f"{person(voice)}: {voice.title()}, {voice.fill('{c} {y}')}." for _ in range(1 + size))
    return [*out, ul(notes, "ol")]


def _recipe(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    stuff = [
        f"{chance.between(1, 500)} {chance.pick(('g', 'ml', 'dl', '×', 'kg'))} {voice.noun()}"
        for _ in range(3 + 2 * size)
    ]
    return [p(voice.paragraph(1, 3)), ul(stuff), ul((voice.sentence() for _ in range(2 + size)), "ol")]


def _gallery(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    return [
        f'<figure><img src="/foto/{chance.text(8)}.jpg" alt=""><figcaption>{voice.title()}, {voice.fill("{c} {y}")}'
        "</figcaption></figure>"
        for _ in range(2 + size * 2)
    ]


def _personal(voice: Voice, size: int) -> list[str]:
    out = [p(voice.paragraph(1, 4)) for _ in range(size)]
    out.append(ul(voice.fill("{a} {n}, {y}") for _ in range(2 + size)))
    return [*out, p(voice.sentence())]


def _directory(voice: Voice, size: int) -> list[str]:
    return [dl((voice.fill("{w} {c}"), voice.sentence()) for _ in range(2 + size * 2))]


def _statistics(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, [p(voice.paragraph(1, 2))]
    for _ in range(1 + size // 2):
        years = range(chance.between(2008, 2018), 2024)
        rows = [
            (voice.fill("{c}"), *(str(chance.between(10, 99999)) for _ in years)) for _ in range(3 + size * 2)
        ]
        out += [table(rows, ("", *(str(year) for year in years))), p(voice.sentence())]
    return out


def _club(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    rows = [
        (voice.fill("{d}"), voice.fill("{c} - {c}"), f"{chance.below(6)}:{chance.below(6)}")
        for _ in range(2 + size)
    ]
    return [p(voice.paragraph(1, 3)), table(rows), p(voice.paragraph(1, 1 + size))]


def _linkfarm(voice: Voice, size: int) -> list[str]:
    return [p(" ".join(voice.fill("{a} {n} {c},") for _ in range(4 + size * 6))), p(voice.paragraph(1, 2))]


def _paths(en: str, hr: str, de: str) -> dict[str, str]:
    return {"en": en, "hr": hr, "de": de}


_ANY = ("home", "garden", "travel", "tech", "cooking", "music", "cars", "craft", "health")
TEMPLATES = {
    "shop": Template(
        body=_shop, skins=("shop", "shop", "modern"), topics=("home", "garden", "tech", "cars", "craft"),
        paths=_paths("/product/{n}-{slug}", "/proizvod/{slug}", "/artikel/{n}/{slug}.html"), weight=6,
        particular=(0.2, 0.5), outward=0.05,
    ),
    "news": Template(
        body=_news, skins=("modern", "cms"), topics=("town", "sport", "finance", "health", "music"),
        paths=_paths("/{y}/{slug}", "/vijesti/{slug}-{n}", "/nachrichten/{y}/{slug}"), weight=5,
    ),
    "blog": Template(
        body=_blog, skins=("blog", "blog", "modern", "nineties"), topics=_ANY,
        paths=_paths("/{y}/{slug}/", "/{y}/{slug}/", "/{y}/{slug}/"), weight=6, outward=0.5,
    ),
    "forum": Template(
        body=_forum, skins=("board",), topics=_ANY, weight=4, particular=(0.1, 0.4), outward=0.3,
        paths=_paths("/viewtopic.php?t={n}", "/tema/{n}", "/thread-{n}.html"),
    ),
    "docs": Template(
        body=_docs, skins=("manual", "modern"), topics=("tech", "finance"), particular=(0.2, 0.6),
        paths=_paths("/docs/{slug}.html", "/upute/{slug}.html", "/handbuch/{slug}.html"), weight=3,
    ),
    "municipal": Template(
        body=_municipal, skins=("cms", "cms", "nineties"), topics=("town", "finance", "health"), weight=4,
        paths=_paths("/notices/{n}", "/obavijesti/{n}-{slug}", "/aktuelles/{n}.html"), outward=0.1,
    ),
    "corporate": Template(
        body=_corporate, skins=("modern", "cms"), topics=("finance", "tech", "home", "health"), weight=4,
        paths=_paths("/services/{slug}", "/usluge/{slug}", "/leistungen/{slug}"), outward=0.1,
    ),
    "wiki": Template(
        body=_wiki, skins=("wiki",), topics=_ANY, paths=_paths("/wiki/{slug}", "/wiki/{slug}", "/wiki/{slug}"),
        weight=3, particular=(0.2, 0.5), outward=0.5, years=(1870, 2024),
    ),
    "recipe": Template(
        body=_recipe, skins=("modern", "blog"), topics=("cooking",), weight=3, outward=0.15,
        paths=_paths("/recipes/{slug}", "/recepti/{slug}", "/rezepte/{slug}"),
    ),
    "gallery": Template(
        body=_gallery, skins=("modern", "bare", "nineties"), topics=("travel", "music", "craft", "cars"), weight=2,
        paths=_paths("/album/{n}", "/galerija/{n}", "/bilder/{n}.html"), outward=0.1,
    ),
    "personal": Template(
        body=_personal, skins=("nineties", "nineties", "bare"), topics=_ANY, weight=5, outward=0.5, years=(1996, 2008),
        paths=_paths("/{slug}.html", "/{slug}.htm", "/seite{n}.html"),
    ),
    "directory": Template(
        body=_directory, skins=("cms", "nineties", "bare"), topics=_ANY, weight=2, outward=0.9,
        paths=_paths("/cat/{n}/", "/imenik/{slug}", "/verzeichnis/{slug}"),
    ),
    "statistics": Template(
        body=_statistics, skins=("cms", "bare", "nineties"), topics=("finance", "town"), weight=2, outward=0.05,
        paths=_paths("/tables/t{n}.html", "/podaci/{n}", "/tabellen/{n}"), years=(1991, 2024),
    ),
    "club": Template(
        body=_club, skins=("nineties", "cms", "blog"), topics=("sport", "music", "garden"), weight=3, outward=0.3,
        paths=_paths("/season/{n}.html", "/sezona/{n}", "/verein/{n}.htm"), years=(1998, 2012),
    ),
    "linkfarm": Template(
        body=_linkfarm, skins=("bare", "cms"), topics=_ANY, weight=1, outward=1.0, particular=(0.0, 0.2),
        paths=_paths("/{slug}", "/{slug}", "/{slug}"),
    ),
}  # fmt: skip
