"""Batches of the panel: plan, run, status, resume, compare, kill."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session

if TYPE_CHECKING:
    from vedette.app.panel import Panel, PanelEnd
    from vedette.app.panel_resources import Door, ShownBatch
    from vedette.contracts.panel_run import BatchId, PanelNote, Progress
    from vedette.store.panel.batches import PanelStore
    from vedette.surface.cli.panel_domains import ChosenDomains

DomainsOption = Annotated[
    Path | None, typer.Option("--domains", metavar="FILE", help="Names in lines, or CSV; - is stdin.")
]
TableOption = Annotated[bool, typer.Option("--from-table", help="The table `domains` WHERE active.")]
RegistryOption = Annotated[str | None, typer.Option("--registry", metavar="URL", help="A list over HTTP.")]
ModelOption = Annotated[
    list[str] | None, typer.Option("--model", metavar="NAME", help="Only of this provider; may be repeated.")
]
ListenOption = Annotated[bool, typer.Option("--listen", help="Serve the admin pages on `panel.listen`.")]
BatchArgument = Annotated[str | None, typer.Argument(metavar="[BATCH]", help="[default: the last one]")]
SHOWN = 10  # rows of a list that is only an example


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
    from vedette.surface.cli.panel_domains import problems_json
    from vedette.surface.cli.panel_text import plan_json, plan_lines

    panel = _panel(session)
    where = _Where(domains, from_table, registry, is_planned=True)
    chosen = None if count else _chosen(session, panel, where)
    number = count or (len(chosen.domains) if chosen else 0)
    if not number:
        raise InputError("no domains to plan for; name a file with --domains, or a number with --count")
    made, notes = panel.plan(number, model or ())
    if session.given.as_json:
        session.out.document(plan_json(made) | {"problems": problems_json(chosen), "notes": notes})
    else:
        plan_lines(session.out, made, panel.config)
        for words in notes:
            session.out.note(words)
    if not made.within_hard:
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
) -> None:
    """Ask every provider about every domain.

    With --listen the batch is also told over HTTP: /healthz, /readyz, /metrics, /batch/ID, /provider/NAME/state and
    the authenticated /kill-switch.

    Ctrl-C stops new calls; `panel resume` goes on.  Exit 6 when cells were dropped.
    """
    from vedette.app.panel import PanelRequest
    from vedette.surface.cli.panel_domains import problems_json

    panel = _panel(session, listen=listen)
    chosen = _chosen(session, panel, _Where(domains, from_table, registry))
    if not chosen.domains:
        raise InputError("there is no domain to ask about; name some with --domains FILE")
    asked = PanelRequest(domains=chosen.domains, models=tuple(model or ()), budget_usd=budget)
    if session.given.as_json and chosen.problems:
        session.out.stream({"event": "panel_domains_left_out", "problems": problems_json(chosen)})
    with showing(session) as on_progress:
        end = panel.run(asked, on_progress)
    _ended(session, end)


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
    from vedette.app.panel import Resume

    panel = _panel(session, listen=listen)
    how = Resume(fresh=fresh_deadline, take_over=take_over, parked=parked, budget_usd=budget)
    with panel.view() as store:
        wanted = _batch(store, batch)
    with showing(session) as on_progress:
        end = panel.resume(wanted, on_progress, how)
    _ended(session, end)


def status(session: Session, batch: BatchArgument = None) -> None:
    """How far a batch has come, by provider, and what it dropped."""
    from vedette.surface.cli.panel_text import view_json, view_lines

    with viewing(session) as store:
        view = store.view(_batch(store, batch))
    if session.given.as_json:
        session.out.document(view_json(view))
    else:
        view_lines(session.out, view, session.now())


def kill(
    session: Session,
    batch: BatchArgument = None,
    every: Annotated[bool, typer.Option("--all", help="Every batch that runs on this database.")] = False,
) -> None:
    """Stop new calls within a second.  What is under way ends; `panel resume` goes on."""
    with viewing(session) as store:
        asked = None if every else _batch(store, batch)
        has_batches = store.last_batch() is not None
        if asked is not None:
            store.batch(asked)  # says so when there is none
    stopped = 0
    if has_batches:
        with viewing(session, read_only=False) as store:
            stopped = store.ask_stop(asked, now=session.now())
    if session.given.as_json:
        session.out.document({"stopped": stopped})
    elif stopped:
        session.out.say(f"{stopped} stopped: no new call starts")
    else:
        session.out.note("no batch is running")


def compare(
    session: Session,
    shadow: Annotated[str, typer.Argument(metavar="SHADOW", help="The table that shadows.")],
    legacy: Annotated[str, typer.Argument(metavar="[LEGACY]")] = "domain_responses",
    tolerated: Annotated[
        float, typer.Option("--tolerated", min=0.0, max=0.5, help="Share of diverging rows that is normal.")
    ] = 0.005,
) -> None:
    """Do shadow rows and legacy rows agree materially?

    The cohort is what the shadow run asked about.  Rows are paired by domain, model and prompt type; the answer is an
    exact test.  Exit 6 when they differ.
    """
    from vedette.core.panel.compare import CompareParams, Match, cohort
    from vedette.core.panel.compare import compare as decide
    from vedette.surface.cli.panel_text import comparison_json, comparison_lines

    with viewing(session) as store:
        rows, older = store.responses(shadow), store.responses(legacy)
        asked = store.asked(shadow)
        older = cohort(rows, older, asked)
    names = {key: name for one in asked for key, name in one.domains.items()}
    found = decide(rows, older, CompareParams(tolerated=tolerated), names=names, shown=SHOWN)
    if session.given.as_json:
        session.out.document(comparison_json(found))
    else:
        comparison_lines(session.out, found)
    if found.match is Match.DIFFER:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


def answers(
    session: Session,
    domain: Annotated[str, typer.Argument(metavar="DOMAIN")],
    batch: Annotated[
        str | None,
        typer.Option("--batch", metavar="BATCH", help="[default: the last one that asked about it]"),
    ] = None,
    model: ModelOption = None,
    every: Annotated[bool, typer.Option("--all", help="Of all batches.")] = False,
) -> None:
    """What the providers answered about a domain.  Cells without an answer say how they ended."""
    from vedette.contracts.panel_run import BatchId
    from vedette.core.panel.domains import normalise
    from vedette.surface.cli.panel_text import answers_lines

    name, why = normalise(domain)
    if name is None:
        raise InputError(f"{domain!r}: {why}")
    with viewing(session) as store:
        rows = store.about(name, BatchId(batch) if batch else None)
    if rows and not (every or batch):
        rows = [row for row in rows if row["batch_id"] == rows[0]["batch_id"]]
    rows = [row for row in rows if not model or row["model"] in model]
    if session.given.as_json:
        session.out.document({"domain": name, "answers": rows})
    else:
        answers_lines(session.out, rows, name)


def drift(
    session: Session,
    batch: BatchArgument = None,
    before: Annotated[
        str | None, typer.Option("--before", metavar="BATCH", help="[default: the one before]")
    ] = None,
) -> None:
    """Did the model change, or the world?  Agreement of repeats, and canaries against the batch before.

    Prompts with `canary: true` have answers that the world cannot change.  Exit 6 when a model changed.
    """
    from vedette.contracts.panel_run import BatchId
    from vedette.core.panel.canary import CanaryVerdict
    from vedette.core.panel.drift import drift as decide
    from vedette.surface.cli.panel_text import drift_lines

    canaries = frozenset(prompt.type for prompt in session.loaded.config.panel.prompts if prompt.canary)
    with viewing(session) as store:
        now = _batch(store, batch)
        then = store.batch(BatchId(before)).id if before else store.batch_before(now)
        found = [
            decide(model, store.answers(now, model), store.answers(then, model) if then else {}, canaries)
            for model in store.batch(now).shape.models
        ]
    if session.given.as_json:
        session.out.document({"batch": now, "before": then, "models": [asdict(one) for one in found]})
    else:
        drift_lines(session.out, found, has_before=then is not None)
    if any(one.verdict is CanaryVerdict.MODEL_CHANGED for one in found):
        raise typer.Exit(Exit.FOUND_PROBLEMS)


@contextmanager
def viewing(session: Session, *, read_only: bool = True) -> Iterator[PanelStore]:
    """The panel's tables as they are, without what a run loads."""
    from vedette.config.model import panel_settings
    from vedette.store.panel.batches import open_view

    config = panel_settings(session.loaded.config)
    data = session.loaded.data
    with closing(open_view(data, config.database, config.shadow_table, read_only=read_only)) as store:
        yield store


