"""Entries of JSON lists are known by name, and a moved rate is told as such."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from vedette.contracts.change import DiffOp
from vedette.core.change.fields import MovedField, field_summary, moved_fields
from vedette.core.change.layers import compare
from vedette.core.change.state import State
from vedette.extract import blocks
from vedette.extract.fields import steps
from vedette.report.diffs import excerpt
from vedette.report.plain import as_text

RATES = [
    {"broj_tecajnice": "221", "datum_primjene": "2026-11-14", "srednji_tecaj": rate, "valuta": name}
    for name, rate in (("AUD", "1,6579"), ("CHF", "0,9361"), ("JPY", "163,41"), ("USD", "1,0809"))
]


def fields(value: object):
    return blocks(json.dumps(value).encode(), url="https://api.hnb.hr/x", content_type="application/json")


def next_list(**rates: str) -> list[dict[str, str]]:
    rows = [row | {"broj_tecajnice": "222", "datum_primjene": "2026-11-17"} for row in RATES]
    return [row | {"srednji_tecaj": rates.get(row["valuta"], row["srednji_tecaj"])} for row in rows]


def test_an_entry_is_known_by_its_name_and_not_by_its_place():
    assert ("/valuta=USD/srednji_tecaj", "1,0809") in fields(RATES)
    first = {
        "broj_tecajnice": "221",
        "datum_primjene": "2026-11-14",
        "srednji_tecaj": "7,46",
        "valuta": "DKK",
    }
    comparison = compare(State(fields(RATES)), State(fields([first, *RATES])))
    changed = [line for op in comparison.diff if op.op != "equal" for line in (*op.before, *op.after)]
    assert changed
    assert all(line.startswith("/valuta=DKK/") for line in changed)


def test_a_new_rate_list_tells_the_rates_first_and_what_moved_everywhere_once():
    comparison = compare(State(fields(RATES)), State(fields(next_list(USD="1,0795", CHF="0,9402"))))
    assert comparison.has_changed
    assert comparison.summary == (
        "10 fields changed: /valuta=CHF/srednji_tecaj '0,9361' -> '0,9402', "
        "/valuta=USD/srednji_tecaj '1,0809' -> '1,0795', /*/broj_tecajnice '221' -> '222' (4 times)"
    )
    shown = as_text(excerpt(comparison.diff)).splitlines()
    assert len(shown) == 4
    assert "/valuta=CHF/srednji_tecaj" in shown[0]
    assert "(4 times)" in shown[2]
    assert shown[3].endswith("{+2026-11-17 (4 times)+}")


def test_names_that_repeat_or_are_drawn_anew_do_not_name():
    assert steps([{"id": "1"}, {"id": "1"}]) == ["0", "1"]
    assert steps([{"id": "a"}, {"id": "b"}]) == ["id=a", "id=b"]
    drawn = [{"id": "9f8e7d6c5b4a39281706", "name": "A"}, {"id": "00112233445566778899", "name": "B"}]
    assert steps(drawn) == ["name=A", "name=B"]
    assert steps([{"id": "1"}, {"other": "2"}]) == ["0", "1"]
    assert steps(["x", "y"]) == ["0", "1"]
    assert steps([]) == []


@given(
    st.lists(
        st.one_of(st.none(), st.text(), st.dictionaries(st.sampled_from(["id", "name", "x"]), st.text()))
    )
)
def test_every_entry_has_a_step_of_its_own(entries):
    assert len(set(steps(entries))) == len(entries)


def test_added_and_removed_fields_are_counted_beside_the_changed():
    diff = (
        DiffOp("insert", (), ("/b: 2",)),
        DiffOp("delete", ("/a: 1",)),
        DiffOp("replace", ("/c: x",), ("/c: y",)),
    )
    assert field_summary(diff) == "1 field changed, 1 added, 1 removed: /c 'x' -> 'y'"
    assert field_summary(diff[:1]) == "1 field added: '/b: 2'"
    assert field_summary(()) == ""


def test_two_rows_that_move_alike_are_still_told_apart():
    diff = tuple(DiffOp("replace", (f"/id={n}/day: 1",), (f"/id={n}/day: 2",)) for n in "ab")
    assert [one.path for one in moved_fields(diff)] == ["/id=a/day", "/id=b/day"]


def goods(order: list[int], dearer: int = 0, *, name: str = "Part {}: bread") -> dict[str, object]:
    return {
        "items": [
            {"id": f"{n}", "name": name.format(n), "price": 15 + n + dearer, "note": f"by: the dozen {n}"}
            for n in order
        ]
    }


def test_a_list_in_another_order_with_new_prices_tells_each_price_of_its_own_entry():
    before, after = (
        State(fields(goods([0, 1, 2, 3, 4, 5]))),
        State(fields(goods([3, 1, 5, 0, 2, 4], dearer=1))),
    )
    comparison = compare(before, after)
    assert {(one.path, one.before, one.after) for one in moved_fields(comparison.diff)} == {
        (f"/items/id={n}/price", str(15 + n), str(16 + n)) for n in range(6)
    }
    assert comparison.summary.startswith("6 fields changed, ")
    assert " added" not in comparison.summary
    assert as_text(excerpt(comparison.diff)).splitlines()[0] == "! /items/id=3/price: [-18-] {+19+}"


def test_entries_whose_names_have_a_colon_are_told_apart():
    def named(order: list[str], dearer: int) -> State:
        return State(fields([{"title": f"Part 1: {one}", "price": len(one) + dearer} for one in order]))

    diff = compare(named(["bread", "flour loaf", "oats"], 0), named(["oats", "bread", "flour loaf"], 30)).diff
    pairs = {(op.before, op.after) for op in diff if op.op == "replace"}
    assert pairs == {
        ((f"/title=Part 1: {one}/price: {len(one)}",), (f"/title=Part 1: {one}/price: {len(one) + 30}",))
        for one in ("bread", "flour loaf", "oats")
    }
    assert MovedField("/title=Part 1: oats/price", "4", "34") in moved_fields(diff)


def test_a_field_never_becomes_a_field_of_another_path():
    diff = compare(State(fields({"rate": 5, "a": 1})), State(fields({"rates": 5, "a": 1}))).diff
    assert [op.op for op in diff if op.op != "equal"] == ["insert", "delete"]


def test_a_kept_diff_that_pairs_two_paths_is_told_as_one_field_that_went_and_one_that_came():
    """As diffs were made before fields were paired by their paths."""
    diff = (DiffOp("replace", ("/id=0/price: 15",), ("/id=3/price: 19",), (("15", "19"),)),)
    assert moved_fields(diff) == []
    assert field_summary(diff) == "1 field added, 1 removed: '/id=0/price: 15', '/id=3/price: 19'"
    assert as_text(excerpt(diff)).splitlines() == ["- /id=0/price: 15", "+ /id=3/price: 19"]
