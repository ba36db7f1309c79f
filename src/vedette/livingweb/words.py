"""The sentences of the living web, in Croatian and English.  Data only; `text.py` fills the blanks."""

from __future__ import annotations

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
