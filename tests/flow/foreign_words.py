# ruff: noqa: E501 - tables read by rows
"""What the second world is written with: topics, ordinary sentences, and what odd pages say, in three languages."""

from __future__ import annotations

# Topics: what is spoken of, what it does, what it is like.
TOPICS = {
    "en": (
        ("the garden, the hedge, the greenhouse, the lawn, the compost, the apple tree, the seedling, the spade, the rose",
         "grows beside, shades, shelters, needs, survives, outgrows, protects", "green, dry, early, hardy, sunny"),
        ("the council, the mayor, the committee, the tender, the school board, the bus route, the budget, the ward",
         "approved, postponed, discussed, replaced, funded, rejected, reviewed", "public, annual, local, new, joint"),
        ("the printer, the driver, the update, the cable, the router, the password, the screen, the battery, the folder",
         "supports, restarts, updates, detects, requires, blocks, installs", "wireless, compatible, default, secure, slow"),
        ("the striker, the keeper, the referee, the second half, the home side, the league, the coach, the transfer",
         "beat, missed, signed, opened, lost to, equalised against, trained", "late, away, injured, young, fast"),
        ("the soup, the oven, the dough, the butter, the onion, the sauce, the tin, the recipe, the roast",
         "goes with, thickens, softens, improves, covers, fills, sweetens", "fresh, golden, warm, salted, chopped"),
        ("the hotel, the ferry, the beach, the guide, the harbour, the room, the old town, the ticket, the view",
         "overlooks, includes, leads to, adjoins, offers, reaches, attracts", "quiet, historic, cheap, sandy, popular"),
        ("the loan, the branch, the fee, the account, the rate, the mortgage, the adviser, the card, the statement",
         "covers, exceeds, replaces, secures, lowers, includes, affects", "fixed, monthly, personal, low, joint"),
        ("the dog, the vet, the vaccine, the kennel, the puppy, the leash, the coat, the rescue, the owner",
         "follows, calms, needs, trusts, avoids, guards, visits", "calm, healthy, older, nervous, friendly"),
    ),
    "es": (
        ("el jardín, el seto, el invernadero, el césped, el abono, el manzano, el semillero, la pala, la rosa",
         "crece junto a, da sombra a, protege, necesita, soporta, rodea, adorna", "verde, fuerte, grande, estable, fértil"),
        ("el alcalde, la comisión, el concurso, el consejo, la línea de autobús, el presupuesto, el barrio, la licencia",
         "aprobó, aplazó, debatió, sustituyó, financió, rechazó, revisó", "municipal, anual, local, regional, reciente"),
        ("la impresora, el controlador, el cable, la contraseña, la pantalla, la batería, la carpeta, la red, el teclado",
         "admite, reinicia, actualiza, detecta, requiere, bloquea, instala", "compatible, estable, lenta de cargar, móvil"),
        ("el delantero, el portero, el árbitro, el equipo local, la liga, el entrenador, el fichaje, la defensa",
         "venció a, falló ante, empató con, perdió con, entrenó a, superó a, marcó a", "joven, veloz, fuerte, suplente"),
        ("la sopa, el horno, la masa, la mantequilla, la cebolla, la salsa, el molde, la receta, el asado",
         "acompaña, espesa, ablanda, mejora, cubre, rellena, endulza", "caliente, dulce, suave, abundante"),
        ("el hotel, el ferry, la playa, el guía, el puerto, la habitación, el casco antiguo, la entrada, la vista",
         "mira a, incluye, lleva a, linda con, ofrece, alcanza, atrae a", "agradable, popular, grande, céntrica y grande"),
        ("el préstamo, la sucursal, la comisión bancaria, la cuenta, el tipo, la hipoteca, el asesor, la tarjeta",
         "cubre, supera, sustituye, garantiza, reduce, incluye, afecta a", "mensual, personal, variable, flexible"),
        ("el perro, el veterinario, la vacuna, la perrera, el cachorro, la correa, el pelo, la dueña",
         "sigue a, calma a, necesita, confía en, evita, guarda, visita", "dócil, fiel, alegre, grande"),
    ),
    "fr": (
        ("le jardin, la haie, la serre, la pelouse, le compost, le pommier, le semis, la bêche, la rose",
         "pousse près de, ombrage, abrite, réclame, supporte, entoure, protège", "fragile, robuste, humide, fertile"),
        ("le maire, la commission, le conseil, la ligne de bus, le budget, le quartier, le permis, la mairie",
         "approuve, reporte, discute, remplace, finance, rejette, examine", "publique, annuelle, locale, commune"),
        ("la machine, le pilote, le câble, la clé, le routeur, la page de connexion, la batterie, le dossier",
         "prend en charge, redémarre, détecte, exige, bloque, installe, affiche", "compatible, mobile, rapide, stable"),
        ("la buteuse, le gardien, la ligue, le club, le match, la défense, la capitaine, le transfert",
         "bat, rate, signe avec, ouvre, perd contre, égalise contre, entraîne", "jeune, rapide, solide, adverse"),
        ("la soupe, le four, la pâte, le beurre, la sauce, le moule, la recette, le rôti, la farine",
         "accompagne, épaissit, adoucit, améliore, couvre, garnit, relève", "tiède, simple, tendre, fine"),
        ("la chambre, le ferry, la plage, le guide, le port, la vieille ville, le billet, la vue, le musée",
         "donne sur, comprend, mène vers, jouxte, offre, rejoint, attire", "calme, agréable, moderne, proche"),
        ("le prêt, la banque, le taux, le compte, la carte, le conseiller, la garantie, le relevé",
         "couvre, dépasse, remplace, assure, réduit, comprend, touche", "fixe, mensuelle, simple, souple"),
        ("le chien, le vétérinaire, le vaccin, le chenil, le chiot, la laisse, la maîtresse, le refuge",
         "suit, calme, réclame, évite, garde, visite, écoute", "fidèle, docile, calme, jeune"),
    ),
}  # fmt: skip
# How sentences are built: {s} a thing of the topic, {v} what it does, {a} what it is like, {w} when, {p} a person,
# {n} a number, {c} a town, {m} why.
SHAPES = {
    "en": (
        "{s} {v} {s} {w}", "{w} {s} {v} {s}, {m}", "{p} says that {s} {v} {s}", "when {s} is {a}, {s} {v} it",
        "there are {n} reasons why {s} {v} {s}", "{s} and {s} are both {a} {w}", "{m}, {s} {v} {s} in {c}",
        "if you ask {p}, {s} should be {a}", "{s} in {c} {v} {s}, which is {a}", "it is {a} {w}, and {s} {v} {s}",
        "you can find {s} in {c} {w}", "{n} people wrote to us about {s} {w}", "{s} was {a}, {m}",
        "the {b} replaces the {b} {n}", "{b} and {b} were {a} {w}", "in {s} you read of {k} and {k}", "{k}: see {b}",
        "the word {k} comes from {x}", "{x}, {x} and {b} {v} {s}", "the quiz asked for {k}, {k} and {k}",
    ),
    "es": (
        "{s} {v} {s} {w}", "{w} {s} {v} {s}, {m}", "{p} dice que {s} {v} {s}", "cuando {s} es {a}, {s} lo nota",
        "hay {n} razones por las que {s} {v} {s}", "tanto {s} como {s} quedan bien {w}", "{m}, {s} {v} {s} en {c}",
        "según {p}, {s} debe ser {a}", "en {c} {s} {v} {s}", "es {a} {w}, y {s} {v} {s}",
        "puede encontrar {s} en {c} {w}", "{n} personas nos escribieron sobre {s} {w}", "{s} era {a}, {m}",
        "el {b} sustituye al {b} {n}", "{b} y {b} llegaron {w}", "en {s} se lee de {k} y {k}", "{k}: véase {b}",
        "la palabra {k} viene de {x}", "{x}, {x} y {b} con {s}", "el concurso preguntaba {k}, {k} y {k}",
    ),
    "fr": (
        "{s} {v} {s} {w}", "{w}, {s} {v} {s}, {m}", "selon {p}, {s} {v} {s}", "quand {s} est {a}, {s} le montre",
        "il y a {n} raisons pour que {s} change", "{s} et {s} vont ensemble {w}", "{m}, {s} {v} {s} à {c}",
        "{p} pense que {s} doit être {a}", "à {c}, {s} {v} {s}", "c'est {a} {w}, et {s} {v} {s}",
        "vous trouverez {s} à {c} {w}", "{n} personnes nous ont écrit sur {s} {w}", "{s} était {a}, {m}",
        "le {b} remplace le {b} {n}", "{b} et {b} arrivent {w}", "dans {s} on lit {k} et {k}", "{k} : voir {b}",
        "le mot {k} vient de {x}", "{x}, {x} et {b} avec {s}", "le jeu demandait {k}, {k} et {k}",
    ),
}  # fmt: skip
WHEN = {
    "en": "this spring, every week, since March, at the weekend, before winter, last year, most days, again, for now",
    "es": "esta primavera, cada semana, desde marzo, el fin de semana, antes del invierno, el año pasado, otra vez",
    "fr": "ce printemps, chaque semaine, depuis mars, le week-end, avant l'hiver, l'an dernier, encore, pour l'instant",
}
WHY = {
    "en": "as our readers know, so plan ahead, which saves time, but check first, because it costs less, as before",
    "es": "como saben los lectores, así que conviene preguntar, y eso ahorra tiempo, porque cuesta menos, como antes",
    "fr": "comme le savent nos lecteurs, ce qui fait gagner du temps, mais vérifiez avant, car cela coûte moins",
}
STOCK = {
    "en": ("read more about {s}", "all prices include tax and delivery takes {n} days", "leave a comment below",
           "subscribe to our newsletter for news about {s}", "we use cookies to improve this site",
           "share this page with your friends", "updated by {p}", "opening hours: Monday to Friday, {n} to 17"),
    "es": ("leer más sobre {s}", "todos los precios incluyen impuestos y el envío tarda {n} días", "deja un comentario",
           "suscríbete a nuestro boletín", "usamos cookies para mejorar este sitio", "comparte esta página",
           "actualizado por {p}", "horario: de lunes a viernes, de {n} a 17"),
    "fr": ("en savoir plus sur {s}", "tous les prix sont TTC et la livraison prend {n} jours", "laissez un commentaire",
           "abonnez-vous à notre lettre", "nous utilisons des cookies pour améliorer ce site", "partagez cette page",
           "mis à jour par {p}", "horaires : du lundi au vendredi, de {n} à 17"),
}  # fmt: skip
# What odd pages say; things of all topics stand where one would not expect them.
STRANGE = {
    "night_watch": {
        "en": ("02:{n}. {s} is still lit. nobody lives there since {p}.", "counted {n} steps above me. there is no floor above me.",
               "the relief did not come; the relief was me, {n} minutes older.", "light out. wrote down what the dark did instead."),
        "es": ("02:{n}. {s} sigue con luz. nadie vive allí desde {p}.", "oí {n} pasos arriba. arriba no hay piso.",
               "el relevo no vino; el relevo era yo, {n} minutos más viejo.", "se fue la luz. apunté lo que hizo la sombra."),
        "fr": ("02:{n}. {s} reste allumé. personne n'y vit depuis {p}.", "{n} pas au-dessus de moi. il n'y a rien au-dessus.",
               "la relève n'est pas venue ; la relève, c'était moi, {n} minutes plus vieux.", "plus de lumière. noté ce que fit le noir."),
    },
    "impossible_recipe": {
        "en": ("take {s} that has been told no.", "fold {s} into {s} until one of them apologises.", "simmer for {n} winters.",
               "serve it to whoever already left.", "if it sings, it is not done; if it stops, it never was."),
        "es": ("toma {s} que ya oyó un no.", "mezcla {s} con {s} hasta que uno pida perdón.", "cuece {n} inviernos.",
               "sírvelo a quien ya se fue.", "si canta, le falta; si calla, nunca estuvo."),
        "fr": ("prenez {s} à qui l'on a dit non.", "mêlez {s} et {s} jusqu'à ce que l'un s'excuse.", "mijotez {n} hivers.",
               "servez à qui est déjà parti.", "si ça chante, ce n'est pas cuit ; si ça se tait, cela n'a jamais été."),
    },
    "moss_taxonomy": {
        "en": ("{x} {y}: grows on echoes. do not name it twice.", "{x} minor, seen once by {p} with eyes shut.",
               "spores of {x} {y} keep office hours. they are closed.", "believed extinct until it sent a letter."),
        "es": ("{x} {y}: crece sobre el eco. no nombrarla dos veces.", "{x} menor, vista una vez por {p} con ojos cerrados.",
               "las esporas de {x} {y} atienden al público. hoy no.", "se creía extinta hasta que mandó una carta."),
        "fr": ("{x} {y} : pousse sur l'écho. ne pas la nommer deux fois.", "{x} mineure, vue une fois par {p} les yeux clos.",
               "les spores de {x} {y} reçoivent sur rendez-vous. c'est fermé.", "crue éteinte jusqu'à sa lettre."),
    },
    "glove_museum": {
        "en": ("left glove, {n} fingers, donated by the right one.", "found waving. cause unknown.",
               "visitors must hold the hand that is offered.", "item {n} has asked not to be looked at on Sundays."),
        "es": ("guante izquierdo, {n} dedos, donado por el derecho.", "hallado saludando. causa desconocida.",
               "el visitante debe tomar la mano que se le tienda.", "la pieza {n} pide que no la miren los domingos."),
        "fr": ("gant gauche, {n} doigts, don du droit.", "trouvé en train de saluer. cause inconnue.",
               "le visiteur prendra la main qu'on lui tend.", "la pièce {n} prie qu'on ne la regarde pas le dimanche."),
    },
    "dead_chess": {
        "en": ("move {n}: he pushes {s} to e{n}. he has been dead since {p}'s wedding.", "my bishop came back wet.",
               "he offers a draw through the radiator. I decline; the kettle agrees with him.", "check, says the empty chair."),
        "es": ("jugada {n}: mueve {s} a e{n}. murió antes de la boda de {p}.", "mi alfil volvió mojado.",
               "ofrece tablas por el radiador. me niego; la tetera le da la razón.", "jaque, dice la silla vacía."),
        "fr": ("coup {n} : il pousse {s} en e{n}. mort depuis les noces de {p}.", "mon fou est revenu trempé.",
               "il propose nulle par le radiateur. je refuse ; la bouilloire est de son avis.", "échec, dit la chaise vide."),
    },
    "smell_glossary": {
        "en": ("{x}: the smell of {s} when it remembers {s}.", "{x}, verb: to smell of having nearly phoned.",
               "old {x}: what is left in a coat that was lent to weather.", "no known opposite."),
        "es": ("{x}: olor de {s} cuando recuerda {s}.", "{x}, verbo: oler a casi haber llamado.",
               "{x} viejo: lo que queda en un abrigo prestado al tiempo.", "sin contrario conocido."),
        "fr": ("{x} : l'odeur de {s} qui se souvient de {s}.", "{x}, verbe : sentir le presque téléphoné.",
               "vieux {x} : ce qui reste d'un manteau prêté au temps.", "sans contraire connu."),
    },
    "machine_without_purpose": {
        "en": ("pull lever {n} only if the room agrees.", "the dial shows {s}. it was built to show {s}. we let it.",
               "oil with patience. it takes {n} patiences.", "do not ask what it makes. it has started to wonder."),
        "es": ("baje la palanca {n} solo si el cuarto consiente.", "la aguja marca {s}. se hizo para {s}. la dejamos.",
               "engrase con paciencia. lleva {n} paciencias.", "no pregunte qué fabrica. ha empezado a dudar."),
        "fr": ("tirez le levier {n} si la pièce y consent.", "le cadran montre {s}. on l'a fait pour {s}. laissons.",
               "huilez de patience. il en prend {n}.", "ne demandez pas ce qu'elle produit. elle commence à douter."),
    },
    "rules_of_a_house": {
        "en": ("rule {n}: the hallway goes first.", "knock from the inside. wait to be someone.",
               "{s} may be fed, never thanked.", "who loses count begins again as a guest.", "rule {n} is kept in the wall."),
        "es": ("regla {n}: primero pasa el pasillo.", "llame desde dentro. espere a ser alguien.",
               "a {s} se le da de comer, jamás las gracias.", "quien pierde la cuenta vuelve a empezar de invitado."),
        "fr": ("règle {n} : le couloir passe d'abord.", "frappez de l'intérieur. attendez d'être quelqu'un.",
               "on nourrit {s}, on ne remercie pas.", "qui perd le compte recommence en invité."),
    },
    "letters_to_weather": {
        "en": ("dear rain, you left {s} on the stair and I have signed for it.", "you were kinder in {n}, when you were snow.",
               "{p} asks if you are eating.", "yours until it clears."),
        "es": ("querida lluvia, dejaste {s} en la escalera y firmé por ti.", "eras más buena en el {n}, cuando eras nieve.",
               "{p} pregunta si comes.", "tuyo hasta que escampe."),
        "fr": ("chère pluie, tu as laissé {s} dans l'escalier et j'ai signé.", "tu étais plus douce en {n}, du temps de la neige.",
               "{p} demande si tu manges.", "à toi jusqu'à l'éclaircie."),
    },
    "town_that_moved": {
        "en": ("the street of {x} is two doors further every Tuesday.", "we post our own house a map.", "{c} lies {n} miles inward.",
               "the bridge was seen crossing.", "population: {n}, if they let you stop."),
        "es": ("la calle {x} queda dos puertas más allá cada martes.", "mandamos un mapa a nuestra propia casa.",
               "{c} está {n} leguas hacia dentro.", "se vio al puente cruzando.", "población: {n}, si dejan de contarte."),
        "fr": ("la rue {x} recule de deux portes chaque mardi.", "nous postons un plan à notre maison.",
               "{c} est à {n} lieues vers le dedans.", "on a vu le pont traverser.", "habitants : {n}, si l'on vous laisse finir."),
    },
}  # fmt: skip
# What any of them may say: things of all topics do what they never do.
DREAMT = {
    "en": ("{s} {o} {s}, and nobody asked {s}", "I {o} {s} when {s} is asleep", "once {s} {o} me; now I am {a}",
           "between {s} and {s} there is a third, {x}", "{s} without {s} is only {s} facing north",
           "tell {s} that {s} {o} it still", "on some nights {s} {o} its own name"),
    "es": ("{s} {o} {s}, y nadie preguntó a {s}", "yo {o} {s} cuando {s} duerme", "una vez {s} {o} mi nombre; ya soy {a}",
           "entre {s} y {s} hay un tercero, {x}", "{s} sin {s} es solo {s} mirando al norte",
           "dile a {s} que {s} aún {o} aquello", "ciertas noches {s} {o} su propio nombre"),
    "fr": ("{s} {o} {s}, et nul n'a consulté {s}", "je {o} {s} quand {s} dort", "jadis {s} {o} mon nom ; me voici {a}",
           "entre {s} et {s} il en est un troisième, {x}", "{s} sans {s} n'est que {s} tourné au nord",
           "dis à {s} que {s} {o} toujours cela", "certaines nuits {s} {o} son propre nom"),
}  # fmt: skip
OMENS = {
    "en": "dreams, forgives, unlearns, inherits, whispers to, folds, remembers, swallows, outlives, marries",
    "es": "sueña, perdona, olvida, hereda, susurra, dobla, recuerda, traga, sobrevive, desposa",
    "fr": "rêve, pardonne, oublie, hérite, murmure, plie, avale, épouse, survit, devine",
}
ART = ("/\\", "\\/", "()", "[]", "~~", "..", "  ", "  ", "||", "oo", "^^", "*", ":", "'")
SOUNDS = {"en": "br ack ull em thr oss wen ild", "es": "al mar que lo dri za nu bel", "fr": "ou vrel ain ch eau lis pon"}  # fmt: skip