def _panel(session: Session, *, listen: bool = False) -> Panel:
    from vedette.app.panel import Panel

    panel = Panel(session.loaded, clock=session.clock)
    panel.on_note = _logging()
    if listen:
        panel.door = _door(session, panel)
    return panel


def _logging() -> Callable[[PanelNote], None]:
    """Decisions of a run go to stderr when RUST_LOG asks for them; they hold no question, no answer and no key."""
    from vedette.config.model import is_production, panel_log_level
    from vedette.surface.cli.progress_writer import ProgressWriter
    from vedette.telemetry.events import Event
    from vedette.telemetry.logs import Log

    level = panel_log_level()
    if not level:
        return lambda note: None
    log = Log(sys.stderr, is_json=is_production(), level=level)

    def hear(note: PanelNote) -> None:
        words = " ".join(filter(None, (note.reason.code, note.reason.note)))
        fields: dict[str, object] = {"action": note.action, "subject": note.subject, "reason": words}
        log.hear(Event(name="panel_noted", at=note.at, fields=fields))

    writer = ProgressWriter(hear, most=1000)
    atexit.register(writer.close)
    return writer.tell


def _door(session: Session, panel: Panel) -> Door:
    from vedette.config.model import secret
    from vedette.surface.http.panel_admin import PanelAdmin, opened
    from vedette.surface.http.panel_metrics import Writes

    token = None if panel.config.token is None else secret(panel.config.token)

    def made(shown: ShownBatch) -> AbstractAsyncContextManager[str]:
        log, board = shown.log, shown.board

        def writes() -> Writes:
            ops = board.ops if board is not None else 0
            is_away = board is not None and board.is_away
            return Writes(log.groups, log.rows, log.writing.total_seconds(), ops, is_away)

        admin = PanelAdmin(lambda writes: nullcontext(shown.store), session.clock, writes)
        return opened(admin, panel.config.listen, token, panel.config.hosts)

    return made


