"""Changes: those that fit a filter, and one of them with its diff."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vedette.contracts.change import DiffOp
from vedette.contracts.errors import VedetteError
from vedette.contracts.words import ChangeId
from vedette.operations.arguments import TOLD
from vedette.operations.installation import Installation
from vedette.operations.watches import known_watch
from vedette.report.changes import change_json
from vedette.store.queries import Queries
from vedette.store.rows import to_ms
from vedette.store.views import ChangeFilter, ChangeView


@dataclass(frozen=True, slots=True)
class NumberedChange:
    """A change with the number that people call it by."""

    number: int
    view: ChangeView


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDiff:
    """A change as it was seen, and where it stands among the others of its page."""

    change: NumberedChange
    before_at: datetime | None  # when the state before it was seen
    earlier: int | None  # the number of the reported change before it
    newer: int | None = None  # the numbers of its neighbours among all that were told
    older: int | None = None

    @property
    def ops(self) -> Sequence[DiffOp]:
        return self.change.view.change.comparison.diff


def list_changes(installation: Installation, which: ChangeFilter, limit: int) -> list[NumberedChange]:
    """Those that fit, newest first, at most `limit` of them; 0: all."""
    with installation.queries() as queries:
        found = list(queries.changes(which, most=limit))
        numbers = queries.change_numbers([view.change.id for view in found])
    return [NumberedChange(numbers[view.change.id], view) for view in found]


def stored_diff(installation: Installation, what: str) -> StoredDiff:
    """Of a change by its number or id, or of the last change of a URL."""
    with installation.queries() as queries:
        view = _change(installation, queries, what)
        before = queries.visit(view.change.before_visit)
        others = {"earlier": _change_before(queries, view), **_neighbours(queries, view)}
        known = [one for one in others.values() if one is not None]
        numbers = queries.change_numbers([view.change.id, *known])
    return StoredDiff(
        change=NumberedChange(numbers[view.change.id], view),
        before_at=before.at if before else None,
        **{name: None if one is None else numbers[one] for name, one in others.items()},
    )


def numbered_json(one: NumberedChange, *, with_diff: bool) -> dict[str, object]:
    view = one.view
    said = change_json(
        view.change, url=view.url, risk=view.risk, decided_at=view.decided_at, with_diff=with_diff
    )
    return {"number": one.number, **said, "mark": view.mark or None}


def _change(installation: Installation, queries: Queries, what: str) -> ChangeView:
    if what.isascii() and what.isdigit():
        number = int(what)
        view = queries.change(ChangeId(number)) if number < 2**63 else None
        view = view or queries.change_of_number(number)
        if view is None:
            raise VedetteError(f"there is no change {what}; `vedette changes --state all` shows them")
        return view
    watch = known_watch(installation, queries, what)
    last = next(queries.changes(ChangeFilter(watch=watch.id), most=1), None)
    if last is None:
        raise VedetteError(f"{watch.url} has no change yet")
    return last


def _neighbours(queries: Queries, view: ChangeView) -> dict[str, ChangeId | None]:
    one = view.change
    behind = ChangeFilter(states=TOLD, after=(to_ms(one.observed_at), one.id))
    older = next((other.change.id for other in queries.changes(behind, most=1)), None)
    return {"newer": queries.newer_change(one, [state.value for state in TOLD]), "older": older}


def _change_before(queries: Queries, view: ChangeView) -> ChangeId | None:
    """The reported change of the same page that came before this one."""
    told = ChangeFilter(watch=view.change.watch, states=TOLD, until=view.change.observed_at)
    return next((one.change.id for one in queries.changes(told, most=1)), None)
