"""What is known: list, due, history, changes, diff."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.outcomes import MEANING
from vedette.surface.cli.output import Cell
from vedette.surface.cli.session import Session, a_moment, a_risk, a_url, check_source
from vedette.surface.cli.verbs import LimitOption, verb
from vedette.surface.cli.watch_table import is_unseen, show_watches

if TYPE_CHECKING:
    from vedette.contracts.changing import ChangeState
    from vedette.contracts.source import Source
    from vedette.contracts.watch import Visit, Watch
    from vedette.contracts.words import Outcome
    from vedette.store.queries import Queries
    from vedette.store.views import ChangeView, WatchFilter

RiskOption = Annotated[str | None, typer.Option("--risk", help="CRITICAL, HIGH, MEDIUM or LOW.")]
SourceOption = Annotated[str | None, typer.Option("--source", metavar="ID", help="Only of this source.")]


def register(app: typer.Typer) -> None:
    verb(app, "list", example="vedette list --risk critical\nvedette list --host example.org --json")(list_)
    verb(app, "due", example="vedette due --within 4h")(due)
    verb(app, "history", example="vedette history https://example.org/rules")(history)
    verb(app, "changes", example="vedette changes --since 24h --risk high")(changes)
    verb(app, "diff", example="vedette diff https://example.org/rules --words")(diff)


def list_(
    session: Session,
    text: Annotated[str | None, typer.Argument(metavar="[TEXT]", help="Part of a URL or a title.")] = None,
    source: SourceOption = None,
    host: Annotated[str | None, typer.Option("--host", help="Only of this host.")] = None,
    risk: RiskOption = None,
    outcome: Annotated[str | None, typer.Option("--outcome", help="Only with this last outcome.")] = None,
    listings: Annotated[bool, typer.Option("--listings", help="Only those that list others.")] = False,
    limit: LimitOption = 100,
) -> None:
    """Watches, with risk, last outcome and due time."""
    from vedette.store.views import WatchFilter

    check_source(session, source)
    which = WatchFilter(
        source=source,
        host=host.lower() if host else None,
        risk=a_risk(risk, "--risk"),
        outcome=_outcome(outcome),
        text=text,
        only_listings=listings,
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

    with session.queries() as queries:
        watch = known_watch(queries, url)
        visits = queries.visits(watch.id, most=limit)
    if session.given.as_json:
        session.out.document({"url": watch.url, "visits": [visit_json(visit) for visit in visits]})
        return
    heads = ("AT", "OUTCOME", "STATUS", "SECONDS", "CHANGED", "CHARS", "DIGEST", "DETAIL")
    session.out.table(heads, map(_visit_cells, visits), empty=f"{watch.url} was never looked at")


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
    url: Annotated[str | None, typer.Option("--url", help="Only of this URL.")] = None,
    with_diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    limit: LimitOption = 50,
) -> None:
    """What changed, newest first, each with its summary."""
    from vedette.core.urls import watch_id
    from vedette.report.changes import change_json, change_lines
    from vedette.store.views import ChangeFilter

    check_source(session, source)
    now = session.now()
    which = ChangeFilter(
        since=a_moment(since, "--since", now),
        until=a_moment(until, "--until", now),
        risk=a_risk(risk, "--risk"),
        states=_states(state),
        watch=None if url is None else watch_id(a_url(url)),
        source=source,
    )
    with session.queries() as queries:
        found = list(queries.changes(which, most=limit))
    if session.given.as_json:
        bodies = [
            change_json(v.change, url=v.url, risk=v.risk, decided_at=v.decided_at, with_diff=with_diff)
            for v in found
        ]
        session.out.document({"changes": bodies})
        return
    if not found:
        session.out.note("no changes")
    for view in found:
        most = 12 if with_diff else 0
        lines = change_lines(view.change, url=view.url, risk=view.risk, most=most)
        session.out.lines(lines if with_diff else lines[:1])


def diff(
    session: Session,
    what: Annotated[
        str, typer.Argument(metavar="URL|CHANGE", help="A URL (its last change), or a change's number.")
    ],
    words: Annotated[bool, typer.Option("--words", help="Words that differ, in their place.")] = False,
    unified: Annotated[bool, typer.Option("--unified", help="Lines, as `diff -u`.  [default]")] = False,
) -> None:
    """What differs between two looks.

    Shows the diff that was stored when the change was seen: lines by default, words in their place with --words.
    """
    from vedette.report.changes import change_json, summary_line
    from vedette.report.diffs import by_words
    from vedette.report.diffs import unified as unified_lines
    from vedette.report.plain import moment

    if words and unified:
        raise InputError("--words and --unified exclude each other")
    with session.queries() as queries:
        view = _change(queries, what)
        before = queries.visit(view.change.before_visit)
    change = view.change
    if session.given.as_json:
        session.out.document(
            change_json(change, url=view.url, risk=view.risk, decided_at=view.decided_at, with_diff=True)
        )
        return
    ops = change.comparison.diff
    names = f"{view.url} {moment(before.at if before else None)}", f"{view.url} {moment(change.observed_at)}"
    session.out.lines([summary_line(change, url=view.url, risk=view.risk)])
    if not ops:
        session.out.note("no diff was stored for this change: it differs in bytes that are not text")
    session.out.lines(by_words(ops) if words else unified_lines(ops, before=names[0], after=names[1]))


def known_watch(queries: Queries, url: str) -> Watch:
    """The watch of a URL in any spelling, merged ones followed."""
    from vedette.core.urls import watch_id

    wanted = a_url(url)
    watch = queries.watch(watch_id(wanted))
    if watch is not None and watch.merged_into is not None:
        watch = queries.watch(watch.merged_into) or watch
    if watch is None:
        raise VedetteError(f"{wanted} is not watched; `vedette why-not {wanted}` says why")
    return watch


def watch_json(watch: Watch, source: Source | None = None) -> dict[str, object]:
    """`source`: the one that asks for an interval of this watch."""
    return {
        "url": watch.url,
        "title": watch.title,
        "source": watch.source,
        "lister": watch.lister.value if watch.lister else None,
        "node_type": watch.node_type.value,
        "role": watch.node_role.value if watch.node_role else None,
        "risk": watch.risk.name,
        "velocity": watch.velocity,
        "interval": watch.interval,
        "every": source.every if source else None,
        "scrape_frequency": source.scrape_frequency if source else None,
        "due_at": watch.due_at,
        "outcome": watch.last_outcome.value if watch.last_outcome else None,
        "why": ""
        if not is_unseen(watch) or watch.last_outcome is None
        else MEANING[watch.last_outcome].words,
        "last_visit_at": watch.last_visit_at,
        "last_changed_at": watch.last_changed_at,
    }


def _show_watches(session: Session, which: WatchFilter, limit: int, *, empty: str) -> None:
    with session.queries() as queries:
        found = list(queries.watches(which, most=limit))
        total = queries.count_watches(which) if limit and len(found) == limit else len(found)
        asking = queries.asking() if found else {}
    if session.given.as_json:
        session.out.document(
            {"watches": [watch_json(watch, asking.get(watch.url)) for watch in found], "total": total}
        )
        return
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


def _visit_cells(visit: Visit) -> tuple[Cell, ...]:
    from vedette.report.plain import moment, plain

    return (
        moment(visit.at),
        visit.outcome.value,
        str(visit.status or "-"),
        f"{visit.took.total_seconds():.3f}",
        ("mark", "changed") if visit.changed else "-",
        "-" if visit.text_chars is None else str(visit.text_chars),
        visit.digest.hex()[:12] if visit.digest else "-",
        plain(visit.detail, 80),
    )


def _change(queries: Queries, what: str) -> ChangeView:
    from vedette.contracts.words import ChangeId
    from vedette.store.views import ChangeFilter

    if what.isascii() and what.isdigit():
        number = int(what)
        view = queries.change(ChangeId(number)) if number < 2**63 else None
        if view is None:
            raise VedetteError(f"there is no change {what}; `vedette changes --state all` shows them")
        return view
    watch = known_watch(queries, what)
    last = next(queries.changes(ChangeFilter(watch=watch.id), most=1), None)
    if last is None:
        raise VedetteError(f"{watch.url} has no change yet")
    return last


def _states(word: str | None) -> tuple[ChangeState, ...]:
    from vedette.contracts.changing import ChangeState

    if word is None:
        return (ChangeState.CONFIRMED, ChangeState.REPORTED)
    if word == "all":
        return ()
    try:
        return (ChangeState(word.lower()),)
    except ValueError:
        known = ", ".join(state.value for state in ChangeState)
        raise InputError(f"--state: unknown state {word!r}; use one of {known}, all") from None


def _outcome(word: str | None) -> Outcome | None:
    from vedette.contracts.words import Outcome

    if word is None:
        return None
    try:
        return Outcome(word.lower())
    except ValueError:
        known = ", ".join(outcome.value for outcome in Outcome)
        raise InputError(f"--outcome: unknown outcome {word!r}; use one of {known}") from None


def _duration(text: str | None, option: str) -> timedelta:
    from vedette.config import parse_duration

    if text is None:
        return timedelta(0)
    try:
        return parse_duration(text)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{option}: {error}") from None
