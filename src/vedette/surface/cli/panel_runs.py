"""Batches of the panel that ask: `panel plan`, `panel run`, `panel resume`."""

from __future__ import annotations

import atexit
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Annotated, Generic, TypeVar

import typer
from rich.console import Console
from rich.live import Live
from rich.text import Text

from vedette.app.panel import PanelEnd, Resume
from vedette.app.panel_resources import Door, ShownBatch
from vedette.config.model import is_production, secret
from vedette.config.sections import PanelConfig
from vedette.config.values import panel_log_level
from vedette.contracts.errors import InputError
from vedette.contracts.events import PanelNoted
from vedette.contracts.panel_run import PanelNote, Progress
from vedette.core.panel.domains import DomainProblem
from vedette.operations.panel_runs import (
    ChosenDomains,
    DetachedPanel,
    DomainSource,
    PanelHooks,
    detach_panel,
    end_json,
    plan_panel,
    read_list,
    resume_panel,
    run_panel,
)
from vedette.report.panel import plan_json, problems_json, progress_json
from vedette.report.plain import count
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.output import Output
from vedette.surface.cli.panel import BatchArgument, ModelOption
from vedette.surface.cli.panel_text import dropped_lines, plan_lines, progress_words
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb
from vedette.surface.http.panel_admin import PanelAdmin, Writes, opened
from vedette.telemetry.logs import Log

DomainsOption = Annotated[
    Path | None, typer.Option("--domains", metavar="FILE", help="Names in lines, or CSV; - is stdin.")
]
TableOption = Annotated[bool, typer.Option("--from-table", help="The table `domains` WHERE active.")]
RegistryOption = Annotated[str | None, typer.Option("--registry", metavar="URL", help="A list over HTTP.")]
ListenOption = Annotated[bool, typer.Option("--listen", help="Serve the admin pages on `panel.listen`.")]
SHOWN = 10  # rows of a list that is only an example
MOST_BYTES = 64 * 1024 * 1024  # of a list on standard input


def register(app: typer.Typer) -> None:
    verb(app, "plan", example="vedette panel plan --count 10000\nvedette panel plan --domains domains.csv")(
        plan
    )
    verb(app, "run", example="vedette panel run --domains domains.txt --budget 25")(run)
    verb(app, "resume", example="vedette panel resume panel-20261116T060000-4711")(resume)


def plan(
    session: Session,
    domains: DomainsOption = None,
    from_table: TableOption = False,
    registry: RegistryOption = None,
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="Plan for so many domains.")
    ] = None,
    model: ModelOption = None,
) -> None:
    """What a run would take: cells, time per provider, cost, and which provider binds.

    Asks nobody and writes nothing.  Planned are the providers that have a key.  Exit 6 when the batch does not fit
    before the hard stop.
    """
    source = DomainSource() if count else _source(domains, from_table, registry)
    found = plan_panel(
        session.installation,
        source,
        count=count,
        models=model or (),
        on_chosen=lambda chosen: _note_problems(session.out, chosen.problems),
    )
    if session.given.as_json:
        more = {"problems": problems_json(found.problems), "notes": found.notes}
        session.out.document(plan_json(found.plan) | more)
    else:
        plan_lines(session.out, found.plan, found.config)
        for words in found.notes:
            session.out.note(words)
    if not found.plan.within_hard:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def run(
    session: Session,
    domains: DomainsOption = None,
    from_table: TableOption = False,
    registry: RegistryOption = None,
    model: ModelOption = None,
    budget: Annotated[
        float | None, typer.Option("--budget", min=0.0, metavar="USD", help="Stop new calls at this cost.")
    ] = None,
    listen: ListenOption = False,
    detach: Annotated[
        bool, typer.Option("--detach", help="Leave it to `vedette worker --roles panel`, and return at once.")
    ] = False,
) -> None:
    """Ask every provider about every domain.

    With --detach the batch is written to the store on PostgreSQL, and workers of the role `panel` share it.

    With --listen the batch is also told over HTTP: /healthz, /readyz, /metrics, /batch/ID, /provider/NAME/state and
    the authenticated /kill-switch.

    Ctrl-C stops new calls; `panel resume` goes on.  Exit 6 when cells were dropped.
    """
    if listen and detach:
        raise InputError("--listen and --detach exclude each other; a worker serves with its own --listen")
    source = _source(domains, from_table, registry)

    def on_chosen(chosen: ChosenDomains) -> None:
        _note_problems(session.out, chosen.problems)
        if session.given.as_json and chosen.domains and chosen.problems:
            problems = problems_json(chosen.problems)
            session.out.stream({"event": "panel_domains_left_out", "problems": problems})

    with showing(session) as on_progress:
        hooks = PanelHooks(
            on_progress=on_progress,
            on_note=_logging(),
            on_chosen=on_chosen,
            door=_door(session) if listen else None,
        )
        models, where = model or (), session.installation
        if detach:
            made = detach_panel(where, source, models=models, budget_usd=budget, hooks=hooks)
            _detached(session, made)
            return
        end = run_panel(where, source, models=models, budget_usd=budget, hooks=hooks)
    _ended(session, end)


def _detached(session: Session, made: DetachedPanel) -> None:
    if session.given.as_json:
        session.out.stream(
            {"event": "panel_detached", "batch": made.batch, "cells": made.cells, "note": made.note}
        )
        return
    session.out.say(
        f"{made.batch}: {count(made.cells, 'cell')} for workers; `vedette panel status` shows how far it is"
    )
    if made.note:
        session.out.note(made.note)


