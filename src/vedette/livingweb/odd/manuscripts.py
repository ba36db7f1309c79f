"""Odd pages that tell: hypertext fiction, dreams, languages, manuals, lost films, instruments, letters to nobody."""

from __future__ import annotations

from vedette.livingweb.odd.markup import dl, h, p, pre, table, ul
from vedette.livingweb.odd.prose import Bank, Voice
from vedette.livingweb.odd.signals import said

MANUSCRIPT_TITLES: dict[str, Bank] = {
    "hyperfiction": {
        "en": (
            "the room after the {n}",
            "she turns the {n} over",
            "third version of the stairs",
            "if you stay",
        ),
        "hr": ("soba poslije: {n}", "ona okreće {n}", "treća inačica stubišta", "ako ostaneš"),
        "de": ("das Zimmer nach: {n}", "sie dreht {n} um", "dritte Fassung der Treppe", "wenn du bleibst"),
    },
    "dream_log": {
        "en": ("nights {i} to {k}", "{d}, before waking", "the one with the {n} again"),
        "hr": ("noći {i} do {k}", "{d} prije buđenja", "opet onaj s: {n}"),
        "de": ("Nächte {i} bis {k}", "{d}, vor dem Aufwachen", "wieder der mit: {n}"),
    },
    "conlang": {
        "en": (
            "lesson {i}: verbs for weather indoors",
            "grammar of {w}",
            "counting objects that are leaving",
        ),
        "hr": (
            "lekcija {i}: glagoli za vrijeme u kući",
            "gramatika jezika {w}",
            "brojanje stvari koje odlaze",
        ),
        "de": ("Lektion {i}: Verben für Wetter im Haus", "Grammatik des {w}", "Zählen von Dingen, die gehen"),
    },
    "mud_manual": {
        "en": ("players' guide, rev {i} (unmaintained)", "known bugs of the {a} realm", "help {n}"),
        "hr": ("priručnik za igrače, inačica {i}", "poznate greške svijeta {w}", "pomoć {n}"),
        "de": ("Spielerhandbuch, Fassung {i}", "bekannte Fehler von {w}", "hilfe {n}"),
    },
    "lost_media": {
        "en": ("does anyone remember the {n} programme", "tape {x}: what we know", "the {i} missing minutes"),
        "hr": ("sjeća li se netko emisije {n}", "vrpca {x}: što znamo", "{i} izgubljenih minuta"),
        "de": (
            "erinnert sich jemand an die Sendung {n}",
            "Band {x}: was wir wissen",
            "die {i} fehlenden Minuten",
        ),
    },
    "instrument": {
        "en": ("a {n} with {i} strings and no neck", "building the {w}, part {i}", "tuning by {n}"),
        "hr": ("{n} s {i} žica i bez vrata", "gradnja naprave {w}, {i}. dio", "ugađanje: {n}"),
        "de": ("{n} mit {i} Saiten ohne Hals", "Bau des {w}, Teil {i}", "Stimmen nach {n}"),
    },
    "dead_letters": {
        "en": ("to the person who had this number before me", "letter {k}, returned", "dear {n}"),
        "hr": ("osobi koja je prije mene imala ovaj broj", "pismo {k}, vraćeno", "dragi {n}"),
        "de": ("an die Person, die diese Nummer vor mir hatte", "Brief {k}, zurück", "liebes {n}"),
    },
}

