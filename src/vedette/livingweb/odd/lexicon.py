"""The words of three languages: topics, adjectives, names, towns, and what compounds are made of.

Ordinary sites take most of their words from here.  What is particular to a site is compounded from `STEMS`.
"""

from __future__ import annotations

LANGUAGES = ("en", "hr", "de")

TOPICS: dict[str, dict[str, str]] = {
    "en": {
        "home": "roof kitchen insulation boiler floor window paint bathroom cellar radiator door plaster tile pipe",
        "garden": "tomato hedge compost lawn greenhouse seedling apple rose soil pruning shed slug pond mulch",
        "travel": "hotel beach ferry island museum route luggage ticket airport guide harbour tour bridge castle",
        "sport": "match league coach season goal training stadium referee cup team injury transfer marathon club",
        "tech": "server update keyboard backup screen driver battery router cable phone laptop software account file",
        "cooking": "dough onion oven butter sauce flour pepper soup bread cream garlic pan salad recipe",
        "finance": "mortgage interest invoice budget pension tax account fund insurance salary"
        " rent loan deposit market",
        "town": "council street school library bus bridge waste permit meeting park mayor resident budget tender",
        "health": "doctor clinic vaccine sleep diet pharmacy nurse patient allergy blood therapy"
        " exercise vitamin tooth",
        "music": "concert album guitar singer festival piano choir record drummer stage tour rehearsal chorus ticket",
        "cars": "engine tyre brake garage diesel mileage gearbox clutch exhaust bonnet warranty"
        " inspection trailer oil",
        "craft": "wool thread pattern needle glue timber lathe varnish clay kiln saw chisel fabric button",
    },
    "hr": {
        "home": "krov kuhinja izolacija bojler pod prozor boja kupaonica podrum radijator vrata žbuka pločica cijev",
        "garden": "rajčica živica kompost travnjak plastenik sadnica jabuka ruža tlo rezidba"
        " spremište puž jezerce malč",
        "travel": "hotel plaža trajekt otok muzej ruta prtljaga karta luka vodič obala izlet most dvorac",
        "sport": "utakmica liga trener sezona pogodak trening stadion sudac kup momčad ozljeda prijelaz maraton klub",
        "tech": "poslužitelj nadogradnja tipkovnica kopija zaslon baterija usmjernik kabel mobitel"
        " prijenosnik račun datoteka",
        "cooking": "tijesto luk pećnica maslac umak brašno papar juha kruh vrhnje češnjak tava salata recept",
        "finance": "kredit kamata račun proračun mirovina porez fond osiguranje plaća najam zajam"
        " polog tržište dionica",
        "town": "vijeće ulica škola knjižnica autobus most otpad dozvola sjednica park načelnik"
        " stanovnik natječaj odluka",
        "health": "liječnik ambulanta cjepivo san prehrana ljekarna sestra pacijent alergija krv"
        " terapija vježba vitamin zub",
        "music": "koncert album gitara pjevač festival klavir zbor ploča bubnjar pozornica turneja"
        " proba refren ulaznica",
        "cars": "motor guma kočnica radionica dizel kilometraža mjenjač spojka ispuh jamstvo"
        " pregled prikolica ulje volan",
        "craft": "vuna konac uzorak igla ljepilo drvo tokarski lak glina peć pila dlijeto tkanina gumb",
    },
    "de": {
        "home": "Dach Küche Dämmung Kessel Boden Fenster Farbe Bad Keller Heizkörper Tür Putz Fliese Rohr",
        "garden": "Tomate Hecke Kompost Rasen Gewächshaus Setzling Apfel Rose Erde Schnitt"
        " Schuppen Schnecke Teich Mulch",
        "travel": "Hotel Strand Fähre Insel Museum Route Gepäck Fahrkarte Flughafen Führung Hafen"
        " Rundfahrt Brücke Burg",
        "sport": "Spiel Liga Trainer Saison Tor Training Stadion Schiedsrichter Pokal Mannschaft"
        " Verletzung Wechsel Verein",
        "tech": "Server Aktualisierung Tastatur Sicherung Bildschirm Treiber Akku Router Kabel"
        " Telefon Rechner Konto Datei",
        "cooking": "Teig Zwiebel Ofen Butter Soße Mehl Pfeffer Suppe Brot Sahne Knoblauch Pfanne Salat Rezept",
        "finance": "Hypothek Zins Rechnung Haushalt Rente Steuer Konto Fonds Versicherung Gehalt"
        " Miete Kredit Markt Aktie",
        "town": "Gemeinderat Straße Schule Bücherei Bus Brücke Abfall Genehmigung Sitzung Park"
        " Bürgermeister Bürger Frist",
        "health": "Arzt Klinik Impfung Schlaf Ernährung Apotheke Schwester Patient Allergie Blut"
        " Therapie Übung Vitamin Zahn",
        "music": "Konzert Album Gitarre Sänger Festival Klavier Chor Platte Schlagzeuger Bühne"
        " Tournee Probe Refrain Karte",
        "cars": "Motor Reifen Bremse Werkstatt Diesel Laufleistung Getriebe Kupplung Auspuff"
        " Garantie Prüfung Anhänger Öl",
        "craft": "Wolle Faden Muster Nadel Leim Holz Drehbank Lack Ton Brennofen Säge Meißel Stoff Knopf",
    },
}  # fmt: skip

