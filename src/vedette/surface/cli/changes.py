"""Changes: changes, and diff of one of them or of any two states that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_mark, a_moment, a_risk, a_url, some_states
from vedette.operations.changes import NumberedChange, numbered_json, stored_diff
from vedette.operations.list_pages import change_page
from vedette.report.changes import change_lines, summary_line
from vedette.report.diffs import by_words
from vedette.report.diffs import unified as unified_lines
from vedette.report.plain import moment
from vedette.store.views import ChangeFilter
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import CursorOption, LimitOption, SourceOption, TagOption, verb
from vedette.surface.cli.watch_table import note_not_taken_in

EXAMPLE = """vedette diff https://example.org/rules --words
vedette diff 12
vedette diff https://example.org/rules --from 7d"""
EXCERPT = 12  # lines of each diff in a list of changes


def register(app: typer.Typer) -> None:
    verb(app, "changes", example="vedette changes --since 24h --risk high")(changes)
    verb(app, "diff", example=EXAMPLE)(diff)


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
    mark: Annotated[
        str | None, typer.Option("--mark", help="useful, noise, or none: what nobody marked.")
    ] = None,
    with_diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    limit: LimitOption = 50,
    cursor: CursorOption = None,
) -> None:
    """What changed, newest first, each with its summary."""
    session.installation.check_source(source)
    now = session.now()
    which = ChangeFilter(
        since=a_moment(since, "--since", now),
        until=a_moment(until, "--until", now),
        risk=a_risk(risk, "--risk"),
        states=some_states(state, "--state"),
        watch=None if url is None else watch_id(a_url(url)),
        source=source,
        sources=session.installation.tagged(tag),
        mark=a_mark(mark, "--mark"),
    )
    page = change_page(session.installation, which, limit, cursor)
    found = page.changes
    if session.given.as_json:
        rows = [numbered_json(one, with_diff=with_diff) for one in found]
        session.out.document({"changes": rows, "next": page.after})
        return
    if not found:
        session.out.note("no changes")
        note_not_taken_in(session)
    _show_changes(session, found, with_diff=with_diff)


def _show_changes(session: Session, found: Sequence[NumberedChange], *, with_diff: bool) -> None:
    wide = max((len(str(one.number)) for one in found), default=0)
    for one in found:
        view = one.view
        lines = change_lines(view.change, url=view.url, risk=view.risk, most=EXCERPT if with_diff else 0)
        number = ("head", f"{one.number:>{wide}}  ")
        first = session.out.in_parts((number, *lines[0]), indent=wide + 2)
        session.out.lines([*first, *(lines[1:] if with_diff else ())])
    if found and not with_diff:
        session.out.note(f"vedette diff {found[0].number} shows what differs")


def diff(
    session: Session,
    what: Annotated[
        str,
        typer.Argument(
            metavar="URL|CHANGE", help="A URL (its last change), or a number that `vedette changes` shows."
        ),
    ],
    words: Annotated[bool, typer.Option("--words", help="Words that differ, in their place.")] = False,
    unified: Annotated[bool, typer.Option("--unified", help="Lines, as `diff -u`.  [default]")] = False,
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME|ID", help="Compare the state of then: 7d, 2026-11-15, ..."),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME|ID", help="with this one.  [default: as seen last]")
    ] = None,
) -> None:
    """What differs between two looks.

    Shows the diff that was stored when the change was seen: lines by default, words in their place with --words.
    With --from any two states that were kept are compared, all of their text: by time, or by the number or first
    digits of a piece of evidence.
    """
    if words and unified:
        raise InputError("--words and --unified exclude each other")
    if start is not None or end is not None:
        _diff_states(session, what, start, end, words=words)
        return
    found = stored_diff(session.installation, what)
    if session.given.as_json:
        session.out.document(numbered_json(found.change, with_diff=True))
        return
    view, change = found.change.view, found.change.view.change
    names = f"{view.url} {moment(found.before_at)}", f"{view.url} {moment(change.observed_at)}"
    session.out.lines(session.out.in_parts(summary_line(change, url=view.url, risk=view.risk), indent=2))
    if not found.ops:
        session.out.note("no diff was stored for this change: it differs in bytes that are not text")
    lines = by_words(found.ops) if words else unified_lines(found.ops, before=names[0], after=names[1])
    session.out.lines(lines)
    if found.earlier is not None:
        session.out.note(
            f"this is change {found.change.number}; the one before it: vedette diff {found.earlier}"
        )


def _diff_states(session: Session, what: str, start: str | None, end: str | None, *, words: bool) -> None:
    # the archive and its readers (lxml): 0.4 s that a stored diff does without
    from vedette.operations.evidence import diff_states, state_diff_json

    found = diff_states(session.installation, what, start, end)
    if session.given.as_json:
        session.out.document(state_diff_json(found))
        return
    if not found.ops:
        session.out.note("the text is the same")
        return
    before, after = (f"{found.url} {moment(one.at)}" for one in (found.before, found.after))
    lines = by_words(found.ops) if words else unified_lines(found.ops, before=before, after=after)
    session.out.lines(lines)
