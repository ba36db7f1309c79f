"""One order for many watches: each is done as if it were said alone, and what cannot be done is told by its address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.text.nearest import unknown
from vedette.operations.installation import Installation
from vedette.operations.sources import (
    FOREVER,
    mute_source,
    pause_source,
    remove_source,
    resume_source,
    unmute_source,
)

MOST = 500  # of one order
Order = Callable[[Installation, str], object]
ORDERS: dict[str, Order] = {
    "pause": pause_source,
    "resume": resume_source,
    "unmute": unmute_source,
    "remove": remove_source,
}
MUTE = "mute"


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDone:
    order: str
    done: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # address and why


def edit_watches(
    installation: Installation, order: str, urls: Sequence[str], *, length: timedelta | None = None
) -> BulkDone:
    """`length`: of a mute; None: until it is unmuted."""
    if order not in (*ORDERS, MUTE):
        raise InputError(f"--order: {unknown('order', order, (*ORDERS, MUTE))}")
    if not urls:
        raise InputError("--urls: choose at least one watch")
    if len(urls) > MOST:
        raise InputError(f"--urls: {len(urls)} at once; at most {MOST}")
    done: list[str] = []
    refused: list[tuple[str, str]] = []
    for url in dict.fromkeys(urls):
        try:
            _give(installation, order, url, length)
        except VedetteError as error:
            refused.append((url, str(error)))
        else:
            done.append(url)
    return BulkDone(order=order, done=tuple(done), refused=tuple(refused))


def bulk_json(found: BulkDone) -> dict[str, object]:
    refused = [{"url": url, "why": why} for url, why in found.refused]
    return {"order": found.order, "done": list(found.done), "refused": refused}


def _give(installation: Installation, order: str, url: str, length: timedelta | None) -> None:
    if order == MUTE:
        until = FOREVER if length is None else installation.now() + length
        mute_source(installation, url, until)
    else:
        ORDERS[order](installation, url)