_ROOMS: Bank = {
    "en": (
        "you put the {n} down and the table is gone before it lands.",
        "she says it was {y}. the {n} says nothing, which in this house counts as agreement.",
        "there are {i} ways out and they all remember you differently.",
        "in an earlier version of this page {p} opened the letter. here it opens him.",
        "the stairs were added by somebody who had only been told about stairs.",
        "if you took the {n}, you are already reading the other page.",
    ),
    "hr": (
        "spuštaš {n}, a stola više nema prije nego što padne.",
        "ona kaže da je bila {y}. {n} šuti, što se u ovoj kući računa kao pristanak.",
        "ima {i} izlaza i svaki te pamti drukčije.",
        "u ranijoj inačici ove stranice {p} otvara pismo. ovdje ono otvara njega.",
    ),
    "de": (
        "du legst {n} hin, und der Tisch ist fort, ehe es ankommt.",
        "sie sagt, es war {y}. {n} schweigt, und das gilt in diesem Haus als Zustimmung.",
        "es gibt {i} Ausgänge, und jeder erinnert sich anders an dich.",
        "in einer früheren Fassung dieser Seite öffnet {p} den Brief. hier öffnet er ihn.",
    ),
}
_DREAMS: Bank = {
    "en": (
        "I was the {n} and also the queue for the {n}. {p} was there but made of the afternoon.",
        "a {a} {n} kept handing me my own teeth with a receipt. I woke at {h} holding a receipt.",
        "in the dream {c} is uphill in every direction and everyone is polite about it.",
        "the {n} could only be read from behind. it said what it says every time.",
        "nothing happened, for a very long time, in the voice of my {n}.",
        "teeth: {i}. stairs: {i}. water: yes. the man: yes.",
    ),
    "hr": (
        "bio sam {n} i red pred: {n}. {p} je bio ondje, ali napravljen od poslijepodneva.",
        "{a} {n} davao mi je moje zube uz račun. probudio sam se u {h} s računom u ruci.",
        "u snu je {c} uzbrdo u svim smjerovima i svi su ljubazni zbog toga.",
        "zubi: {i}. stube: {i}. voda: da. čovjek: da.",
    ),
    "de": (
        "ich war {n} und zugleich die Schlange vor {n}. {p} war da, aber aus Nachmittag gemacht.",
        "{a} {n} gab mir meine eigenen Zähne gegen Quittung. um {h} wachte ich mit einer Quittung auf.",
        "im Traum geht es in {c} nach allen Seiten bergauf, und alle sind höflich deswegen.",
        "Zähne: {i}. Treppen: {i}. Wasser: ja. der Mann: ja.",
    ),
}
_GRAMMAR: Bank = {
    "en": (
        "the verb agrees with whoever is not in the room.",
        "there is no word for {n}; one points, and the pointing is declined.",
        "nouns have {i} genders: near, far, owed, forgotten, and {n}.",
        "the past tense may only be used by the person it happened to.",
    ),
    "hr": (
        "glagol se slaže s onim koga nema u sobi.",
        "ne postoji riječ za: {n}; pokazuje se prstom, a pokazivanje se sklanja.",
        "imenice imaju {i} rodova: blizak, dalek, dužan, zaboravljen i {n}.",
    ),
    "de": (
        "das Verb richtet sich nach dem, der nicht im Zimmer ist.",
        "es gibt kein Wort für {n}; man zeigt, und das Zeigen wird gebeugt.",
        "Hauptwörter haben {i} Geschlechter: nah, fern, geschuldet, vergessen und {n}.",
    ),
}
_REALM: Bank = {
    "en": (
        "do not KILL the {n} in {c} Market. it is {p}, idle since {y}, and we still hope.",
        "the eastern gate leads west after reboot {k}. wizards have been informed; there are no wizards.",
        "type PRAY near the {a} {n} for {i} points. type it again and read what it writes back.",
        "the rent daemon still runs. your house in the {n} quarter owes {k} gold.",
    ),
    "hr": (
        "ne ubijaj {n} na trgu {c}. to je {p}, miruje od {y}, a mi se još nadamo.",
        "istočna vrata nakon pokretanja {k} vode na zapad. čarobnjaci su obaviješteni; čarobnjaka nema.",
        "upiši MOLI kraj: {n}, za {i} bodova. upiši opet i pročitaj što odgovori.",
    ),
    "de": (
        "töte {n} auf dem Markt von {c} nicht. es ist {p}, untätig seit {y}, und wir hoffen noch.",
        "das Osttor führt seit Neustart {k} nach Westen. die Zauberer sind verständigt; es gibt keine Zauberer.",
        "tippe BETE bei {n} für {i} Punkte. tippe es noch einmal und lies, was es antwortet.",
    ),
}
_TAPES: Bank = {
    "en": (
        "aired once, {d}, after the weather, on a channel that {c} could not receive.",
        "{p} remembers a puppet. {p} remembers the same puppet but older.",
        "the closing song is on a cassette under a {n} advert; you can hear it where the tape sticks.",
        "the broadcaster says there was no programme, and asks who else has been asking.",
        "we have {i} frames. in {i} of them the {n} looks at the camera.",
    ),
    "hr": (
        "emitirano jednom, {d} poslije vremenske prognoze, na kanalu koji se u mjestu {c} nije hvatao.",
        "{p} se sjeća lutke. {p} se sjeća iste lutke, ali starije.",
        "televizija kaže da emisije nije bilo i pita tko je još pitao.",
        "imamo {i} sličica. na njih {i} {n} gleda u kameru.",
    ),
    "de": (
        "einmal gesendet, {d} nach dem Wetter, auf einem Kanal, den man in {c} nicht empfing.",
        "{p} erinnert sich an eine Puppe. {p} erinnert sich an dieselbe Puppe, aber älter.",
        "der Sender sagt, es gab keine Sendung, und fragt, wer sonst noch fragt.",
        "wir haben {i} Bilder. auf {i} davon sieht {n} in die Kamera.",
    ),
}
_WORKSHOP: Bank = {
    "en": (
        "stretch the {n} over the {n} until it speaks. mine spoke at {k} grams.",
        "the resonator is a {a} {n} from {c}. do not use one from {c} of after {y}; they are deaf.",
        "it has {i} notes, two of which are only felt. the cat leaves for the second.",
        "play it facing the wall. play it in the dark. the neighbours describe it as a {n} being forgiven.",
        "string {i} is tuned to the refrigerator.",
    ),
    "hr": (
        "nategni {n} preko: {n}, dok ne progovori. moj je progovorio na {k} grama.",
        "rezonator je {a} {n}, {c}. ne uzimati mlađe od {y}; gluhi su.",
        "ima {i} tonova, dva se samo osjete. mačka odlazi na drugom.",
        "žica {i} ugođena je prema hladnjaku.",
    ),
    "de": (
        "spanne {n} über {n}, bis es spricht. meines sprach bei {k} Gramm.",
        "der Resonator ist {a} {n} aus {c}. keinen nach {y} nehmen, die sind taub.",
        "es hat {i} Töne, zwei davon spürt man nur. die Katze geht beim zweiten.",
        "Saite {i} ist auf den Kühlschrank gestimmt.",
    ),
}
_LETTERS: Bank = {
    "en": (
        "people still ring for you. I tell them you are in {c}, with the {n}. they seem relieved.",
        "I keep your {n} by the door in case you come as somebody else.",
        "the post office returned this with a note: no such year.",
        "I have answered for you {i} times. you are doing well. you have taken up {n}s.",
        "please do not reply; the last reply arrived before I wrote.",
    ),
    "hr": (
        "ljudi te još zovu. kažem im da si u mjestu {c}, s njime i {n}. čini se da im lakne.",
        "čuvam tvoj {n} kraj vrata ako dođeš kao netko drugi.",
        "pošta je ovo vratila uz napomenu: te godine nema.",
        "molim te, ne odgovaraj; zadnji je odgovor stigao prije nego što sam pisao.",
    ),
    "de": (
        "man ruft noch immer für dich an. ich sage, du bist in {c}. sie wirken erleichtert.",
        "ich bewahre {n} für dich an der Tür, falls du als jemand anderes kommst.",
        "die Post schickte dies zurück mit dem Vermerk: dieses Jahr gibt es nicht.",
        "bitte antworte nicht; die letzte Antwort kam, bevor ich schrieb.",
    ),
}

