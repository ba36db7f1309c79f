"""Odd pages that worship and govern: rings, shrines in letters, catalogues, cosmologies, countries of one flat."""

from __future__ import annotations

from vedette.livingweb.odd.markup import dl, h, p, pre, table, ul
from vedette.livingweb.odd.prose import Bank, Voice, compound, person
from vedette.livingweb.odd.signals import said

SHRINE_TITLES: dict[str, Bank] = {
    "webring": {
        "en": ("the ring of the {a} {n}", "members of the {w} circle", "you are between two sites"),
        "hr": ("prsten: {a} {n}", "članovi kruga {w}", "ti si između dvije stranice"),
        "de": ("der Ring: {n}", "Mitglieder im Kreis {w}", "du bist zwischen zwei Seiten"),
    },
    "ascii_shrine": {
        "en": ("shrine to the {a} {n}", "leave a character for {p}", "O {n}, O {n}"),
        "hr": ("svetište: {a} {n}", "ostavi slovo za {p}", "o {n}, o {n}"),
        "de": ("Schrein: {n}", "lass ein Zeichen für {p}", "o {n}, o {n}"),
    },
    "esoteric_catalogue": {
        "en": (
            "catalogue of {n}s that were almost {n}s",
            "index of the {i} kinds of quiet",
            "inventory, drawer {x}",
        ),
        "hr": ("katalog stvari koje su zamalo bile {n}", "popis {i} vrsta tišine", "inventar, ladica {x}"),
        "de": (
            "Katalog der Dinge, die fast {n} waren",
            "Verzeichnis der {i} Arten von Stille",
            "Inventar, Schublade {x}",
        ),
    },
    "cosmology": {
        "en": (
            "the world is a {n}: a correction",
            "the {i} floors of the sky",
            "where {n} goes when it is switched off",
        ),
        "hr": ("svijet je {n}: ispravak", "{i} katova neba", "kamo ide {n} kad se ugasi"),
        "de": (
            "die Welt ist {n}: eine Berichtigung",
            "die {i} Stockwerke des Himmels",
            "wohin {n} geht, wenn man es abschaltet",
        ),
    },
    "micronation": {
        "en": ("the Free Republic of the {n}", "passport office of {w}", "constitution of our stairwell"),
        "hr": ("Slobodna Republika {n}", "putovnice države {w}", "ustav našeg stubišta"),
        "de": ("die Freie Republik {n}", "Passamt von {w}", "Verfassung unseres Treppenhauses"),
    },
}

