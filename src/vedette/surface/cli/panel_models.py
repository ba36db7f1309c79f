"""Which models there are: `panel models`."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.core.panel.models import ModelFinding, ModelRow
from vedette.operations.panel_models import PanelModels, models_json, panel_models
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

_WORDS = {
    "new": "{name} is new",
    "back": "{name} is listed again",
    "renamed": "{name} is now called {successor}",
    "retired": "{name} is no longer listed; nearest: {successor}",
}


def register(app: typer.Typer) -> None:
    verb(app, "models", example="vedette panel models --refresh\nvedette panel models claude-3-haiku")(models)


def models(
    session: Session,
    model: Annotated[
        str | None, typer.Argument(metavar="[MODEL]", help="Only this one, by any name.")
    ] = None,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask the providers which models they have now.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="Also models that the panel does not ask.")] = False,
) -> None:
    """Models of the providers: names, aliases, reliability, and what became of those that went.

    With --refresh every provider that has a key is asked once (nightly by cron).  Exit 6 when a model that the panel
    asks was renamed or is no longer listed; `providers.NAME.model` in the configuration names another.
    """
    found = panel_models(session.installation, model=model, refresh=refresh, every=every)
    if session.given.as_json:
        session.out.document(models_json(found))
    else:
        _print(session, found)
    if found.is_any_gone:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _print(session: Session, found: PanelModels) -> None:
    heads = ("MODEL", "ASKED AS", "STATE", "RELIABILITY")
    rows = ((row.name, *_cells(row, found.asked)) for row in found.shown)
    session.out.table(heads, rows, empty="no models")
    for one in found.refreshed:
        told = [_told(finding) for finding in one.findings if finding.kind != "new" or finding.is_asked]
        words = "; ".join(told) or one.detail or f"{one.listed} models, nothing new about those asked"
        session.out.say(f"{one.house}: {words}")


def _cells(row: ModelRow, asked: frozenset[str]) -> tuple[str, str, str]:
    alias = ", ".join(row.aliases) or ("itself" if row.name in asked else "-")
    return alias, _state(row), f"{row.weight:.3f} ({row.answered} of {row.answered + row.failed})"


def _state(row: ModelRow) -> str:
    if row.retired_at is not None:
        return f"gone since {row.retired_at:%Y-%m-%d}" + (
            f", nearest {row.successor}" if row.successor else ""
        )
    return "not looked up" if row.last_seen_at is None else f"listed {row.last_seen_at:%Y-%m-%d}"


def _told(finding: ModelFinding) -> str:
    return _WORDS[finding.kind].format(name=finding.name, successor=finding.successor or "none")
