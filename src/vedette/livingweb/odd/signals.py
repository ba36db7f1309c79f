"""Odd pages that count and measure: number stations, puzzles, numerology, timetables, an empty corridor."""

from __future__ import annotations

from vedette.livingweb.odd.markup import h, p, pre, table, ul
from vedette.livingweb.odd.prose import Bank, Voice, compound

SIGNAL_TITLES: dict[str, Bank] = {
    "number_station": {
        "en": (
            "the voice on {k} kHz",
            "reception log, {y}",
            "she reads the groups at {h}",
            "four tones and a child",
        ),
        "hr": ("glas na {k} kHz", "dnevnik prijema {y}", "ona čita skupine u {h}"),
        "de": ("die Stimme auf {k} kHz", "Empfangsbuch {y}", "sie liest die Gruppen um {h}"),
    },
    "arg_puzzle": {
        "en": (
            "you were told not to come here",
            "door {i} of {i}",
            "the {n} remembers your name",
            "begin at the {n}",
        ),
        "hr": ("rečeno ti je da ne dolaziš", "vrata broj {i}", "počni od riječi {n}"),
        "de": ("man hat dir gesagt, komm nicht her", "Tür {i}", "beginne bei {n}"),
    },
    "numerology": {
        "en": ("why everything is {k}", "the sum of {c}", "{k}: proof from the telephone directory"),
        "hr": ("zašto je sve {k}", "zbroj grada {c}", "{k}: dokaz iz telefonskog imenika"),
        "de": ("warum alles {k} ist", "die Summe von {c}", "{k}: Beweis aus dem Telefonbuch"),
    },
    "phantom_timetable": {
        "en": (
            "line {i}, summer of {y} (never ran)",
            "departures from {c} Under-Station",
            "the {h} that does not stop",
        ),
        "hr": ("linija {i}, ljeto {y}. (nikad nije vozila)", "polasci s donjeg kolodvora {c}"),
        "de": ("Linie {i}, Sommer {y} (nie gefahren)", "Abfahrten vom Unterbahnhof {c}"),
    },
    "corridor_survey": {
        "en": ("corridor {x}, survey {k}", "I measured it again", "the hallway is {i} centimetres longer"),
        "hr": ("hodnik {x}, mjerenje {k}", "opet sam ga izmjerio"),
        "de": ("Gang {x}, Messung {k}", "ich habe ihn wieder vermessen"),
    },
}

