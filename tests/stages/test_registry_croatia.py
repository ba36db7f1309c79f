"""The 71 sources of 001: counted, and taken as any other list."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from cli_call import Cli

from vedette.contracts.source import ListerKind, Source
from vedette.contracts.words import Risk
from vedette.core.urls.admission import BLOCKED_WORDS, blocked_by
from vedette.core.urls.canonical import host_of
from vedette.operations.probe import registry_sources
from vedette.registries import read_registry, registries

CATEGORIES = {  # 001 section 1.3
    "pausalni_core": 3, "contributions": 3, "vat": 3, "fiscalization": 2, "deadlines": 2, "laws": 12, "regulations": 4,
    "institutions": 15, "chambers": 4, "eu": 1, "interpretations": 2, "other": 20,
}  # fmt: skip
TIERS = {Risk.CRITICAL: 8, Risk.HIGH: 25, Risk.MEDIUM: 28, Risk.LOW: 10}  # 13.1
GROUPS = {  # 13.2
    "gov.hr": 35, "narodne-novine.nn.hr": 12, "fina.hr hnb.hr": 8, "mirovinsko.hr hzzo.hr": 6, "hok.hr hgk.hr": 4,
    "eur-lex.europa.eu": 2, "dzs.hr": 4,
}  # fmt: skip
HIERARCHY = {1: 1, 2: 13, 3: 3, 4: 4, 5: 44, 6: 2, 7: 4}  # levels of 13.3
CHECKED, LISTED = 10, 43
INFERRED = {
    "porezna-po-sd", "nn-ustav", "nn-zakon-dohodak", "nn-zakon-doprinosi", "nn-zakon-dobit", "pravilnik-pdv",
    "pravilnik-dohodak", "pravilnik-fiskalizacija", "pravilnik-doprinosi", "hnb-tecajna-lista", "dzs-priopcenja",
    "mrms-minimalna-placa", "carina-vijesti", "eurlex-pdv-provedbena", "dzs-nkd", "carina-trosarine",
}  # fmt: skip
CRITICAL = {  # 13.1, by id
    "porezna-pausalno", "porezna-pausalno-obrtnici", "nn-zakon-dohodak", "hzmo-doprinosi", "hzzo-doprinosi",
    "porezna-stope-doprinosa", "porezna-pdv-prag", "porezna-kalendar",
}  # fmt: skip
NAMED_HIGH = {  # 13.1
    "nn-zakon-pdv", "nn-zakon-fiskalizacija", "nn-zakon-obrt", "pravilnik-pdv", "pravilnik-dohodak",
    "pravilnik-fiskalizacija", "pravilnik-doprinosi", "fina-eracun", "hnb-tecajna-lista", "porezna-godisnja-prijava",
    "porezna-joppd",
}  # fmt: skip


@pytest.fixture(scope="module")
def sources() -> list[Source]:
    return registry_sources("croatia")


def group_of(source: Source) -> str:
    host = host_of(source.url)
    return next(group for group in GROUPS if any(f".{host}".endswith(f".{end}") for end in group.split()))


def test_the_counts_are_the_documents(sources):
    assert (
        len(sources)
        == len({source.id for source in sources})
        == len({source.url for source in sources})
        == 71
    )
    assert Counter(source.registered.category for source in sources) == CATEGORIES
    assert Counter(source.tier for source in sources) == TIERS
    assert Counter(map(group_of, sources)) == GROUPS
    assert Counter(source.registered.hierarchy for source in sources) == HIERARCHY


def test_the_named_sources_stand_in_the_tier_that_names_them(sources):
    tiers = {source.id: source.tier for source in sources}
    assert {name for name, tier in tiers.items() if tier is Risk.CRITICAL} == CRITICAL
    assert {tiers[name] for name in NAMED_HIGH} == {Risk.HIGH}


def test_every_row_is_whole_and_says_where_its_address_is_from(sources):
    for source in sources:
        assert source.registered.provenance in ("stated", "checked", "listed", "inferred"), source.id
        assert source.registered.domains, source.id
        assert source.scrape_frequency, source.id
        assert source.url.startswith("https://"), source.id
        assert blocked_by(host_of(source.url), BLOCKED_WORDS) is None
    stated = {source.id for source in sources if source.registered.provenance == "stated"}
    assert stated == {"porezna-pausalno", "hgk"}
    assert b"Written offline" in read_registry("croatia")
    counted = Counter(source.registered.provenance for source in sources)
    assert counted == {
        "stated": 2,
        "checked": CHECKED,
        "listed": LISTED,
        "inferred": 71 - 2 - CHECKED - LISTED,
    }


def test_most_addresses_are_real_and_those_that_are_not_say_so(sources):
    made_up = {source.id for source in sources if source.registered.provenance == "inferred"}
    assert made_up == INFERRED


def test_what_001_says_of_single_sites_is_in_their_rows(sources):
    headless = {host_of(s.url) for s in sources if s.options.requires_headless}
    assert headless == {"mfin.gov.hr", "hgk.hr"}  # 12.1
    assert all(s.options.requires_headless for s in sources if host_of(s.url) in headless)
    by_id = {source.id: source for source in sources}
    assert by_id["nn-svi-brojevi"].options.sitemap_types == (1, 2)
    assert by_id["hzzo-novosti"].options.selectors.item == "article, .news-item, .vijest"  # B.3
    assert by_id["porezna-misljenja"].options.selectors.item == ".views-row, article"
    listers = {source.lister for source in sources}
    assert listers >= {ListerKind.HNB, ListerKind.NN, ListerKind.EURLEX, ListerKind.MRMS, ListerKind.HOK}


def test_it_is_imported_exported_and_imported_again_without_loss(tmp_path: Path, sources):
    cli = Cli(tmp_path / "a")
    told = cli("import", "registry:croatia", "--json")
    assert (told.code, told.json["taken"], told.json["new"], told.json["bad"]) == (0, 71, 71, 0)
    assert cli("import", "registry:croatia", "--json").json["new"] == 0
    for form in ("yaml", "csv", "jsonl"):
        file = tmp_path / f"sources.{form}"
        assert cli("export", "--format", form, "--to", str(file)).code == 0
        other = Cli(tmp_path / form)
        assert other("import", str(file), "--json").json["bad"] == 0
        again = other("export", "--format", "jsonl").out
        assert again == cli("export", "--format", "jsonl").out


def test_the_store_keeps_what_the_registry_says(tmp_path: Path, sources):
    cli = Cli(tmp_path)
    cli("import", "registry:croatia")
    from vedette.store.queries import Queries

    with Queries(tmp_path / "vedette.db") as queries:
        kept = {view.source.id: view.source for view in queries.sources()}
    for source in sources:
        assert kept[source.id] == source


def test_an_unknown_registry_is_answered_with_the_nearest(tmp_path: Path):
    assert registries() == ("croatia", "smallweb")
    told = Cli(tmp_path)("import", "registry:croatai")
    assert told.code == 2
    assert "croatia" in told.err


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("hierarchy", 9, "hierarchy"),
        ("provenance", "guessed", "stated"),
        ("tier", "URGENT", "unknown tier"),
        ("lister", "hnbb", "lister"),
        ("structured", {"formats": ["docx"]}, "formats"),
        ("structured", {"currencies": ["usd"]}, "currencies"),
        ("catgory", "laws", "did you mean `category`"),
    ],
)
def test_a_bad_row_is_named_with_what_is_wrong(tmp_path: Path, key, value, words):
    import yaml

    row = {"id": "x", "url": "https://fina.hr/", key: value}
    file = tmp_path / "mine.yaml"
    file.write_text(yaml.safe_dump({"sources": [row]}))
    told = Cli(tmp_path / "data")("import", str(file))
    assert told.code == 2
    assert words in told.out


def test_whoever_imports_a_country_is_told_of_its_profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    cli = Cli(tmp_path / "data")
    assert "profile: croatia" in cli("import", "registry:croatia", "--dry-run").err
    (tmp_path / "vedette.yaml").write_text("profile: croatia\n")
    assert "profile" not in cli("import", "registry:croatia", "--dry-run").err
