"""Dull pages, each with one thing that odd pages have too."""

from __future__ import annotations

from collections.abc import Callable

from vedette.livingweb.odd.lexicon import LOREM
from vedette.livingweb.odd.markup import h, p, pre, table, ul
from vedette.livingweb.odd.prose import Voice, code, compound, foreign, person

_GREETINGS = {
    "en": (
        "nice site!!! visit my {n} shop for {a} {n}",
        "{a} {n}s CHEAP, {k} only today",
        "hi from {p}, {c}, great page",
    ),
    "hr": (
        "super stranica!!! {a} {n} povoljno",
        "{n} JEFTINO, {k} samo danas",
        "pozdrav, {p}, {c}, lijepa stranica",
    ),
    "de": (
        "tolle Seite!!! {a} {n} günstig",
        "{n} BILLIG, nur heute {k}",
        "Gruß aus {c} von {p}, schöne Seite",
    ),
}
_LEGAL = {
    "en": "the provider accepts no liability for the {n}, the {n} or any {a} {n} arising from section {i} of {y}.",
    "hr": "pružatelj usluge {n} ne odgovara za {n}, {n} ni za štetu koja nastane prema članku {i}. iz {y}. godine.",
    "de": "der Anbieter haftet nicht für {n}, {n} oder Schäden, die nach Absatz {i} von {y} an {n} entstehen.",
}
_STARS = {
    "en": "[Aries|Taurus|Leo|Virgo|Libra|Pisces]: a {a} week for {n} and {n}. lucky number {i}. avoid {n}.",
    "hr": "[Ovan|Bik|Lav|Djevica|Vaga|Ribe]: {a} tjedan za {n} i {n}. sretan broj {i}. u petak izbjegavajte {n}.",
    "de": "[Widder|Stier|Löwe|Jungfrau|Waage|Fische]: gute Woche für {n} und {n}. Glückszahl {i}. kein {n}.",
}
_CARDS = {
    "en": "tarot deck {x}, {k} cards, dream [moon|star|oracle] edition with {a} box; ships in {i} days.",
    "hr": "tarot karte {x}, {k} karata, izdanje [mjesec|zvijezda|san] s kutijom; dostava {i} dana.",
    "de": "Tarotkarten {x}, {k} Blatt, Ausgabe [Mond|Stern|Traum] mit Schachtel; Versand in {i} Tagen.",
}


def _old_html(voice: Voice, size: int) -> list[str]:
    return [
        f"<FONT COLOR=#008000 SIZE=4><B>{voice.title()}</B></FONT><BR>",
        *(f"<P>{voice.paragraph()}<BR>" for _ in range(1 + size)),
    ]


def _ascii_code(voice: Voice, size: int) -> list[str]:
    name = compound(voice.chance, voice.lang).lower()
    art = (
        f"+{'-' * 22}+\n|{name[:20].center(22)}|\n+{'-' * 22}+\n   |      /\\      |\n"
        "   +---->/  \\<----+\n         \\  /\n          \\/"
    )
    return [
        p(voice.paragraph(1, 3)),
        pre(art + f"\n\nint main(void) {{ return {name}(); }}"),
        p(voice.paragraph(1, 2 + size)),
    ]


def _caps_legal(voice: Voice, size: int) -> list[str]:
    return [p(voice.fill(_LEGAL[voice.lang]).upper()) for _ in range(1 + size * 2)]


def _dull(voice: Voice, size: int) -> list[str]:
    return [p(voice.paragraph(2, 5)) for _ in range(1 + size)]