_HEARD: Bank = {
    "en": (
        "the woman coughed before group {i}, which she has not done since {y}.",
        "[static|a dog|somebody's radio clock|running water] under the carrier for {i} seconds.",
        "the null group came twice. {p} heard it too, in {c}, on a hotel bedside set.",
        "no transmission. I sat with the receiver until {h} and wrote down the silence.",
        "the child read tonight. slower. it skipped the nines as though they were sore.",
        "the melody is one note flat since the [flood|election|eclipse]. I have written to nobody about this.",
        "{k} again. the same {k} that is painted on the back of the substation.",
    ),
    "hr": (
        "žena se zakašljala prije skupine {i}, što nije učinila od {y}.",
        "ispod nosača {i} sekundi [šum|pas|voda koja teče].",
        "prazna skupina došla je dvaput. {p} ju je čuo u mjestu {c}.",
        "nema emisije. sjedio sam uz prijamnik do {h} i zapisao tišinu.",
        "večeras je čitalo dijete, sporije, i preskočilo sve devetke.",
        "opet {k}, isti broj koji je ispisan na stražnjoj strani trafostanice.",
    ),
    "de": (
        "die Frau hustete vor Gruppe {i}, das hat sie seit {y} nicht getan.",
        "unter dem Träger {i} Sekunden lang [Rauschen|ein Hund|fließendes Wasser].",
        "die Nullgruppe kam zweimal. {p} hörte sie auch, in {c}.",
        "keine Sendung. ich saß bis {h} am Empfänger und schrieb die Stille auf.",
        "heute las das Kind, langsamer, und ließ alle Neunen aus.",
        "wieder {k}, dieselbe Zahl wie hinten am Umspannwerk.",
    ),
}
_RIDDLES: Bank = {
    "en": (
        "the first key is what {p} left in {c}. the second key is what left {p}.",
        "take every {i}th letter of the sign above the {n}. do not read it aloud.",
        "if the page you came from was blue, go back. it was not always blue.",
        "answer in the title bar. we can see the title bar.",
        "{i} of you solved the {n}. one of you did not, and has the same handwriting.",
        "count the windows in the photograph. the photograph is not on this page.",
        "when the clock says {h} the link below is a different link.",
    ),
    "hr": (
        "prvi ključ je ono što je {p} ostavio u mjestu {c}. drugi ključ je ono što je ostavilo njega.",
        "uzmi svako {i}. slovo natpisa iznad vrata. ne čitaj naglas.",
        "ako je stranica s koje dolaziš bila plava, vrati se. nije uvijek bila plava.",
        "{i} vas je riješilo zagonetku. jedan nije, a ima isti rukopis.",
        "prebroji prozore na fotografiji. fotografija nije na ovoj stranici.",
    ),
    "de": (
        "der erste Schlüssel ist, was {p} in {c} zurückließ. der zweite ist, was {p} verließ.",
        "nimm jeden {i}. Buchstaben des Schildes über der Tür. lies ihn nicht laut.",
        "wenn die vorige Seite blau war, geh zurück. sie war nicht immer blau.",
        "{i} von euch haben es gelöst. einer nicht, und er hat dieselbe Handschrift.",
        "zähle die Fenster auf dem Foto. das Foto ist nicht auf dieser Seite.",
    ),
}
_SUMS: Bank = {
    "en": (
        "take the house number of {p}, add the year the {n} burned, subtract those who were asleep: {k}.",
        "{c} has {k} lamp posts. I have counted them in daylight and then in the other order.",
        "skeptics say that any number can be reached. then let them reach {k} without passing {i}.",
        "the letters of {w} give {k}; the letters of its silence give the same.",
    ),
    "hr": (
        "uzmi kućni broj koji ima {p}, dodaj godinu kad je izgorio {n}, oduzmi one koji su spavali: {k}.",
        "{c} ima {k} uličnih svjetiljki. brojio sam ih danju, pa obrnutim redom.",
        "slova riječi {w} daju {k}; slova njezine tišine daju isto.",
    ),
    "de": (
        "nimm die Hausnummer von {p}, addiere das Jahr, in dem {n} brannte, ziehe die Schlafenden ab: {k}.",
        "{c} hat {k} Laternen. ich habe sie bei Tag gezählt und dann in der anderen Reihenfolge.",
        "die Buchstaben von {w} ergeben {k}; die Buchstaben ihres Schweigens auch.",
    ),
}
_NOTES: Bank = {
    "en": (
        "does not call at {c} when anyone is waiting there.",
        "passengers holding tickets dated {y} must travel standing and facing the {n}.",
        "runs only on the [thirty-first|day between Sunday and Monday|night the clocks disagree].",
        "connection with the ferry under the {n} is not guaranteed and never was.",
    ),
    "hr": (
        "ne staje u mjestu {c} kad ondje netko čeka.",
        "putnici s kartom iz {y}. moraju stajati okrenuti prema: {n}.",
        "vozi samo [trideset i prvog|dana između nedjelje i ponedjeljka].",
    ),
    "de": (
        "hält nicht in {c}, wenn dort jemand wartet.",
        "Reisende mit Fahrkarten von {y} stehen mit dem Gesicht zu: {n}.",
        "verkehrt nur [am einunddreißigsten|am Tag zwischen Sonntag und Montag].",
    ),
}
_STEPS: Bank = {
    "en": (
        "{i} paces to the second door, {i} back. I walked at the same speed. I always walk at the same speed.",
        "carpet: {a}. smell: {n}. the light at the far end is on, which requires a far end.",
        "at {h} the corridor was {k} mm. at {h} it was {k} mm. the tape is not elastic, I have asked the maker.",
        "a {n} was on the floor where the {n} had been. I left a chalk mark. there were {i} chalk marks.",
        "nobody works on this storey. the extension number is {k} and it is answered.",
    ),
    "hr": (
        "{i} koraka do drugih vrata, {i} natrag. hodao sam istom brzinom. uvijek hodam istom brzinom.",
        "tepih: {a}. miris: {n}. svjetlo na kraju je upaljeno, a za to treba imati kraj.",
        "u {h} hodnik je imao {k} mm. u {h} imao je {k} mm. mjerna vrpca nije rastezljiva.",
        "na ovom katu nitko ne radi. kućni broj telefona je {k} i netko se javlja.",
    ),
    "de": (
        "{i} Schritte bis zur zweiten Tür, {i} zurück. ich ging gleich schnell. ich gehe immer gleich schnell.",
        "Teppich: {a}. Geruch: {n}. das Licht am Ende brennt, dafür braucht es ein Ende.",
        "um {h} war der Gang {k} mm lang. um {h} war er {k} mm lang. das Band dehnt sich nicht.",
        "auf diesem Stockwerk arbeitet niemand. die Durchwahl ist {k}, und jemand hebt ab.",
    ),
}

