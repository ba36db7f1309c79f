"""One order for many watches: each is done as if it were said alone, and what cannot be done is told by its address."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from vedette.contracts.errors import InputError, VedetteError
from vedette.core.text.nearest import unknown
from vedette.operations.installation import Installation
from vedette.operations.look_now import order_look
from vedette.operations.source_filters import filters_of_page
from vedette.operations.sources import (
    FOREVER,
    group_source,
    mute_source,
    pause_source,
    remove_source,
    resume_source,
    unmute_source,
)

MOST = 500  # of one order
Order = Callable[[Installation, str], object]
ORDERS: dict[str, Order] = {
    "look": lambda installation, url: order_look(installation, [url], None),
    "pause": pause_source,
    "resume": resume_source,
    "unmute": unmute_source,
    "remove": remove_source,
}
MUTE, GROUP = "mute", "group"
ALL = (*ORDERS, MUTE, GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkDone:
    order: str
    done: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]  # address and why


def edit_watches(
    installation: Installation,
    order: str,
    urls: Sequence[str],
    *,
    length: timedelta | None = None,
    group: str = "",
) -> BulkDone:
    """`length`: of a mute; None: until it is unmuted.  `group`: that they are put into, beside those they are in."""
    if order not in ALL:
        raise InputError(f"--order: {unknown('order', order, ALL)}")
    if order == GROUP and not group.strip():
        raise InputError("--group: write the name of the group that they are to be in")
    if not urls:
        raise InputError("--urls: choose at least one watch")
    if len(urls) > MOST:
        raise InputError(f"--urls: {len(urls)} at once; at most {MOST}")
    done: list[str] = []
    refused: list[tuple[str, str]] = []
    for url in dict.fromkeys(urls):
        try:
            if order == GROUP:
                _put_into(installation, url, group)
            else:
                _give(installation, order, url, length)
        except VedetteError as error:
            refused.append((url, str(error)))
        else:
            done.append(url)
    return BulkDone(order=order, done=tuple(done), refused=tuple(refused))


def bulk_json(found: BulkDone) -> dict[str, object]:
    refused = [{"url": url, "why": why} for url, why in found.refused]
    return {"order": found.order, "done": list(found.done), "refused": refused}


def _put_into(installation: Installation, url: str, group: str) -> None:
    source = filters_of_page(installation, url).source
    group_source(installation, source.id, ",".join((*source.registered.tags, group)))


def _give(installation: Installation, order: str, url: str, length: timedelta | None) -> None:
    if order == MUTE:
        until = FOREVER if length is None else installation.now() + length
        mute_source(installation, url, until)
    else:
        ORDERS[order](installation, url)
