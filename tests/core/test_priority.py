"""What a look is worth: spec 002, every row and every bound of it, for one URL and for columns."""

from __future__ import annotations

import json
import math
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import vedette
from vedette.contracts.errors import InputError
from vedette.contracts.words import Reason
from vedette.core.evidence.ledger import adds_up
from vedette.core.priority.score import (
    LEVELS,
    NAMES,
    RULES,
    ScoredUrl,
    UrlSignals,
    half_up,
    level_of,
    rank_urls_for_crawling,
    score_url_priority,
    scored_url_schema,
    url_signals_schema,
)
from vedette.core.priority.score_columns import ColumnBuilder, SignalColumns, score_columns

NOW = datetime(2024, 6, 15, 12, tzinfo=UTC)
URL = "https://reuters.com/world/europe"
HOUR, DAY, TICK = timedelta(hours=1), timedelta(days=1), timedelta(microseconds=1)
# 002, the example of scoreUrlPriority, as a JavaScript program writes it.
REUTERS = {
    "url": URL, "visits": 150, "lastVisited": "2024-06-10T08:00:00Z", "lastChanged": "2024-06-14T22:00:00Z",
    "topicRelevance": 0.9, "hubDepth": 1, "isHub": True,
}  # fmt: skip


def scored(**given: Any) -> ScoredUrl:
    return score_url_priority(UrlSignals(url=URL, **given), now=NOW)


def test_the_reuters_page_of_002_scores_94_for_its_three_reasons() -> None:
    one = score_url_priority(REUTERS, now=NOW)
    assert (one.url, one.score) == (URL, 94)
    assert one.reasons == ("Changed in last 24h", "High topic relevance", "Is a hub page")
    assert [(c.code, c.points) for c in one.contributions] == [
        ("base", 50), ("changed_24h", 20), ("relevance", 14), ("hub", 10),
    ]  # fmt: skip
    assert (one.level.name, one.level.advice) == ("Very high", "crawl immediately")


def test_the_two_pages_of_002_rank_as_it_says() -> None:
    fresh = {"url": "https://reuters.com/article/old-piece", "visits": 50, "topicRelevance": 0.3,
             "lastVisited": NOW - timedelta(minutes=30), "hubDepth": 4, "isHub": False}  # fmt: skip
    stale = {"url": "https://reuters.com/world", "visits": 10, "topicRelevance": 0.9,
             "lastVisited": NOW - 8 * DAY, "hubDepth": 0, "isHub": True}  # fmt: skip
    ranked = rank_urls_for_crawling([fresh, stale], now=NOW)
    assert [(one.url, one.score) for one in ranked] == [
        ("https://reuters.com/world", 50 + 15 + 14 + 10),
        ("https://reuters.com/article/old-piece", 50 - 30 + 5 - 5),  # 0.3 * 15 = 4.5, rounded half up
    ]
    assert ranked[1].reasons == ("Recently visited (<1h)", "Deep URL")


@pytest.mark.parametrize(
    ("age", "points", "words"),
    [
        (timedelta(0), -30, "Recently visited (<1h)"),
        (HOUR - TICK, -30, "Recently visited (<1h)"),
        (HOUR, -10, "Visited today"),
        (DAY - TICK, -10, "Visited today"),
        (DAY, 0, None),
        (7 * DAY, 0, None),
        (7 * DAY + TICK, 15, "Not visited in 7+ days"),
        (1000 * 365 * DAY, 15, "Not visited in 7+ days"),
    ],
)
def test_both_sides_of_every_bound_of_the_last_visit(age: timedelta, points: int, words: str | None) -> None:
    one = scored(last_visited=NOW - age)
    assert one.score == 50 + points
    assert one.reasons == (() if words is None else (words,))


@pytest.mark.parametrize(("age", "points"), [(timedelta(0), 20), (DAY - TICK, 20), (DAY, 0), (9 * DAY, 0)])
def test_both_sides_of_the_bound_of_the_last_change(age: timedelta, points: int) -> None:
    one = scored(last_changed=NOW - age)
    assert one.score == 50 + points
    assert one.reasons == (("Changed in last 24h",) if points else ())


