"""What is known: list, due, history, changes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.nearest import unknown
from vedette.core.outcomes import MEANING, SEEN
from vedette.surface.cli.configured import note_not_taken_in, written_url
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session, a_moment, a_risk, a_url, check_source, tagged
from vedette.surface.cli.verbs import LimitOption, verb
from vedette.surface.cli.watch_table import is_unseen, show_watches

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vedette.contracts.changing import ChangeState
    from vedette.contracts.source import Source
    from vedette.contracts.watch import Visit, Watch
    from vedette.contracts.words import Outcome
    from vedette.store.queries import Queries
    from vedette.store.views import ChangeView, WatchFilter, WatchLine

RiskOption = Annotated[str | None, typer.Option("--risk", help="CRITICAL, HIGH, MEDIUM or LOW.")]
TagOption = Annotated[str | None, typer.Option("--tag", help="Only of sources with this tag.")]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this source.")]


def register(app: typer.Typer) -> None:
    verb(app, "list", example="vedette list --risk critical\nvedette list --host example.org --json")(list_)
    verb(app, "due", example="vedette due --within 4h")(due)
    verb(app, "history", example="vedette history https://example.org/rules")(history)
    verb(app, "changes", example="vedette changes --since 24h --risk high")(changes)


def list_(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Part of a URL or a title.")] = None,
    source: SourceOption = None,
    host: Annotated[str | None, typer.Option("--host", help="Only of this host.")] = None,
    risk: RiskOption = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Only with this last outcome.")] = None,
    tag: TagOption = None,
    listings: Annotated[bool, typer.Option("--listings", help="Only those that list others.")] = False,
    limit: LimitOption = 100,
) -> None:
    """Watches, with risk, last outcome and due time."""
    from vedette.store.views import WatchFilter

    check_source(session, source)
    which = WatchFilter(
        source=source,
        host=None if host is None else a_host(session, host),
        risk=a_risk(risk, "--risk"),
        outcome=_outcome(outcome),
        text=text,
        only_listings=listings,
        sources=tagged(session, tag),
        only_kept=True,
    )
    _show_watches(session, which, limit, empty="no watch fits; `vedette add URL` makes one")


def due(
    session: Session,
    within: Annotated[
        str | None, typer.Option("--within", help="Also what is due within 30m, 4h, ...")
    ] = None,
    source: SourceOption = None,
    risk: RiskOption = None,
    limit: LimitOption = 100,
) -> None:
    """What is due now, most overdue first."""
    from vedette.store.views import WatchFilter

    check_source(session, source)
    until = session.now() + _duration(within, "--within")
    which = WatchFilter(source=source, risk=a_risk(risk, "--risk"), due_before=until, by_due=True)
    _show_watches(session, which, limit, empty="nothing is due")


def history(
    session: Session,
    url: Annotated[str, typer.Argument(metavar="URL")],
    limit: LimitOption = 50,
) -> None:
    """Every look at a URL, newest first."""
    from vedette.report.explaining import visit_json
    from vedette.store.views import ChangeFilter

    with session.queries() as queries:
        watch = known_watch(session, queries, url)
        visits = queries.visits(watch.id, most=limit)
        told = [
            view.change for view in queries.changes(ChangeFilter(watch=watch.id, states=told_states(None)))
        ]
        numbers = queries.change_numbers([change.id for change in told])
    if session.given.as_json:
        session.out.document({"url": watch.url, "visits": [visit_json(visit) for visit in visits]})
        return
    first = {change.after_visit: f"change {numbers[change.id]}" for change in told}
    heads = ("AT", "OUTCOME", "STATUS", "SECONDS", "CHANGED", "CHARS", "DIGEST", "DETAIL")
    rows = (_visit_cells(visit, first.get(visit.id, "")) for visit in visits)
    least = ("SECONDS", "CHARS", "STATUS")
    session.out.table(heads, rows, empty=f"{watch.url} was never looked at", least=least)


def changes(
    session: Session,
    since: Annotated[str | None, typer.Option("--since", help="24h, 7d, 2026-11-15, ...")] = None,
    until: Annotated[str | None, typer.Option("--until", help="As --since.")] = None,
    risk: Annotated[str | None, typer.Option("--risk", help="This risk and graver.")] = None,
    state: Annotated[
        str | None,
        typer.Option(
            "--state", help="observed, rejected, confirmed, reported or all.  [default: the last two]"
        ),
    ] = None,
    source: SourceOption = None,
    tag: TagOption = None,
    url: Annotated[str | None, typer.Option("--url", help="Only of this URL.")] = None,
    with_diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    limit: LimitOption = 50,
) -> None:
    """What changed, newest first, each with its summary."""
    from vedette.core.urls import watch_id
    from vedette.report.changes import change_lines
    from vedette.store.views import ChangeFilter

    check_source(session, source)
    now = session.now()
    which = ChangeFilter(
        since=a_moment(since, "--since", now),
        until=a_moment(until, "--until", now),
        risk=a_risk(risk, "--risk"),
        states=told_states(state),
        watch=None if url is None else watch_id(a_url(url)),
        source=source,
        sources=tagged(session, tag),
    )
    with session.queries() as queries:
        found = list(queries.changes(which, most=limit))
        numbers = queries.change_numbers([view.change.id for view in found])
    if session.given.as_json:
        bodies = [numbered_json(v, numbers[v.change.id], with_diff=with_diff) for v in found]
        session.out.document({"changes": bodies})
        return
    if not found:
        session.out.note("no changes")
        note_not_taken_in(session)
    wide = max((len(str(number)) for number in numbers.values()), default=0)
    for view in found:
        most = 12 if with_diff else 0
        lines = change_lines(view.change, url=view.url, risk=view.risk, most=most)
        number = ("head", f"{numbers[view.change.id]:>{wide}}  ")
        first = session.out.in_parts((number, *lines[0]), indent=wide + 2)
        session.out.lines([*first, *(lines[1:] if with_diff else ())])
    if found and not with_diff:
        session.out.note(f"vedette diff {numbers[found[0].change.id]} shows what differs")


def a_host(session: Session, word: str) -> str:
    """A host that is watched, in any spelling; the error names the nearest."""
    from vedette.core.urls import host_of

    host = host_of(a_url(f"http://{word.strip()}/"))
    with session.queries() as queries:
        known = {lane.removeprefix("host:") for lane in queries.host_lanes()}
    if host not in known:
        raise InputError(f"--host: {unknown('host', word, known)}; `vedette lanes` lists them")
    return host


def numbered_json(view: ChangeView, number: int, *, with_diff: bool) -> dict[str, object]:
    from vedette.report.changes import change_json

    said = change_json(
        view.change, url=view.url, risk=view.risk, decided_at=view.decided_at, with_diff=with_diff
    )
    return {"number": number, **said}


def known_watch(session: Session, queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed."""
    from vedette.core.urls import watch_id

    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is None and written_url(session, wanted) is not None:
        raise VedetteError(f"{wanted} stands in vedette.yaml and was not looked at yet; type: vedette run")
    if watch is None:
        raise VedetteError(f"{wanted} is not watched; `vedette why-not {wanted}` says why")
    return watch


