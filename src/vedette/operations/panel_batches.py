"""Batches of the panel that are on record: how far they came, what was answered, how they compare, and their end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from vedette.config.model import panel_settings
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.panel_run import BatchId, BatchView
from vedette.core.panel.agreement import CanaryVerdict, Drift, drift
from vedette.core.panel.compare import CompareParams, PanelComparison, cohort, compare
from vedette.core.panel.domains import normalise
from vedette.operations.installation import Installation
from vedette.store.panel.batches import PanelStore, open_view

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelPage:
    """A batch, the one before it, and what was said of one domain in it: by prompt, one answer of each model."""

    view: BatchView
    before: BatchId | None
    domain: str = ""
    models: tuple[str, ...] = ()
    prompts: tuple[tuple[str, tuple[dict[str, Any] | None, ...]], ...] = ()


def panel_page(installation: Installation, batch: str | None = None, domain: str = "") -> PanelPage:
    """InputError: this is no domain.  VedetteError: there is no batch."""
    with panel_tables(installation) as store:
        view = store.view(batch_of(store, batch))
        before = store.batch_before(view.batch.id)
    if not domain.strip():
        return PanelPage(view=view, before=before)
    found = domain_answers(installation, domain, batch=view.batch.id)
    models = tuple(sorted({row["model"] for row in found.rows}))
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for row in found.rows:
        if row["repeat"] == 0 or (row["prompt_type"], row["model"]) not in first:
            first[row["prompt_type"], row["model"]] = row
    kinds = sorted({kind for kind, _ in first})
    prompts = tuple((kind, tuple(first.get((kind, model)) for model in models)) for kind in kinds)
    return PanelPage(view=view, before=before, domain=found.domain, models=models, prompts=prompts)


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
