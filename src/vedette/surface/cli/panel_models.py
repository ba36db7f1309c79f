"""Which models there are: `panel models`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from vedette.app.model_refresh import ProviderListing
    from vedette.core.panel.models import ModelFinding, ModelRow

_WORDS = {
    "new": "{name} is new",
    "back": "{name} is listed again",
    "renamed": "{name} is now called {successor}",
    "retired": "{name} is no longer listed; nearest: {successor}",
}


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
    from vedette.app.configured_providers import panellists
    from vedette.app.model_refresh import asked_models, list_models, with_table
    from vedette.core.panel.models import resolve_alias
    from vedette.store.panel.model_registry import read_models, save_models

    rows = [one.row for one in panellists(session.loaded.config)]
    called: tuple[ProviderListing, ...] = ()
    with session.operating(create=True) as db:
        known = read_models(db)
    registry = with_table(known, rows)
    if refresh:
        registry, called = list_models(session.loaded, known, clock=session.clock)
        with session.operating() as db:
            save_models(db, registry)
    asked = asked_models(rows)
    shown = [row for row in registry if every or row.name in asked]
    if model is not None:
        shown = [resolve_alias(model, registry)]
    _give(session, shown, called, asked)
    if any(row.retired_at is not None for row in registry if row.name in asked):
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _give(
    session: Session, rows: list[ModelRow], called: tuple[ProviderListing, ...], asked: frozenset[str]
) -> None:
    if session.given.as_json:
        session.out.document(
            {
                "models": [_plain(row, asked) for row in rows],
                "refreshed": [_plain_call(one) for one in called],
            }
        )
        return
    heads = ("MODEL", "ASKED AS", "STATE", "RELIABILITY")
    session.out.table(heads, ((row.name, *_cells(row, asked)) for row in rows), empty="no models")
    for one in called:
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


def _plain(row: ModelRow, asked: frozenset[str]) -> dict[str, object]:
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


def _plain_call(called: ProviderListing) -> dict[str, object]:
    findings = [{"kind": f.kind, "name": f.name, "successor": f.successor} for f in called.findings]
    return {
        "provider": called.house,
        "outcome": called.outcome,
        "detail": called.detail,
        "listed": called.listed,
        "findings": findings,
    }