def watches_json(watches: Sequence[WatchLine], asking: Mapping[str, Source]) -> list[dict[str, object]]:
    """`asking`: by address, the sources that ask for an interval of their watch."""
    from vedette.store.rows import opt_iso

    why = {outcome.value: "" if outcome in SEEN else said.words for outcome, said in MEANING.items()}
    return [
        {
            "url": watch.url,
            "title": watch.title,
            "source": watch.source,
            "lister": watch.lister,
            "node_type": watch.node_type,
            "role": watch.node_role,
            "risk": watch.risk.name,
            "velocity": watch.velocity,
            "interval": float(watch.interval_s),
            "every": source.every if source else None,
            "scrape_frequency": source.scrape_frequency if source else None,
            "due_at": opt_iso(watch.due_ms),
            "outcome": watch.outcome or None,
            "why": why[watch.outcome] if watch.outcome else "",
            "last_visit_at": opt_iso(watch.visited_ms),
            "last_changed_at": opt_iso(watch.changed_ms),
        }
        for watch in watches
        for source in (asking.get(watch.url),)
    ]


def _show_watches(session: Session, which: WatchFilter, limit: int, *, empty: str) -> None:
    with session.queries() as queries:
        found = queries.watch_lines(which, most=limit)
        total = queries.count_watches(which) if limit and len(found) == limit else len(found)
        asking = queries.asking() if found else {}
    if session.given.as_json:
        session.out.document({"watches": watches_json(found, asking), "total": total})
        return
    note_not_taken_in(session)
    show_watches(session, found, asking, empty=empty)
    unseen = [watch for watch in found if is_unseen(watch)]
    if unseen:
        words = "was" if len(unseen) == 1 else "were"
        session.out.note(
            f"{len(unseen)} of {len(found)} {words} not seen at the last look; "
            f"vedette why-not {unseen[0].url} says why and what to do"
        )
    if total > len(found):
        session.out.note(f"{len(found)} of {total}; --limit 0 shows all")


def _visit_cells(visit: Visit, change: str) -> tuple[Cell, ...]:
    """`change`: the one that this look was the first to show."""
    from vedette.report.plain import moment, plain

    return (
        moment(visit.at),
        visit.outcome.value,
        str(visit.status or "-"),
        f"{visit.took.total_seconds():.3f}",
        ("mark", change or "confirmed") if change or visit.changed else "-",
        "-" if visit.text_chars is None else str(visit.text_chars),
        visit.digest.hex()[:12] if visit.digest else "-",
        plain(visit.detail, 80),
    )


def told_states(word: str | None) -> tuple[ChangeState, ...]:
    from vedette.contracts.changing import ChangeState

    if word is None:
        return (ChangeState.CONFIRMED, ChangeState.REPORTED)
    if word == "all":
        return ()
    try:
        return (ChangeState(word.lower()),)
    except ValueError:
        known = (*(state.value for state in ChangeState), "all")
        raise InputError(f"--state: {unknown('state', word, known)}") from None


def _outcome(word: str | None) -> Outcome | None:
    from vedette.contracts.words import Outcome

    if word is None:
        return None
    try:
        return Outcome(word.lower())
    except ValueError:
        known = [outcome.value for outcome in Outcome]
        raise InputError(f"--outcome: {unknown('outcome', word, known)}; known: {', '.join(known)}") from None


def _duration(text: str | None, option: str) -> timedelta:
    from vedette.config import parse_duration

    if text is None:
        return timedelta(0)
    try:
        return parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{option}: {error}") from None
