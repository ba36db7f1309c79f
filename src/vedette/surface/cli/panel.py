"""The provider panel."""

from __future__ import annotations

import typer

from vedette.surface.cli import panel_runs as runs
from vedette.surface.cli.panel_demo import demo
from vedette.surface.cli.panel_models import models
from vedette.surface.cli.verb import group, verb


def register(app: typer.Typer) -> None:
    panel = group("panel", example="vedette panel models")(panel_)
    verb(panel, "plan", example="vedette panel plan --count 10000\nvedette panel plan --domains domains.csv")(
        runs.plan
    )
    verb(panel, "run", example="vedette panel run --domains domains.txt --budget 25")(runs.run)
    verb(panel, "status", example="vedette panel status\nvedette panel status --json")(runs.status)
    verb(panel, "resume", example="vedette panel resume panel-20261116T060000-4711")(runs.resume)
    verb(panel, "kill", example="vedette panel kill")(runs.kill)
    verb(panel, "compare", example="vedette panel compare domain_responses_shadow")(runs.compare)
    verb(
        panel,
        "answers",
        example="vedette panel answers hgk.hr\nvedette panel answers hgk.hr --model cohere --json",
    )(runs.answers)
    verb(panel, "demo", example="vedette panel demo")(demo)
    verb(panel, "drift", example="vedette panel drift")(runs.drift)
    verb(panel, "models", example="vedette panel models --refresh\nvedette panel models claude-3-haiku")(
        models
    )
    app.add_typer(panel)


def panel_() -> None:
    """Ask many models about many domains: plan, run, compare."""
