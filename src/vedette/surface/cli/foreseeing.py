"""Will the promise hold, and did it?  freshness."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.contracts.words import Risk
from vedette.report.plain import span
from vedette.surface.cli.asked import ObjectiveOption, Objectives, SinceOption, a_budget, some_objectives
from vedette.surface.cli.exits import Exit
from vedette.surface.cli.session import Session, a_moment
from vedette.surface.cli.verbs import verb

if TYPE_CHECKING:
    from vedette.core.freshness.expected import Outlook, TightHost
    from vedette.core.freshness.measured import Estimate, Measured
    from vedette.core.schedule.protocol import Forecast, SchedulePolicy

SHOWN = 20  # tight hosts that are listed
_WITHIN = 4.0  # hours that coverage is told for where there is no objective (000 section 8)
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
    found = _answer(session, policy, budget, objective, since)
    _say(session, found)
    if check and not found.holds():
        raise typer.Exit(Exit.FOUND_PROBLEMS)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    policy: str
    goals: Objectives
    outlook: Outlook
    measured: Mapping[str, Measured]
    hosts: tuple[str, ...]
    days: float
    requests_per_day: float
    spent: int = 0  # looks in the last 24 hours

    def holds(self) -> bool:
        """Expected to hold, and not measured to be broken."""
        return self.outlook.is_met and not any(self.is_broken(name) for name in self.goals)

    def is_broken(self, name: str) -> bool:
        seen = self.measured[name].in_time
        return seen is not None and name in self.goals and seen.high < self.goals[name][1]


def _answer(
    session: Session, policy: str | None, budget: str | None, objective: list[str] | None, since: str | None
) -> _Answer:
    from vedette.core.freshness.expected import expect
    from vedette.core.freshness.measured import measure
    from vedette.core.schedule.hours import to_hours
    from vedette.core.whatif.teach import teach
    from vedette.policies import objectives, rooms, schedule_policy
    from vedette.store.recorded import recorded

    config = session.loaded.config
    goals = some_objectives(objective, objectives(config))
    now = session.now()
    with session.queries() as queries:
        found = recorded(queries, since=a_moment(since, "--since", now), now=now)
        spent = queries.requests(now - timedelta(days=1))[0]
    history = found.history
    if not len(history.targets):
        raise InputError("nothing is watched yet; `vedette add URL` first")
    days = history.days if history.requests else 0.0
    per_day = history.requests / days if days > 0 else 0.0
    looks = a_budget(budget, per_day) if budget is not None else config.schedule.budget_per_day
    name = policy or config.schedule.policy
    limits = dict(enumerate(rooms(config, found.hosts)))
    plan = schedule_policy(config, name, goals=goals, budget=looks)
    with session.out.progress("reading the looks on record") as progress:
        progress(0, 0)
        teach(plan, history, to_forecast=True)
        forecast = _forecast(plan, max(to_hours(now), history.end), looks, limits)
    within = {risk.name: goals.get(risk.name, (_WITHIN, 0.0))[0] for risk in Risk}
    return _Answer(
        policy=name,
        goals=goals,
        outlook=expect(forecast, history.targets, goals, limits, found.every),
        measured=measure(history, within),
        hosts=tuple(host for host, _ in found.hosts),
        days=days,
        requests_per_day=per_day,
        spent=spent,
    )


def _forecast(plan: SchedulePolicy, t: float, budget: float | None, limits: Mapping[int, float]) -> Forecast:
    """What the policy foresees; the learned one is told what the hosts allow."""
    from vedette.core.schedule.learned.policy import LearnedPolicy

    if isinstance(plan, LearnedPolicy):
        return plan.forecast(t, budget, host_limits={h: most for h, most in limits.items() if isfinite(most)})
    return plan.forecast(t, budget)


def _say(session: Session, found: _Answer) -> None:
    if session.given.as_json:
        session.out.document(_document(found))
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


def _tight(found: _Answer, one: TightHost) -> str:
    return (
        f"{found.hosts[one.host]} has room for {one.room:,.0f} looks a day, the objectives ask for {one.needed:,.0f}: "
        f"{one.missing:,.0f} too many, at most {one.coverage:.0%} in time"
    )


def _measured(found: _Answer) -> Iterator[tuple[str, ...]]:
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


def _document(found: _Answer) -> dict[str, object]:
    outlook = found.outlook
    return {
        "policy": found.policy,
        "objectives": {
            name: {"within_h": hours, "share": share} for name, (hours, share) in found.goals.items()
        },
        "holds": found.holds(),
        "expected": {
            "budget_per_day": outlook.budget,
            "needed_per_day": outlook.needed,
            "shortfall_per_day": outlook.shortfall,
            "spent_last_24h": found.spent,
            "crowded_hosts": [
                {"host": found.hosts[host], "looks_per_day_beyond": beyond}
                for host, beyond in outlook.crowded
            ],
            "classes": {name: asdict(one) | {"is_met": one.is_met} for name, one in outlook.classes.items()},
            "tight_hosts": [
                asdict(one) | {"host": found.hosts[one.host], "missing": one.missing} for one in outlook.tight
            ],
        },
        "measured": {
            "days": found.days,
            "requests_per_day": found.requests_per_day,
            "classes": {name: asdict(one) for name, one in found.measured.items()},
        },
    }
