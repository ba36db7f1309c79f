"""Changes as tables for other programs: CSV that no spreadsheet runs, and JSON lines."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable

from vedette.contracts.errors import InputError
from vedette.operations.arguments import TOLD
from vedette.operations.changes import NumberedChange, list_changes, numbered_json
from vedette.operations.formats.tables import neutral
from vedette.operations.installation import Installation
from vedette.report.diffs import excerpt
from vedette.report.plain import as_text, dump
from vedette.store.views import ChangeFilter

COLUMNS = (
    "number observed_at decided_at risk kind state source url title summary layer similarity diff".split()
)
LINES = 200  # of a diff in a cell; JSON lines have all of it


def change_rows(installation: Installation, form: str) -> tuple[str, int]:
    """All that people were told of, newest first, and how many there are."""
    if form not in WRITERS:
        raise InputError(f"--format: changes are written as {' or '.join(WRITERS)}, not {form!r}") from None
    found = list_changes(installation, ChangeFilter(states=TOLD), 0)
    return WRITERS[form](found), len(found)


def write_change_csv(changes: Iterable[NumberedChange]) -> str:
    """Cells that a spreadsheet would run are neutralised."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([neutral(cell).replace("\r", " ") for cell in _cells(one)] for one in changes)
    return file.getvalue()


def write_change_lines(changes: Iterable[NumberedChange]) -> str:
    said = (
        {**numbered_json(one, with_diff=True), "source": one.view.source, "title": one.view.title}
        for one in changes
    )
    return "".join(f"{dump(one)}\n" for one in said)


WRITERS: dict[str, Callable[[Iterable[NumberedChange]], str]] = {
    "csv": write_change_csv,
    "jsonl": write_change_lines,
}


def _cells(one: NumberedChange) -> list[str]:
    view, change = one.view, one.view.change
    compared = change.comparison
    lines = "\n".join(as_text([line]) for line in excerpt(compared.diff, LINES))
    at = (change.observed_at, view.decided_at)
    return [
        str(one.number),
        *("" if moment is None else moment.isoformat() for moment in at),
        view.risk.name,
        change.kind.value,
        change.state.value,
        str(view.source),
        view.url,
        view.title,
        compared.summary,
        compared.layer.value,
        f"{compared.similarity:.3f}",
        lines,
    ]
