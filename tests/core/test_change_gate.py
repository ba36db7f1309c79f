from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vedette.contracts.fetch import Extraction
from vedette.contracts.watch import Seen
from vedette.contracts.words import ContentClass, EvidenceId, Outcome, VisitId
from vedette.core.change.gate import SIGNS, gate

URL = "https://a.hr/zakon"
ARTICLE = (
    "Ministarstvo je objavilo nove upute o prijavi poreza. Obveznici koji nisu podnijeli prijavu mogu to "
    "učiniti do kraja mjeseca, a uprava podsjeća da se rok ne produljuje ni u kojem slučaju. "
)


def page(text: str, title: str = "", kind: ContentClass = ContentClass.HTML) -> Extraction:
    return Extraction(content_class=kind, text=text, title=title)


def had(chars: int) -> Seen:
    at = datetime(2026, 1, 14, tzinfo=UTC)
    return Seen(visit=VisitId(1), evidence=EvidenceId(1), at=at, digest=b"", text_chars=chars)


@pytest.mark.parametrize(
    ("extraction", "outcome"),
    [
        (
            page("Checking your browser before accessing a.hr. Ray ID: 8f3a", "Just a moment..."),
            Outcome.BLOCKED_PAGE,
        ),
        (page("Please verify you are a human. captcha", "a.hr"), Outcome.BLOCKED_PAGE),
        (
            page("Pristup vam je odbijen. Potvrdite da niste robot.", "Sigurnosna provjera"),
            Outcome.BLOCKED_PAGE,
        ),
        (page("You don't have permission to access this resource.", "403 Forbidden"), Outcome.BLOCKED_PAGE),
        (page("Username Password Forgot your password? Sign in", "Sign in"), Outcome.LOGIN_WALL),
        (page("Korisničko ime Lozinka Zaboravljena lozinka? Prijava", "Prijava"), Outcome.LOGIN_WALL),
        (page("Morate se prijaviti za nastavak. Lozinka", "e-Usluge"), Outcome.LOGIN_WALL),
        (page("The page you requested was not found. Home", "404"), Outcome.SOFT_404),
        (page("Stranica koju tražite ne postoji ili je premještena.", "Nije pronađeno"), Outcome.SOFT_404),
        (page(""), Outcome.EMPTY),
    ],
)
def test_what_stands_in_front_of_a_page_is_named(extraction, outcome):
    gated = gate(200, extraction, URL, None)
    assert gated is not None
    assert gated.outcome is outcome
    assert gated.reasons


@pytest.mark.parametrize(
    "extraction",
    [
        page(ARTICLE, "Prijava poreza"),
        page("Kratka obavijest: ured ne radi 24. prosinca.", "Obavijest"),
        page(
            ARTICLE * 4 + "Napadači koriste lažnu captcha provjeru i traže lozinku.",
            "Upozorenje: lažna captcha",
        ),
        page(
            ARTICLE * 5 + "Ako stranica nije pronađena, sud odbacuje podnesak.", "Zakon o parničnom postupku"
        ),
        page(ARTICLE * 3 + "Zaboravljena lozinka: upute za oporavak.", "Upute za lozinku"),
        page("Bus 404 vozi od 6 do 22 sata svaki dan osim nedjelje.", "Linija 404"),
        page("", kind=ContentClass.PDF_TEXT),
    ],
)
def test_an_ordinary_page_that_speaks_of_such_things_passes(extraction):
    assert gate(200, extraction, URL, None) is None


def test_a_page_that_lost_its_text_is_empty_and_one_that_was_always_short_is_not():
    assert gate(200, page("Učitavanje..."), URL, had(5000)).outcome is Outcome.EMPTY
    assert gate(200, page("Ured ne radi."), URL, had(60)) is None


@pytest.mark.parametrize(
    ("text", "visible", "before", "is_empty"),
    [
        ("Sold out.", 400, 700, False),  # a few words instead of a list, under the same menus
        ("Sold out.", 40, 700, True),
        ("Loading the page, please wait", 400, 5000, True),
        ("Open daily from eight to noon", 655, 650, False),  # its menus were compared with it until now
    ],
)
def test_a_short_main_part_is_told_from_a_page_that_lost_its_text(text, visible, before, is_empty):
    found = gate(200, replace(page(text), visible_chars=visible), URL, had(before))
    assert (found is not None and found.outcome is Outcome.EMPTY) == is_empty


