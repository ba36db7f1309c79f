"""`freshness`: how fresh we will be, and how fresh we were."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import typer

from vedette.core.freshness.measured import Estimate, Outlook, TightHost
from vedette.operations.arguments import a_moment
from vedette.operations.freshness import Freshness, FreshnessQuestion, freshness_json
from vedette.operations.freshness import freshness as outlook_of
from vedette.report.plain import span
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import ObjectiveOption, SinceOption, verb

SHOWN = 20  # tight hosts that are listed
EXPECTED = ("RISK", "TARGETS", "OBJECTIVE", "EXPECTED", "CURRENT", "NEEDS/DAY", "BUT")
MEASURED = ("RISK", "CHANGES", "WITHIN", "SEEN IN TIME", "FOR SURE", "STALE (AUDITS)", "STALE (GAPS)")


EXAMPLE = """vedette freshness
vedette freshness --budget 0.5x --objective CRITICAL=2h:0.95
vedette freshness --check --json"""


def register(app: typer.Typer) -> None:
    verb(app, "freshness", example=EXAMPLE)(freshness)


def freshness(
    session: Session,
    policy: Annotated[
        str | None, typer.Option("--policy", metavar="NAME", help="[default: as configured]")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            "--budget",
            metavar="LOOKS|0.5x|none",
            help="Looks per day; 0.5x: half of what was spent.  [default: as configured]",
        ),
    ] = None,
    objective: ObjectiveOption = None,
    since: SinceOption = None,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 6 when an objective is not expected to hold, or did not.")
    ] = False,
) -> None:
    """How fresh we will be, and how fresh we were.

    Expected, per risk class: the share of changes seen within the objective, what that needs, and which hosts have no
    room for it at their politeness limit.  Measured, from the looks on record: the same share with its 95 % interval,
    and how stale our copies were, told without bias by audits (looks at random moments, `schedule.audit_share`).
    """
    asked = FreshnessQuestion(
        policy=policy,
        budget=budget,
        objectives=tuple(objective or ()),
        since=a_moment(since, "--since", session.now()),
    )
    with session.out.progress("reading the looks on record") as progress:
        found = outlook_of(session.installation, asked, progress=progress)
    _say(session, found)
    if check and not found.holds():
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _say(session: Session, found: Freshness) -> None:
    if session.given.as_json:
        session.out.document(freshness_json(found))
        return
    out, outlook = session.out, found.outlook
    limit = "no budget" if outlook.budget is None else f"{outlook.budget:,.0f} looks a day"
    short = f", {outlook.shortfall:,.0f} short" if outlook.shortfall > 0 else ""
    asks = f"{outlook.needed:,.0f} look{'' if round(outlook.needed) == 1 else 's'} a day"
    out.say(f"expected with the policy {found.policy} and {limit}: it asks for {asks}{short}")
    out.table(EXPECTED, _expected(outlook), empty="nothing is watched yet")
    for one in outlook.tight[:SHOWN]:
        out.say(_tight(found, one))
    for host, beyond in outlook.crowded[:SHOWN]:
        out.say(
            f"{found.hosts[host]} is asked for {beyond:,.0f} looks a day more than it has room for: they are spread"
        )
    if len(outlook.tight) > SHOWN:
        out.note(f"and {len(outlook.tight) - SHOWN} hosts more; --json lists them all")
    out.say("")
    if found.outlook.budget is not None:
        out.say(f"spent {found.spent:,} of {found.outlook.budget:,.0f} looks in the last 24 hours")
    over = span(timedelta(days=found.days))
    out.say(f"measured over {over}, at {found.requests_per_day:,.0f} requests a day")
    out.table(MEASURED, _measured(found), empty="nothing was looked at twice yet")


def _expected(outlook: Outlook) -> Iterator[tuple[str, ...]]:
    for name, one in outlook.classes.items():
        if not one.targets:
            continue
        goal = "-" if one.share is None else f"{one.share:.0%} within {one.within:g} h"
        yield (
            name,
            f"{one.targets:,}",
            goal,
            f"{_percent(one.coverage)} within {one.within:g} h",
            f"{_percent(one.freshness)} of the time",
            "-" if one.needed is None else f"{one.needed:,.0f}",
            "" if one.is_met else "will not hold",
        )


def _tight(found: Freshness, one: TightHost) -> str:
    return (
        f"{found.hosts[one.host]} has room for {one.room:,.0f} looks a day, the objectives ask for {one.needed:,.0f}: "
        f"{one.missing:,.0f} too many, at most {one.coverage:.0%} in time"
    )


def _measured(found: Freshness) -> Iterator[tuple[str, ...]]:
    for name, one in found.measured.items():
        if not one.changes and not one.audits:
            continue
        yield (
            name,
            f"{one.changes:,}",
            f"{one.within:g} h",
            _share(one.in_time) + (", broken" if found.is_broken(name) else ""),
            _at_least(one.sure),
            f"{_share(one.stale)} by {one.audits}" if one.audits else "-",
            "-" if one.stale_by_gaps is None else _percent(one.stale_by_gaps),
        )


def _share(one: Estimate | None) -> str:
    if one is None:
        return "-"
    digits = _digits(one.value)
    return f"{one.value:.{digits}%} ({one.low:.{digits}%} to {one.high:.{digits}%})"


def _at_least(share: float | None) -> str:
    """A lower bound that says something."""
    if share is None or share < 0.005:
        return "-"
    return "all" if share > 0.995 else f"at least {share:.0%}"


def _percent(share: float) -> str:
    return f"{share:.{_digits(share)}%}"


def _digits(share: float) -> int:
    """One more where it matters: near none and near all."""
    return 1 if 0.0 < share < 0.1 or 0.9 < share < 0.9995 else 0
