"""Over all pages of a hunt: a forest is grown once and decides alike for ever, near pages are found."""

from __future__ import annotations

import importlib
import json
import math
import sys
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from cli_call import Cli
from odd_kit import OddHunt, hunted

from vedette.config.model import parse
from vedette.config.rules import in_force, triage
from vedette.contracts.errors import InputError
from vedette.contracts.findings import KeptReport, PageReport
from vedette.contracts.oddness import Family, FeatureSet, FeatureValue, Provenance
from vedette.core.evidence.hunt_ledger import HUNT_RULES, oddness_decision
from vedette.core.oddness.features import ISOLATED
from vedette.core.oddness.isolation import ASKED, isolated, with_forest
from vedette.core.oddness.odd_score import (
    DEFAULT,
    RELEASED,
    base_weights,
    configured,
    decide,
    read_weights,
    written_weights,
)
from vedette.judge import isolation_forest
from vedette.judge.isolation_forest import grow_forest
from vedette.operations.hunt import EVER, findings, findings_digest, hunt_cost, odd_page, rescore
from vedette.operations.hunt_digest import hunt_digest
from vedette.operations.hunt_forest import _rows, grow
from vedette.report.digest_letter import digest_markdown
from vedette.store.finding_rows import save_report

DRAW = np.random.default_rng(1)
PAGES = np.vstack([DRAW.normal(size=(300, len(ASKED))), DRAW.normal(6.0, 1.0, (3, len(ASKED)))])
FOREST = grow_forest(PAGES.tolist())


def feature_set(row: np.ndarray) -> FeatureSet:
    values = zip(ASKED, row.tolist(), strict=True)
    return FeatureSet(
        features=tuple(
            FeatureValue(name=name, version=1, family=Family.FORM, value=value, rarity=1.0, evidence=0.0)
            for name, value in values
        ),
        provenance=Provenance(page="", figures="", features="", embedding="", looks=303),
    )


def test_scores_are_those_of_the_library_that_grew_the_forest():
    library = importlib.import_module("sklearn.ensemble").IsolationForest(
        n_estimators=isolation_forest.TREES, max_samples=isolation_forest.SAMPLES, random_state=isolation_forest.SEED
    )  # fmt: skip
    expected = -library.fit(PAGES.astype(np.float32)).score_samples(PAGES.astype(np.float32))
    found = [isolated(feature_set(row).features, FOREST)[0].value for row in PAGES]
    assert np.allclose(found, expected, atol=1e-7)


def test_the_same_pages_give_the_same_forest_and_it_survives_the_store():
    again = with_forest(DEFAULT, grow_forest(PAGES.tolist()))
    assert again == with_forest(DEFAULT, FOREST)
    assert read_weights(written_weights(again)) == again
    assert "scikit-learn" in FOREST.by
    assert again.version.startswith("default-4+forest-")


def test_what_stands_apart_gets_points_that_are_named_and_add_up():
    weights = with_forest(DEFAULT, FOREST)
    apart, usual = (decide(feature_set(PAGES[at]), weights) for at in (-1, 0))
    assert [one.feature for one in apart.reasons] == [ISOLATED]
    assert 3.0 < apart.score <= DEFAULT.caps[apart.reasons[0].family]
    assert apart.adds_up
    assert usual.score < apart.score / 4
    assert apart.added[0].evidence > 0.8


def test_it_is_off_unless_the_configuration_says_so():
    weights = with_forest(DEFAULT, FOREST)
    assert configured(weights, triage(parse({}))) == DEFAULT
    on = configured(weights, triage(parse({"hunt": {"isolation_forest": True}})))
    assert on.forest == FOREST
    assert configured(on, triage(parse({"hunt": {"isolation_forest": True, "without": ["place"]}}))).caps
    assert not decide(feature_set(PAGES[-1]), DEFAULT).added


def test_a_forest_of_an_older_release_keeps_no_old_weights_when_it_is_off():
    old = with_forest(RELEASED["default-1"], FOREST)
    assert configured(old, triage(parse({}))) == DEFAULT
    assert base_weights(with_forest(replace(DEFAULT, version="fitted-1"), FOREST)).version == "fitted-1"


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(InputError, match=r"pip install 'vedette\[ml\]'"):
        grow_forest(PAGES.tolist())


def switched_on(hunt: OddHunt) -> OddHunt:
    section = hunt.config.hunt.model_copy(update={"isolation_forest": True})
    return replace(hunt, config=hunt.config.model_copy(update={"hunt": section}))