BANKS = (_HEARD, _RIDDLES, _SUMS, _NOTES, _STEPS)


def number_station(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, []
    for _ in range(1 + size):
        out.append(p(f"{voice.fill('{d}, {h}')}. {said(voice, _HEARD, 1, 3)}"))
        if chance.happens(0.6):
            wide = chance.between(3, 6)
            lines = [
                " ".join(chance.text(5, "0123456789") for _ in range(wide))
                for _ in range(chance.between(1, 4))
            ]
            out.append(pre("\n".join(lines)))
    return out


def arg_puzzle(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, []
    for _ in range(1 + size):
        out.append(p(said(voice, _RIDDLES, 1, 3)))
        if chance.happens(0.4):
            out.append(
                pre(" ".join(chance.text(4, "ABCDEFGHIKLMNOPQRSTVXYZ") for _ in range(chance.between(4, 16))))
            )
    out.append(f"<!-- {chance.text(24)} -->")
    return out


def numerology(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    out = [p(said(voice, _SUMS, 1, 3))]
    for _ in range(size):
        rows = []
        for _ in range(chance.between(3, 9)):
            first, second = chance.between(7, 999), chance.between(7, 999)
            rows.append(
                (voice.noun(), str(first), compound(chance, voice.lang), str(second), str(first + second))
            )
        out += [
            table(rows) if chance.happens(0.5) else ul(" + ".join(row[:4]) + f" = {row[4]}" for row in rows)
        ]
        out.append(p(said(voice, _SUMS, 1, 2)))
    return out


def phantom_timetable(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, [p(said(voice, _NOTES, 1, 2))]
    for _ in range(size):
        hour, rows = chance.between(0, 5), []
        for stop in range(chance.between(4, 9)):
            name = f"{voice.fill('{c}')} {chance.pick(('Unter', 'II', 'Inverse', 'Donji', '†', '—'))}"
            minute = chance.between(0, 75)  # hours of this line may have seventy-five minutes
            shown = "–" if chance.happens(0.15) else f"{(hour + stop * 3) % 27:02}:{minute:02}"
            rows.append((name, shown, chance.pick(("a", "b", "§", "", "x"))))
        out += [table(rows) if chance.happens(0.6) else pre("\n".join(f"{a:28}{b:8}{c}" for a, b, c in rows))]
        out.append(ul(voice.once(_NOTES) for _ in range(chance.between(1, 4))))
    return out


def corridor_survey(voice: Voice, size: int) -> list[str]:
    out = []
    for _ in range(1 + size * 2):
        if voice.chance.happens(0.3):
            out.append(h(voice.fill("{d}"), 3))
        out.append(p(said(voice, _STEPS, 1, 4)))
    return out


def said(voice: Voice, bank: Bank, least: int, most: int) -> str:
    """A few patterns of the bank, one after the other."""
    return " ".join(voice.once(bank) for _ in range(voice.chance.between(least, most)))
