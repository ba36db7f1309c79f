"""A real Prometheus scrapes a real service: every query of the dashboard is answered, and the rules agree with it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def prometheus_run() -> ModuleType:
    spec = importlib.util.spec_from_file_location("prometheus_run", ROOT / "tools" / "prometheus_run.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["prometheus_run"] = made  # a dataclass looks its module up
    spec.loader.exec_module(made)
    return made


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_prometheus_answers_every_query_of_the_dashboard_and_the_rules_fit_the_run(
    prometheus_run: ModuleType, tmp_path: Path
):
    try:
        found = prometheus_run.scraped(25)
    except prometheus_run.NoPrometheus as error:
        pytest.skip(f"NOT RUN: {error}")
    assert [one.query for one in found.answers if not one.series] == []
    assert found.broken_rules == set()
    names = {name for one in found.answers if one.panel == "Told" for name, _ in one.series}
    assert "ops ok" in names
    assert {name for name in names if name.startswith("dead ")} - {"dead ok"} == names - {"ops ok"}
    # 12 of 14 hosts are well and everything is looked at: nothing is down, late, ill or rude.
    well = {
        "VedetteDown",
        "VedetteStandsStill",
        "VedetteCriticalLate",
        "VedetteBreakersOpen",
        "VedetteErrors",
        "VedettePromiseFreshness",
        "VedettePromisePoliteness",
        "VedettePromiseEvidence",
    }
    assert found.alerts & well == set()
    picture = tmp_path / "dashboard.png"
    prometheus_run.draw(found.answers, picture)
    assert picture.stat().st_size > 50_000
