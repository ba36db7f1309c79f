"""Shadow against legacy: two samples of one pipeline agree, and whatever one of them says otherwise is found."""

from __future__ import annotations

import random
import re
import secrets
from collections.abc import Callable

import pytest

from vedette.core.panel.compare import AnswerRow, Cohort, Match, cohort, compare, difference, subjects

MODELS = tuple(f"house{n}/model-{n}" for n in range(12))
KIND = "brand"
CITIES = "Zagreb Split Rijeka Osijek Zadar Pula Karlovac Sisak Bjelovar Vukovar".split()
FIELDS = "timber steel fish wine glass paper salt cable bread tiles".split()
ENGLISH = (
    "{d} is the site of a {f} company in {c}.",
    "It is known for its {f} and for {n} shops across the country.",
    "The company was founded in {y} and is still owned by the family.",
    "Its registers, forms and price lists can be read on {d}.",
    "Independent sources describe the firm as reliable.",
    "Customers of {b} are mostly restaurants and smaller traders.",
    "In {y2} it opened a second plant near {c}.",
    "The pages are kept in more than one language.",
)
CROATIAN = (
    "{d} je stranica tvrtke koja prodaje {f} u gradu {c}.",
    "Poznata je po ponudi ({f}) i po {n} trgovina u zemlji.",
    "Tvrtka je osnovana {y}. godine i još je u vlasništvu obitelji.",
    "Registri, obrasci i cjenici mogu se čitati na {d}.",
    "Neovisni izvori kažu da je pouzdana.",
    "Kupci tvrtke {b} većinom su restorani i manji trgovci.",
    "Drugi pogon je otvoren {y2}. blizu grada {c}.",
    "Stranice se vode na više jezika.",
)
LOOSE = (
    ("still ", ""),
    ("mostly ", "for the most part "),
    ("The company", "The firm"),
    ("većinom ", "uglavnom "),
)


class World:
    """A cohort of one hundred domains and twelve models, answered twice; drawn anew in every run."""

    def __init__(self, seed: int, domains: int = 100) -> None:
        self.chance = random.Random(seed)
        labels = self.chance.sample([f"{a}{b}{c}" for a in FIELDS for b in "aeiou" for c in CITIES], domains)
        self.names = {str(n + 1): f"{label.lower()}.{self.chance.choice(['hr', 'example', 'com'])}"
                      for n, label in enumerate(labels)}  # fmt: skip
        self.facts = {key: self._facts(name) for key, name in self.names.items()}
        keys = [(domain, model, KIND) for domain in self.names for model in MODELS]
        self.shadow = {key: AnswerRow(self.said(key[0])) for key in keys}
        self.legacy = {key: AnswerRow(self.said(key[0])) for key in keys}

    def _facts(self, name: str) -> dict[str, object]:
        chance = self.chance
        label = name.partition(".")[0].capitalize()
        years = {"y": chance.randrange(1850, 1950), "y2": chance.randrange(1950, 2020)}
        return {"d": name, "b": label, "f": chance.choice(FIELDS), "c": chance.choice(CITIES),
                "n": chance.randrange(20, 90), **years}  # fmt: skip

    def said(self, domain: str) -> str:
        lines = list(ENGLISH if int(domain) % 2 else CROATIAN)
        kept = [lines[0], *self.chance.sample(lines[1:], 6)]
        self.chance.shuffle(kept)
        text = " ".join(kept).format(**self.facts[domain])
        for one, two in LOOSE:
            if self.chance.random() < 0.5:
                text = text.replace(one, two)
        return text

    def plant(self, share: float, spoil: Callable[[World, str, str], str | None]) -> int:
        """A share of the legacy rows is spoiled; None: the row is missing."""
        chosen = self.chance.sample(sorted(self.legacy), round(len(self.legacy) * share))
        for key in chosen:
            text = spoil(self, key[0], self.legacy[key].text)
            if text is None:
                del self.legacy[key]
            else:
                self.legacy[key] = AnswerRow(text)
        return len(chosen)

    def compared(self):
        plan = Cohort(domains=self.names, models=frozenset(MODELS), kinds=frozenset((KIND,)))
        return compare(self.shadow, cohort(self.shadow, self.legacy, (plan,)), names=self.names)


def another(world: World, domain: str, text: str) -> str:
    return world.said(
        world.chance.choice([key for key in world.names if key != domain and int(key) % 2 == int(domain) % 2])
    )


def renamed(world: World, domain: str, text: str) -> str:
    """The same sentences, about someone else: by domain and by name."""
    other = world.facts[world.chance.choice([key for key in world.names if key != domain])]
    mine = world.facts[domain]
    return text.replace(str(mine["d"]), str(other["d"])).replace(str(mine["b"]), str(other["b"]))


def named_without_its_domain(world: World, domain: str, text: str) -> str:
    other = world.facts[world.chance.choice([key for key in world.names if key != domain])]
    mine = world.facts[domain]
    return text.replace(str(mine["d"]), str(other["b"])).replace(str(mine["b"]), str(other["b"]))


