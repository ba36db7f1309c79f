"""What a URL says about the page behind it: spec 000 section 2 as DESIGN section 3 settles it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.words import NodeRole, NodeType, Risk
from vedette.core.urls.classify import PACKS, RULES, RolePattern, becomes_hub, classify_url, inherit_risk

HUB, LEAF, ASSET = NodeType.HUB, NodeType.LEAF, NodeType.ASSET
H = "https://mfin.gov.hr"

# url, node type, role, risk
CASES = [
    ("/arhiva/2019/a", HUB, NodeRole.ARCHIVE, Risk.LOW),
    ("/arhiva", HUB, NodeRole.ARCHIVE, Risk.LOW),
    ("/Archive/", HUB, NodeRole.ARCHIVE, Risk.LOW),
    ("/stari-grad", LEAF, None, Risk.MEDIUM),
    ("/e-savjetovanja/123", HUB, NodeRole.GUIDANCE, Risk.CRITICAL),
    ("/esavjetovanja", HUB, NodeRole.GUIDANCE, Risk.CRITICAL),
    ("/en/public-consultations", HUB, NodeRole.GUIDANCE, Risk.CRITICAL),
    ("/javna-rasprava/x", HUB, NodeRole.GUIDANCE, Risk.CRITICAL),
    ("/natjecaji", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/natje%C4%8Daji/2", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/tenders/5", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/vijesti/danas", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/VIJESTI", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/priop%C4%87enja/1", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/priop%c4%87enja/1", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/aktualnosti", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/newsletter", LEAF, None, Risk.MEDIUM),
    ("/obrasci/joppd", LEAF, NodeRole.FORM, Risk.MEDIUM),
    ("/prijava", LEAF, NodeRole.FORM, Risk.MEDIUM),
    ("/format/a4", LEAF, None, Risk.MEDIUM),
    ("/forms/12", LEAF, NodeRole.FORM, Risk.MEDIUM),
    ("/mi%C5%A1ljenja/pdv", LEAF, NodeRole.GUIDANCE, Risk.MEDIUM),
    ("/upute-za-obrt", LEAF, NodeRole.GUIDANCE, Risk.MEDIUM),
    ("/guidance/vat", LEAF, NodeRole.GUIDANCE, Risk.MEDIUM),
    ("/propisi/pdv", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/zakon-o-pdv-u", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/zakonodavstvo", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/pravilnik-o-pdv-u", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/uredba/5", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/akti", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/akti2024", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/aktivnosti", LEAF, None, Risk.MEDIUM),
    ("/akti%C4%8Dan", LEAF, None, Risk.MEDIUM),
    ("/clanci/slu%C5%BEbeni/2024_01_1_1.html", LEAF, NodeRole.REGULATION, Risk.CRITICAL),
    ("/sluzbenici", LEAF, None, Risk.MEDIUM),
    ("/x/index.html", HUB, NodeRole.INDEX, Risk.LOW),
    ("/sadr%C5%BEaj.aspx", HUB, NodeRole.INDEX, Risk.LOW),
    ("/zakoni/arhiva/1", HUB, NodeRole.ARCHIVE, Risk.LOW),
    ("/vijesti/zakon-o-pdv-u", HUB, NodeRole.NEWS_FEED, Risk.HIGH),
    ("/o-nama", LEAF, None, Risk.MEDIUM),
    ("/", LEAF, None, Risk.MEDIUM),
    ("/zakoni/pdv.pdf", ASSET, None, Risk.MEDIUM),
    ("/a.pdf?x=1", ASSET, None, Risk.MEDIUM),
    ("/a.PDF#page=2", ASSET, None, Risk.MEDIUM),
    ("/a%2Edocx", ASSET, None, Risk.MEDIUM),
    ("/a.rtf", ASSET, None, Risk.MEDIUM),
    ("/pdf", LEAF, None, Risk.MEDIUM),
    ("/view?file=a.pdf", LEAF, None, Risk.MEDIUM),
    ("/a.pdf.html", LEAF, None, Risk.MEDIUM),
]


@pytest.mark.parametrize(("path", "kind", "role", "risk"), CASES)
def test_the_path_decides(path: str, kind: NodeType, role: NodeRole | None, risk: Risk) -> None:
    found = classify_url(H + path)
    assert (found.node_type, found.node_role, found.risk) == (kind, role, risk)
    assert found.reason.code
    assert found.reason.note


@pytest.mark.parametrize("extension", "pdf doc docx xls xlsx ppt pptx odt ods rtf".split())
def test_every_document_extension_is_an_asset(extension: str) -> None:
    assert classify_url(f"{H}/vijesti/a.{extension}?v=2").node_type is ASSET


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        ("application/pdf", ASSET),
        ("Application/PDF; charset=binary", ASSET),
        ("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ASSET),
        ("application/vnd.oasis.opendocument.text", ASSET),
        ("application/msword", ASSET),
        ("application/vnd.ms-excel", ASSET),
        ("text/html; charset=utf-8; profile=document", LEAF),
        ("", LEAF),
    ],
)
def test_a_document_without_an_extension_is_known_by_its_type(content_type: str, kind: NodeType) -> None:
    assert classify_url(f"{H}/download/123", content_type).node_type is kind


def test_a_newspaper_called_index_is_not_an_index_page() -> None:
    assert classify_url("https://index.hr/clanak/1").node_role is None


def test_an_asset_of_a_critical_parent_is_critical_and_says_so() -> None:
    asset = classify_url(f"{H}/a.pdf")
    raised = inherit_risk(asset, Risk.CRITICAL)
    assert raised.risk is Risk.CRITICAL
    assert "parent" in raised.reason.note
    assert inherit_risk(asset, Risk.HIGH) == inherit_risk(asset, None) == asset
    page = classify_url(f"{H}/o-nama")
    assert inherit_risk(page, Risk.CRITICAL) == page


def test_a_leaf_that_is_mostly_links_becomes_a_hub_and_an_article_does_not() -> None:
    assert becomes_hub(LEAF, link_count=80, text_chars=3000)
    assert not becomes_hub(LEAF, link_count=80, text_chars=6000)
    assert not becomes_hub(LEAF, link_count=29, text_chars=0)
    assert not becomes_hub(ASSET, link_count=500, text_chars=10)


def test_rows_of_the_configuration_win_over_the_packs_and_read_folded_text_too() -> None:
    rows = (RolePattern("/vijesti/hitno", NodeRole.REGULATION, Risk.CRITICAL),
            RolePattern("/Službene-objave", NodeRole.NEWS_FEED, Risk.HIGH, True))  # fmt: skip
    assert classify_url(f"{H}/vijesti/hitno/1", rows=rows).risk is Risk.CRITICAL
    assert classify_url(f"{H}/slu%C5%BEbene-objave", rows=rows).node_type is HUB
    assert classify_url(f"{H}/vijesti/1", rows=rows).risk is Risk.HIGH


def test_one_pack_alone_knows_only_its_language() -> None:
    assert classify_url(f"{H}/news", packs=("hr",)).node_role is None
    assert classify_url(f"{H}/news", packs=("en",)).node_role is NodeRole.NEWS_FEED


def test_an_unknown_pack_names_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"unknown language pack 'hrr'; did you mean 'hr'"):
        classify_url(f"{H}/", packs=("hrr",))


@pytest.mark.parametrize(("pattern", "words"), [("", "empty"), ("(", "not a valid RE2"), ("a" * 1001, "1001"),
                                                ("(?=x)", "not a valid RE2")])  # fmt: skip
def test_a_pattern_that_cannot_be_used_says_why(pattern: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        RolePattern(pattern, NodeRole.FORM, Risk.LOW)


def test_every_word_of_a_pack_has_a_rule() -> None:
    assert {name for words in PACKS.values() for name in words} <= {rule.name for rule in RULES}


@given(st.text(), st.none() | st.text())
def test_no_text_makes_it_raise(url: str, content_type: str | None) -> None:
    assert classify_url(url, content_type).risk in Risk


@given(st.sampled_from(CASES), st.sampled_from(["", "?x=1", "?a=b&c=d", "#top"]))
def test_a_harmless_query_or_fragment_changes_nothing(
    case: tuple[str, NodeType, object, Risk], tail: str
) -> None:
    if "?" not in case[0] and "#" not in case[0]:
        assert classify_url(H + case[0] + tail) == classify_url(H + case[0])


def test_a_word_alone_is_no_extension() -> None:
    assert classify_url("pdf").node_type is LEAF


def test_every_croatian_letter_folds_composed_or_not() -> None:
    row = (RolePattern("/medunarodni-cczs", NodeRole.REGULATION, Risk.HIGH),)
    for letters in ("međunarodni-čćžš", "me\u0111unarodni-c\u030cc\u0301z\u030cs\u030c", "MEĐUNARODNI-ČĆŽŠ"):
        assert classify_url(f"{H}/{letters}", rows=row).risk is Risk.HIGH


def test_lone_surrogates_are_read_as_something() -> None:
    assert classify_url("https://x.hr/zakon\ud800/%ff").node_role is NodeRole.REGULATION


@pytest.mark.parametrize(
    ("url", "kind", "role", "risk"),
    [
        ("https://a.hr/2020/x", NodeType.LEAF, NodeRole.ARCHIVE, Risk.LOW),
        ("https://a.hr/2020/", NodeType.HUB, NodeRole.ARCHIVE, Risk.LOW),
        ("https://a.hr/1998", NodeType.HUB, NodeRole.ARCHIVE, Risk.LOW),
        ("https://a.hr/vijesti/2020/x", NodeType.HUB, NodeRole.NEWS_FEED, Risk.HIGH),
        ("https://a.hr/propisi/2020/x", NodeType.LEAF, NodeRole.REGULATION, Risk.CRITICAL),
        ("https://a.hr/2020/zakon.pdf", NodeType.ASSET, None, Risk.MEDIUM),
        ("https://a.hr/2026/x", NodeType.LEAF, None, Risk.MEDIUM),
        ("https://a.hr/12020/x", NodeType.LEAF, None, Risk.MEDIUM),
        ("https://a.hr/2020-plan", NodeType.LEAF, None, Risk.MEDIUM),
        ("https://a.hr/formular", NodeType.LEAF, NodeRole.FORM, Risk.MEDIUM),
        ("https://a.hr/formulari/x", NodeType.LEAF, NodeRole.FORM, Risk.MEDIUM),
        ("https://a.hr/prijavnica", NodeType.LEAF, NodeRole.FORM, Risk.MEDIUM),
        ("https://a.hr/prijavnice-2026", NodeType.LEAF, NodeRole.FORM, Risk.MEDIUM),
        ("https://a.hr/formularizacija", NodeType.LEAF, None, Risk.MEDIUM),
    ],
)
def test_years_are_archives_and_forms_are_forms_by_their_croatian_words(url, kind, role, risk):
    found = classify_url(url)
    assert (found.node_type, found.node_role, found.risk) == (kind, role, risk)