@pytest.mark.parametrize(
    ("relevance", "points", "is_high"),
    [
        (0.0, 0, False), (0.03, 0, False), (0.0334, 1, False), (0.1, 2, False), (0.3, 5, False),
        (0.5, 8, False), (0.7, 11, False), (0.8, 12, False), (math.nextafter(0.8, 1), 12, True),
        (0.9, 14, True), (1.0, 15, True), (1, 15, True),
    ],
)  # fmt: skip
def test_relevance_is_rounded_half_up_and_high_above_eight_tenths(
    relevance: float, points: int, is_high: bool
) -> None:
    one = scored(topic_relevance=relevance)
    assert one.score == 50 + points
    assert one.reasons == (("High topic relevance",) if is_high else ())


@pytest.mark.parametrize(
    ("number", "whole"), [(0.49999999999999994, 0), (0.5, 1), (1.5, 2), (2.5, 3), (14.5, 15)]
)
def test_half_up_is_math_round_and_not_pythons(number: float, whole: int) -> None:
    assert half_up(number) == whole
    assert half_up(np.array([number]))[0] == whole


@pytest.mark.parametrize(("depth", "points"), [(0, 0), (3, 0), (4, -5), (2**31 - 1, -5)])
def test_both_sides_of_the_bound_of_the_depth(depth: int, points: int) -> None:
    one = scored(hub_depth=depth)
    assert (one.score, one.reasons) == (50 + points, ("Deep URL",) if points else ())


def test_a_hub_has_ten_points_and_visits_have_none() -> None:
    assert (scored(is_hub=True).score, scored(is_hub=True).reasons) == (60, ("Is a hub page",))
    assert scored(visits=10_000) == scored()


def test_the_most_is_clamped_to_100_and_the_least_is_15() -> None:
    most = scored(last_visited=NOW - 8 * DAY, last_changed=NOW, topic_relevance=1, is_hub=True)
    assert most.score == 100
    assert most.contributions[-1] == Reason("clamp", -10, "0 to 100")
    assert scored(last_visited=NOW, hub_depth=4).score == 15


@pytest.mark.parametrize(
    ("score", "name"),
    [
        (100, "Very high"), (80, "Very high"), (79, "High"), (60, "High"), (59, "Medium"), (40, "Medium"),
        (39, "Low"), (20, "Low"), (19, "Very low"), (0, "Very low"),
    ],
)  # fmt: skip
def test_both_sides_of_every_level(score: int, name: str) -> None:
    assert level_of(score).name == name
    assert ScoredUrl(url=URL, score=score).level.name == name


def test_the_words_are_those_of_002() -> None:
    assert [rule.words for rule in RULES] == [
        "Recently visited (<1h)", "Visited today", "Not visited in 7+ days", "Changed in last 24h",
        "High topic relevance", "Is a hub page", "Deep URL",
    ]  # fmt: skip
    assert [level.advice for level in LEVELS] == [
        "crawl immediately", "crawl soon", "normal schedule", "defer", "skip or deprioritize",
    ]  # fmt: skip


def test_a_url_without_dates_has_no_points_for_them() -> None:
    assert score_url_priority({"url": URL}, now=NOW) == scored()
    assert score_url_priority({"url": URL, "lastVisited": None, "last_changed": ""}, now=NOW).score == 50


def test_equal_scores_keep_their_order_and_a_repeated_url_is_scored_each_time() -> None:
    urls = [f"https://example.org/{n}" for n in range(20)]
    rows = [UrlSignals(url=url, is_hub=n % 3 == 0) for n, url in enumerate(urls)]
    ranked = [one.url for one in rank_urls_for_crawling(rows, now=NOW)]
    assert ranked == urls[::3] + [url for n, url in enumerate(urls) if n % 3]
    assert [one.score for one in rank_urls_for_crawling([rows[1], rows[0], rows[0]], now=NOW)] == [60, 60, 50]


