"""Would we decide the same again?  replay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import typer

from vedette.contracts.errors import InputError, VedetteError
from vedette.operations.arguments import a_moment, a_url
from vedette.operations.known_watch import known_watch
from vedette.report.plain import moment
from vedette.surface.cli.exit_codes import Exit
from vedette.surface.cli.session import Session
from vedette.surface.cli.verb import verb

if TYPE_CHECKING:
    from vedette.contracts.watch import Decision
    from vedette.contracts.words import RunId
    from vedette.core.evidence.ledger import InForce
    from vedette.store.queries import Queries
    from vedette.store.views import LedgerView

SHOWN = 20  # differences that are listed in full


def register(app: typer.Typer) -> None:
    verb(app, "replay", example="vedette replay\nvedette replay --since 7d --json")(replay)


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
    from vedette.store.views import LedgerFilter

    with session.queries() as queries, session.out.progress("deciding again") as progress:
        watch = known_watch(session.installation, queries, a_url(url)).id if url is not None else None
        which = LedgerFilter(watch=watch, since=a_moment(since, "--since", session.now()))
        whole = queries.count_decisions(which)
        result = _Result()
        rules = _Rules(queries)
        for done, row in enumerate(queries.decisions(which), 1):
            result.take(row, rules)
            progress(done, whole)
    _say(session, result)
    if result.differences:
        raise typer.Exit(Exit.FOUND_PROBLEMS)


@dataclass(frozen=True, slots=True)
class _Difference:
    row: LedgerView
    action: str
    words: str


@dataclass(slots=True)
class _Result:
    agreed: Counter[str] = field(default_factory=Counter)
    differing: Counter[str] = field(default_factory=Counter)
    not_recomputed: Counter[str] = field(default_factory=Counter)
    differences: list[_Difference] = field(default_factory=list)

    def take(self, row: LedgerView, rules: _Rules) -> None:
        from vedette.core.evidence.ledger import RULES

        for decision in row.decisions:
            if decision.action not in RULES:
                self.not_recomputed[decision.action] += 1
                continue
            words = _compared(decision, rules, row.run)
            if words is None:
                self.agreed[decision.action] += 1
            else:
                self.differing[decision.action] += 1
                self.differences.append(_Difference(row, decision.action, words))


class _Rules:
    """The rules of every run, read once."""

    def __init__(self, queries: Queries) -> None:
        self._runs = {run.id: run for run in queries.runs(most=0)}
        self._published: dict[int, str | None] = {}
        self._clocks: dict[int, bytes | None] = {}
        self._queries = queries
        self._made: dict[RunId, InForce] = {}

    def of(self, run: RunId) -> InForce:
        from vedette.config.policies import in_force, read_rules

        if run not in self._made:
            if run not in self._runs:
                raise InputError(f"its run {run} is not on record")
            known = self._runs[run]
            rules = in_force(read_rules(known.rules), known.policy)
            self._made[run] = replace(rules, published=self._version, clocks=self._clock)
        return self._made[run]

    def _version(self, version: int) -> str | None:
        if version not in self._published:
            row = self._queries.published(version)
            self._published[version] = None if row is None else row.body
        return self._published[version]

    def _clock(self, number: int) -> bytes | None:
        if number not in self._clocks:
            self._clocks[number] = self._queries.clock(number)
        return self._clocks[number]


def _compared(decision: Decision, rules: _Rules, run: RunId) -> str | None:
    from vedette.core.evidence.ledger import difference

    try:
        return difference(decision, rules.of(run))
    except VedetteError as error:
        return f"cannot be decided again: {error}"


def _say(session: Session, result: _Result) -> None:
    out = session.out
    if session.given.as_json:
        out.document(
            {
                "agreed": dict(result.agreed),
                "differing": dict(result.differing),
                "not_recomputed": dict(result.not_recomputed),
                "differences": [
                    {"at": one.row.at, "visit": one.row.visit, "action": one.action, "difference": one.words}
                    for one in result.differences
                ],
            }
        )
        return
    out.table(("DECISION", "AGREED", "DIFFERING"), _rows(result), empty="nothing was decided yet")
    if result.not_recomputed:
        others = ", ".join(f"{count} {action}" for action, count in sorted(result.not_recomputed.items()))
        out.note(f"not recomputed, since they follow from what was seen: {others}")
    for one in result.differences[:SHOWN]:
        out.say(f"{moment(one.row.at)} {one.action}: {one.words}")
    if len(result.differences) > SHOWN:
        out.note(f"and {len(result.differences) - SHOWN} more; --json lists them all")


def _rows(result: _Result) -> Iterator[tuple[str, str, str]]:
    for action in sorted({*result.agreed, *result.differing}):
        yield action, str(result.agreed[action]), str(result.differing[action])