def _number_table(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    rows = [[str(chance.between(10, 99999)) for _ in range(8)] for _ in range(10 + size * 10)]
    return [p(voice.sentence()), table(rows, [voice.noun() for _ in range(8)])]


def _guestbook_spam(voice: Voice, size: int) -> list[str]:
    rows = voice.chance
    return [
        p(f"{person(voice)} ({voice.fill('{d}')}): {voice.fill(rows.pick(_GREETINGS[voice.lang]))}")
        for _ in range(4 + size * 4)
    ]


def _foreign(voice: Voice, size: int) -> list[str]:
    tongue = voice.chance.pick(("it", "hu", "fi"))
    return [
        p(" ".join(foreign(voice.chance, tongue, voice.chance.between(6, 16)) for _ in range(4)))
        for _ in range(1 + size)
    ]


def _broken_template(voice: Voice, size: int) -> list[str]:
    name = voice.noun()
    return [
        f"<p>{{{{ page.{name}|default }}}} %TITLE% <?php echo $row['{name}']; ?> undefined</p>",
        p(voice.sentence()), f"<p>Warning: mysql_connect() in /var/www/{name}.inc on line {voice.fill('{k}')}</p>",
        p("NaN [object Object] ${item.name} " + voice.paragraph(1, 1 + size)), "<div></p></b></table>",
    ]  # fmt: skip


def _keywords(voice: Voice, size: int) -> list[str]:
    words = [voice.noun() for _ in range(5)]
    return [p(", ".join(voice.chance.pick(words) + " " + voice.fill("{c}") for _ in range(30 + size * 20)))]


def _lorem(voice: Voice, size: int) -> list[str]:
    words = LOREM.split()
    return [
        p(" ".join(voice.chance.pick(words) for _ in range(60)).capitalize() + ".") for _ in range(1 + size)
    ]


def _very_short(voice: Voice, size: int) -> list[str]:
    return [p(voice.fill("{n}."))]


def _very_long(voice: Voice, size: int) -> list[str]:
    return [p(voice.paragraph(4, 7)) for _ in range(25 + size * 4)]


def _plumber(voice: Voice, size: int) -> list[str]:
    return [
        f"<marquee><blink>{voice.fill('{p}, {c}, {k} {k}')}</blink></marquee>", *_dull(voice, size),
        f"<p><img src=/counter.gif alt=''> {voice.chance.between(100, 99999):06}</p>",
    ]  # fmt: skip


def _tarot_shop(voice: Voice, size: int) -> list[str]:
    return [ul(voice.fill(_CARDS[voice.lang]) for _ in range(2 + size * 2)), p(voice.paragraph(1, 2))]


def _horoscope(voice: Voice, size: int) -> list[str]:
    return [p(voice.fill(_STARS[voice.lang])) for _ in range(4 + size)]


def _hash_list(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    return [
        p(voice.sentence()),
        pre("\n".join(f"{chance.text(40)}  {code(voice).lower()}.tar.gz" for _ in range(4 + size * 3))),
    ]


def _bus_times(voice: Voice, size: int) -> list[str]:
    rows = [
        [voice.fill("{c} {n}"), *(f"{hour:02}:{(stop * 4 + 7) % 60:02}" for hour in range(6, 12))]
        for stop in range(4 + size * 2)
    ]
    return [p(voice.sentence()), table(rows), p(voice.sentence())]


def _frequencies(voice: Voice, size: int) -> list[str]:
    rows = [
        (
            voice.fill("{w} {x}"),
            f"{voice.chance.between(87, 440)}.{voice.chance.below(99):02} MHz",
            voice.fill("{k} €"),
        )
        for _ in range(3 + size * 2)
    ]
    return [p(voice.paragraph(1, 2)), table(rows), p(voice.sentence())]


def _game_manual(voice: Voice, size: int) -> list[str]:
    return [
        h(voice.title(), 3),
        ul((voice.fill("F{i}: {a} {n}") for _ in range(3 + size)), "ul"),
        p(voice.paragraph(1, 2 + size)),
    ]


def _shouting(voice: Voice, size: int) -> list[str]:
    return [p(voice.paragraph(1, 3).upper() + "!!!") for _ in range(1 + size)]


DECOYS: dict[str, Callable[[Voice, int], list[str]]] = {
    "old_html": _old_html,
    "ascii_code": _ascii_code,
    "caps_legal": _caps_legal,
    "odd_url": _dull,
    "old_date": _dull,
    "number_table": _number_table,
    "guestbook_spam": _guestbook_spam,
    "foreign": _foreign,
    "broken_template": _broken_template,
    "keyword_stuffing": _keywords,
    "lorem": _lorem,
    "very_short": _very_short,
    "very_long": _very_long,
    "plumber_marquee": _plumber,
    "tarot_shop": _tarot_shop,
    "horoscope": _horoscope,
    "hash_list": _hash_list,
    "bus_times": _bus_times,
    "frequencies": _frequencies,
    "game_manual": _game_manual,
    "shouting": _shouting,
}