def test_an_unreadable_body_is_a_failed_parse():
    broken = Extraction(content_class=ContentClass.JSON, problem="not JSON")
    assert gate(200, broken, URL, None).outcome is Outcome.PARSE_FAILED


def test_points_of_the_evidence_add_up_to_the_threshold():
    gated = gate(200, page("Username Password Forgot your password? Sign in", "Sign in"), URL, None)
    assert sum(reason.points for reason in gated.reasons) >= 10


WORDS = st.sampled_from(
    "captcha lozinka 404 robot pristup odbijen zakon porez stranica nije pronađena login".split()
)


@settings(max_examples=25)
@given(
    st.lists(WORDS, min_size=450, max_size=700), st.sampled_from(["404", "Access denied", "Prijava", "Zakon"])
)
def test_a_long_page_is_never_gated(words, title):
    assert gate(200, page(" ".join(words), title), URL, had(90_000)) is None


def test_every_sign_can_be_seen_in_some_text():
    assert {sign.outcome for sign in SIGNS} == {
        Outcome.BLOCKED_PAGE,
        Outcome.LOGIN_WALL,
        Outcome.SOFT_404,
        Outcome.SERVER_ERROR,
    }


def test_a_wall_is_named_even_where_hardly_a_word_is_left_of_the_page():
    gated = gate(200, page("Please log in with your password.", "Sign in"), URL, had(5000))
    assert gated is not None
    assert gated.outcome is Outcome.LOGIN_WALL


MAINTENANCE = [
    ("Site Maintenance", "We are down for maintenance. We will be back soon."),
    (
        "Down for maintenance",
        "Our website is currently undergoing scheduled maintenance. Please check back later.",
    ),
    ("We'll be right back", "The service is temporarily unavailable. Sorry for the inconvenience."),
    ("Maintenance mode", "This site is currently in maintenance. Thank you for your patience."),
    ("Održavanje sustava", "Stranica je trenutno nedostupna zbog održavanja. Hvala na razumijevanju."),
    ("Sustav je u održavanju", "Portal je privremeno nedostupan. Pokušajte ponovno kasnije."),
    ("Radovi na održavanju", "Održavanje sustava je u tijeku. Ispričavamo se zbog neugodnosti."),
]
NEWS = [
    (
        "Najava održavanja sustava e-Porezna",
        "Sustav će u subotu biti nedostupan zbog održavanja. Hvala na strpljenju.",
    ),
    (
        "Planned maintenance on Saturday: changes",
        "The portal will be unavailable due to maintenance from 8 to 12.",
    ),
    ("Održavanje cesta u zimskom razdoblju", ARTICLE),
    ("Pravilnik o održavanju zgrada", "Zgrada se održava prema planu održavanja. Plan donosi upravitelj."),
    ("Obavijest", "Sustav e-Porezna je trenutno nedostupan zbog održavanja. Hvala na razumijevanju."),
    ("Maintenance", "Our team takes care of boilers, lifts and roofs. Ask for an offer."),
    ("Održavanje", "Usluge održavanja: dizala, krovovi, fasade. Cijena 25,00 EUR po satu."),
    ("Status", "All systems operational. No maintenance is planned."),
]


@pytest.mark.parametrize(("title", "text"), MAINTENANCE)
def test_a_maintenance_page_is_an_error_of_the_server_and_no_change(title, text):
    for seen in (None, had(3000), had(100)):
        gated = gate(200, page(text, title), URL, seen)
        assert gated is not None
        assert gated.outcome is Outcome.SERVER_ERROR


@pytest.mark.parametrize(("title", "text"), [("Ministarstvo financija", text) for _, text in MAINTENANCE])
def test_under_another_title_it_takes_the_place_of_a_page(title, text):
    gated = gate(200, page(text, title), URL, had(3000))
    assert gated is not None
    assert gated.outcome is Outcome.SERVER_ERROR
    assert gate(200, page(text, title), URL, had(120)) is None


@pytest.mark.parametrize(("title", "text"), NEWS)
def test_a_text_about_maintenance_is_a_text(title, text):
    assert gate(200, page(text, title), URL, None) is None
    assert gate(200, page(text, title), URL, had(len(text) + 20)) is None


@pytest.mark.parametrize(("title", "text"), MAINTENANCE)
def test_in_a_long_text_it_says_nothing(title, text):
    assert gate(200, page(text + ARTICLE * 20, title), URL, had(9000)) is None
