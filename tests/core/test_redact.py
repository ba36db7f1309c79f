"""Personal data is taken out where a rule is sure, and only there."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.documents import Document
from vedette.contracts.fetch import Extraction
from vedette.contracts.words import ContentClass
from vedette.core.text.national_ids import (
    fiscal_code_holds,
    iban_holds,
    jmbg_holds,
    luhn_holds,
    mod_11_10_holds,
    pesel_holds,
)
from vedette.core.text.redact import redact, redacted_document, redacted_extraction

Draw = Callable[[random.Random], str]
AROUND = (
    "Javite se: {}.",
    "{} je u prilogu",
    "Broj ({}) vrijedi od 12.03.2024.",
    "7 {} 2026",
    "Siehe {}, Seite 12",
)


def digits(chance: random.Random, size: int) -> str:
    return "".join(chance.choice("0123456789") for _ in range(size))


def searched(chance: random.Random, make: Draw, holds: Callable[[str], bool]) -> str:
    return next(made for made in iter(lambda: make(chance), None) if holds(made))


def iban(chance: random.Random) -> str:
    country, size = chance.choice((("HR", 17), ("DE", 18), ("AT", 16), ("SI", 15), ("BE", 12)))
    account = digits(chance, size)
    check = 98 - int("".join(str(int(c, 36)) for c in f"{account}{country}00")) % 97
    plain = f"{country}{check:02}{account}"
    return plain if chance.random() < 0.5 else " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def oib(chance: random.Random) -> str:
    return searched(chance, lambda c: digits(c, 11), mod_11_10_holds)


def jmbg(chance: random.Random) -> str:
    def born(c: random.Random) -> str:
        return (
            f"{c.randint(1, 28):02}{c.randint(1, 12):02}{c.choice((9, 0))}{c.randint(10, 19)}{digits(c, 6)}"
        )

    return searched(chance, born, jmbg_holds)


def card(chance: random.Random) -> str:
    lead = chance.choice(("4", "51", "55", "2221", "6011"))
    plain = searched(chance, lambda c: lead + digits(c, 16 - len(lead)), luhn_holds)
    mark = chance.choice(("", " ", "-"))
    return mark.join(plain[at : at + 4] for at in range(0, 16, 4))


def email(chance: random.Random) -> str:
    name = "".join(chance.choice("abcdefghij._-x") for _ in range(8)).strip("._-") or "ana"
    return f"{name}{chance.randint(1, 99)}@{chance.choice(('example.hr', 'mail.example.co.uk', 'posta.example.de'))}"


def phone(chance: random.Random) -> str:
    n = digits(chance, 7)
    return chance.choice(
        (
            f"+385 91 {n[:3]} {n[3:]}",
            f"+3859{chance.choice('1589')}{n}",
            f"091/{n[:3]}-{n[3:]}",
            f"01 {n[:4]} {n[4:]}",
            f"(01) {n[:4]}-{n[4:]}",
            f"00385 1 {n[:4]} {n[4:]}",
            f"+49 30 {n}",
            f"+1 212-{chance.randint(200, 999)}-{n[:4]}",
        )
    )


def off_by_one(text: str, chance: random.Random) -> str:
    """One digit is another: no checksum holds."""
    places = [at for at, char in enumerate(text) if char.isdigit()][4:]
    at = chance.choice(places)
    return text[:at] + str((int(text[at]) + chance.randint(1, 9)) % 10) + text[at + 1 :]


def like(make: Draw) -> Draw:
    return lambda chance: off_by_one(make(chance), chance)


def like_email(chance: random.Random) -> str:
    n = digits(chance, 2)
    return chance.choice(
        (f"logo{n}@2x.png", f"@korisnik{n}", f"paket@1.{n}.0", f"a{n} @ b", f"ana@localhost{n}")
    )


def like_phone(chance: random.Random) -> str:
    n = digits(chance, 8)
    return chance.choice(
        (
            f"{chance.randint(1, 28):02}.{chance.randint(1, 12):02}.20{n[:2]}.",
            f"NN {chance.randint(1, 150)}/20{n[:2]}",
            f"034-0{chance.randint(1, 9)}/{n[:2]}-01/{n[2:4]}",
            f"513-07-21-01-{n[:2]}-2",
            f"1.{n[:3]}.{n[3:6]},00 kn",
            f"ISSN 0{n[:3]}-{n[3:7]}",
            f"192.168.{n[:2]}.1",
            f"2024-{n[:2]}-{n[2:4]} 12:30",
            f"978-953-{n[:4]}-{n[4:6]}-1",
        )
    )


VALID: dict[str, Draw] = {
    "iban": iban,
    "oib": oib,
    "jmbg": jmbg,
    "card": card,
    "email": email,
    "phone": phone,
}
ALIKE: dict[str, Draw] = {
    "iban": like(iban),
    "oib": like(oib),
    "jmbg": like(jmbg),
    "card": like(card),
    "email": like_email,
    "phone": like_phone,
}


def drawn(seed: int, table: dict[str, Draw]) -> list[tuple[str, str]]:
    """300 of them, 50 of each kind, each in a sentence."""
    chance = random.Random(seed)
    made = [(kind, draw(chance)) for kind, draw in table.items() for _ in range(50)]
    return [(one, chance.choice(AROUND).format(one)) for _, one in made]


@pytest.mark.parametrize("seed", [1, 7, 20261117])
def test_valid_identifiers_go_and_look_alikes_stay(seed: int) -> None:
    missed = [one for one, text in drawn(seed, VALID) if one in redact(text)]
    taken = [one for one, text in drawn(seed, ALIKE) if one not in redact(text)]
    assert len(missed) <= 0.02 * 300, missed
    assert len(taken) <= 0.01 * 300, taken


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("PESEL: 44051401359", "PESEL: [id]"),
        ("RSSMRA85T10A562S", "[id]"),
        ("DNI 12345678Z, NIE X1234567L", "DNI [id], NIE [id]"),
        ("SSN 219-09-9999; part 219-09-9999", "SSN [id]; part 219-09-9999"),
        ("Steuer-ID: 86 095 742 719", "Steuer-ID: [id]"),
        ("PDV HR69435151530", "PDV [id]"),
        ("ana (at) example (dot) hr", "[e-mail]"),
        ("Ime i prezime: Ana Anić, Zagreb", "Ime i prezime: [name], Zagreb"),
        ("Tel. 234 567", "Tel. [phone]"),
        ("Zgrada 234 567", "Zgrada 234 567"),
        ("4111 1111 1111 1111 2024", "[card] 2024"),
        ("IMEI 356938035643809", "IMEI 356938035643809"),
        (f"http://{'abcdefg2' * 7}.onion/x", "http://[onion]/x"),
        ("03 12 25 31 44", "03 12 25 31 44"),
        ("", ""),
    ],
)
def test_each_rule_takes_what_it_is_sure_of(text: str, left: str) -> None:
    assert redact(text) == left


@given(st.text(alphabet="0123456789 .-/()+@abcHR\u00a0", max_size=80))
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    once = redact(text)
    assert redact(once) == once or len(redact(once)) <= len(once) + 20


@given(st.text(max_size=200))
def test_text_without_digits_and_marks_stays(text: str) -> None:
    plain = "".join(char for char in text if char not in "@(){}[]:=" and not char.isdigit())
    assert redact(plain) == plain or ".onion" in plain.lower()


@pytest.mark.parametrize(
    "bait", ["1", "1 ", "(1) ", "+", "a@", "a.", "00 ", "HR12", "0123-", "4111 ", "oib "]
)
def test_bait_costs_linear_work(bait: str) -> None:
    """A million characters end: nothing is tried again and again."""
    assert isinstance(redact(bait * (1_000_000 // len(bait) // 4)), str)


def test_checksums_hold_for_published_examples() -> None:
    assert iban_holds("HR1210010051863000160")
    assert iban_holds("GB82WEST12345698765432")
    assert luhn_holds("4111111111111111")
    assert mod_11_10_holds("69435151530")
    assert jmbg_holds("0101006500006")
    assert pesel_holds("44051401359")
    assert fiscal_code_holds("RSSMRA85T10A562S")


def test_an_extraction_hands_on_no_person() -> None:
    found = redacted_extraction(
        Extraction(
            content_class=ContentClass.HTML,
            text="Pišite na ana@example.hr",
            title="Ana: 091 234 5678",
            hrefs=(
                "mailto:ana@example.hr",
                "tel:+385912345678",
                "/a?e=ana%40example.hr",
                "/b/12345678903",
                "/@ana",
            ),
            metadata={"author": "Ana Anić", "description": "OIB 69435151530"},
        )
    )
    assert found.text == "Pišite na [e-mail]"
    assert found.title == "Ana: [phone]"
    assert found.hrefs == ("/b/12345678903", "/@ana")
    assert found.metadata == {"author": "[name]", "description": "OIB [id]"}


def test_a_document_hands_on_no_author() -> None:
    made = Document(
        content_class=ContentClass.PDF_TEXT, blocks=(("p[1]", "ana@example.hr"),), author="Ana Anić"
    )
    assert redacted_document(made).blocks == (("p[1]", "[e-mail]"),)
    assert redacted_document(made).author == "[name]"
