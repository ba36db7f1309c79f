"""The payload of the sentinel queue, and what is not one."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.errors import InputError
from vedette.contracts.jobs import SentinelOrder
from vedette.contracts.words import Risk, RunId, SourceId
from vedette.core.older_sentinel import order_data, read_order, staggered

SIX = datetime(2026, 11, 15, 5, 0, tzinfo=UTC)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def test_a_cron_run_is_four_jobs_a_minute_apart_critical_first():
    assert [
        (name, order_data(order), delay.total_seconds())
        for name, order, delay in staggered(SIX, timedelta(minutes=1))
    ] == [
        ("sentinel-critical", {"runId": "discovery-1794718800000", "priority": "CRITICAL"}, 0),
        ("sentinel-high", {"runId": "discovery-1794718800000", "priority": "HIGH"}, 60),
        ("sentinel-normal", {"runId": "discovery-1794718800000", "priority": "NORMAL"}, 120),
        ("sentinel-low", {"runId": "discovery-1794718800000", "priority": "LOW"}, 180),
    ]


@given(
    st.builds(
        SentinelOrder,
        run=st.just(RunId("r")),
        source=st.none() | st.just(SourceId("s")),
        tier=st.none() | st.sampled_from(Risk),
    )
)
def test_an_order_comes_back_as_it_was_written(order: SentinelOrder):
    assert read_order(order_data(order)) == order


@pytest.mark.parametrize(
    "data",
    [{}, {"runId": 7}, {"runId": ""}, {"runId": "r", "priority": "URGENT"}, {"runId": "r", "sourceId": 7}],
)
def test_what_is_no_order_is_refused_in_words(data: dict[str, object]):
    with pytest.raises(InputError):
        read_order(data)


@given(st.dictionaries(st.sampled_from(["runId", "sourceId", "priority", "x"]), JSON))
def test_no_payload_breaks_anything(data: dict[str, object]):
    with suppress(InputError):
        assert read_order(data).run