@pytest.mark.slow
def test_a_hunt_with_a_forest_is_judged_again_byte_by_byte_and_replayed(tmp_path: Path):
    hunt = hunted(tmp_path, looks=400)
    before = findings_digest(findings(hunt.installation))
    grown = grow(hunt.installation)
    assert Cli(hunt.data)("hunt", "forest", "--json").json == asdict(grown)
    assert (grown.is_on, grown.pages >= 128) == (False, True)
    assert findings_digest(findings(hunt.installation)) == before
    on = switched_on(hunt)
    first = rescore(on.installation)
    assert (first.changed > 0, first.digest != before) == (True, True)
    assert rescore(on.installation, workers=2) == replace(first, changed=0)
    values = {"bare": 0.5}
    assert list(_rows([("a", values)])) == list(_rows([("a", {**values, ISOLATED: 1.0})])), (
        "no input of its own"
    )
    best = findings(on.installation)[0]
    view = odd_page(on.installation, best.url)
    assert view.page.decision.weights == best.weights == grown.weights
    (said,) = [one for one in view.page.features.features if one.name == ISOLATED]
    assert (said.version, said.family) == (1, Family.PLACE)
    assert math.fsum(one.points for one in view.reasons) == pytest.approx(best.score, abs=1e-9)
    with on.installation.queries() as queries:
        rules = replace(in_force(on.config, "fixed"), fitted=queries.odd_weights)
        noted = oddness_decision(view.page)
        assert HUNT_RULES["oddness"](noted.inputs, rules) == noted.output
    with hunt.installation.operating() as db:
        db.execute("DELETE FROM odd_pages WHERE number > 40")
    assert "a forest needs 128" in Cli(hunt.data)("hunt", "forest").err


@pytest.mark.slow
def test_similar_pages_of_a_hunt_are_the_same_by_every_index_and_go_to_other_programs(tmp_path: Path):
    hunt = hunted(tmp_path, looks=180)
    cli, best = Cli(hunt.data), findings(hunt.installation)[0]
    found = cli("hunt", "similar", best.url, "--limit", "5", "--json").json
    assert len(found) == 5
    assert [one["likeness"] for one in found] == sorted((one["likeness"] for one in found), reverse=True)
    assert best.url not in [one["url"] for one in found]
    qdrant = tmp_path / "qdrant.yaml"
    qdrant.write_text("hunt: {vectors: qdrant}\n")
    assert cli("hunt", "similar", best.url, "--limit", "5", "--json", "--config", str(qdrant)).json == found
    only = cli("hunt", "similar", best.url, "--findings", "--json").json
    assert {one["url"] for one in only} <= {one.url for one in findings(hunt.installation)}
    kept = cli("hunt", "vectors", "--json").json
    for name in ("pages.faiss", "pages.npz"):
        done = cli("hunt", "vectors", "--export", str(tmp_path / name), "--json").json
        assert done["pages"] == kept["pages"] > 120
    names = [json.loads(line) for line in (tmp_path / "pages.faiss.jsonl").read_text().splitlines()]
    library = importlib.import_module("faiss").read_index(str(tmp_path / "pages.faiss"))
    with np.load(tmp_path / "pages.npz") as read:
        at = read["urls"].tolist().index(best.url)
        _, near = library.search(read["vectors"][at : at + 1], 2)
        assert near[0][0] == read["ids"][at]
    assert {one["id"]: one["url"] for one in names}[int(near[0][1])] == found[0]["url"]
    assert "vectors are written as .faiss or .npz" in cli("hunt", "vectors", "--export", "pages.csv").err
    assert "no hunt has looked at" in cli("hunt", "similar", "https://nobody.example/").err


@pytest.mark.slow
def test_what_a_finding_cost_is_told_in_the_status_and_in_the_digest(tmp_path: Path):
    hunt = hunted(tmp_path, looks=180)
    cli, found = Cli(hunt.data), len(findings(hunt.installation))
    with hunt.installation.operating() as db:
        said = PageReport(summary="", why=(), tags=(), confidence=0.5, author="a model")
        watch, at = findings(hunt.installation)[0].watch, hunt.clock.now()
        save_report(db, KeptReport(watch=watch, report=said, digest=b"", calls=2, usd=0.5, at=at))
    cost = hunt_cost(hunt.installation)
    assert (cost.findings, cost.looks, cost.measured_looks) == (found, 180, 180)
    assert (cost.calls, cost.usd) == (2, 0.5)
    assert cost.cpu_seconds > 0.1
    told = cli("hunt", "status", "--json").json["cost"]
    assert told["of_each"]["looks"] == 180 / found
    assert told["of_each"]["usd"] == 0.5 / found
    words = f"a finding cost {180 / found:,.1f} looks"
    assert words in cli("hunt", "status").out
    assert words in digest_markdown(hunt_digest(hunt.installation, since=EVER))
    late = hunt_cost(hunt.installation, since=hunt.clock.now() + timedelta(days=1))
    assert (late.findings, late.looks, late.cpu_of_each, late.of_each(late.usd)) == (0, 0, None, None)
    with hunt.installation.operating() as db:
        db.execute("UPDATE runs SET tally = '{}'")  # as after a kill
    assert hunt_cost(hunt.installation).cpu_of_each is None