def test_nothing_ranks_as_nothing() -> None:
    assert rank_urls_for_crawling([], now=NOW) == []
    assert score_columns(ColumnBuilder().columns(), now=NOW).order().tolist() == []


def test_the_score_depends_on_now_alone_and_on_no_zone() -> None:
    east = NOW.astimezone(timezone(timedelta(hours=9)))
    assert score_url_priority(REUTERS, now=east) == score_url_priority(REUTERS, now=NOW)
    assert score_url_priority(REUTERS, now=NOW + 9 * DAY).score == 50 + 15 + 14 + 10


def test_a_date_without_a_zone_is_utc_as_text_and_refused_as_a_value() -> None:
    zoned, bare = UrlSignals.from_mapping(REUTERS), {**REUTERS, "lastVisited": "2024-06-10T08:00:00"}
    assert UrlSignals.from_mapping(bare) == zoned
    with pytest.raises(InputError, match=r"last_visited .* time zone"):
        UrlSignals(url=URL, last_visited=datetime(2024, 6, 1))
    with pytest.raises(InputError, match="now"):
        score_url_priority(REUTERS, now=datetime(2024, 6, 15))


@pytest.mark.parametrize("field", ["last_visited", "last_changed"])
def test_a_date_ahead_counts_as_now_for_an_hour_and_is_refused_beyond(field: str) -> None:
    ahead = scored(**{field: NOW + HOUR})
    assert ahead.score == scored(**{field: NOW}).score
    with pytest.raises(InputError, match=rf"{field} is 2024-06-15T13:00:00.000001.* future"):
        scored(**{field: NOW + HOUR + TICK})


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("url", ""), ("url", "no url"), ("url", "ftp://example.org/"), ("url", 7), ("url", None),
        ("visits", -1), ("visits", 1.5), ("visits", True), ("visits", "3"), ("visits", 2**31),
        ("last_visited", "yesterday"), ("last_visited", 1718006400), ("last_changed", "2024-13-01"),
        ("topic_relevance", math.nan), ("topic_relevance", -0.01), ("topic_relevance", 1.01),
        ("topic_relevance", math.inf), ("topic_relevance", "0.5"), ("topic_relevance", True),
        ("hub_depth", -1), ("hub_depth", 0.5), ("is_hub", 1), ("is_hub", "yes"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused_by_the_name_of_its_field(field: str, bad: object) -> None:
    with pytest.raises(InputError, match=rf"^{field} is "):
        UrlSignals.from_mapping({"url": URL, field: bad})
    with pytest.raises(InputError, match=rf"^urls\[1\]: {field} is "):
        rank_urls_for_crawling([REUTERS, {"url": URL, field: bad}], now=NOW)


def test_an_unknown_name_is_answered_with_the_nearest_and_a_name_given_twice_is_refused() -> None:
    with pytest.raises(InputError, match="'topicRelevence'; did you mean 'topicRelevance'"):
        UrlSignals.from_mapping({"url": URL, "topicRelevence": 0.5})
    with pytest.raises(InputError, match="is_hub is there twice"):
        UrlSignals.from_mapping({"url": URL, "is_hub": True, "isHub": True})


@pytest.mark.parametrize("bad", [-1, 101, 50.5, True, "50"])
def test_a_score_that_is_none_is_refused(bad: Any) -> None:
    with pytest.raises(InputError, match="score"):
        ScoredUrl(url=URL, score=bad)


def test_contributions_that_do_not_add_up_are_refused() -> None:
    with pytest.raises(InputError, match="add up to 50, the score is 51"):
        ScoredUrl(url=URL, score=51, contributions=(Reason("base", 50),))


AGES = st.none() | st.sampled_from([0, 1, 24, 7 * 24]).flatmap(
    lambda hours: st.integers(-2, 2).map(lambda ticks: hours * HOUR + ticks * TICK)
) | st.timedeltas(timedelta(0), 400 * DAY)  # fmt: skip
SIGNALS = st.builds(
    UrlSignals,
    url=st.just(URL),
    visits=st.integers(0, 1000),
    last_visited=AGES.map(lambda age: None if age is None else NOW - age),
    last_changed=AGES.map(lambda age: None if age is None else NOW - age),
    topic_relevance=st.floats(0, 1) | st.integers(0, 30).map(lambda n: n / 30),
    hub_depth=st.integers(0, 8),
    is_hub=st.booleans(),
)


@given(SIGNALS)
def test_contributions_always_add_up_and_reasons_are_their_words(signals: UrlSignals) -> None:
    one = score_url_priority(signals, now=NOW)
    assert adds_up(one.contributions, one.score)
    assert one.contributions[0] == Reason("base", 50)
    assert one.reasons == tuple(c.note for c in one.contributions if c.note and c.code != "clamp")
    assert 15 <= one.score <= 100


BEST = UrlSignals(url=URL, last_visited=NOW - 8 * DAY, last_changed=NOW, topic_relevance=1, is_hub=True)


@given(st.lists(SIGNALS, max_size=30), st.integers(0, 40), st.integers(0, 101))
@example([BEST], 1, 100)
def test_columns_agree_with_one_url_in_every_row_and_in_the_order(
    rows: list[UrlSignals], top: int, least: int
) -> None:
    gathering = ColumnBuilder()
    for signals in rows:
        gathering.add(signals)
    columns = score_columns(gathering.columns(), now=NOW)
    alone = [score_url_priority(signals, now=NOW) for signals in rows]
    assert [columns.scored(n, URL) for n in range(len(rows))] == alone
    assert columns.score.tolist() == [one.score for one in alone]
    order = columns.order(top=top, min_score=least).tolist()
    by_hand = sorted((n for n in range(len(rows)) if alone[n].score >= least), key=lambda n: -alone[n].score)
    assert order == by_hand[:top]


def columns(**given: Any) -> SignalColumns:
    usual: dict[str, Any] = {
        "last_visited": np.array([NOW.replace(tzinfo=None)] * 2, "datetime64[us]"),
        "last_changed": np.array(["NaT"] * 2, "datetime64[s]"),
        "topic_relevance": np.array([0.5, 0.8]),
        "hub_depth": np.array([0, 4]),
        "is_hub": np.array([True, False]),
    }
    return SignalColumns(**{**usual, **given})


def test_columns_take_every_unit_of_time_and_every_width_of_number() -> None:
    usual = score_columns(columns(), now=NOW)
    assert usual.score.tolist() == [50 - 30 + 8 + 10, 50 - 30 + 12 - 5]
    for unit in ("s", "ms", "ns"):
        other = columns(last_visited=columns().last_visited.astype(f"datetime64[{unit}]"))
        assert score_columns(other, now=NOW).score.tolist() == usual.score.tolist()
    narrow = score_columns(
        columns(topic_relevance=np.array([0.5, 0.8], "f4"), hub_depth=np.array([0, 4], "u1")), now=NOW
    )
    single = score_url_priority(
        UrlSignals(url=URL, last_visited=NOW, hub_depth=4, topic_relevance=float(np.float32(0.8))), now=NOW
    )
    assert narrow.scored(1, URL) == single


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topic_relevance": np.array([0.5, math.nan])}, "topic_relevance of row 1 is nan"),
        ({"topic_relevance": np.array([1.5, -1])}, "topic_relevance of row 0 is 1.5; .* 2 rows"),
        ({"hub_depth": np.array([0, -1])}, "hub_depth of row 1"),
        ({"hub_depth": np.array([0.5, 1])}, "hub_depth must be a numpy array .* integers"),
        ({"is_hub": np.array([1, 0])}, "is_hub must be .* booleans"),
        ({"is_hub": [True, False]}, "is_hub must be a numpy array"),
        ({"is_hub": np.array([True])}, "is_hub has 1 rows, last_visited has 2"),
        ({"last_changed": np.array([0.0, 1.0])}, "last_changed must be .* datetime64"),
        ({"last_changed": np.array([0, 2**60], "datetime64[s]")}, "last_changed of row 1 .* years 1 to 9999"),
        ({"last_changed": np.array(["2024-06-15", "2024-06-16"], "datetime64[D]")}, "row 1 .* after now"),
    ],
)  # fmt: skip
def test_columns_that_cannot_be_used_are_refused_by_name_and_row(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        score_columns(columns(**given), now=NOW)


def test_a_top_below_zero_and_a_now_without_a_zone_are_refused() -> None:
    with pytest.raises(InputError, match="top"):
        score_columns(columns(), now=NOW).order(top=-1)
    with pytest.raises(InputError, match="now"):
        score_columns(columns(), now=datetime(2024, 6, 15))


BAD = [
    ("url", ""), ("url", "no url"), ("url", "ftp://example.org/"), ("url", 7), ("url", None),
    ("visits", -1), ("visits", 1.5), ("visits", True), ("visits", "3"), ("visits", 2**31),
    ("topic_relevance", -0.01), ("topic_relevance", 1.01), ("topic_relevance", "0.5"), ("topic_relevance", True),
    ("hub_depth", -1), ("hub_depth", 0.5), ("is_hub", 1), ("is_hub", "yes"), ("last_visited", 1718006400),
]  # fmt: skip
TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "null": (type(None),),
    "object": (dict,), "array": (list,),
}  # fmt: skip


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """The part of JSON Schema that the two schemas use; formats are words only."""
    words = schema.get("type", [])
    kinds = [TYPES[word] for word in ([words] if isinstance(words, str) else words)]
    is_bool = isinstance(value, bool)
    if kinds and not any(isinstance(value, kind) and (not is_bool or bool in kind) for kind in kinds):
        return False
    is_number = isinstance(value, int | float) and not is_bool
    claims = [
        value in schema["enum"] if "enum" in schema else True,
        value == schema["const"] if "const" in schema else True,
        not is_number or schema.get("minimum", value) <= value <= schema.get("maximum", value),
        not isinstance(value, str) or re.search(schema.get("pattern", ""), value) is not None,
        any(fits(value, one) for one in schema["anyOf"]) if "anyOf" in schema else True,
        not fits(value, schema["not"]) if "not" in schema else True,
    ]
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        claims += [name in value for name in schema.get("required", [])]
        claims += [fits(value[name], properties[name]) for name in value if name in properties]
        claims += [name in properties for name in value if schema.get("additionalProperties") is False]
    if isinstance(value, list):
        claims += [fits(one, schema["items"]) for one in value]
    return all(claims)