ADJECTIVES = {
    "en": "new old small large quiet cheap local simple modern broken reliable heavy early useful popular careful"
    " annual public private common regular free clean strong wooden blue green recent solid friendly",
    "hr": "nov star malen velik tih jeftin domaći jednostavan suvremen pokvaren pouzdan težak rani koristan omiljen"
    " pažljiv godišnji javni privatni običan redovit besplatan čist snažan drven plav zelen nedavni čvrst ljubazan",
    "de": "neue alte kleine große ruhige günstige örtliche einfache moderne defekte"
    " zuverlässige schwere frühe nützliche"
    " beliebte sorgfältige jährliche öffentliche private übliche kostenlose saubere starke hölzerne blaue grüne",
}
GENERAL = {
    "en": "year week problem question example part reason price time people work place family"
    " result number plan offer"
    " change service idea customer group friend answer visit order choice area day hand water side",
    "hr": "godina tjedan problem pitanje primjer dio razlog cijena vrijeme ljudi posao mjesto"
    " obitelj rezultat broj plan"
    " ponuda promjena usluga ideja kupac skupina prijatelj odgovor posjet narudžba izbor"
    " područje dan ruka voda strana",
    "de": "Jahr Woche Problem Frage Beispiel Teil Grund Preis Zeit Leute Arbeit Ort Familie"
    " Ergebnis Nummer Plan Angebot"
    " Änderung Dienst Idee Kunde Gruppe Freund Antwort Besuch Bestellung Auswahl Gebiet Tag Hand Wasser Seite",
}
FIRST = {
    "en": "Alice Brian Carol Derek Emma Frank Grace Harry Irene Jack Karen Liam Mary Nigel"
    " Olive Peter Rose Simon Tina",
    "hr": "Ana Branko Cvita Damir Ema Filip Goran Helena Ivan Jasna Krešo Lana Marko Nina"
    " Ozren Petra Roko Sanja Tomo",
    "de": "Anke Bernd Carla Dieter Elke Frank Gerda Heinz Ilse Jürgen Karin Lutz Monika"
    " Norbert Petra Rolf Sabine Uwe",
}
TOWNS = {
    "en": "Millbrook Harrow Eastleigh Norwich Dunmore Bexley Ashford Kilburn Winslow Tadley"
    " Hexham Corby Ludlow Settle",
    "hr": "Zagreb Split Osijek Varaždin Sisak Požega Zadar Karlovac Bjelovar Šibenik Vukovar Pula Koprivnica Gospić",
    "de": "Kassel Bremen Fulda Passau Görlitz Celle Hameln Trier Siegen Ulm Bamberg Goslar Minden Wismar",
}
MONTHS = {
    "en": "January February March April May June July August September October November December",
    "hr": "siječnja veljače ožujka travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga prosinca",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
}
# What site-specific words are compounded from: first parts and second parts.
STEMS = {
    "en": (
        "water stone glass wind copper over side cross hand north silver rail snow cable tide brick meter ground air"
        " house light iron field paper frost cart barrel grain dust spring valve key clamp sand river",
        "works line holder board gate mark smith stead guard bed way shaft cote ridge lock fold ring mount stock cap"
        " ley ford well plate rack bar frame pin craft grip shed burn vent wick liner",
    ),
    "hr": (
        "vodo kameno staklo vjetro bakro nad među ručno sjevero srebro želje snjego kablo plimo"
        " ciglo podno zrako kućo"
        " svjetlo poljo papiro mrazo bačvo žito praho oprugo ventilo ključo pjesko rijeko drvo solo",
        "vod stroj nosač ploča vrata znak kovač štit gredica put rez greben brava prsten stalak kapa nik izvor tanjur"
        " šipka okvir klin mjer držač spremnik otvor sloj metar brod hod gradnja pis",
    ),
    "de": (
        "Wasser Stein Glas Wind Kupfer Über Seiten Quer Hand Nord Silber Schienen Schnee Kabel Ziegel Mess Grund Luft"
        " Haus Licht Eisen Feld Papier Frost Karren Fass Korn Staub Feder Ventil Schlüssel Klemm Sand Fluss",
        "werk leitung halter brett tor marke schmied stätte schutz bett weg schacht kamm schloss ring lager kappe"
        " quelle platte gestell stange rahmen stift griff schuppen öffnung schicht meter verband prüfung ordnung",
    ),
}  # fmt: skip
SURNAMES = {
    "en": (
        "Ald Bar Cart Dun Ell Fair Grim Hol Kel Lang Mar Nor Pem Rad Stan Thorn Wad Yar",
        "well ton ley man by more sey wick ford son ridge er brook",
    ),
    "hr": (
        "Bab Cvit Dom Fil Gal Hor Iv Jur Kov Luk Mar Nov Per Rad Stan Tom Vuk Zor",
        "ić ović ek an ač inović ina arić ak eta ević",
    ),
    "de": (
        "Alt Berg Diet Eich Feld Grün Hart Kalt Lind Meer Neu Ober Reich Stein Thal Voss Wald Zell",
        "mann er bach ner hof hauser ert ing meier sen rath",
    ),
}  # fmt: skip
# A fourth and a fifth tongue, for pages that are foreign everywhere.
FOREIGN = {
    "it": "il la di che un per con non una del sono alla casa strada giorno tempo acqua mare"
    " finestra tavolo libro anno"
    " lavoro città scuola pane vino amico notte mattina prezzo offerta cliente servizio orario chiuso aperto",
    "hu": "az egy és hogy nem van volt mint már csak ház út nap idő víz asztal ablak könyv év"
    " munka város iskola kenyér"
    " bor barát éjszaka reggel ár ajánlat vevő szolgáltatás nyitva zárva vasárnap kérjük telefon",
    "fi": "ja on ei se että hän oli kun vain talo tie päivä aika vesi pöytä ikkuna kirja vuosi"
    " työ kaupunki koulu leipä"
    " viini ystävä yö aamu hinta tarjous asiakas palvelu avoinna suljettu sunnuntai puhelin",
}
LOREM = (
    "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor incididunt"
    " ut labore et dolore magna"
    " aliqua enim ad minim veniam quis nostrud exercitation ullamco laboris nisi aliquip ex ea commodo consequat"
)
LABEL = {
    "en": {
        "home": "Home",
        "about": "About us",
        "contact": "Contact",
        "next": "Next page",
        "back": "Back",
        "more": "Read more",
        "related": "Related",
        "tags": "Tags",
        "links": "Links",
        "comments": "Comments",
        "archive": "Archive",
        "news": "News",
        "rights": "All rights reserved.",
        "cookies": "This site uses cookies to improve your experience.",
        "posted": "Posted on",
    },
    "hr": {
        "home": "Naslovnica",
        "about": "O nama",
        "contact": "Kontakt",
        "next": "Sljedeća stranica",
        "back": "Natrag",
        "more": "Opširnije",
        "related": "Povezano",
        "tags": "Oznake",
        "links": "Poveznice",
        "comments": "Komentari",
        "archive": "Arhiva",
        "news": "Vijesti",
        "rights": "Sva prava pridržana.",
        "cookies": "Ova stranica koristi kolačiće radi boljeg iskustva.",
        "posted": "Objavljeno",
    },
    "de": {
        "home": "Startseite",
        "about": "Über uns",
        "contact": "Kontakt",
        "next": "Nächste Seite",
        "back": "Zurück",
        "more": "Weiterlesen",
        "related": "Verwandt",
        "tags": "Schlagwörter",
        "links": "Verweise",
        "comments": "Kommentare",
        "archive": "Archiv",
        "news": "Nachrichten",
        "rights": "Alle Rechte vorbehalten.",
        "cookies": "Diese Seite verwendet Cookies, um Ihr Erlebnis zu verbessern.",
        "posted": "Veröffentlicht am",
    },
}
