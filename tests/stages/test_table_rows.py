"""A change in a table says of what: the row is one line, with its label."""

from __future__ import annotations

import json

import pytest

from vedette.contracts.changing import Noise, Place
from vedette.core.change.layers import compare
from vedette.core.change.state import State
from vedette.extract import blocks
from vedette.report.diffs import excerpt
from vedette.report.lines import as_text
from vedette.store.noise_column import dump_noise, read_noise

URL = "https://a.hr/cjenik"
ROWS = [("Bread, 500 g", "1.65", "2.10"), ("Rye flour, 1 kg", "1.45", "1.90"), ("Milk, 1 l", "1.05", "1.20")]


def table(rows, *, cell="<td>{}</td>", head="<tr><th>Product</th><th>Price</th><th>Old</th></tr>") -> str:
    lines = "".join("<tr>" + "".join(cell.format(value) for value in row) + "</tr>" for row in rows)
    return f"<html><body><h1>Prices</h1><table>{head}{lines}</table></body></html>"


def read(markup: str, **options) -> list[str]:
    return [text for _, text in blocks(markup.encode(), url=URL, content_type="text/html", **options)]


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


def test_noise_learned_of_an_article_that_was_cut_otherwise_is_learned_anew():
    """Its places are not where they were: believed, they would hide nothing and alarm once."""
    learned = Noise(places=(Place("div/p", 0, 8),), agreed=3)
    kept = dump_noise(learned)
    assert kept is not None
    assert read_noise(kept) == learned
    assert read_noise(kept.replace('"form":3', '"form":2')) == Noise(refuted=1, begun_at=-1)
