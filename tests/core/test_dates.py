from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.core.text.dates import read_date


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-14", datetime(2026, 1, 14, tzinfo=UTC)),
        ("2026-01-14T10:30:00+01:00", datetime(2026, 1, 14, 9, 30, tzinfo=UTC)),
        ("Wed, 14 Jan 2026 10:30:00 +0100", datetime(2026, 1, 14, 9, 30, tzinfo=UTC)),
        ("Wed, 14 Jan 2026 10:30:00 GMT", datetime(2026, 1, 14, 10, 30, tzinfo=UTC)),
        ("14.01.2026.", datetime(2026, 1, 14, tzinfo=UTC)),
        ("14. 1. 2026.", datetime(2026, 1, 14, tzinfo=UTC)),
        ("14. siječnja 2026.", datetime(2026, 1, 14, tzinfo=UTC)),
        ("8. listopada 2026.", datetime(2026, 10, 8, tzinfo=UTC)),
        ("objavljeno: 14.01.2026. u 10:30", datetime(2026, 1, 14, 10, 30, tzinfo=UTC)),
        ("January 14, 2026", datetime(2026, 1, 14, tzinfo=UTC)),
        ("14th of January 2026", datetime(2026, 1, 14, tzinfo=UTC)),
        ("05/04/2026", datetime(2026, 4, 5, tzinfo=UTC)),
        ("20260114T103000Z", datetime(2026, 1, 14, 10, 30, tzinfo=UTC)),
    ],
)
def test_forms_that_public_pages_use_are_read_day_first_and_as_utc(text, moment):
    assert read_date(text) == moment


@pytest.mark.parametrize(
    "text", ["", "hello", "31.02.2026", "2026-13-40", "12.5 %", "čl. 4", "2026", "x" * 500]
)
def test_what_is_not_a_date_is_not_read_as_one(text):
    assert read_date(text) is None


@given(st.text(max_size=250))
def test_any_text_gives_a_date_or_none(text):
    found = read_date(text)
    assert found is None or found.tzinfo is UTC


@given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2199, 12, 31)))
def test_a_croatian_date_reads_back(moment):
    assert read_date(f"Objavljeno {moment.day}.{moment.month}.{moment.year}.") == datetime(
        moment.year, moment.month, moment.day, tzinfo=UTC
    )