def resume(
    session: Session,
    batch: BatchArgument = None,
    fresh_deadline: Annotated[
        bool, typer.Option("--fresh-deadline", help="Soft cut and hard stop count from now.")
    ] = False,
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Whoever ran it on another machine is gone for sure.")
    ] = False,
    parked: Annotated[
        bool, typer.Option("--parked", help="Also ask again what ended without an answer.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", min=0.0, metavar="USD", help="Another ceiling for the batch, all its runs together."
        ),
    ] = None,
    listen: ListenOption = False,
) -> None:
    """Ask what a batch has no row for.  Answers that it has are kept; what was under way is asked again.

    A ceiling that is configured (`panel.budget_usd`, COST_BUDGET_USD) and higher than the batch's own raises it.
    """
    how = Resume(fresh=fresh_deadline, take_over=take_over, parked=parked, budget_usd=budget)
    with showing(session) as on_progress:
        hooks = PanelHooks(
            on_progress=on_progress, on_note=_logging(), door=_door(session) if listen else None
        )
        end = resume_panel(session.installation, batch, how, hooks=hooks)
    _ended(session, end)


def _source(domains: Path | None, from_table: bool, registry: str | None) -> DomainSource:
    if sum((domains is not None, from_table, registry is not None)) > 1:
        raise InputError("--domains, --from-table and --registry exclude each other")
    rows = None if domains is None else _read_file(domains)
    return DomainSource(rows=rows, registry=registry, from_table=from_table)


def _read_file(path: Path) -> list[str]:
    """`-` is standard input."""
    try:
        data = sys.stdin.buffer.read(MOST_BYTES) if str(path) == "-" else path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    return read_list(data, str(path))


def _note_problems(out: Output, problems: tuple[DomainProblem, ...]) -> None:
    for problem in problems[:SHOWN]:
        out.note(f"row {problem.row}: {problem.text}: {problem.why}")
    if len(problems) > SHOWN:
        out.note(f"... and {len(problems) - SHOWN} more rows that are not asked about")


def _logging() -> Callable[[PanelNote], None]:
    """Decisions of a run go to stderr when RUST_LOG asks for them; they hold no question, no answer and no key."""
    level = panel_log_level()
    if not level:
        return lambda note: None
    log = Log(sys.stderr, is_json=is_production(), level=level)

    def hear(note: PanelNote) -> None:
        words = " ".join(filter(None, (note.reason.code, note.reason.note)))
        log.hear(PanelNoted(at=note.at, action=note.action, subject=note.subject, reason=words))

    writer = ProgressWriter(hear, most=1000)
    atexit.register(writer.close)
    return writer.tell


def _door(session: Session) -> Callable[[PanelConfig], Door]:
    def of(config: PanelConfig) -> Door:
        token = None if config.token is None else secret(config.token)

        def made(shown: ShownBatch) -> AbstractAsyncContextManager[str]:
            log, board = shown.log, shown.board

            def writes() -> Writes:
                ops = board.ops if board is not None else 0
                is_away = board is not None and board.is_away
                return Writes(log.groups, log.rows, log.writing.total_seconds(), ops, is_away)

            admin = PanelAdmin(lambda writes: nullcontext(shown.store), session.clock, writes)
            return opened(admin, config.listen, token, config.hosts)

        return made

    return of


@contextmanager
def showing(session: Session) -> Iterator[Callable[[Progress], None]]:
    """Live progress on a terminal, a line of JSON per second for a program.  A slow reader delays nothing."""
    if session.given.as_json:

        def say(progress: Progress) -> None:
            session.out.stream(progress_json(progress))

        with telling(say) as tell:
            yield tell
        return
    if session.given.quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def show(progress: Progress) -> None:
            live.update(Text(progress_words(progress, live.console.width)))

        with telling(show) as tell:
            yield tell


def _ended(session: Session, end: PanelEnd) -> None:
    if session.given.as_json:
        session.out.stream(end_json(end))
    else:
        _end_lines(session.out, end)
    if end.by == "stopped":
        raise typer.Exit(Exit.INTERRUPTED)
    if end.dropped or end.unanswered or end.refused:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def _end_lines(out: Output, end: PanelEnd) -> None:
    done = end.progress
    out.say(
        f"{end.batch}: {end.by}; {done.settled} cells settled, {done.answered} answered, {done.spent_usd:.4f} USD"
    )
    if end.asked_again:
        again = count(end.asked_again, "cell")
        out.say(f"asked a second time, being under way when the run died: {again}")
    for words in end.warnings:
        out.note(words)
    dropped_lines(out, end.dropped)


# Progress for a reader that may be slow: the run never waits for it; what was not read is replaced by newer figures.

LAST = 1.0  # seconds that the end waits for a reader who takes his time

_Told = TypeVar("_Told")


class ProgressWriter(Generic[_Told]):
    """Calls `do` in a thread of its own: a pipe without a reader, or a stopped terminal, delays nothing else."""

    def __init__(self, do: Callable[[_Told], None], *, most: int = 1) -> None:
        self._do = do
        self._waiting: deque[_Told] = deque(maxlen=most)
        self._news = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="teller", daemon=True)
        self._thread.start()

    def tell(self, value: _Told) -> None:
        """At once; the oldest of more than `most` that wait is forgotten."""
        with self._news:
            self._waiting.append(value)
            self._news.notify()

    def close(self) -> None:
        with self._news:
            self._is_closing = True
            self._news.notify()
        self._thread.join(LAST)

    def _run(self) -> None:
        while True:
            with self._news:
                self._news.wait_for(lambda: self._waiting or self._is_closing)
                if not self._waiting:
                    return
                value = self._waiting.popleft()
            with suppress(OSError, ValueError):  # the reader is gone
                self._do(value)


@contextmanager
def telling(do: Callable[[_Told], None], *, most: int = 1) -> Iterator[Callable[[_Told], None]]:
    writer = ProgressWriter(do, most=most)
    try:
        yield writer.tell
    finally:
        writer.close()
