"""Batches of the panel: their domains, and to plan, run and resume one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vedette.app.panel import OnProgress, Panel, PanelEnd, PanelRequest, Resume
from vedette.app.panel_resources import Door
from vedette.app.panel_worker import detach, shared_server
from vedette.config.sections import PanelConfig
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.panel_run import BatchId, PanelNote
from vedette.core.panel.domains import Domain, DomainProblem, read_domains
from vedette.core.panel.plan import Plan, cells
from vedette.operations.installation import Installation
from vedette.operations.panel_batches import batch_of
from vedette.store.panel.batches import PanelStore

# Where the domains of a batch come from: rows of a list or a CSV, the table `domains`, or an HTTP registry.

_NO = ("0", "false", "no")
COLUMNS = ("domain", "host", "hostname", "name", "url", "website")  # what a CSV or a registry calls it


@dataclass(frozen=True, slots=True)
class DomainSource:
    """One of them at most; none: the configured registry, else the table."""

    rows: Sequence[str] | None = None
    registry: str | None = None
    from_table: bool = False


@dataclass(frozen=True, slots=True)
class ChosenDomains:
    """Id and name of each, and the rows that are not asked about."""

    domains: Sequence[tuple[str, str]]
    problems: tuple[DomainProblem, ...] = ()


def chosen_domains(panel: Panel, source: DomainSource, *, is_planned: bool = False) -> ChosenDomains:
    """The domains of a source; a plan writes none of them anywhere."""
    is_said = source.rows is not None or source.from_table
    address = source.registry or (None if is_said else panel.config.registry)
    with panel.view() if is_planned else panel.store() as store:
        if source.rows is not None:
            return from_rows(source.rows, store, is_planned=is_planned)
        if address is not None:
            return from_rows(read_registry(panel.fetch_registry(address)), store, is_planned=is_planned)
        return from_table(store)


def from_rows(rows: Iterable[str], store: PanelStore, *, is_planned: bool = False) -> ChosenDomains:
    """Names become domains with an id of the table `domains`; a plan needs none, and adds none."""
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
    rows = list(store.active_domains())
    chosen, problems = [], []
    for one in read_domains(name for _, name in rows):
        match one:
            case Domain(row=row, name=name):
                chosen.append((rows[row - 1][0], name))
            case DomainProblem():
                problems.append(one)
    return ChosenDomains(chosen, tuple(problems))


def read_list(data: bytes, name: str) -> list[str]:
    """One name in a line, or CSV with or without a header."""
    text = _text(name, data)
    first = text.partition("\n")[0]
    is_csv = name.lower().endswith(".csv") or any(mark in first for mark in ",;\t")
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


def _text(name: str, data: bytes) -> str:
    """UTF-8, or UTF-16 that says so."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise InputError(f"{name} is not a text file")
    return data.decode("utf-8-sig", "replace")


def _csv_rows(text: str) -> list[str]:
    """One text for each row, so that numbers of lines stay; `#` where a row is not meant to be asked."""
    mark = max(",;\t", key=text[:4096].count)
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=mark)
    try:
        rows = [row for row in reader if row]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num} is not CSV: {error}") from None
    heads = [cell.strip().lower() for cell in rows[0]] if rows else []
    column = next((heads.index(name) for name in COLUMNS if name in heads), None)
    if column is None:
        return [row[0] for row in rows]
    active = heads.index("active") if "active" in heads else None
    return [
        "#",
        *("#" if _cell(row, active).strip().lower() in _NO else _cell(row, column) for row in rows[1:]),
    ]


def _cell(row: Sequence[str], column: int | None) -> str:
    return "" if column is None or column >= len(row) else row[column]


OnChosen = Callable[[ChosenDomains], None]  # the domains, and the rows that are not asked about


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPanel:
    """What a run would take, and the rows that it would not ask about."""

    plan: Plan
    notes: tuple[str, ...]
    problems: tuple[DomainProblem, ...]
    config: PanelConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelHooks:
    """Who hears of a run while it goes."""

    on_progress: OnProgress = lambda progress: None
    on_note: Callable[[PanelNote], None] = lambda note: None
    on_chosen: OnChosen = lambda chosen: None
    door: Callable[[PanelConfig], Door] | None = None  # None: nothing is shown over HTTP


