"""Filters of other tools become steps of ours, and what has none is told."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vedette.core.filters.filter_steps import read_filters
from vedette.operations.formats.changedetection import read_changedetection
from vedette.operations.formats.filter_words import changedetection_filters, distill_filters, job_filters

CHANGEDETECTION: list[tuple[dict[str, Any], list[str], list[str]]] = [
    ({"include_filters": [".a", "#b > c"]}, ["css: .a, #b > c"], []),
    ({"include_filters": ["//h1", "xpath://h2"]}, ["xpath: //h1 | //h2"], []),
    ({"include_filters": ["json:$.price"]}, ["jsonpath: $.price"], []),
    ({"include_filters": ["jq:.price"]}, [], ["include_filters jq:.price"]),
    ({"include_filters": [".a", "//b"]}, [], ["include_filters .a, //b"]),
    ({"include_filters": ["xpath:matches(//a, 'x')"]}, [], ["include_filters matches(//a, 'x')"]),
    ({"subtractive_selectors": ["nav", "//footer"]}, ["remove: nav", "remove_xpath: //footer"], []),
    ({"ignore_text": ["Visitors", "/views: \\d+/i"]}, ["ignore: Visitors", "ignore: /(?i)views: \\d+/"], []),
    ({"ignore_text": ["/(?<=a)b/"]}, [], ["ignore_text /(?<=a)b/"]),
    ({"trigger_text": ["In stock"]}, ["while: In stock"], []),
    ({"trigger_text": ["In stock", "/sold/"]}, ["while: /(?:(?i:In\\ stock))|(?:sold)/"], []),
    ({"text_should_not_be_present": ["Sold out"]}, ["unless: Sold out"], []),
    ({"extract_text": ["/Price: ([0-9.]+)/"]}, ["regex: Price: ([0-9.]+)"], []),
    ({"sort_text_alphabetically": True, "remove_duplicate_lines": True}, ["sort: up", "unique: true"], []),
    (
        {"filter_text_added": True, "filter_text_removed": False, "filter_text_replaced": False},
        ["only: added"],
        [],
    ),
    (
        {
            "conditions": [
                {"field": "extracted_number", "operator": "<", "value": "90"},
                {"field": "page_filtered_text", "operator": "contains_regex", "value": "EUR"},
                {"field": "levenshtein_distance", "operator": ">", "value": "3"},
            ]
        },
        ["below: 90", "while: /EUR/"],
        ["conditions levenshtein_distance > 3"],
    ),
    (
        {
            "conditions_match_logic": "ANY",
            "conditions": [
                {"field": "extracted_number", "operator": "<", "value": "90"},
                {"field": "extracted_number", "operator": ">", "value": "110"},
            ],
        },
        ["below: 90", "above: 110", "rules: any"],
        [],
    ),
    ({"include_filters": 5, "ignore_text": {"a": 1}, "conditions": "x"}, [], []),
]


@pytest.mark.parametrize(("said", "steps", "left_out"), CHANGEDETECTION)
def test_filters_of_changedetection(said, steps, left_out):
    assert changedetection_filters(said) == (steps, left_out)
    read_filters(tuple(steps))


JOBS: list[tuple[Any, list[str], list[str]]] = [
    ([{"css": ".price"}, "html2text", "strip"], ["css: .price"], []),
    ("css:.price,html2text", ["css: .price"], []),
    ([{"xpath": {"path": "//a", "exclude": "//b"}}], ["remove_xpath: //b", "xpath: //a"], []),
    ([{"element-by-id": "main"}], ['css: [id="main"]'], []),
    (
        [{"keep_lines_containing": {"re": "EUR|USD"}}, {"grepi": "ads"}],
        ["keep: /EUR|USD/", "ignore: /ads/"],
        [],
    ),
    (
        [{"re.sub": {"pattern": "/x", "repl": "y"}}, {"re.findall": "a+"}],
        ["replace: |/x|y|", "regex: a+"],
        [],
    ),
    ([{"re.sub": {"pattern": "(a)", "repl": "\\1"}}], [], ["filter re.sub"]),
    ([{"sort": {"reverse": True}}, "remove_duplicate_lines"], ["sort: down", "unique: true"], []),
    ([{"shellpipe": "rm -rf /"}, {"jq": ".a"}], [], ["filter shellpipe", "filter jq"]),
    (
        [{"keep_lines_containing": "a"}, {"css": ".b"}],
        ["keep: a"],
        ["filter css .b"],
    ),  # lines have no elements
]


@pytest.mark.parametrize(("value", "steps", "left_out"), JOBS)
def test_filters_of_jobs(value, steps, left_out):
    assert job_filters({"filter": value}) == (steps, left_out)


def test_only_additions_of_a_job():
    assert job_filters({"additions_only": True}) == (["only: added"], [])


def test_selections_of_distill():
    frame = {"includes": [{"type": "xpath", "expr": "//a"}], "excludes": [{"type": "css", "expr": ".ad"}]}
    assert distill_filters({"selections": [{"frames": [frame]}]}) == (["remove: .ad", "xpath: //a"], [])
    assert distill_filters({"selections": [{"frames": 3}]}) == ([], ["selections"])
    assert distill_filters({"selections": [{"frames": [{"includes": [{"type": "css", "expr": "a["}]}]}]}) == (
        [],
        ["selections a["],
    )


def test_filters_of_a_group_come_behind_those_of_its_watches():
    whole = {
        "watching": {
            "w": {"url": "https://example.org/a", "tags": ["t"], "ignore_text": ["Visitors"]},
            "x": {"url": "https://example.org/b", "ignore_text": ["Views"]},
        },
        "settings": {
            "application": {
                "tags": {"t": {"title": "shops", "ignore_text": ["Stock"], "subtractive_selectors": ["nav"]}}
            }
        },
    }
    first, second = read_changedetection(json.dumps(whole).encode()).entries
    assert list(first.keys["filters"]) == ["remove: nav", "ignore: Visitors", "ignore: Stock"]
    assert first.keys["tags"] == ["shops"]
    assert list(second.keys["filters"]) == ["ignore: Views"]