BANKS = (_ROOMS, _DREAMS, _GRAMMAR, _REALM, _TAPES, _WORKSHOP, _LETTERS)


def hyperfiction(voice: Voice, size: int) -> list[str]:
    out = [p(said(voice, _ROOMS, 1, 4)) for _ in range(1 + size)]
    return [*out, ul(voice.title() for _ in range(voice.chance.between(1, 3)))]


def dream_log(voice: Voice, size: int) -> list[str]:
    out = []
    for _ in range(1 + size * 2):
        day = voice.fill("{d}")
        text = said(voice, _DREAMS, 1, 4)
        out += [h(day, 3), p(text)] if size > 1 else [p(f"{day}: {text}")]
    return out


def conlang(voice: Voice, size: int) -> list[str]:
    chance = voice.chance
    sounds = tuple(chance.shuffled(("th", "k", "l", "v", "sh", "m", "r", "ts", "h", "qu", "n", "zh"))[:6])
    vowels = tuple(chance.shuffled(("a", "e", "i", "o", "u", "ae", "ou", "y"))[:4])

    def word() -> str:
        return "".join(chance.pick(sounds) + chance.pick(vowels) for _ in range(chance.between(1, 3)))

    out = [p(said(voice, _GRAMMAR, 1, 3))]
    for _ in range(size):
        rows = [(word(), voice.fill("{a} {n}")) for _ in range(chance.between(3, 8))]
        out += [table(rows) if chance.happens(0.5) else ul(" = ".join(row) for row in rows)]
        spoken = " ".join(word() for _ in range(chance.between(4, 12)))
        out.append(p(f"{spoken}. {said(voice, _GRAMMAR, 1, 2)}"))
    return out


def mud_manual(voice: Voice, size: int) -> list[str]:
    chance, out = voice.chance, [p(said(voice, _REALM, 1, 3))]
    for _ in range(size):
        rows = [(voice.noun().upper(), voice.fill("{a} {n}, {i}")) for _ in range(chance.between(2, 7))]
        as_text = "\n".join(f"> {name:14} {text}" for name, text in rows)
        out += [pre(as_text) if chance.happens(0.5) else dl(rows), p(said(voice, _REALM, 1, 3))]
    return out


def lost_media(voice: Voice, size: int) -> list[str]:
    return [p(said(voice, _TAPES, 1, 4)) for _ in range(1 + size * 2)]


def instrument(voice: Voice, size: int) -> list[str]:
    steps = [voice.once(_WORKSHOP) for _ in range(2 + size * 2)]
    return [
        p(said(voice, _WORKSHOP, 1, 2)),
        ul(steps, "ol") if voice.chance.happens(0.5) else "".join(map(p, steps)),
    ]


def dead_letters(voice: Voice, size: int) -> list[str]:
    return [p(said(voice, _LETTERS, 2, 4)) for _ in range(1 + size)]
