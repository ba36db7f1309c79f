"""What is in force: config show.  Every setting with its value and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.settings import settings
from vedette.report.plain import dump
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb


def register(app: typer.Typer) -> None:
    config = group("config", example="vedette config show", default=show)(config_)
    verb(config, "show", example="vedette config show fetch\nvedette config show --set")(show)
    app.add_typer(config)


def config_() -> None:
    """The settings in force, and where each comes from."""


def show(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Part of a key, as fetch.")] = None,
    only_set: Annotated[bool, typer.Option("--set", help="Only what is not the default.")] = False,
) -> None:
    """Every setting with its value and where that comes from.

    Secrets that are written out are not shown; `env:NAME` is, with whether that variable is set.
    """
    found = [
        one
        for one in settings(session.installation, data=session.given.data)
        if (text is None or text.lower() in one.key) and not (only_set and one.origin == "default")
    ]
    if session.given.as_json:
        bodies = [{"key": one.key, "value": one.value, "from": one.origin} for one in found]
        session.out.document({"settings": bodies})
        return
    rows = ((one.key, _cell(one.value), one.origin) for one in found)
    session.out.table(("SETTING", "VALUE", "FROM"), rows, empty="no setting fits")


def _cell(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else dump(value)
