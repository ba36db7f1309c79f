"""What differs: diff, of a change that was stored or of any two states that were kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.arguments import a_moment
from vedette.operations.known_evidence import find_evidence
from vedette.surface.cli.queries import known_watch, numbered_json, told_states
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vedette.contracts.change import DiffOp
    from vedette.contracts.watch import Watch
    from vedette.contracts.words import ChangeId
    from vedette.store.queries import Queries
    from vedette.store.views import ChangeView, EvidenceView

EXAMPLE = """vedette diff https://example.org/rules --words
vedette diff 12
vedette diff https://example.org/rules --from 7d"""


def register(app: typer.Typer) -> None:
    verb(app, "diff", example=EXAMPLE)(diff)


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
    from vedette.report.changes import summary_line
    from vedette.report.diffs import by_words
    from vedette.report.diffs import unified as unified_lines
    from vedette.report.plain import moment

    if words and unified:
        raise InputError("--words and --unified exclude each other")
    if start is not None or end is not None:
        diff_states(session, what, (start, end), words=words)
        return
    with session.queries() as queries:
        view = _change(session, queries, what)
        before = queries.visit(view.change.before_visit)
        older = _change_before(queries, view)
        numbers = queries.change_numbers([view.change.id, *([older] if older else ())])
    change = view.change
    if session.given.as_json:
        session.out.document(numbered_json(view, numbers[change.id], with_diff=True))
        return
    ops = change.comparison.diff
    names = f"{view.url} {moment(before.at if before else None)}", f"{view.url} {moment(change.observed_at)}"
    session.out.lines(session.out.in_parts(summary_line(change, url=view.url, risk=view.risk), indent=2))
    if not ops:
        session.out.note("no diff was stored for this change: it differs in bytes that are not text")
    session.out.lines(by_words(ops) if words else unified_lines(ops, before=names[0], after=names[1]))
    if older:
        session.out.note(
            f"this is change {numbers[change.id]}; the one before it: vedette diff {numbers[older]}"
        )


def _change(session: Session, queries: Queries, what: str) -> ChangeView:
    from vedette.contracts.words import ChangeId
    from vedette.store.views import ChangeFilter

    if what.isascii() and what.isdigit():
        number = int(what)
        view = queries.change(ChangeId(number)) if number < 2**63 else None
        view = view or queries.change_of_number(number)
        if view is None:
            raise VedetteError(f"there is no change {what}; `vedette changes --state all` shows them")
        return view
    watch = known_watch(session, queries, what)
    last = next(queries.changes(ChangeFilter(watch=watch.id), most=1), None)
    if last is None:
        raise VedetteError(f"{watch.url} has no change yet")
    return last


def _change_before(queries: Queries, view: ChangeView) -> ChangeId | None:
    """The reported change of the same page that came before this one."""
    from vedette.store.views import ChangeFilter

    told = ChangeFilter(watch=view.change.watch, states=told_states(None), until=view.change.observed_at)
    return next((one.change.id for one in queries.changes(told, most=1)), None)


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
        watch = known_watch(session, queries, what)
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
    from vedette.operations.evidence import shown_at

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
