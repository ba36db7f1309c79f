"""What we hand to Prometheus and Grafana: it names metrics that there are, and promtool agrees with it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from machine import patient

from vedette.telemetry.metrics import Meters

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS = ROOT / "ops" / "prometheus"
UNAVAILABLE = 69
NAME = re.compile(r"\b((?:worker|vedette)_[a-z_]+)\b")
LABELS = re.compile(r"\b((?:worker|vedette)_[a-z_]+)\{([^}]*)\}")


def known() -> dict[str, tuple[str, ...]]:
    """Every name that a query may use, and its labels."""
    names: dict[str, tuple[str, ...]] = {}
    for metric in Meters().registry().metrics:
        ends = ("_bucket", "_sum", "_count") if metric.kind == "histogram" else ("",)
        names |= {metric.name + end: metric.labels for end in ends}
    return names


def rules() -> list[dict[str, Any]]:
    groups = yaml.safe_load((PROMETHEUS / "vedette.rules.yml").read_text("utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict[str, Any]]:
    return json.loads((ROOT / "ops/grafana/vedette.json").read_text("utf-8"))["panels"]


def queries() -> list[str]:
    return [rule["expr"] for rule in rules()] + [t["expr"] for panel in panels() for t in panel["targets"]]


def promtool(*words: str, cwd: Path = PROMETHEUS) -> str:
    done = subprocess.run(
        [ROOT / "tools" / "promtool", *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=patient(100),
        check=False,
    )
    if done.returncode == UNAVAILABLE and not os.environ.get("CI"):
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("query", queries())
def test_a_query_names_metrics_and_labels_that_there_are(query: str):
    names = known()
    assert set(NAME.findall(query)) <= set(names)
    for name, inside in LABELS.findall(query):
        assert set(re.findall(r"(\w+)\s*!?=", inside)) <= set(names[name])


def test_every_rule_says_how_grave_it_is_what_happened_and_has_a_test():
    tests = (PROMETHEUS / "vedette.rules_test.yml").read_text("utf-8")
    for rule in rules():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert tests.count(f"alertname: {rule['alert']}") >= 2  # that it fires, and that it does not


def test_each_of_the_three_promises_has_a_rule_and_a_panel():
    promises = {rule["labels"]["promise"] for rule in rules() if "promise" in rule["labels"]}
    assert promises == {"freshness", "politeness", "evidence"}
    titles = {panel["title"] for panel in panels()}
    assert {f"{promise.capitalize()} promise" for promise in promises} <= titles


def test_the_dashboard_is_what_its_table_says():
    spec = importlib.util.spec_from_file_location("dashboard", ROOT / "tools" / "dashboard.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    import sys

    sys.modules["dashboard"] = made  # a dataclass looks its module up
    spec.loader.exec_module(made)
    assert (ROOT / "ops/grafana/vedette.json").read_text("utf-8") == made.text()


def test_no_two_panels_lie_on_each_other():
    cells = [
        (panel["gridPos"]["x"] + x, panel["gridPos"]["y"] + y)
        for panel in panels()
        for x in range(panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_promtool_takes_the_rules_and_their_unit_tests_pass():
    assert "rules found" in promtool("check", "rules", "vedette.rules.yml")
    assert "SUCCESS" in promtool("test", "rules", "vedette.rules_test.yml")
    assert "valid" in promtool("check", "config", "prometheus.yml")


def test_promtool_takes_every_query_of_the_dashboard(tmp_path: Path):
    made = [{"record": f"panel_{n}", "expr": query} for n, query in enumerate(queries())]
    (tmp_path / "panels.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": made}]}))
    assert f"{len(made)} rules found" in promtool("check", "rules", "panels.yml", cwd=tmp_path)


def test_promtool_takes_the_metrics_as_we_write_them():
    meters = Meters()
    meters.told.add(("ops", "ok"))
    meters.fetch_seconds.observe(0.3, ("host",))
    meters.jobs.add(("sentinel", "completed", "fetch"))
    done = subprocess.run(
        [ROOT / "tools" / "promtool", "check", "metrics"],
        input=meters.registry().text(),
        capture_output=True,
        text=True,
        timeout=patient(100),
        check=False,
    )
    if done.returncode == UNAVAILABLE and not os.environ.get("CI"):
        pytest.skip(done.stderr.strip())
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