@pytest.mark.parametrize(("field", "bad"), BAD)
def test_the_schema_refuses_what_the_check_refuses(field: str, bad: object) -> None:
    schema = url_signals_schema()
    assert fits(REUTERS, schema)
    assert not fits({"url": URL, field: bad}, schema)
    camel = next((name for name, ours in NAMES.items() if ours == field and name != field), field)
    assert not fits({"url": URL, camel: bad}, schema)


def test_the_schema_knows_absent_values_and_refuses_strange_and_double_names() -> None:
    schema = url_signals_schema()
    absent = {name: None for name in ("visits", "last_visited", "lastChanged", "topicRelevance", "isHub")}
    assert fits({"url": URL, **absent}, schema)
    assert UrlSignals.from_mapping({"url": URL, **absent}) == UrlSignals(url=URL)
    for strange in ({}, {"url": URL, "depth": 1}, {"url": URL, "is_hub": True, "isHub": True}):
        assert not fits(strange, schema)
        with pytest.raises(InputError):
            UrlSignals.from_mapping(strange)


@given(SIGNALS)
def test_what_is_given_back_fits_its_schema(signals: UrlSignals) -> None:
    made = json.loads(json.dumps(score_url_priority(signals, now=NOW).as_mapping()))
    assert fits(made, scored_url_schema())
    assert not fits({**made, "score": 101}, scored_url_schema())


def test_import_vedette_gives_the_names() -> None:
    assert vedette.score_url_priority(vedette.UrlSignals(url=URL), now=NOW) == vedette.ScoredUrl(
        url=URL, score=50, contributions=(Reason("base", 50),)
    )
    assert vedette.rank_urls_for_crawling([], now=NOW) == []
