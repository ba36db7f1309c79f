"""What a scrape reads, and what it costs to have it."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from settlements import NOON, a_look, a_place, a_watch
from stocked import a_change

from vedette.contracts.hunt import DueNow, HuntRows
from vedette.contracts.watch import Group, Parked
from vedette.contracts.words import LaneKey, Outcome, Risk, RunId, VisitId, WatchId
from vedette.telemetry.metrics import Counter, Gauge, Histogram, Meters, Registry

SAMPLE = re.compile(r'^([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\S+)$')
OF_THE_DOCUMENT = {
    "worker_jobs_processed_total": ("counter", ("worker", "status", "queue")),
    "worker_job_duration_seconds": ("histogram", ("worker", "queue")),
    "worker_queue_depth": ("gauge", ("queue",)),
    "worker_active_jobs": ("gauge", ("worker",)),
    "worker_rate_limit_hits_total": ("counter", ("worker", "domain")),
}


def samples(text: str) -> dict[str, float]:
    """Every sample of an exposition; fails on a line that is none."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.match(line)
            assert match, line
            found[line.rpartition(" ")[0]] = float(match[3])
    return found


def of(*looks: object, **parts: object) -> dict[str, float]:
    meters = Meters(domains=frozenset({"a.example"}))
    placed = tuple(map(a_place, looks))
    meters.hear(Group(run=RunId("r"), placed=placed, **parts), NOON)  # type: ignore[arg-type]
    return samples(meters.registry().text())


def test_the_five_metrics_of_the_document_have_their_names_types_and_labels():
    metrics = {metric.name: metric for metric in Meters().registry().metrics}
    assert {name: (metrics[name].kind, metrics[name].labels) for name in OF_THE_DOCUMENT} == OF_THE_DOCUMENT


def test_every_metric_is_named_by_the_conventions_and_no_label_can_be_a_url():
    for metric in Meters().registry().metrics:
        assert re.fullmatch(r"(worker|vedette)_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind == "counter")
        assert not {"url", "host", "path", "detail"} & set(metric.labels)


def test_a_committed_look_is_counted_once_in_every_place():
    found = of(a_look(a_watch(), 1, b"x" * 100))
    assert found['worker_jobs_processed_total{worker="sentinel",status="completed",queue="fetch"}'] == 1
    assert found['vedette_fetch_total{lane_kind="host",outcome="ok"}'] == 1
    assert found["vedette_fetch_bytes_total"] == 100
    assert found['vedette_fetch_duration_seconds_bucket{lane_kind="host",le="0.25"}'] == 1
    assert found['vedette_fetch_duration_seconds_bucket{lane_kind="host",le="0.1"}'] == 0
    assert found["vedette_last_commit_timestamp_seconds"] == NOON.timestamp()


def test_changes_parked_jobs_and_failures_are_told_apart():
    watch = a_watch(risk=Risk.HIGH)
    report = a_change()(watch.id, VisitId(1))
    parked = Parked(watch=watch.id, url=watch.url, outcome=Outcome.TIMEOUT, detail="", attempts=3, at=NOON)
    found = of(
        a_look(watch, 1, reports=(report,)),
        a_look(watch, 2, None, outcome=Outcome.TIMEOUT, parked=parked),
    )
    assert found['vedette_changes_total{kind="changed",risk="HIGH"}'] == 1
    assert found['vedette_parked_total{outcome="timeout"}'] == 1
    assert found['worker_jobs_processed_total{worker="sentinel",status="failed",queue="fetch"}'] == 1


def test_what_a_hunt_chose_is_counted():
    due = DueNow(watch=WatchId(1), lane=LaneKey("host:a.example"), risk=Risk.LOW, at=NOON)
    assert of(hunt=HuntRows(chosen=(due, due)))["vedette_hunt_chosen_total"] == 2
    assert "vedette_hunt_chosen_total" not in of(hunt=HuntRows())


def test_a_change_counts_for_the_promise_by_its_chance_of_having_been_seen_in_time():
    meters = Meters(objectives={"CRITICAL": (4.0, 0.95)})
    long_ago, lately = NOON - timedelta(hours=16), NOON - timedelta(hours=1)
    rows = [  # risk, the look before, whether this one showed a change
        (Risk.CRITICAL, long_ago, True),
        (Risk.CRITICAL, lately, True),
        (Risk.CRITICAL, lately, False),
        (Risk.CRITICAL, None, True),
        (Risk.LOW, lately, True),
    ]
    looks = []
    for n, (risk, before, changed) in enumerate(rows, 1):
        look = a_look(a_watch(f"https://a.example/{n}", risk=risk, last_visit_at=before), n)
        looks.append(replace(look, visit=replace(look.visit, changed=changed)))
    meters.hear(Group(run=RunId("r"), placed=tuple(map(a_place, looks))), NOON)
    found = samples(meters.registry().text())
    assert found['vedette_objective_changes_total{risk="CRITICAL"}'] == 2
    assert found['vedette_objective_in_time_total{risk="CRITICAL"}'] == pytest.approx(1.25, abs=0.01)
    assert found['vedette_objective_share{risk="CRITICAL"}'] == 0.95
    assert not [name for name in found if "objective" in name and "LOW" in name]


def test_only_configured_hosts_are_named():
    throttled = [
        a_look(a_watch(f"https://{host}/"), n, None, outcome=Outcome.THROTTLED)
        for n, host in enumerate(["a.example", "stranger.example", "other-stranger.example"], 1)
    ]
    found = of(*throttled)
    assert found['worker_rate_limit_hits_total{worker="sentinel",domain="a.example"}'] == 1
    assert found['worker_rate_limit_hits_total{worker="sentinel",domain="other"}'] == 2


@given(st.lists(st.floats(0, 1000), min_size=1), st.text())
def test_a_histogram_counts_everything_once_and_any_label_can_be_read_back(values: list[float], label: str):
    histogram = Histogram("vedette_x_seconds", "X.", ("who",))
    for value in values:
        histogram.observe(value, (label,))
    found = (
        list(samples(Registry((histogram,)).text().replace("\r", " ")).values())
        if label.isprintable()
        else []
    )
    if found:
        *buckets, total, count = found
        assert buckets == sorted(buckets)
        assert buckets[-1] == count == len(values)
        assert total == pytest.approx(sum(values))


def test_a_gauge_forgets_what_is_not_there_any_more():
    gauge = Gauge("vedette_x", "X.", ("who",))
    gauge.replace([(("a",), 1.0), (("b",), 2.5)])
    gauge.replace([(("b",), 3.0)])
    assert samples(Registry((gauge,)).text()) == {'vedette_x{who="b"}': 3.0}


def test_a_whole_number_is_written_as_one():
    counter = Counter("vedette_x_total", "X.")
    counter.add(by=2**40)
    assert Registry((counter,)).text() == (
        "# HELP vedette_x_total X.\n# TYPE vedette_x_total counter\nvedette_x_total 1099511627776\n"
    )


def test_the_reference_lists_every_metric():
    page = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text("utf-8")
    for metric in Meters().registry().metrics:
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        assert f"| `{metric.name}` | {metric.kind} | {labels} |" in page
