"""The installation: doctor checks what a run needs, config shows the settings in force."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.doctor import DoctorFinding, examine, finding_json
from vedette.operations.health import ahead_words, heal_clock
from vedette.operations.shown_config import settings
from vedette.report.plain import dump, line, quoted
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import group, verb

_STYLE = {"ok": "good", "warn": "warn", "bad": "bad"}


def register(app: typer.Typer) -> None:
    verb(app, "doctor", example="vedette doctor\nvedette doctor --heal")(doctor)
    config = group("config", example="vedette config show", default=show)(config_)
    verb(config, "show", example="vedette config show fetch\nvedette config show --set")(show)
    app.add_typer(config)


def doctor(
    session: Session,
    heal: Annotated[
        bool, typer.Option("--heal", help="First bring times back that a clock left which stood ahead.")
    ] = False,
) -> None:
    """Check everything that a run needs.

    Says what to do about what is not right.  Exit 6 when something is bad.

    `--heal` mends what a clock that stood ahead has left: due times, leases, breakers, holds and rests lie no further
    ahead than their rules allow.  Do it when the clock is right again; a run does it by itself at its start.
    """
    if heal:
        healed = heal_clock(session.installation)
        session.out.note(f"healed: {ahead_words(healed)}" if healed.is_any else "no time lies too far ahead")
    findings = examine(lambda: session.installation)
    is_bad = any(finding.state == "bad" for finding in findings)
    if session.given.as_json:
        session.out.document({"healthy": not is_bad, "checks": [finding_json(one) for one in findings]})
    else:
        _print(session, findings)
    if is_bad:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _print(session: Session, findings: list[DoctorFinding]) -> None:
    lines = []
    for finding in findings:
        lines.append(
            line(
                (_STYLE[finding.state], f"{finding.state:<5}"), f"{finding.check:<14}", quoted(finding.found)
            )
        )
        if finding.remedy and finding.state != "ok":
            lines.append(line(("dim", f"{'':<19}"), quoted(finding.remedy, "dim")))
    session.out.lines(lines, indent=19)


# What is in force: config show.  Every setting with its value and where that comes from.


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
