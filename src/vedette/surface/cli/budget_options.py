"""Options of the verbs that look ahead and back."""

from __future__ import annotations

from typing import Annotated

import typer

ObjectiveOption = Annotated[
    list[str] | None,
    typer.Option(
        "--objective", metavar="RISK=TIME[:SHARE]", help="For example CRITICAL=2h:0.95; repeatable."
    ),
]
PolicyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--policy", metavar="NAME", help="seed-ewma, fixed, ...; repeatable.  [default: as configured]"
    ),
]
SinceOption = Annotated[
    str | None, typer.Option("--since", help="Only looks since: 24h, 7d, 2026-11-15, ...")
]
