"""Changes: changes, and diff of one of them or of any two states that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from vedette.contracts.change import DiffOp
from vedette.contracts.errors import InputError, VedetteError
from vedette.contracts.watch import Watch
from vedette.core.urls.canonical import watch_id
from vedette.operations.arguments import a_moment, a_risk, a_url, some_states
from vedette.operations.changes import NumberedChange, list_changes, numbered_json, stored_diff
from vedette.operations.known_evidence import find_evidence, shown_at
from vedette.operations.known_watch import known_watch
from vedette.report.changes import change_lines, summary_line
from vedette.report.diffs import by_words
from vedette.report.diffs import unified as unified_lines
from vedette.report.plain import moment
from vedette.store.queries import Queries
from vedette.store.views import ChangeFilter, EvidenceView
from vedette.surface.cli.configured_sources import note_not_taken_in
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import LimitOption, SourceOption, TagOption, verb

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
    with_diff: Annotated[bool, typer.Option("--diff", help="With what differs.")] = False,
    limit: LimitOption = 50,
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
    )
    found = list_changes(session.installation, which, limit)
    if session.given.as_json:
        session.out.document({"changes": [numbered_json(one, with_diff=with_diff) for one in found]})
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
        diff_states(session, what, (start, end), words=words)
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


def diff_states(session: Session, what: str, between: tuple[str | None, str | None], *, words: bool) -> None:
    from vedette.core.change.diff import diff_lines, summary, with_headings
    from vedette.operations.evidence import headings_of, text_of
    from vedette.report.diffs import by_words, diff_json, unified
    from vedette.report.plain import moment

    if between[0] is None:
        raise InputError("--to needs --from: say from which state on")
    if "://" not in what and "." not in what:
        raise InputError("--from and --to go with a URL; a change has its own two states")
    with session.queries() as queries:
        watch = known_watch(session.installation, queries, what)
        before = _state(session, queries, watch, between[0], "--from")
        after = _state(session, queries, watch, between[1] or "0s", "--to")
    texts = [text_of(session.loaded, one).split("\n") for one in (before, after)]
    ops = with_headings(
        diff_lines(*texts)[0], headings_of(session.loaded, before) | headings_of(session.loaded, after)
    )
    if session.given.as_json:
        states = {name: {"evidence": one.id, "at": one.at} for name, one in (("from", before), ("to", after))}
        said = {"url": watch.url, **states, "summary": summary(ops) if _differs(ops) else ""}
        session.out.document({**said, "diff": diff_json(ops) if _differs(ops) else []})
        return
    if not _differs(ops):
        session.out.note("the text is the same")
        return
    names = [f"{watch.url} {moment(one.at)}" for one in (before, after)]
    session.out.lines(by_words(ops) if words else unified(ops, before=names[0], after=names[1]))


def _differs(ops: Sequence[DiffOp]) -> bool:
    return any(op.op != "equal" for op in ops)


def _state(session: Session, queries: Queries, watch: Watch, word: str, option: str) -> EvidenceView:
    """By number or digits the piece itself; by time what the last look before it showed."""
    try:
        at = a_moment(word, option, session.now())
    except InputError:
        at = None
    if word.isdigit() or at is None:
        found = find_evidence(session.installation, queries, word, 0)
        own = [one for one in found if one.watch == watch.id]
        if not own:
            raise InputError(f"{option}: {word} is no evidence of {watch.url}")
        return own[0]
    number = shown_at(session.loaded, watch.id, at)
    one = None if number is None else queries.evidence_by_id(number)
    if one is None:
        raise VedetteError(f"{option} {word}: nothing was seen of {watch.url} by then")
    return one
