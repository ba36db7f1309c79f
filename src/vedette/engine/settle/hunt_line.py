"""The looks that a hunt ordered, in their order.  It learns from them one after the other, in whatever order they end.

So what it knows at any time is a function of the looks up to some place in the line.  Neither the speed of a host nor a
kill changes that: a look that ended early is kept with its row until its turn comes.  A look that cannot be made, since
its lane is closed or sleeps, leaves the line and is learned from when it ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from vedette.contracts.hunt import EndedLook, OrderedLook
from vedette.contracts.watch import Settlement
from vedette.contracts.words import WatchId

PATIENCE = timedelta(minutes=10)  # the first of the line is waited for so long,
CLOSED = timedelta(minutes=1)  # and not at all where its lane stays closed for this


class HuntLine:
    def __init__(self, looks: Iterable[OrderedLook], now: datetime) -> None:
        self._looks = {one.watch: one for one in looks}
        self._since = dict.fromkeys(self._looks, now)

    def __len__(self) -> int:
        return len(self._looks)

    def urls(self) -> dict[WatchId, str]:
        return {one.watch: one.url for one in self._looks.values()}

    def add(self, looks: Iterable[OrderedLook], now: datetime) -> None:
        for one in looks:
            self._looks[one.watch] = one
            self._since[one.watch] = now

    def end(self, look: EndedLook) -> bool:
        """False: nobody ordered it, or it was learned from before."""
        one = self._looks.get(look.watch)
        if one is None or one.look is not None:
            return False
        self._looks[look.watch] = replace(one, look=look)
        return True

    def has_ended(self) -> bool:
        """Its first look has."""
        return bool(self._looks) and next(iter(self._looks.values())).look is not None

    def take(self) -> tuple[OrderedLook, EndedLook]:
        """The first, which has ended."""
        one = next(iter(self._looks.values()))
        if one.look is None:
            raise LookupError(f"the look at {one.url} has not ended")
        self._leave(one.watch)
        return one, one.look

    def ended(self) -> set[WatchId]:
        return {one.watch for one in self._looks.values() if one.look is not None}

    def put_aside(self, stuck: set[WatchId], now: datetime) -> Iterator[WatchId]:
        """Those at the head that nobody can wait for."""
        while self._looks:
            one = next(iter(self._looks.values()))
            is_late = now - self._since[one.watch] >= PATIENCE
            if one.look is not None or not one.is_due or not (is_late or one.watch in stuck):
                return
            self._leave(one.watch)
            yield one.watch

    def released(self, most: int | None, now: datetime) -> list[OrderedLook]:
        """Those that may be looked at now and could not before.  `most`: looks that this run may still make."""
        waiting = [one for one in self._looks.values() if one.look is None]
        fresh = [one for one in (waiting if most is None else waiting[:most]) if not one.is_due]
        for one in fresh:
            self._looks[one.watch] = replace(one, is_due=True)
            self._since[one.watch] = now
        return fresh

    def _leave(self, watch: WatchId) -> None:
        del self._looks[watch], self._since[watch]


def ended_look(settled: Settlement) -> EndedLook:
    """What a hunt learns from it.  Times as the store keeps them: a restart must not know them better."""
    visit, watch = settled.visit, settled.watch
    at = visit.at.replace(microsecond=visit.at.microsecond // 1000 * 1000)
    return EndedLook(
        watch=watch.id,
        url=watch.url,
        shown_url=visit.url,
        source=watch.source,
        risk=watch.risk,
        outcome=visit.outcome,
        at=at,
        digest=visit.digest or b"",
        links=tuple(dict.fromkeys((*settled.linked, *(one.id for one in settled.found)))),
        said=settled.said,
        page=settled.figures,
    )
