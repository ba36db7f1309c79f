"""What a run needs: doctor."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.operations.doctor import DoctorFinding, examine, finding_json
from vedette.operations.health import ahead_words, heal_clock
from vedette.report.plain import line, quoted
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

_STYLE = {"ok": "good", "warn": "warn", "bad": "bad"}


def register(app: typer.Typer) -> None:
    verb(app, "doctor", example="vedette doctor\nvedette doctor --heal")(doctor)


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
