"""HNB, Narodne novine, EUR-Lex, MRMS, HOK: the shape of each site, and what is taken of it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.source import ListerKind, ListerOptions, Listing, StructuredOptions
from vedette.core.urls.canonical import watch_id
from vedette.discover import ListingDocument, read_listing
from vedette.discover.gazettes import PARTS, Act, act_of, celex_in, parse_celex, read_metadata
from vedette.discover.site_lists import article_number, read_rates

NOW = datetime(2026, 11, 15, tzinfo=UTC)
SHAPES = Path(__file__).parents[1] / "fixtures" / "structured"
HNB = "https://api.hnb.hr/tecajn-eur/v3"
NN = "https://narodne-novine.nn.hr"
LEX = "https://eur-lex.europa.eu/legal-content/HR/TXT/?uri=CELEX:32006L0112"
ALL = [ListerKind.HNB, ListerKind.NN, ListerKind.EURLEX, ListerKind.MRMS, ListerKind.HOK]


def document(name: str, url: str, content_type: str = "", **structured: object) -> ListingDocument:
    options = ListerOptions(structured=StructuredOptions(**structured))  # type: ignore[arg-type]
    body = (SHAPES / name).read_bytes()
    return ListingDocument(url=url, body=body, content_type=content_type, options=options, now=NOW)


def urls(listing: Listing) -> list[str]:
    assert [sighting.id for sighting in listing.sightings] == [watch_id(one.url) for one in listing.sightings]
    return [sighting.url for sighting in listing.sightings]


def notes(listing: Listing) -> dict[str, str]:
    return {reason.code: reason.note for reason in listing.notes}


def test_the_rate_list_is_its_own_target_and_says_which_list_it_is():
    listing = read_listing(ListerKind.HNB, document("hnb-v3.json", HNB))
    assert (listing.problem, urls(listing)) == ("", [])
    assert notes(listing) == {"rates": "list 221 applies on 2026-11-14"}
    assert listing.notes[0].points == 3


def test_a_wanted_currency_is_a_target_of_its_own_and_an_unknown_one_is_named():
    listing = read_listing(ListerKind.HNB, document("hnb-v3.json", HNB, currencies=("USD", "CHF", "XXX")))
    assert urls(listing) == [f"{HNB}?valuta=USD", f"{HNB}?valuta=CHF"]
    assert [s.title for s in listing.sightings] == ["USD (SAD)", "CHF (Švicarska)"]
    assert listing.sightings[0].published_at == datetime(2026, 11, 14, tzinfo=UTC)
    assert "XXX" in notes(listing)["currency_missing"]


def test_both_editions_of_the_rate_list_are_read_and_the_decimal_comma_stays():
    new, old = (read_rates(document(f"hnb-{edition}.json", HNB))[0] for edition in ("v3", "v1"))
    assert [(rate.currency, rate.middle) for rate in new][1] == ("USD", "1,080900")
    assert (old[0].currency, old[0].middle, old[0].number) == ("USD", "7,064035", "252")


@pytest.mark.parametrize(
    "body", [b"{}", b"[]", b"[1, null]", b'[{"valuta": 5}]', b"<html></html>", b"[" * 9000]
)
def test_what_is_no_rate_list_is_a_problem_in_words(body):
    listing = read_listing(ListerKind.HNB, ListingDocument(url=HNB, body=body, now=NOW))
    assert listing.problem.startswith("not a list of rates")


def test_the_index_of_the_gazette_is_followed_by_type():
    index = document("nn-index.xml", f"{NN}/sitemap.xml")
    everything = read_listing(ListerKind.NN, index)
    assert {child.lister for child in everything.follow} == {ListerKind.NN}
    assert len(everything.follow) == 3
    some = read_listing(ListerKind.NN, replace(index, options=ListerOptions(sitemap_types=(1, 2))))
    assert [child.url for child in some.follow] == [
        f"{NN}/sitemap_1_2026_120.xml",
        f"{NN}/sitemap_2_2026_8.xml",
    ]
    assert [reason.code for _, reason in some.refused] == ["sitemap_type"]


def test_acts_of_a_child_sitemap_are_sighted_in_the_wanted_forms():
    child = document("nn-child.xml", f"{NN}/sitemap_1_2026_120.xml", formats=("html", "json-ld", "pdf"))
    listing = read_listing(ListerKind.NN, child)
    assert urls(listing) == [
        f"{NN}/clanci/sluzbeni/2026_11_120_1801.html",
        f"{NN}/eli/sluzbeni/2026/120/1801/json-ld",
        f"{NN}/eli/sluzbeni/2026/120/1801/pdf",
        f"{NN}/clanci/sluzbeni/full/2026_11_120_1802.html",
        f"{NN}/eli/sluzbeni/2026/120/1802/json-ld",
        f"{NN}/eli/sluzbeni/2026/120/1802/pdf",
        f"{NN}/search.aspx",
    ]
    assert [s.is_document for s in listing.sightings][:3] == [False, False, True]


@pytest.mark.parametrize(("name", "form"), [("nn-act.json", "/json-ld"), ("nn-act.html", "")])
def test_an_act_says_what_it_is_and_which_later_act_changed_it(name, form):
    act = document(name, f"{NN}/eli/sluzbeni/2013/73/1451{form}", "text/html" if not form else "")
    metadata = read_metadata(act)
    assert metadata.first("title") == "Zakon o porezu na dodanu vrijednost"
    assert metadata.first("date_publication") == "2013-06-18"
    assert metadata.first("type_document").endswith("/ZAKON")
    assert metadata.all("based_on") == (f"{NN}/eli/sluzbeni/2010/85/2422",)
    assert metadata.first("is_about").endswith("/POREZI")
    listing = read_listing(ListerKind.NN, act)
    assert f"{NN}/eli/sluzbeni/2024/152/2505" in urls(listing)
    assert notes(listing)["act_changed_by"].endswith("/2024/152/2505")
    assert f"{NN}/clanci/sluzbeni/2012_01_1_1.html" not in urls(listing)
    assert f"{NN}/eli/sluzbeni/2010/85/2422" not in urls(listing)  # what it is based on is told, not followed


def test_an_act_may_say_it_in_short_json_ld_inside_its_page():
    said = {
        "@context": {"eli": "http://data.europa.eu/eli/ontology#"},
        "@graph": [
            {"@id": f"{NN}/eli/sluzbeni/2013/73/1451", "eli:publisher_agent": "Narodne novine d.d.",
             "eli:repeals": [{"@id": f"{NN}/eli/sluzbeni/1995/47/872"}, {"@id": f"{NN}/eli/sluzbeni/2013/73/1451"}]},
            {"@id": f"{NN}/eli/sluzbeni/2099/1/1", "eli:publisher_agent": "somebody else"},
        ],
    }  # fmt: skip
    page = f'<html><head><script type="application/ld+json">{json.dumps(said)}</script></head><body></body></html>'
    broken = '<script type="application/ld+json">{"@id": </script>'
    url = f"{NN}/clanci/sluzbeni/2013_06_73_1451.html"
    found = read_metadata(
        ListingDocument(url=url, body=(broken + page).encode(), content_type="text/html", now=NOW)
    )
    assert (found.eli, found.said) == (
        "/eli/sluzbeni/2013/73/1451",
        (("publisher", ("Narodne novine d.d.",)), ("repeals", (f"{NN}/eli/sluzbeni/1995/47/872",))),
    )


def test_an_issue_of_the_gazette_lists_its_acts():
    page = b"<html><a href='/clanci/oglasni/o8012.html'>x</a><a href='/clanci/sluzbeni/2026_11_120_7.html'>Odluka</a>"
    listing = read_listing(
        ListerKind.NN, ListingDocument(url=f"{NN}/search.aspx", body=page, content_type="text/html", now=NOW)
    )
    assert [(s.url, s.title) for s in listing.sightings] == [
        (f"{NN}/clanci/sluzbeni/2026_11_120_7.html", "Odluka")
    ]


@given(
    st.sampled_from(sorted(PARTS)),
    st.integers(1990, 2099),
    st.integers(1, 12),
    st.integers(1, 200),
    st.integers(1, 9999),
)
def test_both_addresses_of_an_act_name_the_same_act(part, year, month, issue, number):
    act = Act(part, year, issue, number)
    assert act_of(f"{NN}/clanci/{part}/{year}_{month:02}_{issue}_{number}.html") == act
    assert act_of(f"{NN}{act.eli}") == act_of(f"{NN}{act.eli}/hrv/pdf?x=1") == act


def test_a_directive_lists_its_consolidated_texts_and_what_amended_it():
    listing = read_listing(ListerKind.EURLEX, document("eurlex-act.html", LEX, "text/html"))
    found = [url.rpartition(":")[2] for url in urls(listing)]
    assert found == ["02006L0112-20250414", "02006L0112-20250101", "32025L0516"]
    assert listing.sightings[0].published_at == datetime(2025, 4, 14, tzinfo=UTC)
    assert urls(listing)[0].startswith("https://eur-lex.europa.eu/legal-content/HR/TXT/?uri=CELEX:")


def test_celex_numbers_and_languages_are_chosen_by_options():
    act = document("eurlex-act.html", LEX, "text/html", celex=("0",), languages=("HR", "EN"))
    listing = read_listing(ListerKind.EURLEX, act)
    assert len(listing.sightings) == 4
    assert {reason.code for _, reason in listing.refused} == {"celex"}


def test_an_answer_of_the_publications_office_is_read_on_eur_lex():
    answer = document("eurlex-sparql.json", "https://publications.europa.eu/webapi/rdf/sparql?query=x")
    listing = read_listing(ListerKind.EURLEX, answer)
    assert [(s.url.rpartition(":")[2], s.title) for s in listing.sightings] == [
        ("32011R0282", "Provedbena uredba Vijeća (EU) br. 282/2011"),
        ("32025L0516", "Direktiva (EU) 2025/516"),
    ]
    assert listing.sightings[0].published_at == datetime(2011, 3, 15, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "kind", "number"),
    [
        ("32006L0112", "L", 112),
        ("62019CJ0235", "CJ", 235),
        ("02006L0112-20250101", "L", 112),
        ("32016R0679R(02)", "R", 679),
    ],
)
def test_a_celex_number_has_its_parts(text, kind, number):
    celex = parse_celex(text)
    assert celex is not None
    assert (celex.kind, celex.number, celex.text) == (kind, number, text)
    assert celex_in(f"https://x.eu/legal-content/HR/ALL/?uri=CELEX%3A{text}") == celex


@pytest.mark.parametrize("text", ["", "2006L0112", "32006L01123", "x32006L0112", "32006L0112-2025010"])
def test_what_is_no_celex_number_is_none(text):
    assert parse_celex(text) is None


def test_an_article_of_the_government_system_is_sighted_once_by_its_number():
    listing = read_listing(
        ListerKind.MRMS, document("mrms-list.html", "https://mrosp.gov.hr/vijesti/8", "text/html")
    )
    base = "https://mrosp.gov.hr"
    assert urls(listing)[:2] == [
        f"{base}/vijesti/povecava-se-minimalna-placa/13579",
        f"{base}/vijesti/objavljen-natjecaj-za-zaposljavanje/13571",
    ]
    assert listing.sightings[0].published_at == datetime(2026, 11, 12, tzinfo=UTC)
    assert [s.is_document for s in listing.sightings] == [False, False, True]
    assert [(url, reason.code) for url, reason in listing.refused] == [(f"{base}/galerija", "no_article")]
    assert [(page.url[-6:], page.lister) for page in listing.follow] == [
        ("page=2", ListerKind.MRMS),
        ("page=3", ListerKind.MRMS),
    ]


@pytest.mark.parametrize(
    ("url", "number"),
    [
        ("https://mrosp.gov.hr/vijesti/naslov/12", "12"),
        ("https://mrosp.gov.hr/vijesti/8", None),
        ("https://mrosp.gov.hr/12", None),
        ("https://mrosp.gov.hr/vijesti/naslov", None),
        ("https://mrosp.gov.hr/2026/12", None),
    ],
)
def test_an_article_has_a_section_a_name_and_a_number(url, number):
    assert article_number(url) == number


def test_the_lasting_address_of_an_entry_is_what_the_markup_says_not_what_it_links():
    listing = read_listing(
        ListerKind.HOK, document("hok-list.html", "https://www.hok.hr/obavijesti", "text/html")
    )
    assert urls(listing) == [
        "https://www.hok.hr/obavijesti/clanarina-za-2027",
        "https://www.hok.hr/obavijesti/ispiti-u-prosincu",
        "https://www.hok.hr/sites/default/files/obrazac.docx",
    ]
    assert listing.sightings[0].title == "Članarina za 2027. godinu"
    assert [(page.url, page.lister) for page in listing.follow] == [
        ("https://www.hok.hr/obavijesti?page=1", ListerKind.HOK)
    ]


PIECES = (
    '[|]|{|}|"valuta"|:|"USD"|,|"srednji_tecaj"|null|1e999|"@id"|"/eli/sluzbeni/2013/73/1451"|"eli:changed_by"|'
    '"results"|"bindings"|{"value": "32006L0112"}|<html>|<meta about="/eli/a-b/2013/73/1" property="eli:title" '
    'content="x">|<a href="?uri=CELEX:32006L0112-99999999">|<article about="http://[">|<article about="/x">|'
    '<div class="news_item">|<a href="/a/b/1">|</a>|<urlset>|<loc>|\x00|\ud7ff'
).split("|")


@given(
    st.sampled_from(ALL),
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join),
    st.sampled_from(["", "text/html"]),
)
def test_no_data_makes_a_structured_lister_raise(kind, text, content_type):
    body = text.encode("utf-8", "replace")
    listing = read_listing(
        kind, ListingDocument(url=f"{NN}/x", body=body, content_type=content_type, now=NOW)
    )
    found = urls(listing)
    assert len(set(found)) == len(found)
    assert all(url.startswith(("http://", "https://")) for url in found)
