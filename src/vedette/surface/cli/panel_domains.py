"""Where the domains of a batch come from: a file, CSV, the table `domains`, or an HTTP registry."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vedette.contracts.errors import InputError

if TYPE_CHECKING:
    from vedette.core.panel.domains import DomainProblem
    from vedette.store.panel.batches import PanelStore

COLUMNS = ("domain", "host", "hostname", "name", "url", "website")  # what a CSV or a registry calls it
MOST_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class ChosenDomains:
    """Id and name of each, and the rows that are not asked about."""

    domains: Sequence[tuple[str, str]]
    problems: tuple[DomainProblem, ...] = ()


def from_rows(rows: Iterable[str], store: PanelStore, *, is_planned: bool = False) -> ChosenDomains:
    """Names become domains with an id of the table `domains`; a plan needs none, and adds none."""
    from vedette.core.panel.domains import Domain, DomainProblem, read_domains

    names, problems = [], []
    for one in read_domains(rows):
        match one:
            case Domain(name=name):
                names.append(name)
            case DomainProblem():
                problems.append(one)
    if is_planned:
        store.check_names(names)
        return ChosenDomains([("", name) for name in names], tuple(problems))
    ids = store.ids_of(names)
    return ChosenDomains([(ids[name], name) for name in names], tuple(problems))


def from_table(store: PanelStore) -> ChosenDomains:
    """`domains WHERE active`, under the ids that it has."""
    from vedette.core.panel.domains import Domain, DomainProblem, read_domains

    rows = list(store.active_domains())
    chosen, problems = [], []
    for one in read_domains(name for _, name in rows):
        match one:
            case Domain(row=row, name=name):
                chosen.append((rows[row - 1][0], name))
            case DomainProblem():
                problems.append(one)
    return ChosenDomains(chosen, tuple(problems))


def problems_json(chosen: ChosenDomains | None) -> list[dict[str, object]]:
    """For a program: every row that is not asked about."""
    return [{"row": one.row, "text": one.text, "why": one.why} for one in (chosen.problems if chosen else ())]


def read_file(path: Path) -> list[str]:
    """One name in a line, or CSV with or without a header; `-` is standard input."""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES) if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    text = _text(path, data)
    first = text.partition("\n")[0]
    is_csv = path.suffix.lower() == ".csv" or any(mark in first for mark in ",;\t")
    return _csv_rows(text) if is_csv else text.splitlines()


def read_registry(data: bytes) -> list[str]:
    """JSON: a list of names, or of objects, alone or under `domains`, `data` or `items`; or plain lines."""
    try:
        body = json.loads(data)
    except ValueError:
        return data.decode("utf-8", "replace").splitlines()
    if isinstance(body, dict):
        body = next((body[name] for name in ("domains", "data", "items") if name in body), None)
    if not isinstance(body, list):
        raise InputError("the registry's answer is no list of domains")
    return [name for one in body if (name := _name(one))]


def _name(one: Any) -> str:
    """What an entry calls its domain; nothing for one that is not active."""
    if not isinstance(one, dict):
        return str(one)
    if one.get("active", True) in (False, 0, "false"):
        return ""
    return next((str(one[name]) for name in COLUMNS if one.get(name)), "?")


def _text(path: Path, data: bytes) -> str:
    """UTF-8, or UTF-16 that says so."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise InputError(f"{path} is not a text file")
    return data.decode("utf-8-sig", "replace")


def _csv_rows(text: str) -> list[str]:
    sample = text[:4096]
    mark = max(",;\t", key=sample.count)
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=mark)
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV: {error}") from None
    if not rows:
        return []
    heads = [cell.strip().lower() for cell in rows[0]]
    column = next((heads.index(name) for name in COLUMNS if name in heads), None)
    if column is None:
        return [row[0] for row in rows]
    active = heads.index("active") if "active" in heads else None
    return [
        "#" if active is not None and len(row) > active and row[active].strip().lower() in ("0", "false", "no")
        else row[column] if len(row) > column else ""
        for row in [["#"] * len(heads), *rows[1:]]
    ]  # fmt: skip
