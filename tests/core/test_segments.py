from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.watch import Segment
from vedette.core.evidence.segments import (
    SegmentName,
    day_is_over,
    expired,
    is_full,
    kept_until,
    next_name,
    order,
)

DAY = date(2026, 11, 15)
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def segment(name: str, state: str = "closed") -> Segment:
    parsed = SegmentName.parse(name)
    assert parsed is not None
    return Segment(
        name=name,
        retention=parsed.retention,
        day=parsed.day.isoformat(),
        size=0,
        count=0,
        head=bytes(32),
        state=state,
    )


@given(
    st.from_regex(r"[a-z][a-z0-9_-]{0,31}", fullmatch=True), st.dates(date(1970, 1, 1)), st.integers(1, 10**6)
)
def test_a_name_reads_back(retention, day, number):
    name = SegmentName(retention, day, number)
    assert SegmentName.parse(str(name)) == name


@pytest.mark.parametrize(
    "text",
    ["", "HEADS", "../x-20261115-0001", "a/b-20261115-0001", "x-20261315-0001", "x-20261115-1",
     "x-20261115-00001", "x-20261115-0001\n", "X-20261115-0001", "-20261115-0001", "x-20261115-0001.warc.gz"],
)  # fmt: skip
def test_no_other_text_is_a_name(text):
    assert SegmentName.parse(text) is None


@given(st.text(max_size=40))
def test_a_name_is_always_a_plain_file_name(text):
    if SegmentName.parse(text) is not None:
        assert set(text) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")


def test_a_new_day_starts_at_one_and_a_late_visit_does_not_go_back():
    yesterday = SegmentName("standard", date(2026, 11, 14), 7)
    today = SegmentName("standard", DAY, 3)
    assert next_name("standard", DAY, None) == SegmentName("standard", DAY, 1)
    assert next_name("standard", DAY, yesterday) == SegmentName("standard", DAY, 1)
    assert next_name("standard", yesterday.day, today) == SegmentName("standard", DAY, 4)


def test_a_retention_class_that_could_be_a_path_is_refused():
    with pytest.raises(ValueError, match="retention class"):
        next_name("../etc", DAY, None)


def test_a_segment_is_full_by_size_or_by_day():
    name = SegmentName("standard", DAY, 1)
    assert not is_full(name, 99, day=DAY, limit=100)
    assert not is_full(name, 99, day=date(2026, 11, 14), limit=100)
    assert is_full(name, 100, day=DAY, limit=100)
    assert is_full(name, 0, day=date(2026, 11, 16), limit=100)


def test_order_is_the_order_of_writing_also_past_9999():
    names = [
        "standard-20261115-10000",
        "standard-20261115-9999",
        "short-20261116-0001",
        "standard-20261114-0001",
    ]
    in_order = [one.name for one in sorted(map(segment, names), key=order)]
    assert in_order == [names[2], names[3], names[1], names[0]]


def test_a_segment_expires_after_its_whole_day_was_kept_long_enough():
    keep = {"short": timedelta(days=7)}
    one = segment("short-20261108-0001")
    end_of_keeping = datetime(2026, 11, 16, tzinfo=UTC)
    assert kept_until(one.day, keep["short"]) == end_of_keeping
    assert expired([one], keep, end_of_keeping - timedelta(microseconds=1)) == []
    assert expired([one], keep, end_of_keeping) == [one]


def test_open_expired_and_unnamed_classes_stay():
    long_ago = "20200101-0001"
    segments = [
        segment(f"short-{long_ago}", "open"),
        segment(f"short-{long_ago}", "expired"),
        segment(f"standard-{long_ago}"),
    ]
    assert expired(segments, {"short": timedelta(days=7)}, NOON) == []


def test_for_ever_is_a_long_time():
    assert expired([segment("short-20200101-0001")], {"short": timedelta.max}, NOON) == []


def test_what_is_open_counts_as_closed_once_its_day_is_over_and_not_before():
    """So that a class that fell silent can expire too; the file that is written today never does."""
    now = datetime(2026, 11, 16, 0, 0, tzinfo=UTC)
    days = ("2026-11-14", "2026-11-15", "2026-11-16", "2026-11-17")
    segments = [
        Segment(
            name=f"short-{day.replace('-', '')}-0001", retention="short", day=day, size=1, count=1, head=b""
        )
        for day in days
    ]
    assert [one.state for one in day_is_over(segments, now)] == ["closed", "closed", "open", "open"]
    gone = expired(day_is_over(segments, now), {"short": timedelta(0)}, now)
    assert [one.day for one in gone] == ["2026-11-14", "2026-11-15"]
