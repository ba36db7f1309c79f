"""Batches of the panel: planned, run, and gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from vedette.app.panel import OnProgress, Panel, PanelEnd, PanelRequest, Resume
from vedette.app.panel_resources import Door
from vedette.config.panel import PanelConfig
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.panel_run import PanelNote
from vedette.core.panel.domains import DomainProblem
from vedette.core.panel.plan import Plan
from vedette.operations.installation import Installation
from vedette.operations.panel_batches import batch_of
from vedette.operations.panel_domains import ChosenDomains, DomainSource, chosen_domains

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
    door: Callable[[PanelConfig], Door] | None = None  # None: nothing is told over HTTP


def plan_panel(
    installation: Installation,
    source: DomainSource,
    *,
    count: int | None,
    models: Sequence[str] = (),
    on_chosen: OnChosen = lambda chosen: None,
) -> PlannedPanel:
    """For so many domains, or for those of the source.  Asks nobody and writes nothing."""
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
