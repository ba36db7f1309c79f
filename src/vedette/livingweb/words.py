"""The sentences of the living web, in Croatian and English.  Data only; `text.py` fills the blanks."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from string import Formatter

from vedette.livingweb.chance import Chance

TOWNS = {
    "hr": "Zagrebu Splitu Rijeci Osijeku Zadru Šibeniku Karlovcu Varaždinu Čakovcu Đakovu Požegi".split(),
    "en": "Harrow Ashford Millbrook Easton Kingsport Fairview Northgate Selby Oakham Westbury".split(),
}
PEOPLE = {
    "hr": (
        "Ana Horvat",
        "Marko Kovačević",
        "Željka Babić",
        "Đuro Šimić",
        "Ćiril Žužić",
        "Nina Čop",
        "Tena Perić",
    ),
    "en": (
        "Ann Whitlock",
        "George Marsh",
        "Priya Nair",
        "Tom Hadley",
        "Ellen Brook",
        "Samir Khan",
        "Joan Fry",
    ),
}
BODIES = {
    "hr": (
        "Ministarstvo financija", "Porezna uprava", "Državni zavod za statistiku", "Gradsko vijeće",
        "Hrvatska narodna banka", "Povjerenstvo za žalbe", "Agencija za lijekove", "Županijska skupština",
        "Carinska uprava", "Državni inspektorat",
    ),
    "en": (
        "the Treasury", "the Revenue Office", "the Bureau of Statistics", "the Town Council",
        "the Central Bank", "the Appeals Board", "the Medicines Agency", "the County Assembly",
        "the Customs Office", "the Inspectorate",
    ),
}  # fmt: skip
SUBJECTS = {
    "hr": (
        "porezu na dohodak", "komunalnoj naknadi", "zaštiti na radu", "cijenama vode",
        "zdravstvenom osiguranju", "javnoj nabavi", "carinskim postupcima", "otpadu", "obrtu",
        "doplatku za djecu", "paušalnom porezu", "radu nedjeljom", "boravišnoj pristojbi",
        "zaštiti potrošača", "državnim potporama", "fiskalizaciji",
    ),
    "en": (
        "income tax", "waste collection", "safety at work", "water charges", "health insurance",
        "public tenders", "customs declarations", "parking permits", "child benefit", "small traders",
        "flat-rate tax", "Sunday trading", "visitor levy", "consumer protection", "state aid",
        "till receipts",
    ),
}  # fmt: skip
FORMS = {
    "hr": (
        "Pravilnik o",
        "Odluka o",
        "Uredba o",
        "Zakon o",
        "Uputa o",
        "Mišljenje o",
        "Obavijest o",
        "Izvješće o",
    ),
    "en": (
        "Rules on",
        "Decision on",
        "Order on",
        "Act on",
        "Guidance on",
        "Opinion on",
        "Notice on",
        "Report on",
    ),
}
MONTHS = {
    "hr": (
        "siječnja", "veljače", "ožujka", "travnja", "svibnja", "lipnja", "srpnja", "kolovoza", "rujna",
        "listopada", "studenoga", "prosinca",
    ),
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
        "November", "December",
    ),
}  # fmt: skip

SENTENCES = {
    "hr": (
        "{body} objavljuje novi tekst o {subject}, a primjenjuje se od {date}.",
        "U {town} je do sada zaprimljeno {n} zahtjeva, od čega je {m} riješeno.",
        "Obveznici koji prelaze iznos od {eur} podnose prijavu do {date}.",
        "Za sva pitanja o {subject} građani se mogu obratiti na broj 01/{n}-{m}.",
        "{person} ističe da se rokovi ne mijenjaju i da obrasci ostaju isti.",
        "Javno savjetovanje o {subject} otvoreno je do {date}.",
        "Prema podacima koje vodi {body}, broj korisnika porastao je za {pct}.",
        "Nadzor u {town} provodi se bez najave, svakim radnim danom.",
        "Žalba se izjavljuje u roku od {days} dana od dana dostave rješenja.",
        "Iznimno, odredbe o {subject} ne odnose se na poduzetnike s manje od {days} zaposlenih.",
        "Sredstva u visini od {eur} osigurana su u proračunu za tekuću godinu.",
        "Isplata kreće {date}, a popis je dostupan na šalterima u {town}.",
        "Stručno tijelo čini {days} članova, a predsjeda mu {person}.",
        "Novčana kazna iznosi od {eur} do {eur}, ovisno o težini prekršaja.",
        "Tekst o {subject} usklađen je s pravom Europske unije.",
        "{body} podsjeća da se evidencija vodi elektronički i čuva {days} godina.",
        "Razlozi za izmjenu navedeni su u obrazloženju, točka {days}.",
        "Građani u {town} mogu predati zahtjev osobno ili poštom.",
        "Na snagu stupa osmoga dana od objave, osim članka {days}.",
        "Ranija mišljenja o {subject} više se ne primjenjuju.",
        "Izvješće obuhvaća {n} predmeta i {m} preporuka.",
        "Dopuna spisa moguća je najkasnije {date}.",
    ),
    "en": (
        "From {date} {body} applies the new text on {subject}.",
        "In {town} {n} requests have come in so far, and {m} of them are settled.",
        "Anyone above {eur} files a return by {date}.",
        "Questions about {subject} are answered on extension {n}-{m}.",
        "{person} says that the deadlines stay and that the forms do not change.",
        "The public consultation on {subject} is open until {date}.",
        "According to figures kept by {body}, the number of users rose by {pct}.",
        "Inspections in {town} are unannounced and take place on every working day.",
        "An appeal is lodged within {days} days of delivery.",
        "The part on {subject} does not bind firms with fewer than {days} employees.",
        "A sum of {eur} has been set aside in this year's budget.",
        "Payments begin on {date}; the list is at the counters in {town}.",
        "The panel has {days} members and is chaired by {person}.",
        "The fine runs from {eur} to {eur}, depending on the breach.",
        "The text on {subject} follows the directive in every point.",
        "Records are kept electronically for {days} years, as {body} recalls.",
        "The grounds for the amendment are given in section {days} of the note.",
        "People in {town} may hand in the request in person or by post.",
        "It enters into force on the eighth day after publication, except article {days}.",
        "Earlier opinions on {subject} no longer stand.",
        "The report covers {n} cases and {m} recommendations.",
        "Files can be completed by {date} at the latest.",
    ),
}

FIGURES = {  # the one number that an edit moves
    "hr": (
        "Naknada iznosi {figure} eura mjesečno.",
        "Prag za ulazak u sustav PDV-a je {figure} eura.",
        "Trenutačno je otvoreno {figure} natječaja.",
        "Na listi čekanja je {figure} osoba.",
        "Najviša dopuštena cijena je {figure} eura po toni.",
    ),
    "en": (
        "The allowance is {figure} euros a month.",
        "The registration threshold is {figure} euros.",
        "There are {figure} open calls at present.",
        "The waiting list stands at {figure} people.",
        "The highest price allowed is {figure} euros per tonne.",
    ),
}
EXTRAS = {  # the sentence that an edit adds or takes away
    "hr": (
        "Rok je produljen do {date}.",
        "Iznimka vrijedi samo u {town}.",
        "Obrazac se više ne predaje na papiru.",
        "Odluku je potpisala osoba {person}.",
    ),
    "en": (
        "The deadline is extended to {date}.",
        "The exception holds in {town} only.",
        "The form is no longer accepted on paper.",
        "The decision was signed by {person}.",
    ),
}
OPENINGS = {  # a rewritten paragraph never opens as it did before
    "hr": ("Nakon izmjena:", "Pročišćeni tekst glasi:", "Novo uređenje:", "Dopunjeno:", "Od danas vrijedi:"),
    "en": (
        "As amended:",
        "The consolidated text reads:",
        "Under the new rule:",
        "Supplemented:",
        "From today:",
    ),
}
QUOTES = {
    "hr": (
        "Tko rano rani, dvije sreće grabi.", "Bez muke nema nauke.", "Polako, ali sigurno.",
        "Strpljen, spašen.",
        "Tiha voda brege dere.", "Čega se pametan stidi, time se lud ponosi.", "Zrno do zrna, pogača.",
    ),
    "en": (
        "Slow and steady wins the race.", "Look before you leap.", "A stitch in time saves nine.",
        "Less is more.",
        "Still waters run deep.", "Practice makes perfect.", "Many hands make light work.",
    ),
}  # fmt: skip
LABELS = {
    "hr": {
        "home": "Naslovnica", "list": "Popis", "related": "Povezano", "published": "Objavljeno",
        "next": "Sljedeća",
        "previous": "Prethodna", "contact": "Kontakt", "files": "Dokumenti", "rights": "Sva prava pridržana",
        "missing": "Stranica nije pronađena", "print": "Ispis",
    },
    "en": {
        "home": "Home", "list": "List", "related": "Related", "published": "Published", "next": "Next",
        "previous": "Previous", "contact": "Contact", "files": "Documents", "rights": "All rights reserved",
        "missing": "Page not found", "print": "Print",
    },
}  # fmt: skip


# Readable sentences from chance: titles, paragraphs, and the edits that make a new version of a page.
#
# A story has a fixed plan of paragraphs.  Edit number v touches exactly one of them, and the text after it
# always differs from the text before it.  Any version is computed directly, without those before it.

EDITS = ("number", "sentence", "paragraph")  # what a real change may be
FIXED = "fixed"
KNOWN_SENTENCES = 8192


@dataclass(frozen=True, slots=True)
class Story:
    """The text of one page over all its versions."""

    key: tuple[object, ...]
    lang: str
    plan: tuple[str, ...]  # one of EDITS or FIXED per paragraph
    flips: bool = False  # A -> B -> A -> B

    def paragraphs(self, version: int) -> tuple[str, ...]:
        root = Chance(*self.key, "text")
        edits = self._edits_of_each(version)
        return tuple(
            _paragraph(kind, self.lang, root.branch(place), edits[place])
            for place, kind in enumerate(self.plan)
        )

    def edit(self, version: int) -> str:
        """What made this version out of the one before."""
        if version <= 0:
            return "first"
        before, after = self._edits_of_each(version - 1), self._edits_of_each(version)
        return next(self.plan[place] for place in range(len(self.plan)) if before[place] != after[place])

    def _edits_of_each(self, version: int) -> list[int]:
        """How often each paragraph was edited: a round of edits touches each of them once, in mixed order."""
        edits = [0] * len(self.plan)
        if not version:
            return edits
        open_to_edits = [place for place, kind in enumerate(self.plan) if kind != FIXED]
        if self.flips:
            edits[open_to_edits[0]] = version % 2
            return edits
        rounds, rest = divmod(version, len(open_to_edits))
        order = Chance(*self.key, "round", rounds).shuffled(open_to_edits)
        for turn, place in enumerate(order):
            edits[place] = rounds + (turn < rest)
        return edits


def make_story(key: tuple[object, ...], lang: str, *, length: int = 0, flips: bool = False) -> Story:
    """A story of `length` paragraphs (0: chance decides), at least one for each kind of edit."""
    chance = Chance(*key, "plan")
    more = (length or chance.between(4, 8)) - len(EDITS)
    plan = chance.shuffled(
        [*EDITS, *(FIXED if chance.happens(0.7) else chance.pick(EDITS) for _ in range(more))]
    )
    return Story(key, lang, tuple(plan), flips)


def make_title(chance: Chance, lang: str, number: int) -> str:
    return (
        f"{chance.pick(FORMS[lang])} {chance.pick(SUBJECTS[lang])} {number + 1}/{chance.between(2019, 2025)}"
    )


def slug(title: str) -> str:
    """The title as a URL shows it: plain letters, digits, hyphens."""
    plain = unicodedata.normalize("NFKD", title.replace("đ", "d").replace("Đ", "D"))
    kept = [
        letter if letter.isascii() and letter.isalnum() else " " for letter in plain if ord(letter) < 0x300
    ]
    return "-".join("".join(kept).lower().split())


def sentence(chance: Chance, lang: str) -> str:
    """One of the sentences that this web knows; they are made once, because every page needs a dozen."""
    return _known_sentence(lang, chance.below(KNOWN_SENTENCES))


def long_date(t: float, lang: str) -> str:
    """`8. listopada 2026.` or `8 October 2026`."""
    day = datetime.fromtimestamp(t, UTC)
    month = MONTHS[lang][day.month - 1]
    return f"{day.day}. {month} {day.year}." if lang == "hr" else f"{day.day} {month} {day.year}"


@cache
def _known_sentence(lang: str, number: int) -> str:
    chance = Chance("sentence", lang, number)
    return _filled(chance.pick(SENTENCES[lang]), chance, lang)


def _paragraph(kind: str, lang: str, root: Chance, edits: int) -> str:
    chance = root.branch(edits if kind == "paragraph" else 0)
    if kind == "paragraph":
        openings = OPENINGS[lang]
        first = [openings[edits % len(openings)]] if edits else []
        return " ".join(first + [sentence(chance, lang) for _ in range(chance.between(2, 3))])
    lines = [sentence(chance, lang) for _ in range(chance.between(1, 3))]
    if kind == "number":
        value = 2 * root.branch(1, edits).between(50, 45_000) + edits % 2  # odd, even: an edit always shows
        figure = chance.pick(FIGURES[lang]).replace("{figure}", _grouped(value, lang))
        lines.insert(chance.below(len(lines) + 1), figure)
    elif kind == "sentence" and (edits + chance.below(2)) % 2:
        extra = root.branch(2, edits)
        lines.append(_filled(extra.pick(EXTRAS[lang]), extra, lang))
    return " ".join(lines)


def _grouped(value: int, lang: str) -> str:
    return f"{value:,}".replace(",", ".") if lang == "hr" else f"{value:,}"


def _date(chance: Chance, lang: str) -> str:
    day, month, year = chance.between(1, 28), chance.below(12), chance.between(2025, 2027)
    return f"{day}. {MONTHS[lang][month]} {year}." if lang == "hr" else f"{day} {MONTHS[lang][month]} {year}"


_BLANKS: dict[str, Callable[[Chance, str], str]] = {
    "body": lambda chance, lang: chance.pick(BODIES[lang]),
    "subject": lambda chance, lang: chance.pick(SUBJECTS[lang]),
    "town": lambda chance, lang: chance.pick(TOWNS[lang]),
    "person": lambda chance, lang: chance.pick(PEOPLE[lang]),
    "date": _date,
    "n": lambda chance, _: str(chance.between(120, 9800)),
    "m": lambda chance, _: str(chance.between(2, 119)),
    "days": lambda chance, _: str(chance.between(3, 30)),
    "pct": lambda chance, lang: f"{chance.between(1, 39)}{',' if lang == 'hr' else '.'}{chance.below(10)} %",
    "eur": lambda chance, lang: f"{_grouped(chance.between(5, 990) * 50, lang)} EUR",
}


@cache
def _cut(template: str) -> tuple[tuple[str, str | None], ...]:
    return tuple((literal, name) for literal, name, _, _ in Formatter().parse(template))


def _filled(template: str, chance: Chance, lang: str) -> str:
    out = []
    for literal, name in _cut(template):
        out.append(literal)
        if name is not None:
            out.append(_BLANKS[name](chance, lang))
    whole = "".join(out).replace("..", ".")
    return whole[0].upper() + whole[1:]
