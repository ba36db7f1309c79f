"""The provider panel."""

from __future__ import annotations

import typer

from vedette.surface.cli.panel_models import models
from vedette.surface.cli.verbs import group, verb


def register(app: typer.Typer) -> None:
    panel = group("panel", example="vedette panel models")(panel_)
    verb(panel, "models", example="vedette panel models --refresh\nvedette panel models claude-3-haiku")(
        models
    )
    app.add_typer(panel)


def panel_() -> None:
    """Ask models about domains (003)."""