@dataclass(frozen=True, slots=True)
class _Where:
    """Where the domains come from; a plan writes none of them anywhere."""

    domains: Path | None
    from_table: bool
    registry: str | None
    is_planned: bool = False


def _chosen(session: Session, panel: Panel, where: _Where) -> ChosenDomains:
    """One place at most; without one, the configured registry, else the table."""
    from vedette.surface.cli.panel_domains import from_rows, read_file, read_registry
    from vedette.surface.cli.panel_domains import from_table as of_table

    domains, planned = where.domains, where.is_planned
    if sum((domains is not None, where.from_table, where.registry is not None)) > 1:
        raise InputError("--domains, --from-table and --registry exclude each other")
    address = where.registry or (None if domains or where.from_table else panel.config.registry)
    with panel.view() if planned else panel.store() as store:
        if domains is not None:
            chosen = from_rows(read_file(domains), store, is_planned=planned)
        elif address is not None:
            chosen = from_rows(read_registry(panel.fetch_registry(address)), store, is_planned=planned)
        else:
            chosen = of_table(store)
    for problem in chosen.problems[:SHOWN]:
        session.out.note(f"row {problem.row}: {problem.text}: {problem.why}")
    if len(chosen.problems) > SHOWN:
        session.out.note(f"... and {len(chosen.problems) - SHOWN} more rows that are not asked about")
    return chosen


def _batch(store: PanelStore, word: str | None) -> BatchId:
    from vedette.contracts.panel_run import BatchId

    if word is not None:
        return BatchId(word)
    last = store.last_batch()
    if last is None:
        raise VedetteError("there is no batch yet; `vedette panel run` begins one")
    return last


@contextmanager
def showing(session: Session) -> Iterator[Callable[[Progress], None]]:
    """Live progress on a terminal, a line of JSON per second for a program.  Whoever does not read holds nothing up."""
    from vedette.surface.cli.panel_text import progress_json, progress_words
    from vedette.surface.cli.progress_writer import telling

    if session.given.as_json:

        def say(progress: Progress) -> None:
            session.out.stream(progress_json(progress))

        with telling(say) as tell:
            yield tell
        return
    if session.given.quiet or not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def show(progress: Progress) -> None:
            live.update(Text(progress_words(progress, live.console.width)))

        with telling(show) as tell:
            yield tell


def _ended(session: Session, end: PanelEnd) -> None:
    from vedette.surface.cli.panel_text import end_json, end_lines

    if end.error is not None:
        if isinstance(end.error, VedetteError):
            raise end.error
        raise VedetteError(
            f"the batch {end.batch} ended early: {end.error}; `vedette panel resume {end.batch}`"
        )
    if session.given.as_json:
        session.out.stream(end_json(end))
    else:
        end_lines(session.out, end)
    if end.by == "stopped":
        raise typer.Exit(Exit.INTERRUPTED)
    if end.dropped or end.unanswered or end.refused:
        raise typer.Exit(Exit.FOUND_PROBLEMS)
