"""Batches of the panel: their domains, and to plan, run and resume one."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from vedette.app.configured_providers import (
    ProviderListing,
    asked_models,
    panellists,
    with_table,
)
from vedette.app.panel import OnProgress, Panel, PanelEnd, PanelRequest, Resume
from vedette.app.panel_resources import Door
from vedette.config.model import panel_settings
from vedette.config.sections import PanelConfig
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.panel_run import BatchId, BatchView, PanelNote
from vedette.core.panel.agreement import CanaryVerdict, Drift, drift
from vedette.core.panel.compare import CompareParams, PanelComparison, cohort, compare
from vedette.core.panel.models import Domain, DomainProblem, ModelRow, normalise, read_domains, resolve_alias
from vedette.core.panel.plan import Plan
from vedette.operations.installation import Installation
from vedette.store.panel.batches import PanelStore, open_view
from vedette.store.panel.redis_board import read_models, save_models

# Batches of the panel that are on record: how far they came, what was answered, how they compare, and their end.

EXAMPLES = 10  # pairs of a comparison that are named


@dataclass(frozen=True, slots=True)
class DomainAnswers:
    domain: str
    rows: tuple[dict[str, Any], ...]  # newest batch first


@dataclass(frozen=True, slots=True)
class PanelDrift:
    batch: BatchId
    before: BatchId | None
    models: tuple[Drift, ...]

    @property
    def is_any_changed(self) -> bool:
        return any(one.verdict is CanaryVerdict.MODEL_CHANGED for one in self.models)


@contextmanager
def panel_tables(installation: Installation, *, read_only: bool = True) -> Iterator[PanelStore]:
    """The panel's tables as they are, without what a run loads."""
    config = panel_settings(installation.loaded.config)
    data = installation.loaded.data
    with closing(open_view(data, config.database, config.shadow_table, read_only=read_only)) as store:
        yield store


def batch_of(store: PanelStore, word: str | None) -> BatchId:
    """The one of this name; without a name the last one."""
    if word is not None:
        return BatchId(word)
    last = store.last_batch()
    if last is None:
        raise VedetteError("there is no batch yet; `vedette panel run` begins one")
    return last


def batch_status(installation: Installation, batch: str | None = None) -> BatchView:
    """How far it has come, by provider, and what it dropped."""
    with panel_tables(installation) as store:
        return store.view(batch_of(store, batch))


def stop_batches(installation: Installation, batch: str | None = None, *, every: bool = False) -> int:
    """No new call starts in this batch, the last one or every one; gives how many were running."""
    with panel_tables(installation) as store:
        asked = None if every else batch_of(store, batch)
        has_batches = store.last_batch() is not None
        if asked is not None:
            store.batch(asked)  # says so when there is none
    if not has_batches:
        return 0
    with panel_tables(installation, read_only=False) as store:
        return store.ask_stop(asked, now=installation.now())


def compare_tables(
    installation: Installation, shadow: str, legacy: str, *, tolerated: float
) -> PanelComparison:
    """Compares the rows of two tables.  The cohort is what the shadow run asked about."""
    with panel_tables(installation) as store:
        rows, older = store.responses(shadow), store.responses(legacy)
        asked = store.asked(shadow)
        older = cohort(rows, older, asked)
    names = {key: name for one in asked for key, name in one.domains.items()}
    return compare(rows, older, CompareParams(tolerated=tolerated), names=names, shown=EXAMPLES)


def domain_answers(
    installation: Installation,
    domain: str,
    *,
    batch: str | None = None,
    models: Sequence[str] = (),
    every: bool = False,
) -> DomainAnswers:
    """What was answered about a domain: in this batch, in the last one that asked about it, or in every one."""
    name, why = normalise(domain)
    if name is None:
        raise InputError(f"{domain!r}: {why}")
    with panel_tables(installation) as store:
        rows = store.about(name, BatchId(batch) if batch else None)
    if rows and not (every or batch):
        rows = [row for row in rows if row["batch_id"] == rows[0]["batch_id"]]
    return DomainAnswers(name, tuple(row for row in rows if not models or row["model"] in models))


def panel_drift(
    installation: Installation, batch: str | None = None, before: str | None = None
) -> PanelDrift:
    """Compares a model's answers in two batches; by default the last one with the one before it."""
    prompts = installation.loaded.config.panel.prompts
    canaries = frozenset(prompt.type for prompt in prompts if prompt.canary)
    with panel_tables(installation) as store:
        now = batch_of(store, batch)
        then = store.batch(BatchId(before)).id if before else store.batch_before(now)
        found = tuple(
            drift(model, store.answers(now, model), store.answers(then, model) if then else {}, canaries)
            for model in store.batch(now).shape.models
        )
    return PanelDrift(now, then, found)


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
    chosen = chosen_domains(panel, source)
    hooks.on_chosen(chosen)
    if not chosen.domains:
        raise InputError("there is no domain to ask about; name some with --domains FILE")
    asked = PanelRequest(domains=chosen.domains, models=tuple(models), budget_usd=budget_usd)
    return _checked(panel.run(asked, hooks.on_progress))


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


# Which models the providers have, and what became of those that went.


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelModels:
    shown: tuple[ModelRow, ...]
    refreshed: tuple[ProviderListing, ...]  # of each provider that was asked now
    asked: frozenset[str]  # names that the panel asks
    is_any_gone: bool  # of those


def panel_models(
    installation: Installation, *, model: str | None = None, refresh: bool = False, every: bool = False
) -> PanelModels:
    """Those that the panel asks, every one that is known, or one by any of its names.

    `refresh`: every provider that has a key is asked once which models it has now.
    """
    rows = [one.row for one in panellists(installation.loaded.config)]
    called: tuple[ProviderListing, ...] = ()
    with installation.operating(create=True) as db:
        known = read_models(db)
    registry = with_table(known, rows)
    if refresh:
        from vedette.app.configured_providers import list_models  # what fetches, which reading does without

        registry, called = list_models(installation.loaded, known, clock=installation.clock)
        with installation.operating() as db:
            save_models(db, registry)
    asked = asked_models(rows)
    shown = [row for row in registry if every or row.name in asked]
    return PanelModels(
        shown=tuple(shown) if model is None else (resolve_alias(model, registry),),
        refreshed=called,
        asked=asked,
        is_any_gone=any(row.retired_at is not None for row in registry if row.name in asked),
    )


def models_json(found: PanelModels) -> dict[str, object]:
    return {
        "models": [_model_json(row, found.asked) for row in found.shown],
        "refreshed": [_listing_json(one) for one in found.refreshed],
    }


def _model_json(row: ModelRow, asked: frozenset[str]) -> dict[str, object]:
    return {
        "name": row.name,
        "provider": row.provider,
        "wire_name": row.wire_name,
        "aliases": row.aliases,
        "is_asked": row.name in asked,
        "first_seen_at": row.first_seen_at,
        "last_seen_at": row.last_seen_at,
        "retired_at": row.retired_at,
        "successor": row.successor,
        "answered": row.answered,
        "failed": row.failed,
        "reliability": round(row.weight, 4),
    }


def _listing_json(called: ProviderListing) -> dict[str, object]:
    findings = [{"kind": f.kind, "name": f.name, "successor": f.successor} for f in called.findings]
    return {
        "provider": called.house,
        "outcome": called.outcome,
        "detail": called.detail,
        "listed": called.listed,
        "findings": findings,
    }
