"""A change in a table says of what: the row is one line, with its label."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest

from vedette.contracts.change import Noise, Place
from vedette.core.change.diff import diff_lines, with_headings
from vedette.core.change.layers import compare
from vedette.core.change.state import State
from vedette.extract import blocks
from vedette.extract.page import Page, row_headings
from vedette.extract.scope import MAIN
from vedette.report.diffs import by_words, diff_json, excerpt, unified
from vedette.report.plain import as_text
from vedette.store.text_columns import dump_noise, read_noise

URL = "https://a.hr/cjenik"
ROWS = [("Bread, 500 g", "1.65", "2.10"), ("Rye flour, 1 kg", "1.45", "1.90"), ("Milk, 1 l", "1.05", "1.20")]


def table(rows, *, cell="<td>{}</td>", head="<tr><th>Product</th><th>Price</th><th>Old</th></tr>") -> str:
    lines = "".join("<tr>" + "".join(cell.format(value) for value in row) + "</tr>" for row in rows)
    return f"<html><body><h1>Prices</h1><table>{head}{lines}</table></body></html>"


def read(markup: str, **options) -> list[str]:
    page = Page.of(markup.encode(), url=URL, content_type="text/html")
    return [text for _, text in page.blocks(MAIN, **options)]


def told(before: str, after: str) -> list[str]:
    states = [State(blocks(one.encode(), url=URL, content_type="text/html")) for one in (before, after)]
    return as_text(excerpt(compare(*states).diff)).splitlines()


@pytest.mark.parametrize(
    "cell", ["<td>{}</td>", "<td><p>{}</p></td>", "<td><b>{}</b><br></td>", "<td><div><span>{}</div>"]
)
def test_a_row_is_one_line_with_its_label(cell):
    assert read(table(ROWS, cell=cell))[:3] == [
        "Prices",
        "Product | Price | Old",
        "Bread, 500 g | 1.65 | 2.10",
    ]
    after = [ROWS[0], ("Rye flour, 1 kg", "1.75", "1.90"), ROWS[2]]
    assert told(table(ROWS, cell=cell), table(after, cell=cell)) == [
        "! Rye flour, 1 kg | [-1.45-] {+1.75+} | 1.90"
    ]


def test_a_new_row_and_a_row_that_went_are_told_whole():
    assert told(table(ROWS[:2]), table(ROWS)) == ["+ Milk, 1 l | 1.05 | 1.20"]
    assert told(table(ROWS), table(ROWS[1:])) == ["- Bread, 500 g | 1.65 | 2.10"]


def test_two_rows_with_the_same_values_are_told_apart():
    rows = [("A", "1.00"), ("B", "1.00"), ("C", "1.00")]
    after = [("A", "1.00"), ("B", "2.00"), ("C", "1.00")]
    assert told(table(rows, head=""), table(after, head="")) == ["! B | [-1.00-] {+2.00+}"]


LONG = "Odluka stupa na snagu osmoga dana od dana objave u Narodnim novinama. " * 4


@pytest.mark.parametrize(
    ("row", "lines"),
    [
        (f"<td>Izbornik</td><td>{LONG}</td>", ["Izbornik", LONG.strip()]),
        ("<td><ul><li>a</li><li>b</li></ul></td><td>c</td>", ["a", "b", "c"]),
        ("<td><h2>Naslov</h2></td><td>Tekst</td>", ["Naslov", "Tekst"]),
        ("<td><table><tr><td>1</td><td>2</td></tr></table></td><td>x</td>", ["1 | 2", "x"]),
        ("<td colspan=2>Jedna ćelija</td>", ["Jedna ćelija"]),
        ("<td></td><td>Jedna puna</td>", ["Jedna puna"]),
        ("<td>a</td><td></td><td>c</td><td></td>", ["a | | c"]),
    ],
)
def test_a_row_that_holds_more_than_values_is_read_cell_by_cell(row, lines):
    assert read(f"<body><table><tr>{row}</tr></table></body>") == lines


def test_documents_that_a_row_links_to_are_still_compared():
    before = "<table><tr><td>Odluka</td><td><a href='a.pdf'>PDF</a></td></tr></table>"
    assert read(before) == ["Odluka | PDF", "https://a.hr/a.pdf"]
    assert told(before, before.replace("a.pdf", "b.pdf"))


def test_noise_that_was_learned_of_an_older_text_is_still_understood():
    old = {
        "paths": ["main/table/tbody/tr/td"], "lines": [], "templates": [], "places": [[0, 1, 8, 0]], "orders": [],
        "wild": [], "looks": [1, 2, 3, 4, 5], "replaced": [],
    }  # fmt: skip
    kept = read_noise(json.dumps(old))
    assert kept.is_older
    assert read_noise(dump_noise(kept)).is_older
    assert read(table(ROWS), is_older=True)[1:4] == ["Product", "Price", "Old"]
    steady = {**old, "paths": [], "places": []}
    assert not read_noise(json.dumps(steady)).is_older


def test_noise_that_is_learned_now_is_learned_by_rows():
    noise = Noise(places=(Place("main/table/tbody/tr/td", 1, 8),))
    assert not read_noise(dump_noise(noise)).is_older


def headed(before: str, after: str):
    """The diff as the engine makes it: headings beside rows, out of both states."""
    states = [State(blocks(one.encode(), url=URL, content_type="text/html")) for one in (before, after)]
    found = compare(*states)
    headings = {}
    for one in (before, after):
        headings |= row_headings(one.encode(), content_type="text/html")
    return with_headings(found.diff, headings)


AFTER = [ROWS[0], ("Rye flour, 1 kg", "1.75", "1.90"), ROWS[2]]
HEADINGS = {
    "th in the first row": "<tr><th>Product</th><th>Price</th><th>Old</th></tr>",
    "thead": "<thead><tr><td>Product</td><td>Price</td><td>Old</td></tr></thead>",
    "two rows of thead": "<thead><tr><th colspan=3>Prices of today and before, all</th></tr>"
    "<tr><th>Product</th><th>Price</th><th>Old</th></tr></thead>",
    "an empty corner": "<tr><td></td><th>Price</th><th>Old</th></tr>",
    "a heading over two columns": "<tr><th>Product</th><th colspan=2>Price</th></tr>",
}


@pytest.mark.parametrize("head", HEADINGS.values(), ids=HEADINGS)
def test_a_value_that_differs_is_told_with_the_heading_of_its_column(head):
    diff = headed(table(ROWS, head=head), table(AFTER, head=head))
    assert as_text(excerpt(diff)) == "! Rye flour, 1 kg | Price: [-1.45-] {+1.75+} | 1.90"
    assert as_text(by_words(diff)).splitlines()[-2] == "! Rye flour, 1 kg | Price: [-1.45-] {+1.75+} | 1.90"


@pytest.mark.parametrize(
    "head",
    [
        "",
        "<tr><td>Product</td><td>Price</td><td>Old</td></tr>",
        "<tr><th>Product</th><th>Price</th></tr>",
        "<tr><th rowspan=2>Product</th><th>Price</th></tr><tr><th>Old</th></tr>",
        "<tr><th>Product</th><td>Price</td><td>Old</td></tr>",
        "<tr><th colspan=99999999999999999999>Product</th><th>Price</th><th>Old</th></tr>",
        "<tr><th colspan=-1>Product</th><th colspan='x²'>Price</th></tr>",
    ],
)
def test_where_no_heading_is_sure_to_belong_to_a_value_none_is_told(head):
    diff = headed(table(ROWS, head=head), table(AFTER, head=head))
    assert as_text(excerpt(diff)) == "! Rye flour, 1 kg | [-1.45-] {+1.75+} | 1.90"


def test_a_new_row_is_told_with_all_headings_and_its_label_without():
    assert as_text(excerpt(headed(table(ROWS[:2]), table(ROWS)))) == "+ Milk, 1 l | Price: 1.05 | Old: 1.20"
    assert (
        as_text(excerpt(headed(table(ROWS), table(ROWS[1:])))) == "- Bread, 500 g | Price: 1.65 | Old: 2.10"
    )


def test_a_value_that_came_into_an_empty_cell_is_told_with_its_heading():
    before, after = [("Bread", "", "2.10"), *ROWS], [("Bread", "1.65", "2.10"), *ROWS]
    assert as_text(excerpt(headed(table(before), table(after)))) == "! Bread | {+Price: 1.65+} | 2.10"


def test_a_unified_diff_shows_the_headings_once():
    after = [("Bread, 500 g", "1.60", "2.10"), AFTER[1], ROWS[2]]
    filler = [(f"Item {n}", f"{n}.00", f"{n}.10") for n in range(9)]
    lines = as_text(
        unified(headed(table(filler + ROWS), table(filler + after)), before="a", after="b")
    ).splitlines()
    assert lines.count("  Product | Price | Old") == 1
    assert lines.index("  Product | Price | Old") < lines.index("- Bread, 500 g | 1.65 | 2.10")
    near = as_text(unified(headed(table(ROWS), table(after)), before="a", after="b")).splitlines()
    assert near.count("  Product | Price | Old") == 1


def test_a_row_that_stands_in_two_tables_has_the_headings_of_neither():
    other = table(ROWS, head="<tr><th>Product</th><th>Weight</th><th>Length</th></tr>")
    both = table(ROWS) + other
    assert row_headings(both.encode(), content_type="text/html") == {}


def test_headings_are_beside_the_diff_and_change_nothing_of_it():
    before, after = table(ROWS), table(AFTER)
    bare = diff_lines(read(before), read(after))[0]
    told = with_headings(bare, row_headings(after.encode(), content_type="text/html"))
    assert told != bare
    assert tuple(replace(op, headings=()) for op in told) == bare
    assert [one["headings"] for one in diff_json(told) if one["op"] == "replace"] == [
        ["Product", "Price", "Old"]
    ]


def test_a_long_heading_is_told_by_its_first_words():
    head = (
        "<tr><th>Product</th><th>Price in euro including value added tax and delivery</th><th>Old</th></tr>"
    )
    (line,) = as_text(excerpt(headed(table(ROWS, head=head), table(AFTER, head=head)))).splitlines()
    assert line == "! Rye flour, 1 kg | Price in euro including value…: [-1.45-] {+1.75+} | 1.90"


def test_tables_in_tables_and_rows_without_one_are_read_without_harm():
    deep = "<table><tr><td>" * 300 + "x" + "</table>" * 300
    wide = "<table><tr>" + "<td>1</td>" * 5000 + "</tr></table><tr><td>a</td><td>b</td></tr>"
    for markup in (deep, wide, "<tr>", "<table></table>", ""):
        assert row_headings(markup.encode(), content_type="text/html") == {}


def test_noise_learned_of_an_article_that_was_cut_otherwise_is_learned_anew():
    """Its places are not where they were: believed, they would hide nothing and alarm once."""
    learned = Noise(places=(Place("div/p", 0, 8),), agreed=3)
    kept = dump_noise(learned)
    assert kept is not None
    assert read_noise(kept) == learned
    assert read_noise(kept.replace('"form":4', '"form":2')) == Noise(refuted=1, begun_at=-1)


GOODS = [
    "Wheat flour, 1 kg",
    "Rye flour, 1 kg",
    "Barley flour, 1 kg",
    "Bread, 500 g",
    "Milk, 1 l",
    "Oats, 1 kg",
    "Rice",
]


def drawn(chance: Random, *, is_counted: bool) -> dict[str, tuple[str, ...]]:
    """A list of prices in any order; the first cell of a counted one is the number of the row."""
    names = chance.sample(GOODS, chance.randrange(1, len(GOODS)))
    rows = {name: (name, f"{chance.randrange(1, 9)}.50", f"{chance.randrange(1, 9)}.90") for name in names}
    return {name: (str(n), *row) if is_counted else row for n, (name, row) in enumerate(rows.items(), 1)}


@pytest.mark.parametrize("is_counted", [False, True], ids=["by name", "counted"])
@pytest.mark.parametrize("seed", range(60))
def test_a_price_is_never_told_of_another_product(seed, is_counted):
    chance = Random(seed)
    old, new = drawn(chance, is_counted=is_counted), drawn(chance, is_counted=is_counted)
    before, after = (table(list(rows.values()), head="") for rows in (old, new))
    states = [State(blocks(one.encode(), url=URL, content_type="text/html")) for one in (before, after)]
    diff = compare(*states).diff
    label = 1 if is_counted else 0
    for op in diff:
        if op.op == "replace":
            was, now = (texts[0].split(" | ")[label] for texts in (op.before, op.after))
            assert was == now or (was not in new and now not in old)
    lines = as_text(excerpt(diff, 100)).splitlines()
    for name in old.keys() & new.keys():
        if old[name][-2:] != new[name][-2:]:
            assert [line for line in lines if name in line and line.startswith("! ")], (name, lines)


def test_a_new_row_above_a_changed_one_is_told_as_new():
    after = [("Barley flour, 1 kg", "1.05", "1.10"), ("Bread, 500 g", "1.70", "2.10"), *ROWS[1:]]
    assert told(table(ROWS), table(after)) == [
        "+ Barley flour, 1 kg | 1.05 | 1.10",
        "! Bread, 500 g | [-1.65-] {+1.70+} | 2.10",
    ]
