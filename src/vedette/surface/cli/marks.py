"""What people say of a change: mark, noise."""

from __future__ import annotations

from typing import Annotated

import typer

from vedette.contracts.errors import InputError
from vedette.operations.back_test import (
    BackTest,
    TestedRule,
    applied_json,
    apply_rule,
    back_test,
    back_test_json,
    mark_change,
)
from vedette.operations.changes import numbered_json
from vedette.report.plain import Line, count, moment, plain
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

WHO = "command line"  # in the ledger
SHOWN = 5  # changes that a rule would have hidden
EXAMPLE = """vedette noise 12
vedette noise 12 --rule 'ignore: visitors today'
vedette noise 12 --rule 'ignore: visitors today' --apply"""
ChangeArgument = Annotated[
    str, typer.Argument(metavar="URL|CHANGE", help="A number that `vedette changes` shows, or a URL.")
]


def register(app: typer.Typer) -> None:
    verb(app, "mark", example="vedette mark 12 useful")(mark)
    verb(app, "noise", example=EXAMPLE)(noise)


def mark(
    session: Session,
    change: ChangeArgument,
    word: Annotated[str, typer.Argument(metavar="useful|noise|none", help="none takes the word back.")],
) -> None:
    """Say that a change was useful, or noise.

    The word is kept with the change and in the ledger.  `vedette changes --mark useful` lists what was marked, and a
    rule against noise is held against it.
    """
    done = mark_change(session.installation, change, word, WHO)
    said = f"marked {done.view.mark}" if done.view.mark else "not marked any more"
    session.out.answer(f"change {done.number} is {said}", numbered_json(done, with_diff=False))


def noise(
    session: Session,
    change: ChangeArgument,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule", metavar="STEP", help="Try this filter step; repeatable.  [default: what fits]"
        ),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Put the rule to the filters of the source; needs --rule.")
    ] = False,
) -> None:
    """Rules that would keep a change from being told, tried on the record.

    Each is tried on all changes that were told of the source and whose evidence is kept: how many of them it would have
    hidden, and how many of those you marked as useful.  Nothing is changed without --apply.
    """
    if apply and not rule:
        raise InputError("--apply needs --rule: say which rule holds from now on")
    if apply and rule:
        done = apply_rule(session.installation, change, rule, WHO)
        words = (
            f"change {done.change.number} is noise; the filters of {done.source} hold from the next look on"
        )
        session.out.answer(words, applied_json(done))
        return
    with session.out.progress("reading changes again") as progress:
        found = back_test(session.installation, change, rule, progress=progress)
    if session.given.as_json:
        session.out.document(back_test_json(found))
        return
    _show(session, found)


def _show(session: Session, found: BackTest) -> None:
    for one in found.rules:
        session.out.lines(_lines(one))
    session.out.note(f"tried on {count(found.tested, 'change')} of source {found.source.source.id}")
    if found.unread:
        session.out.note(
            f"{count(found.unread, 'further change')} could not be tried: no two texts of it are kept"
        )
    if not found.rules:
        session.out.note("no rule fits it; write one with --rule, `vedette help filters` names all steps")
    elif found.source.is_written:
        session.out.note("this source stands in vedette.yaml: write the rule under its `filters`")
    else:
        session.out.note("--rule ... --apply lets one hold from the next look on")


def _lines(one: TestedRule) -> list[Line]:
    head = [(("head", plain(str(step), 300)),) for step in one.rule.steps]
    style = "bad" if one.useful else "good" if one.hides_this else "warn"
    said = one.words if one.hides_this else f"does not hide this change; {one.words}"
    shown = [
        (("dim", f"    {other.number}  {moment(other.view.change.observed_at)}  "),
         ("", plain(other.view.change.comparison.summary, 120)),
         ("bad", "  useful" if other.view.mark == "useful" else ""))
        for other in one.hidden[:SHOWN]
    ]  # fmt: skip
    left = len(one.hidden) - len(shown)
    more = [(("dim", f"    and {left} more"),)] if left > 0 else []
    louder = (
        [(("warn", f"  in {count(one.louder, 'change')} more would differ than now"),)] if one.louder else []
    )
    return [*head, (("", f"  {one.rule.words}"),), ((style, f"  {said}"),), *louder, *shown, *more]
