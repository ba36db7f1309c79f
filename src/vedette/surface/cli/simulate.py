"""The record decided again: simulate (another policy, budget or objective) and replay (the same)."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import util
from pathlib import Path
from typing import Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.whatif.play import Bounds
from vedette.operations.arguments import a_moment
from vedette.operations.simulate import (
    BASE,
    Replayed,
    Simulation,
    WhatIf,
    replay_json,
    simulate_record,
    simulate_truth,
    simulation_json,
)
from vedette.operations.simulate import replay as decide_again
from vedette.report.plain import count, moment
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.plots import draw_what_if, truth_of, world_of
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import ObjectiveOption, PolicyOption, SinceOption, verb

HEADS = ("POLICY", "BUDGET", "RISK", "REQUESTS/DAY", "DELAY", "WITHIN", "IN TIME", "MISSED")
EXAMPLE = """vedette simulate --budget 0.5x
vedette simulate --policy seed-ewma --policy per-risk --plot what-if.png
vedette simulate --objective CRITICAL=2h:0.95 --budget 1x --budget 2x --json
vedette simulate --world grid --days 14 --policy fixed"""


def register(app: typer.Typer) -> None:
    verb(app, "simulate", example=EXAMPLE)(simulate)
    verb(app, "replay", example="vedette replay\nvedette replay --since 7d --json")(replay)


def simulate(
    session: Session,
    policy: PolicyOption = None,
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            metavar="LOOKS|0.5x|none",
            help="Looks per day; 0.5x: half of what was spent; none: no limit; repeatable.",
        ),
    ] = None,
    objective: ObjectiveOption = None,
    since: SinceOption = None,
    world: Annotated[
        str | None, typer.Option("--world", metavar="NAME", help="A living web and its truth: demo or grid.")
    ] = None,
    days: Annotated[
        float, typer.Option("--days", min=1, max=366, help="How long the world is watched.")
    ] = 14.0,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of the world.")] = 7,
    draws: Annotated[
        int, typer.Option("--draws", min=2, max=200, help="Truths that are drawn to fit the history.")
    ] = 20,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="FILE", help="Draw it: a .png or .svg file.")
    ] = None,
) -> None:
    """What another policy, budget or objective would have done.

    Played over the looks on record.  When a change came between two looks is not known, nor whether it came alone,
    so every figure is given as bounds; docs/how-to/what-if.md says what they mean.  With --world it is played over a
    living web, whose truth is known: no bounds are needed.
    """
    check_plot(plot)
    asked = WhatIf(policies=policy or (), budgets=budget or (), objectives=objective or ())
    place = session.installation
    with session.out.progress("playing") as progress:
        if world is not None:
            truth = truth_of(world_of(world, seed), days, place.classify)
            length = count(len(truth.targets), "page"), f"{days:g} day{'s' * (days != 1)}"
            title = f"living web {world}, seed {seed}: {', '.join(length)}"
            found = simulate_truth(place, asked, truth, title=title, progress=progress)
        else:
            start = a_moment(since, "--since", session.now())
            found = simulate_record(place, asked, since=start, draws=draws, progress=progress)
    _say(session, found)
    _say_terms(session, found)
    if plot is not None:
        draw_what_if(plot, found.scenes, found.title)
        session.out.note(f"drawn in {plot}")


def check_plot(path: Path | None) -> None:
    """Said before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"--plot: {path.name!r} should end in .png or .svg")
    if not path.resolve().parent.is_dir():
        raise InputError(f"--plot: there is no folder {path.parent}")
    if util.find_spec("matplotlib") is None:
        raise VedetteError("plots need matplotlib; install it with: pip install 'vedette[plot]'")


def _say(session: Session, found: Simulation) -> None:
    if session.given.as_json:
        session.out.document(simulation_json(found))
        return
    out = session.out
    spent = "were made" if found.over == "history" else f"by {BASE} without a limit"
    out.say(f"{found.title}; {found.requests_per_day:,.0f} requests a day {spent}")
    out.table(HEADS, _rows(found), empty="nothing was played")
    if found.over == "history":
        out.note("low-high: bounds over truths that fit the looks on record (docs/how-to/what-if.md)")


def _say_terms(session: Session, found: Simulation) -> None:
    """What was the same for all, and what none of them promised."""
    if found.is_even:
        session.out.note(
            f"Each was given {found.scenes[0].budget:,.0f} looks a day, what the thriftiest of them takes by itself; "
            "--budget none lets each take what it likes."
        )
    promised = [f"{name} within {hours:g} h ({share:.0%})" for name, (hours, share) in found.goals.items()]
    if promised:
        session.out.note(
            f"Promised: {', '.join(promised)}.  `learned` spends on that first; other classes have no promise, and "
            "IN TIME counts them against 4 h.  MISSED are states that nobody saw, because another came first."
        )


def _rows(found: Simulation) -> Iterator[tuple[str, ...]]:
    within = found.within()
    for one in found.scenes:
        for risk, row in one.table.items():
            if row["requests"].high <= 0:
                continue
            yield (
                one.policy,
                one.limit,
                risk,
                _span(row["requests"], "{:,.0f}"),
                _span(row["delay"], "{:.1f}", " h"),
                f"{within[risk]:g} h" if risk in within else "",
                _span(row["within"], "{:.0%}"),
                _span(row["missed"], "{:,.0f}"),
            )


def _span(bounds: Bounds, form: str, unit: str = "") -> str:
    if not bounds.is_known:
        return "-"
    low, high = form.format(bounds.low), form.format(bounds.high)
    return f"{low}{unit}" if low == high else f"{low}-{high}{unit}"


# `replay`: decides again from the record, and compares.

SHOWN = 20  # differences that are listed in full


def replay(
    session: Session,
    url: Annotated[str | None, typer.Argument(metavar="[URL]", help="Only decisions about this URL.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
) -> None:
    """Decide again from the record, and compare.

    From the inputs on record and under the rules of their run.

    Recomputed are due times, retries, classifications and verdicts; what a page or a lane has to be asked
    for is counted only.  Exit 0 when every decision comes out as it was recorded, 6 when not.
    """
    start = a_moment(since, "--since", session.now())
    with session.out.progress("deciding again") as progress:
        result = decide_again(session.installation, url, since=start, progress=progress)
    _say_replayed(session, result)
    if result.differences:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _say_replayed(session: Session, result: Replayed) -> None:
    out = session.out
    if session.given.as_json:
        out.document(replay_json(result))
        return
    out.table(("DECISION", "AGREED", "DIFFERING"), _replayed_rows(result), empty="nothing was decided yet")
    if result.not_recomputed:
        others = ", ".join(f"{count} {action}" for action, count in sorted(result.not_recomputed.items()))
        out.note(f"not recomputed, since they follow from what was seen: {others}")
    for one in result.differences[:SHOWN]:
        out.say(f"{moment(one.row.at)} {one.action}: {one.words}")
    if len(result.differences) > SHOWN:
        out.note(f"and {len(result.differences) - SHOWN} more; --json lists them all")


def _replayed_rows(result: Replayed) -> Iterator[tuple[str, str, str]]:
    for action in sorted({*result.agreed, *result.differing}):
        yield action, str(result.agreed[action]), str(result.differing[action])
