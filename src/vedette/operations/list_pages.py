"""Pages of long lists: a cursor says where the page before ended, so that nothing is shown twice or left out."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Generic, TypeVar

from vedette.contracts.errors import InputError
from vedette.operations.changes import NumberedChange, list_changes
from vedette.operations.installation import Installation
from vedette.operations.watches import WatchList, list_watches
from vedette.store.rows import to_ms
from vedette.store.views import ChangeFilter, WatchFilter

if TYPE_CHECKING:
    from vedette.operations.overview import LaneReceipt
    from vedette.operations.sources import ListedSource

MOST = 500  # of one page
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class WatchPage:
    found: WatchList
    after: str | None  # cursor of the next page; None: this is the last one


@dataclass(frozen=True, slots=True)
class ChangePage:
    changes: tuple[NumberedChange, ...]
    after: str | None


def watch_page(installation: Installation, which: WatchFilter, limit: int, cursor: str | None) -> WatchPage:
    """At most `limit` of them, 0: all, from where the cursor points."""
    found = list_watches(installation, replace(which, after=_read(cursor, str)), limit)
    is_whole = not limit or len(found.watches) < limit
    last = None if is_whole else found.watches[-1]
    return WatchPage(found, None if last is None else _written(last.due_ms, last.url))


def change_page(
    installation: Installation, which: ChangeFilter, limit: int, cursor: str | None
) -> ChangePage:
    """Newest first."""
    at, number = _read(cursor, int) or (None, 0)
    after = None if at is None else (at, number)
    found = tuple(list_changes(installation, replace(which, after=after), limit))
    last = found[-1].view.change if limit and len(found) == limit else None
    return ChangePage(found, None if last is None else _written(to_ms(last.observed_at), last.id))


@dataclass(frozen=True, slots=True)
class RowPage(Generic[_T]):
    """Part of a list that is at hand as a whole."""

    rows: tuple[_T, ...]
    after: str | None
    total: int


def row_page(
    rows: Sequence[_T], order: Callable[[_T], tuple[int, str]], limit: int, cursor: str | None
) -> RowPage[_T]:
    """In this order, which tells each row from all others."""
    after, every = _read(cursor, str), sorted(rows, key=order)
    start = 0 if after is None or after[0] is None else bisect_right(every, (after[0], after[1]), key=order)
    part = tuple(every[start : start + limit])
    is_last = start + limit >= len(every)
    return RowPage(part, None if is_last else _written(*order(part[-1])), len(every))


def lane_page(
    found: Sequence[LaneReceipt], text: str | None, limit: int, cursor: str | None
) -> RowPage[LaneReceipt]:
    """The host that was asked most comes first."""
    word = (text or "").strip().lower()
    fit = [one for one in found if word in one.lane]
    return row_page(fit, lambda one: (-(one.asked.looks if one.asked else 0), str(one.lane)), limit, cursor)


def source_page(
    found: Sequence[ListedSource], text: str | None, limit: int, cursor: str | None
) -> RowPage[ListedSource]:
    """Highest tier first."""
    word = (text or "").strip().lower()
    fit = [one for one in found if word in _said_of(one)]
    return row_page(fit, lambda one: (-one.view.source.tier, str(one.view.source.id)), limit, cursor)


def _said_of(one: ListedSource) -> str:
    source = one.view.source
    return " ".join((source.id, source.name, source.url, *source.registered.tags)).lower()


def _written(*parts: object) -> str:
    return urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def _read(cursor: str | None, second: type[_T]) -> tuple[int | None, _T] | None:
    """What a cursor says; None: there is none, so the list begins."""
    if cursor is None:
        return None
    try:
        at, last = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        numbers = [one for one in (at, last) if isinstance(one, int)]
        if (
            not isinstance(at, int | None)
            or type(last) is not second
            or any(abs(one) >= 2**63 for one in numbers)
        ):
            raise ValueError
    except (ValueError, TypeError, RecursionError):
        raise InputError("--cursor: this is no cursor of ours; take `next` of the page before") from None
    return at, last