def halved(world: World, domain: str, text: str) -> str:
    return text[: len(text) // 2]


def cut(world: World, domain: str, text: str) -> str:
    """Somewhere in the middle of a sentence of its last third."""
    places = [
        m.start() for m in re.finditer(r"(?<=\w) (?=\w+ \w+ \w+)", text) if 0.6 < m.start() / len(text) < 0.8
    ]
    return text[: world.chance.choice(places)] if places else text[: len(text) // 2]


def negated(world: World, domain: str, text: str) -> str:
    return re.sub(r"\bje\b", "nije", re.sub(r"\bis\b", "is not", re.sub(r"\bwas\b", "was not", text)))


def negated_once(world: World, domain: str, text: str) -> str:
    for one, two in (("is the site", "isn't the site"), ("je stranica", "nije stranica")):
        text = text.replace(one, two)
    return text


def numbers(world: World, domain: str, text: str) -> str:
    return re.sub(r"\d{4}", lambda m: str(int(m[0]) + world.chance.choice((-7, 3, 40))), text)


def refused(world: World, domain: str, text: str) -> str:
    return "I'm sorry, but I can't help with that."


def emptied(world: World, domain: str, text: str) -> str:
    return ""


def missing(world: World, domain: str, text: str) -> None:
    return None


ADVERSARIES = (another, renamed, named_without_its_domain, halved, cut, negated, negated_once, numbers, refused,
               emptied, missing)  # fmt: skip


@pytest.mark.parametrize("turn", range(20))
def test_nothing_planted_agrees_and_two_percent_of_anything_is_found(turn):
    seed = secrets.randbelow(10**9)
    clean = World(seed).compared()
    assert (clean.match, clean.pairs) == (Match.AGREE, 1200), (seed, clean.diverging, clean.examples[:3])
    world = World(seed)
    spoil = ADVERSARIES[turn % len(ADVERSARIES)]
    planted = world.plant(0.02, spoil)
    found = world.compared()
    assert found.match is Match.DIFFER, (seed, spoil.__name__, planted, found.diverging)
    world = World(seed)
    world.plant(0.02, lambda w, d, t: w.chance.choice(ADVERSARIES)(w, d, t))
    found = world.compared()
    assert (found.match, found.pairs) == (Match.DIFFER, 1200), (seed, "mixed", found.diverging)


@pytest.mark.parametrize("spoil", ADVERSARIES, ids=lambda f: f.__name__)
def test_what_says_otherwise_in_every_row_is_found_in_nearly_every_row(spoil):
    seed = secrets.randbelow(10**9)
    world = World(seed, domains=40)
    world.plant(1.0, spoil)
    found = world.compared()
    assert found.match is Match.DIFFER
    assert found.share > 0.8, (seed, found.share)


def test_a_provider_that_the_shadow_has_no_row_of_counts_by_the_plan():
    world = World(secrets.randbelow(10**9))
    gone = {key: row for key, row in world.shadow.items() if key[1] != MODELS[3]}
    plan = Cohort(domains=world.names, models=frozenset(MODELS), kinds=frozenset((KIND,)))
    found = compare(gone, cohort(gone, world.legacy, (plan,)), names=world.names)
    assert (found.match, found.by_model[MODELS[3]]) == (Match.DIFFER, (100, 100))


@pytest.mark.parametrize("flags", [(None, False), (True, None), (False, True), (None, None)])
def test_equal_texts_agree_whatever_flag_a_side_has(flags):
    ours = {(str(n), "a", "x"): AnswerRow(f"Answer {n}.", flags[0]) for n in range(1000)}
    theirs = {key: AnswerRow(row.text, flags[1]) for key, row in ours.items()}
    found = compare(ours, theirs)
    assert (found.match, found.diverging) == (Match.AGREE, 0)


def test_a_flag_alone_decides_nothing_where_the_other_side_has_none():
    world = World(secrets.randbelow(10**9), domains=20)
    flagged = {key: AnswerRow(row.text, world.chance.random() < 0.2) for key, row in world.shadow.items()}
    found = compare(flagged, world.legacy, names=world.names)
    assert found.diverging <= 2


@pytest.mark.parametrize(
    ("one", "two", "why"),
    [
        ("It has 1,200 members in all.", "It has 1200 members in all.", ""),
        ("Founded on the 10th of May by two brothers.", "Founded on the 10 of May by two brothers.", ""),
        ("The firm doesn't publish prices at all.", "The firm does publish prices at all.", "negation"),
        ("Sources call the firm unreliable today.", "Sources call the firm reliable today.", "negation"),
        ("Izvori kažu da je adresa nepoznata svima.", "Izvori kažu da je adresa poznata svima.", "negation"),
        ("It does not sell fish, and not wine.", "It does not sell fish and not wine.", ""),
        ("A shop. It sells fish.", "A shop. It sells fish. It is known for its wine.", ""),
    ],
)
def test_numbers_and_negations_are_compared_by_what_they_mean(one, two, why):
    known = subjects(["a.example"], [one, two])
    assert difference(one, two, domain="a.example", known=known)[0] in (
        (why, "length") if not why else (why,)
    )
