"""What if?  simulate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.words import Risk
from vedette.operations.arguments import a_moment
from vedette.surface.cli.budget_options import (
    ObjectiveOption,
    Objectives,
    PolicyOption,
    SinceOption,
    a_budget,
    some_objectives,
    some_policies,
)
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.core.schedule.protocol import SchedulePolicy
    from vedette.core.whatif.bounds import Bounds, BoundTable, PlayedTruth
    from vedette.core.whatif.play import PlayTerms

_BASE = "seed-ewma"  # whose own spending `--budget 1x` means where nothing is on record
HEADS = ("POLICY", "BUDGET", "RISK", "REQUESTS/DAY", "DELAY", "WITHIN", "IN TIME", "MISSED")
EXAMPLE = """vedette simulate --budget 0.5x
vedette simulate --policy seed-ewma --policy per-risk --plot what-if.png
vedette simulate --objective CRITICAL=2h:0.95 --budget 1x --budget 2x --json
vedette simulate --world grid --days 14 --policy fixed"""


def register(app: typer.Typer) -> None:
    verb(app, "simulate", example=EXAMPLE)(simulate)


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
    config = session.loaded.config
    from vedette.config.policies import objectives

    goals = some_objectives(objective, objectives(config))
    names = some_policies(policy, config.schedule.policy)
    with session.out.progress("playing") as progress:
        stage: _Stage
        if world is not None:
            stage = _Living(session, goals, world, seed=seed, days=days)
        else:
            stage = _OnRecord(session, goals, a_moment(since, "--since", session.now()), draws)
        configured = config.schedule.budget_per_day
        is_even = not budget and configured is None and len(names) > 1
        asked = [a_budget(text, stage.per_day) for text in budget or [_configured(configured)]]
        scenes = stage.scenes([(name, looks) for name in names for looks in asked], progress)
        if is_even:
            scenes = stage.scenes([(name, least_of(scenes)) for name in names], progress)
    _say(session, stage, scenes)
    _say_terms(session, stage, scenes, is_even=is_even)
    if plot is not None:
        from vedette.surface.cli.plots import draw_what_if

        draw_what_if(plot, scenes, stage.title)
        session.out.note(f"drawn in {plot}")


def least_of(scenes: Sequence[PlayedTruth]) -> float:
    """What the thriftiest of them takes in a day."""
    from vedette.core.whatif.bounds import ALL

    return min(one.table[ALL]["requests"].low for one in scenes)


class _Stage:
    """What is played over."""

    title: str
    per_day: float
    kind: str

    def __init__(self, session: Session, goals: Objectives) -> None:
        self.goals = goals
        self._session = session

    def _make(self, name: str, budget: float | None) -> Callable[[], SchedulePolicy]:
        from vedette.config.policies import schedule_policy

        config = self._session.loaded.config
        return lambda: schedule_policy(config, name, goals=self.goals, budget=budget)

    def within(self) -> tuple[float, float, float, float]:
        hours = [self.goals.get(risk.name, (4.0, 0.0))[0] for risk in Risk]
        return hours[0], hours[1], hours[2], hours[3]

    def play(self, name: str, budget: float | None, progress: Callable[[int, int], None]) -> BoundTable:
        raise NotImplementedError

    def scenes(
        self, wanted: Sequence[tuple[str, float | None]], progress: Callable[[int, int], None]
    ) -> list[PlayedTruth]:
        """Each policy with its looks per day."""
        from vedette.core.whatif.bounds import PlayedTruth

        return [
            PlayedTruth(name, looks, self.play(name, looks, _part(progress, n, len(wanted))))
            for n, (name, looks) in enumerate(wanted)
        ]


class _OnRecord(_Stage):
    kind = "history"

    def __init__(self, session: Session, goals: Objectives, since: Any, draws: int) -> None:
        super().__init__(session, goals)
        from vedette.config.policies import rooms
        from vedette.core.whatif.impute import imputer
        from vedette.store.recorded_looks import recorded

        with session.queries() as queries:
            found = recorded(queries, since=since, now=session.now())
        history = found.history
        if not history.changed.size or history.days < 1 / 24:
            raise VedetteError(
                "there is no history to play over yet; let `vedette run` look for a while, or try --world grid"
            )
        self.draws = draws
        self.per_day = found.requests_per_day
        self.title = f"{len(history.targets)} targets, {history.days:.3g} days on record"
        self._imputer = imputer(history)
        limits = rooms(session.loaded.config, found.hosts)
        self._room = {host: room for host, room in enumerate(limits) if room != float("inf")}

    def play(self, name: str, budget: float | None, progress: Callable[[int, int], None]) -> BoundTable:
        from vedette.core.whatif.bounds import bounds
        from vedette.core.whatif.play import PlayTerms

        terms = PlayTerms(budget=budget, within=self.within(), room=self._room)
        return bounds(self._make(name, budget), self._imputer, terms, self.draws, progress)


class _Living(_Stage):
    kind = "world"

    def __init__(self, session: Session, goals: Objectives, name: str, *, seed: int, days: float) -> None:
        super().__init__(session, goals)
        from vedette.core.whatif.bounds import ALL, figures
        from vedette.core.whatif.play import play
        from vedette.surface.cli.living_truth import truth_of, world_of

        self._truth = truth_of(world_of(name, seed), days, session.classify)
        self.title = f"living web {name}, seed {seed}: {len(self._truth.targets)} pages, {days:g} days"
        own = play(self._make(_BASE, None)(), self._truth, self._terms(None))
        self.per_day = figures(own)[ALL]["requests"]

    def play(self, name: str, budget: float | None, progress: Callable[[int, int], None]) -> BoundTable:
        from vedette.core.whatif.bounds import exact, figures
        from vedette.core.whatif.play import play

        done = play(self._make(name, budget)(), self._truth, self._terms(budget), on_step=progress)
        return exact(figures(done))

    def _terms(self, budget: float | None) -> PlayTerms:
        from vedette.core.whatif.play import PlayTerms

        return PlayTerms(budget=budget, within=self.within())


def check_plot(path: Path | None) -> None:
    """Said before anything is computed."""
    if path is None:
        return
    if path.suffix.lower() not in (".png", ".svg"):
        raise InputError(f"--plot: {path.name!r} should end in .png or .svg")
    if not path.resolve().parent.is_dir():
        raise InputError(f"--plot: there is no folder {path.parent}")
    from importlib.util import find_spec

    if find_spec("matplotlib") is None:
        raise VedetteError("plots need matplotlib; install it with: pip install 'vedette[plot]'")


def _part(progress: Callable[[int, int], None], n: int, of: int) -> Callable[[int, int], None]:
    return lambda done, whole: progress(n * whole + done, of * whole)


def _configured(per_day: float | None) -> str:
    return "none" if per_day is None else str(per_day)


def _say(session: Session, stage: _Stage, results: Sequence[PlayedTruth]) -> None:
    if session.given.as_json:
        session.out.document(_document(stage, results))
        return
    out = session.out
    out.say(f"{stage.title}; {stage.per_day:,.0f} requests a day {_spent(stage)}")
    out.table(HEADS, _rows(stage, results), empty="nothing was played")
    if stage.kind == "history":
        out.note("low-high: bounds over truths that fit the looks on record (docs/how-to/what-if.md)")


def _say_terms(session: Session, stage: _Stage, scenes: Sequence[PlayedTruth], *, is_even: bool) -> None:
    """What was the same for all, and what none of them promised."""
    if is_even:
        session.out.note(
            f"Each was given {scenes[0].budget:,.0f} looks a day, what the thriftiest of them takes by itself; "
            "--budget none lets each take what it likes."
        )
    promised = [f"{name} within {hours:g} h ({share:.0%})" for name, (hours, share) in stage.goals.items()]
    if promised:
        session.out.note(
            f"Promised: {', '.join(promised)}.  `learned` spends on that first; other classes have no promise, and "
            "IN TIME counts them against 4 h."
        )


def _spent(stage: _Stage) -> str:
    return "were made" if stage.kind == "history" else f"by {_BASE} without a limit"


def _rows(stage: _Stage, results: Sequence[PlayedTruth]) -> Iterator[tuple[str, ...]]:
    within = {risk.name: hours for risk, hours in zip(Risk, stage.within(), strict=True)}
    for one in results:
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


def _document(stage: _Stage, results: Sequence[PlayedTruth]) -> dict[str, object]:
    return {
        "over": stage.kind,
        "title": stage.title,
        "requests_per_day": stage.per_day,
        "objectives": {
            name: {"within_h": hours, "share": share} for name, (hours, share) in stage.goals.items()
        },
        "scenes": [
            {
                "policy": one.policy,
                "budget_per_day": one.budget,
                "classes": {
                    risk: {name: _plain(bounds) for name, bounds in row.items()}
                    for risk, row in one.table.items()
                },
            }
            for one in results
        ],
    }


def _plain(bounds: Bounds) -> dict[str, float] | None:
    if not bounds.is_known:
        return None
    return asdict(bounds)