@dataclass(frozen=True, slots=True, kw_only=True)
class DetachedPanel:
    """A batch that workers ask.  `note`: what the operator should know; may be empty."""

    batch: BatchId
    cells: int
    note: str


def plan_panel(
    installation: Installation,
    source: DomainSource,
    *,
    count: int | None,
    models: Sequence[str] = (),
    on_chosen: OnChosen = lambda chosen: None,
) -> PlannedPanel:
    """For so many domains, or for those of the source.  No provider is asked and nothing is written."""
    panel = Panel(installation.loaded, clock=installation.clock)
    chosen = ChosenDomains(()) if count else chosen_domains(panel, source, is_planned=True)
    on_chosen(chosen)
    number = count or len(chosen.domains)
    if not number:
        raise InputError("no domains to plan for; name a file with --domains, or a number with --count")
    made, notes = panel.plan(number, models)
    return PlannedPanel(plan=made, notes=notes, problems=chosen.problems, config=panel.config)


def run_panel(
    installation: Installation,
    source: DomainSource,
    *,
    models: Sequence[str] = (),
    budget_usd: float | None = None,
    hooks: PanelHooks,
) -> PanelEnd:
    """Asks every provider about every domain of the source."""
    panel = _panel(installation, hooks)
    asked = _asked(panel, source, hooks, models=models, budget_usd=budget_usd)
    return _checked(panel.run(asked, hooks.on_progress))


def detach_panel(
    installation: Installation,
    source: DomainSource,
    *,
    models: Sequence[str] = (),
    budget_usd: float | None = None,
    hooks: PanelHooks,
) -> DetachedPanel:
    """Writes a batch of the domains of the source, and leaves it to workers of the role `panel`."""
    panel = _panel(installation, hooks)
    shared_server(installation.loaded, panel)
    asked = _asked(panel, source, hooks, models=models, budget_usd=budget_usd)
    batch, note = detach(panel, asked)
    return DetachedPanel(batch=batch.id, cells=cells(batch.shape), note=note)


def _asked(
    panel: Panel, source: DomainSource, hooks: PanelHooks, *, models: Sequence[str], budget_usd: float | None
) -> PanelRequest:
    chosen = chosen_domains(panel, source)
    hooks.on_chosen(chosen)
    if not chosen.domains:
        raise InputError("there is no domain to ask about; name some with --domains FILE")
    return PanelRequest(domains=chosen.domains, models=tuple(models), budget_usd=budget_usd)


def resume_panel(
    installation: Installation, batch: str | None, how: Resume, *, hooks: PanelHooks
) -> PanelEnd:
    """Asks what a batch, by default the last one, has no row for."""
    panel = _panel(installation, hooks)
    with panel.view() as store:
        wanted = batch_of(store, batch)
    return _checked(panel.resume(wanted, hooks.on_progress, how))


def end_json(end: PanelEnd) -> dict[str, Any]:
    return {
        "event": "panel_ended",
        "batch": end.batch,
        "by": end.by,
        "asked_again": end.asked_again,
        "progress": asdict(end.progress),
        "dropped": [asdict(one) for one in end.dropped],
        "unanswered": end.unanswered,
        "refused": end.refused,
        "warnings": end.warnings,
    }


def _panel(installation: Installation, hooks: PanelHooks) -> Panel:
    return Panel(installation.loaded, clock=installation.clock, door=hooks.door, on_note=hooks.on_note)


def _checked(end: PanelEnd) -> PanelEnd:
    if end.error is None:
        return end
    if isinstance(end.error, VedetteError):
        raise end.error
    raise VedetteError(f"the batch {end.batch} ended early: {end.error}; `vedette panel resume {end.batch}`")