_RING: Bank = {
    "en": (
        "this ring has {i} members, of whom {i} still answer.",
        "the site to your left has not been updated since {p} went to look at the {n}.",
        "random goes somewhere else than it did in {y}. we did not change it.",
        "to join you must own a {n}, keep it {a}, and never say the name of the ring on a telephone.",
    ),
    "hr": (
        "ovaj prsten ima {i} članova, od kojih {i} još odgovara.",
        "stranica lijevo nije mijenjana otkad je {p} otišao pogledati {n}.",
        "za ulazak moraš imati {n}, držati ga kao {a} i nikad ne reći ime prstena u telefon.",
    ),
    "de": (
        "dieser Ring hat {i} Mitglieder, von denen {i} noch antworten.",
        "die Seite links wurde nicht geändert, seit {p} nach {n} sehen ging.",
        "wer beitritt, besitzt {n} und nennt den Namen des Rings nie am Telefon.",
    ),
}
_PRAYERS: Bank = {
    "en": (
        "it hummed for {i} years in {c} and nobody thanked it. I am thanking it, one character at a time.",
        "visitors are asked to type in lower case near the {n}.",
        "on {d} the {n} was carried out by two men. I asked for the screws. I have the screws.",
        "do not resize your window here. it disturbs the wings.",
    ),
    "hr": (
        "zujao je {i} godina u mjestu {c} i nitko mu nije zahvalio. zahvaljujem mu, slovo po slovo.",
        "posjetitelji se mole da pokraj predmeta {n} pišu malim slovima.",
        "dana {d} dva čovjeka odnijela su {n}. tražio sam vijke. imam vijke.",
    ),
    "de": (
        "es summte {i} Jahre in {c}, und niemand dankte ihm. ich danke ihm, Zeichen für Zeichen.",
        "Besucher schreiben in der Nähe von {n} bitte klein.",
        "am {d} trugen zwei Männer {n} hinaus. ich bat um die Schrauben. ich habe die Schrauben.",
    ),
}
_ITEMS: Bank = {
    "en": (
        "found behind the {n}. weight: none. keep away from {n}s of the same age.",
        "the {a} silence of a {n} after {p} has left the room; {i} minutes, in good condition.",
        "a map of {c} in which {c} is folded. does not unfold.",
        "probably a {n}. if it is not a {n}, see drawer {x}. drawer {x} says see here.",
        "smells of {y}. on loan to nobody; they renew it each {n}.",
    ),
    "hr": (
        "nađeno iza: {n}. težina: nema. ne držati blizu stvari iste dobi.",
        "tišina nakon što je {p} izašao iz sobe; {i} minuta, dobro očuvano.",
        "karta grada {c} u koji je {c} presavijen. ne otvara se.",
        "vjerojatno {n}. ako nije, vidi ladicu {x}. ladica {x} kaže vidi ovdje.",
    ),
    "de": (
        "gefunden hinter: {n}. Gewicht: keines. nicht neben Gleichaltriges legen.",
        "die Stille, nachdem {p} das Zimmer verließ; {i} Minuten, gut erhalten.",
        "ein Plan von {c}, in den {c} gefaltet ist. lässt sich nicht öffnen.",
        "vermutlich {n}. wenn nicht, siehe Schublade {x}. Schublade {x} sagt: siehe hier.",
    ),
}
_HEAVENS: Bank = {
    "en": (
        "the astronomers are honest people. they look up through the {n} and report the {n}.",
        "rain is what the second floor spills. I have kept a jar of the third.",
        "time is a {a} substance, mined near {c} until {y}, and what we use now is what was stored.",
        "each {n} has a twin below the ground which is {i} minutes late. earthquakes are introductions.",
        "I presented this to {p} at the institute. he closed the window before answering, which is an answer.",
        "diagram {i} is omitted because it moved.",
    ),
    "hr": (
        "astronomi su pošteni ljudi. gledaju gore kroz {n} i javljaju: {n}.",
        "kiša je ono što prolije drugi kat. čuvam staklenku s trećega.",
        "vrijeme je {a} tvar, kopala se kod mjesta {c} do {y}, a ovo sada su zalihe.",
        "izložio sam to gospodinu {p} u zavodu. zatvorio je prozor prije odgovora, i to je odgovor.",
    ),
    "de": (
        "die Astronomen sind ehrlich. sie sehen durch {n} hinauf und melden {n}.",
        "Regen ist, was der zweite Stock verschüttet. vom dritten habe ich ein Glas.",
        "Zeit ist ein Stoff, der bei {c} bis {y} abgebaut wurde; jetzt leben wir vom Lager.",
        "ich legte es {p} am Institut vor. er schloss das Fenster, bevor er antwortete, und das ist eine Antwort.",
    ),
}
_LAWS: Bank = {
    "en": (
        "the territory ends at the {n} and resumes behind it. the {n} itself is disputed.",
        "citizens greet the {n} before {h}. visitors may nod.",
        "the currency is the {n}; {i} of them make a {w}, unless it is raining.",
        "the minister of {n}s resigned on {d} and was reappointed the same evening, being the only resident.",
        "our application to the neighbours on floor {i} has been acknowledged with a broom.",
    ),
    "hr": (
        "teritorij završava kod predmeta {n} i nastavlja se iza njega. sam {n} je sporan.",
        "građani pozdravljaju {n} prije {h}. gosti smiju kimnuti.",
        "novac je {n}; {i} komada čini jedan {w}, osim kad pada kiša.",
        "ministar je dao ostavku {d} i iste večeri ponovno imenovan, jer je jedini stanovnik.",
    ),
    "de": (
        "das Gebiet endet bei {n} und geht dahinter weiter. {n} selbst ist umstritten.",
        "Bürger grüßen {n} vor {h} Uhr. Gäste dürfen nicken.",
        "die Währung heißt {n}; {i} davon sind ein {w}, außer bei Regen.",
        "der Minister trat am {d} zurück und wurde abends wieder ernannt, er ist der einzige Bewohner.",
    ),
}

BANKS = (_RING, _PRAYERS, _ITEMS, _HEAVENS, _LAWS)


def webring(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    rows = [
        f"{compound(chance, voice.lang)} ({person(voice)}, {voice.fill('{y}')})" for _ in range(2 + size * 2)
    ]
    return [p(said(voice, _RING, 1, 3)), ul(rows, chance.pick(("ul", "ol"))), p(said(voice, _RING, 1, 2))]


def ascii_shrine(voice: Voice, size: int) -> list[str]:
    out = [p(said(voice, _PRAYERS, 1, 2))]
    for _ in range(1 + size // 2):
        out += [pre(_figure(voice)), p(said(voice, _PRAYERS, 1, 3))]
    return out


def _figure(voice: Voice) -> str:
    """A symmetric thing with wings."""
    chance = voice.chance
    half, high = chance.between(6, 16), chance.between(6, 14)
    ink = chance.pick(("/\\|_.:", "*+.'o", "#=-~ ", "(){}<>", "xX.,;"))
    mirror = str.maketrans("/\\(){}<>", "\\/)(}{><")
    lines = []
    for row in range(high):
        wide = max(2, half - abs(row - high // 2))
        left = chance.text(wide, ink + "   ").rjust(half)
        lines.append(left + chance.pick("|Y!H0") + left[::-1].translate(mirror))
    return "\n".join(lines)


def esoteric_catalogue(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    rows = [
        (f"{voice.fill('{x}')} {compound(chance, voice.lang)}", voice.once(_ITEMS))
        for _ in range(3 + size * 3)
    ]
    return (
        [dl(rows)]
        if chance.happens(0.5)
        else [table(rows)]
        if chance.happens(0.4)
        else [p(f"{a}. {b}") for a, b in rows]
    )


def cosmology(voice: Voice, size: int) -> list[str]:
    out = []
    for number in range(1 + size * 2):
        if size > 1 and voice.chance.happens(0.35):
            out.append(h(f"{number + 1}. {voice.title()}", 3))
        out.append(p(said(voice, _HEAVENS, 2, 5)))
    return out


def micronation(voice: Voice, size: int) -> list[str]:
    out = [p(said(voice, _LAWS, 1, 3))]
    out.append(ul((voice.once(_LAWS) for _ in range(2 + size * 2)), "ol"))
    return out
